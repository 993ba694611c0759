"""``headway sweep`` as a user calls it, over a real socket; and its page tells every option."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

import pytest

from headway.__main__ import main
from headway.commands import capacity, sweep
from tests.engine_process import engine_process

PAGE = (Path(__file__).parents[2] / "docs" / "capacity.md").read_text("utf-8")


@pytest.mark.parametrize("command", [sweep, capacity])
def test_every_option_has_its_row(command: object) -> None:
    parser = argparse.ArgumentParser(add_help=False)
    command.add_arguments(parser)  # type: ignore[attr-defined]
    options = {option for action in parser._actions for option in action.option_strings}
    section = PAGE.split(f"## Options of headway {command.NAME}")[1]  # type: ignore[attr-defined]
    rows = [line for line in re.split(r"\n## ", section)[0].splitlines() if line.startswith("| `")]
    told = {o for row in rows for o in re.findall(r"`(--[a-z-]+)", row.split(" | ")[0])}
    assert told == options


def test_a_sweep_of_a_served_engine_leaves_its_runs_and_one_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with engine_process() as engine:
        code = main(
            [
                *("sweep", "--endpoint", engine.url, "--from", "4", "--to", "12", "--steps", "3"),
                *("--repeats", "1", "--duration", "3s", "--max-tokens", "4", "--quiet"),
                *("--arrivals", "constant"),
                *("--out", str(tmp_path / "s"), "--json"),
            ]
        )
    found = json.loads(capsys.readouterr().out)
    asked = [row["asked_rate"] for row in found["rungs"]]
    assert asked == [4, 8, 12], "so few requests end no ladder"
    # Far below the knee there is none to find; a machine too busy to send on time says 13.
    late = all(row["verdict"] == "invalid" for row in found["rungs"])
    assert code == (13 if late else 12)
    assert found == json.loads((tmp_path / "s" / "sweep.json").read_text())
    assert {p.name for p in (tmp_path / "s").iterdir()} >= {f"1-{rate:g}" for rate in asked}
    assert (tmp_path / "s" / "1-4" / "samples.jsonl").exists()
