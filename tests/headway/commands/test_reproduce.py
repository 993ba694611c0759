"""``headway reproduce``: tables, files, and a check that fails where a sentence isn't supported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from documents.yaml_text import parse_yaml
from headway.__main__ import main
from loadtest.reproduce.plan import Plan
from loadtest.reproduce.series import Series
from loadtest.reproduce.systems import base
from loadtest.reproduce.table import Cell, Finding, Reproduction, Row
from measurement.slo import Slo
from schedulers.document import Policy


class Small:
    """A system of one number: its sentence holds with more than one seed."""

    name = "small"
    summary = "one number"
    laws = "none"
    passes = (1, 1)
    has_day = False

    def play(self, plan: Plan) -> Reproduction:
        value = Series(tuple(float(seed) for seed in plan.seeds))
        row = Row(case="case", measure="seed", reference=Cell(value))
        return Reproduction((row,), (Finding("There are seeds.", len(plan.seeds) > 1),))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base.systems, "all", lambda: {"small": Small})


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("seeds", "code"), [("1", 1), ("2", 0), ("3", 0)])
def test_a_check_fails_where_a_sentence_is_not_supported(
    seeds: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", "all", "--seeds", seeds, "--check"]) == code
    out = capsys.readouterr().out
    assert out.startswith("## small\n\none number.\n")
    assert "( ): after" not in out
    assert "–: no such number" in out
    assert ("NOT SUPPORTED BY THIS RUN: There are seeds." in out) is bool(code)
    decided = "Too few seeds: nothing is decided over" not in out
    assert decided is (int(seeds) > 2)
    assert main(["reproduce", "small", "--seeds", seeds]) == 0


@pytest.mark.usefixtures("small")
def test_out_has_one_file_a_system_with_every_seeds_value(tmp_path: Path) -> None:
    out = tmp_path / "new" / "place"
    assert main(["reproduce", "small", "--seeds", "3", "--out", str(out)]) == 0
    found: dict[str, Any] = json.loads((out / "small.json").read_text("utf-8"))
    assert found["system"] == "small"
    assert found["rows"][0]["reference_law"]["values"] == [1.0, 2.0, 3.0]
    assert found["reduced"] is False


@pytest.mark.parametrize(
    "words",
    [
        ["nope"],
        ["all", "--seeds", "0"],
        ["all", "--out", "/dev/null/x"],
        ["batching", "--scale", "0.5"],
        ["batching", "--scale", "61"],
        ["batching", "--scale", "2", "--reduced"],
        ["agents", "--scale", "2"],
        ["queueing", "--scale", "2", "--served"],
        ["queueing", "--jobs", "0"],
        ["queueing", "--jobs", "2", "--served"],
        ["queueing", "--resume"],
    ],
)
def test_what_is_wrong_is_bad_configuration(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", *words]) == 20
    assert capsys.readouterr().err.startswith("headway reproduce: ")


CONTRADICTORY = (
    Path(__file__).parents[2] / "loadtest" / "reproduce" / "fixtures" / "contradictory.json"
)


def test_a_configuration_is_linted_and_converted_to_documents_that_can_be_piped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["reproduce", "queueing", "--config", str(CONTRADICTORY), "--convert"]
    assert main([*words, "--check", "--out", str(tmp_path)]) == 1, "it contradicts itself"
    printed = capsys.readouterr()
    assert "contradiction: loadgen.qps 20" in printed.err
    policy, slo, load = printed.out.split("---\n")
    assert Policy.parse(parse_yaml(policy)).name == "converted"
    assert Slo.parse(parse_yaml(slo)).target == 0.99
    assert "# max_seqs: 32" in load
    assert (tmp_path / "policy.yaml").read_text("utf-8") == policy
    assert {file.name for file in tmp_path.iterdir()} == {
        "policy.yaml", "slo.yaml", "scenario.yaml"
    }  # fmt: skip


@pytest.mark.parametrize(
    "words",
    [
        ["agents", "--config", str(CONTRADICTORY)],
        ["queueing", "--config", "no-such.json"],
        ["queueing", "--convert"],
        ["queueing", "--config", str(CONTRADICTORY), "--profile", "nope"],
    ],
)
def test_a_configuration_where_none_is_read_is_refused(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", *words]) == 20
    assert capsys.readouterr().err.startswith("headway reproduce: ")
