"""Two engines in processes of their own, asked over real HTTP by the worker's own process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from documents.canonical import canonical
from measurement.comparison.stored import recompute
from tests.loadtest.ab.asked import WORSE, order

AGAIN = 3
"""A machine too busy to send on time says so, and is asked once more."""


def run(order: Path, out: Path) -> tuple[list[dict[str, Any]], int]:
    """What the worker said, and its exit code."""
    command = [sys.executable, "-m", "loadtest.ab.worker", "--order", str(order)]
    done = subprocess.run(
        [*command, "--out", str(out)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=150,
        check=False,
    )
    return [json.loads(line) for line in done.stdout.splitlines()], done.returncode


@pytest.mark.timeout(480)
def test_a_worker_starts_both_engines_and_finds_the_worse_policy(tmp_path: Path) -> None:
    asked = order(
        candidate=WORSE,
        where="engines",
        arrivals={"process": "poisson", "rate": 12},
        block_s=1.3,
        washout_s=0.3,
    )
    path = tmp_path / "order.json"
    path.write_text(json.dumps(asked.to_document()))
    for again in range(AGAIN):
        said, code = run(path, tmp_path / f"out{again}")
        assert [said[0]["type"], said[-1]["type"]] == ["started", "finished"], said[-1]
        result = said[-1]["result"]
        verdict = result["stored"]["verdict"]
        if "the client was too slow" not in verdict["because"]:
            break
    assert (verdict["outcome"], code) == ("harm", 11), verdict["because"]
    assert verdict["k"] >= 20
    assert [one["type"] for one in said].count("block") == verdict["k"]
    assert canonical(recompute(result["stored"])) == canonical(result["stored"])
    assert result["client"]["candidate"]["on_time_share"] > 0.9
    assert {"progress", "block"} <= {one["type"] for one in said}
