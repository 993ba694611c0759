"""``headway simulate`` and ``headway profiles``: a report, files, an exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headway.__main__ import main

TRACE = "TIMESTAMP,ContextTokens,GeneratedTokens\n" + "".join(
    f"2023-11-16 18:15:4{second}.6805900,{300 + second},20\n" for second in range(6)
)


def test_a_rate_is_simulated_and_reported(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ["--rate", "4", "--duration", "10s", "--out", str(tmp_path), "--speed-report"]
    assert main(["simulate", *words, "--policy", "aimd", "--seed", "3"]) == 0
    said = capsys.readouterr()
    assert "Note: A model, not a measurement: profile qwen3-32b-h100-tp2" in said.out
    assert "× real time" in said.err
    assert json.loads((tmp_path / "scenario.json").read_text())["seed"] == 3
    assert main(["simulate", *words]) == 20
    assert "is not empty" in capsys.readouterr().err


def test_a_trace_is_simulated_whole(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "trace.csv"
    file.write_text(TRACE)
    assert main(["simulate", "--trace", str(file), "--json", "--trace-speed", "2"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["scheduled"], summary["duration_s"]) == (6, 3.0)
    assert summary["model"]["profile"] == "qwen3-32b-h100-tp2"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--trace", "none.csv"], "can't be read"),
        (["--trace", "none.csv", "--rate", "3"], "leave out --rate"),
        (["--profile", "none"], "unknown; a .yaml file"),
        (["--rate", "1", "--slo", "none"], "neither a file nor"),
        ([], "rate"),
    ],
)
def test_what_is_wrong_is_bad_configuration(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", *words]) == 20
    assert told in capsys.readouterr().err


def test_profiles_are_listed_and_shown_with_their_errors(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["profiles", "list"]) == 0
    listed = capsys.readouterr().out
    assert "llama3-8b-a100-tp1               not checked" in listed
    assert main(["profiles", "show", "qwen3-32b-h100-tp2"]) == 0
    shown = capsys.readouterr().out
    assert "t_w_ms               10.3 ms" in shown
    assert "Mean TPOT error 3.6 %" in shown
    assert main(["profiles", "show", "none"]) == 20
