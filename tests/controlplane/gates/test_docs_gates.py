"""docs/gates.md names every metric, exit code, field and option there is; its document is one."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from controlplane.api.gate_serializers import GateRunOut
from controlplane.gates.documents import GateDocument
from documents.yaml_text import parse_yaml
from headway.commands import gate
from measurement.thresholds import KNOWN
from measurement.verdict import EXIT_CODES

PAGE = Path("docs/gates.md").read_text()
NAMED = set(re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL)))


def test_every_metric_of_a_threshold_is_named_with_its_operators() -> None:
    lines = [line for line in PAGE.splitlines() if line.startswith("| `")]
    rows = {name: line for line in lines for name in KNOWN if f"`{name}`" in line}
    for name, known in KNOWN.items():
        assert all(operator in rows[name] for operator in known.operators), name


def test_every_exit_code_is_explained() -> None:
    for word, code in EXIT_CODES.items():
        assert f"| {code} | `{word}` |" in PAGE


def test_every_field_of_a_gates_run_is_named() -> None:
    assert set(GateRunOut.Meta.fields) <= NAMED


def test_every_option_is_told() -> None:
    parser = argparse.ArgumentParser()
    gate.add_arguments(parser)
    [actions] = [action for action in parser._actions if action.choices]
    assert actions.choices
    for name in ("run", "list"):
        for action in actions.choices[name]._actions:
            assert all(
                option in PAGE
                for option in action.option_strings
                if option[1] == "-" and option != "--help"
            )


def test_the_document_in_it_is_a_gate() -> None:
    [text] = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    spec = GateDocument.parse(parse_yaml(text)).spec
    assert str(spec.thresholds[0]) == "ttft_ms: p(95)<800"
    assert spec.overrides == ("policy",)
