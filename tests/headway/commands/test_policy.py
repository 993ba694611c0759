"""``headway policy``: what is wrong is told at its path, what differs by parameter and host."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from documents.yaml_text import parse_yaml
from headway.__main__ import main
from schedulers.builtin import builtin
from schedulers.document import Policy

TEXT = """\
apiVersion: headway/v1
kind: Policy
metadata: {name: mine}
spec:
  ordering: {law: priority, batch_share: 0.1}
  batching: {law: continuous}
"""
Out = pytest.CaptureFixture[str]


@pytest.fixture
def mine(tmp_path: Path) -> str:
    path = tmp_path / "mine.yaml"
    path.write_text(TEXT)
    return str(path)


def test_lint_checks_every_file_and_tells_every_fault(
    mine: str, tmp_path: Path, capsys: Out
) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text(TEXT.replace("0.1", "7").replace("continuous", "continous"))
    assert main(["policy", "lint", mine, str(bad), "gradient-reference"]) == 20
    told = capsys.readouterr()
    assert f"{mine}: valid, mine" in told.out
    assert (
        "spec.batching: acts in simulations, and else only as an engine's configuration" in told.out
    )
    assert "gradient_reference is kept for comparison" in told.out
    assert f"{bad}: spec.ordering.batch_share: must be a number from 0 to 0.5 (got 7)" in told.err
    assert "unknown batching law" in told.err


def test_what_is_shown_is_the_document_again(mine: str, capsys: Out) -> None:
    assert main(["policy", "show", mine]) == 0
    shown = capsys.readouterr().out
    assert Policy.parse(parse_yaml(shown)).sha256 == Policy.parse(parse_yaml(TEXT)).sha256
    assert "# batching: engine model:" in shown
    assert main(["policy", "show", "fixed-32", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == builtin("fixed-32").to_document()


def test_a_policy_may_come_from_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(TEXT))
    assert main(["policy", "show", "-"]) == 0
    assert "batch_share: 0.1" in capsys.readouterr().out


def test_the_schema_has_all_six_points(capsys: Out) -> None:
    assert main(["policy", "schema"]) == 0
    points = json.loads(capsys.readouterr().out)["properties"]["spec"]["properties"]
    assert list(points) == [
        "admission", "ordering", "concurrency", "batching", "preemption", "retry",
    ]  # fmt: skip


def test_a_difference_is_told_by_parameter_and_where_it_cannot_show(mine: str, capsys: Out) -> None:
    assert main(["policy", "diff", mine, mine]) == 0
    assert capsys.readouterr().out == ""
    assert main(["policy", "diff", "fixed-32", "aimd-steady"]) == 1
    told = capsys.readouterr().out.splitlines()
    assert told[0] == 'concurrency.law: "fixed" → "aimd"'
    assert "concurrency.limit: 32 → –" in told
    assert main(["policy", "diff", "fixed-32", mine]) == 1
    assert "# batching doesn't act in the gateway: Happens inside the engine" in (
        capsys.readouterr().out
    )


def test_rendering_prints_flags_and_what_it_could_not_express(mine: str, capsys: Out) -> None:
    assert main(["policy", "render", mine, "--engine", "vllm"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("--scheduling-policy priority \\\n  --max-num-batched-tokens 2048")
    assert (
        "# not expressed: ordering: normal_share 0.1, batch_share 0.1. vLLM's priorities" in shown
    )
    assert "# source: https://docs.vllm.ai/" in shown
    assert main(["policy", "render", mine, "--engine", "vllm", "--strict"]) == 1


@pytest.mark.parametrize(
    "words",
    [
        ["show", "no-such-policy"],
        ["render", "fixed-32", "--engine", "triton"],
        ["diff", "fixed-32", "missing.yaml"],
    ],
)
def test_what_is_not_there_is_bad_configuration(words: list[str], capsys: Out) -> None:
    assert main(["policy", *words]) == 20
    assert capsys.readouterr().err.startswith("headway policy: ")
