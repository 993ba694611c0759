"""The gate document: what may stand in it, and every fault at its path."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.gates.documents import GateDocument, check_overrides
from documents.problem import DocumentError
from documents.yaml_text import parse_yaml, to_yaml
from tests.controlplane.gates.conftest import DOCUMENT, document


def faults(given: Any) -> dict[str, str]:
    with pytest.raises(DocumentError) as error:
        GateDocument.parse(given)
    return {problem.path: problem.message for problem in error.value.problems}


def test_a_document_is_written_whole_and_reads_back_the_same() -> None:
    whole = GateDocument.parse(DOCUMENT).to_document()
    assert whole["spec"]["drain_s"] == 30.0
    assert GateDocument.parse(parse_yaml(to_yaml(whole))).to_document() == whole


@pytest.mark.parametrize(
    ("spec", "path", "said"),
    [
        ({"slo": None, "thresholds": []}, "spec.thresholds", "would always pass"),
        ({"thresholds": ["tfft: p(95)<1"]}, "spec.thresholds.0", "unknown metric; known: ttft_ms"),
        ({"thresholds": "errors<=0.1"}, "spec.thresholds", "must be a list"),
        ({"overrides": ["workload"]}, "spec.overrides", "policy and endpoint"),
        ({"arrivals": "poisson"}, "spec.arrivals", "must be a mapping"),
        ({"duration_s": 0}, "spec.duration_s", "from 0.1"),
        ({"treshold": []}, "spec.treshold", "did you mean 'thresholds'"),
        ({"endpoint": None}, "spec.endpoint", "is required"),
    ],
)
def test_a_fault_is_told_at_its_path(spec: dict[str, Any], path: str, said: str) -> None:
    assert said in faults(document(**spec))[path]


def test_all_faults_are_told_at_once() -> None:
    found = faults({"apiVersion": "v2", "kind": "Gate", "spec": {"thresholds": ["x<1"]}, "y": 1})
    assert {"apiVersion", "y", "metadata", "spec.thresholds.0", "spec.endpoint"} <= set(found)


@pytest.mark.parametrize("given", [None, [], "gate", {}])
def test_what_is_no_document_is_refused(given: Any) -> None:
    assert faults(given)


def test_a_caller_may_replace_what_the_gate_lets_go_and_nothing_else() -> None:
    spec = GateDocument.parse(DOCUMENT).spec
    assert check_overrides(spec, {"policy": "steady@1"}) == {"policy": "steady@1"}
    with pytest.raises(DocumentError, match="add endpoint to its overrides"):
        check_overrides(spec, {"endpoint": "other"})
    with pytest.raises(DocumentError, match="unknown field"):
        check_overrides(spec, {"duration_s": 1})
