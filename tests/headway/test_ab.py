"""``headway ab`` as a user calls it: power first, a verdict, files and an exit code."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from headway.__main__ import main

SHORT = ["--workload", "fixed-64", "--prompt-tokens", "16", "--max-tokens", "8"]
QUICK = ["--a", "fixed-32", "--b", "fixed-64", *SHORT, "--rate", "12", "--block-s", "1.5"]


def test_a_worse_policy_is_harm_and_exits_11(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "ab"
    words = [*QUICK, "--rate", "25", "--b-set", "concurrency.limit=1", "--out", str(out)]
    assert main(["ab", *words]) == 11
    said = capsys.readouterr()
    power = said.err.index("power, attainment: worse by 1 points is called harm in")
    assert power < said.err.index("files in")
    assert said.out.startswith("Harm because attainment was missed by")
    assert "profile qwen3-32b-h100-tp2" in said.out
    assert {path.name for path in out.iterdir()} == {
        "order.json", "blocks.jsonl", "result.json", "lane-P", "lane-Q",
    }  # fmt: skip


def test_a_pass_exits_0_and_prints_its_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*QUICK, "--blocks", "33", "--margin", "attainment=10%", "--json", "--quiet"]
    assert main(["ab", *words, "--out", str(tmp_path / "ab")]) == 0
    said = capsys.readouterr()
    result = json.loads(said.out)
    assert result["stored"]["verdict"]["outcome"] == "pass"
    assert result == json.loads((tmp_path / "ab" / "result.json").read_text())
    assert said.err == ""


def test_what_can_not_be_told_exits_12(tmp_path: Path) -> None:
    words = [*QUICK, "--blocks", "33", "--quiet", "--out", str(tmp_path / "ab")]
    assert main(["ab", *words]) == 12


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--b", "fixed-32"], "baseline: is required; give --a NAME or FILE"),
        (["--a", "fixed-32", "--b", "no-such"], "policy: is neither a file nor a built-in name"),
        ([*QUICK, "--blocks", "5"], "blocks: must be a whole number from 33"),
        ([*QUICK, "--arrivals", "closed"], "arrivals"),
        ([*QUICK, "--margin", "speed=0.1"], "margins.speed: is no criterion of this SLO"),
        ([*QUICK, "--where", "endpoints"], "endpoints: must be 2 for where=endpoints"),
    ],
)
def test_what_can_not_be_carried_out_exits_20_with_the_remedy(
    words: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ab", *words, "--out", str(tmp_path / "ab")]) == 20
    assert told in capsys.readouterr().err


def test_an_endpoint_that_is_not_there_exits_30(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*QUICK, "--endpoint", "http://127.0.0.1:9", "--out", str(tmp_path / "ab")]
    assert main(["ab", *words]) == 30
    assert "is it up?" in capsys.readouterr().err


def test_ctrl_c_keeps_the_blocks_that_had_closed(tmp_path: Path) -> None:
    out = tmp_path / "ab"
    command = [sys.executable, "-m", "headway", "ab", *QUICK, "--blocks", "900", "--out", str(out)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("block ") and not line.startswith("block 0 "):
                process.send_signal(signal.SIGINT)
                break
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.startswith("Cancelled after ")
    result = json.loads((out / "result.json").read_text())
    assert result["status"] == "cancelled"
    assert 0 < len(result["stored"]["evidence"]["blocks"]) < 900
