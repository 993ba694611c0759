"""The ladder measures a served engine, rung by rung, and leaves its files."""

from __future__ import annotations

from pathlib import Path

from engines.egress import EgressRules
from headway.running.progress import Progress
from loadtest import recorder
from loadtest.calibration.ladder import Aim, Ladder, climb
from tests.simulator.serving import serving

SHORT = {"kind": "fixed", "prompt_tokens": 20, "output_tokens": 5}


async def test_each_rung_becomes_a_log_and_the_last_is_kept_for_the_test(tmp_path: Path) -> None:
    ladder = Ladder(rungs=(1, 3), test=2, seconds=1.0, workload=SHORT)
    async with serving() as server:
        url = f"http://127.0.0.1:{server.port}"
        aim = Aim({"base_url": url, "model": "simulated", "kind": "simulated"}, EgressRules.open())
        logs, test = await climb(ladder, aim, tmp_path, Progress(quiet=True))
    assert [log.name for log in [*logs, test]] == ["1 at once", "3 at once", "2 at once"]
    for log in [*logs, test]:
        assert all(each.measured is not None for each in log.trace)
        assert {(each.prompt_tokens, each.output_tokens) for each in log.trace} == {(20, 5)}
    assert (tmp_path / "users-3" / recorder.SUMMARY).exists()
