"""The plants of the other points, cut short: what they measure, and that it is the law's doing."""

from __future__ import annotations

from typing import Any

import pytest

from schedulers.decision import DecisionPoint
from schedulers.points import REGISTRIES
from schedulers.runtime.caps import Caps
from simulator.plants import deadlines, micro_wait, storm
from simulator.plants.agents import KV_TOKENS, AgentsRun
from simulator.plants.points import POINT_CASES
from simulator.plants.tenants import BURST, Seen, TenantsRun


def law(point: str, name: str, **parameters: Any) -> Any:
    cls: Any = REGISTRIES[DecisionPoint(point)].get(name)
    return cls(**parameters)


def agents(name: str, **parameters: Any) -> AgentsRun:
    run = AgentsRun(law("concurrency", name, **parameters), 1)
    run.go(240.0)
    return run


def test_without_a_limit_agents_throw_each_other_out_and_the_reserve_keeps_them_in() -> None:
    free, reserved = agents("fixed", size=100), agents("kv_reserve_agents")
    assert free.total.hit / free.total.prompt < 0.4
    assert reserved.total.hit / reserved.total.prompt > 0.7
    assert reserved.total.said > 1.5 * free.total.said
    assert 0.0 <= free._kv <= KV_TOKENS + 1


def test_a_run_of_agents_repeats_and_all_come_to_their_end() -> None:
    runs = [AgentsRun(law("concurrency", "fixed", size=8), 3, agents=6) for _ in range(2)]
    for run in runs:
        run.go(20_000.0)
    assert runs[0].total == runs[1].total
    assert runs[0].total.evicted == 0
    assert runs[0]._kv == pytest.approx(0.0, abs=1e-3)


def gateway(admission: str, order: str, end_s: float) -> Seen:
    laws = (law("admission", admission), law("ordering", order))
    return TenantsRun(laws, law("retry", "full_jitter"), Caps(), 1).go(end_s)


def test_the_reserve_keeps_vip_quick_in_a_burst_that_the_watermark_lets_in() -> None:
    def slowest(seen: Seen) -> float:
        vip = [job for job in seen.jobs if job.request.tier == "vip"]
        return max(job.ttft or 0.0 for job in vip if BURST[0] <= job.offered_at < 80.0)

    reserved, watermark = gateway("kv_reserve", "vtc", 85.0), gateway("watermark", "priority", 85.0)
    assert slowest(reserved) < 1.5
    assert slowest(watermark) > 2.0
    assert reserved.kv_most < 0.8 < watermark.kv_most
    assert (reserved.untold, reserved.late_waits, reserved.preemptions) == (0, 0, 0)


def test_waiting_for_company_costs_time_and_the_gain_rule_knows() -> None:
    plain = micro_wait.play(None, 40.0, 1, seconds=60.0)
    gain = micro_wait.play(law("batching", "micro_wait"), 40.0, 1, seconds=60.0)
    source = law("batching", "micro_wait", rule="reference")
    waited = micro_wait.play(source, 40.0, 1, seconds=60.0)
    assert gain.mean_ttft <= plain.mean_ttft + 0.0003
    assert waited.mean_ttft > plain.mean_ttft + 0.0005
    assert waited.busy < plain.busy
    assert micro_wait.play(source, 40.0, 1, seconds=5.0, decoding=2).waits_while_decoding == 0


def test_a_storm_is_spread_by_what_the_server_tells() -> None:
    seen = storm.storm(lambda: law("retry", "full_jitter"), 1)
    assert seen.served == storm.CLIENTS
    assert seen.attempts / seen.served <= 2.5
    assert seen.seconds <= 40.0
    assert seen.peak <= 50
    deaf = storm.storm(lambda: law("retry", "full_jitter", retry_after_cap_s=0.0), 1)
    assert deaf.peak > 3 * seen.peak


def test_dropping_the_hopeless_is_what_holds_under_overload() -> None:
    def attained(name: str, **parameters: Any) -> float:
        it = law("ordering", name, **parameters)
        return deadlines.play(it, 1.1, 1, requests=1500).attained

    slack, edf = attained("slack_density"), attained("edf")
    assert slack > 0.93
    assert slack > edf
    assert attained("slack_density", drop_hopeless=False) < 0.7 * slack


def test_every_case_names_a_law_that_is_there_and_bars_that_say_something() -> None:
    for case in POINT_CASES:
        assert case.judged in REGISTRIES[case.point].all()
        assert case.bars
