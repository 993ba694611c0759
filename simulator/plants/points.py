"""The listed plants besides the congestion plant: agents, tenants, storms, …, with their bars."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from schedulers.admission.base import laws as admission_laws
from schedulers.concurrency.base import LIMIT_CEILING
from schedulers.concurrency.base import laws as concurrency_laws
from schedulers.decision import DecisionPoint
from schedulers.ordering.base import laws as ordering_laws
from schedulers.retry.base import laws as retry_laws
from schedulers.runtime.caps import Caps
from simulator.plants import deadlines, engine, micro_wait, storm
from simulator.plants import measures as m
from simulator.plants.agents import AgentsRun
from simulator.plants.case import REQUEST_LAWS, Bar, Case, Maker, Numbers
from simulator.plants.tenants import ARRIVALS_END_S, BURST, Job, Seen, TenantsRun
from simulator.profile import DEFAULT, load

AGENT_LAWS = ("concur", "concur_reference", "fixed", "kv_reserve_agents")
FIXED_AGENTS = (24, 28, 32)
"""Fixed counts of agents, of which the best is the optimum that a law isn't told."""
MICRO_RATES = (5.0, 20.0, 40.0, 60.0, 100.0, 200.0, 400.0)


def _fixed(size: int) -> Any:
    cls: Any = concurrency_laws.get("fixed")
    return cls(size=size)


def _agents(law: Any, seed: int) -> AgentsRun:
    run = AgentsRun(law, seed)
    run.go(20_000.0)
    return run


def _s10(make: Maker, seed: int) -> Numbers:
    run = _agents(make(), seed)
    best = max(it.total.said / it.now for it in (_agents(_fixed(n), seed) for n in FIXED_AGENTS))
    total, rate = run.total, run.total.said / run.now
    return {
        "attained": rate / best,
        "tokens_per_s": rate,
        "hit_rate": total.hit / total.prompt,
        "recomputed": total.again / total.prompt,
        "refused": 0.0,
        "settle_s": 0.0,
    }


def _s10_collapse(make: Maker, seed: int) -> Numbers:
    """All hundred for 120 s, then the law: steady is what the law reaches from the start."""
    steady_run = AgentsRun(make(), seed)
    steady_run.go(600.0)
    steady = _said(steady_run, 240.0, 600.0)
    run = AgentsRun(make(), seed, free_until=120.0)
    run.go(600.0)
    settle = next(
        (at - 120.0 for at in range(120, 560, 5) if _said(run, at, at + 40.0) >= 0.9 * steady),
        m.NEVER,
    )
    return {
        "attained": _said(run, 240.0, 600.0) / steady,
        "recovery_s": settle,
        "refused": 0.0,
        "settle_s": settle,
    }


def _said(run: AgentsRun, start: float, end: float) -> float:
    """Tokens a second in a span."""
    upto = [(at, said) for at, said in run.said_at if start <= at <= end]
    return (upto[-1][1] - upto[0][1]) / (upto[-1][0] - upto[0][0]) if len(upto) > 1 else 0.0


def _gateway(admission: Any, order: str, seed: int, *, bursting: bool = True) -> Seen:
    ranking: Any = ordering_laws.get(order)
    retry: Any = retry_laws.get("full_jitter")
    return TenantsRun((admission, ranking()), retry(), Caps(), seed, bursting=bursting).go()


def _s11(make: Maker, seed: int) -> Numbers:
    seen, rest = (_gateway(make(), "vtc", seed, bursting=burst) for burst in (True, False))
    reference: Any = admission_laws.get("watermark")
    other = _gateway(reference(), "priority", seed)
    vip = [job for job in _of(seen, "vip") if BURST[0] <= job.offered_at < BURST[1]]
    at_rest = [job.ttft for job in _of(rest, "vip") if job.ttft is not None]
    during = [job.ttft for job in vip if job.ttft is not None]
    normal = [float(seen.service[tenant]) for tenant in ("n1", "n2", "n3", "hog")]
    batch = [job.ended_at for job in _of(seen, "batch") if job.ended_at is not None]
    return {
        "attained": len(during) / len(vip),
        "vip_success": len(during) / len(vip),
        "vip_p99_s": m.quantile(during, 0.99),
        "vip_p99_over_rest": m.quantile(during, 0.99) / m.quantile(at_rest, 0.99),
        "kv_most": seen.kv_most,
        "preempted": seen.preemptions / len(seen.jobs),
        "jain": m.jain(normal),
        "hog": normal[-1] / sum(normal),
        "useful": _useful(seen) / _useful(other),
        "batch_drained_s": max(batch, default=m.NEVER) - ARRIVALS_END_S,
        "untold": float(seen.untold),
        "late_waits": float(seen.late_waits),
        "refused": float(seen.sent_away),
        "settle_s": 0.0,
    }


def _of(seen: Seen, tier: str) -> list[Job]:
    return [job for job in seen.jobs if job.request.tier == tier]


def _useful(seen: Seen) -> float:
    return float(sum(job.output for job in seen.jobs if job.ended_at is not None))


def _s12(make: Maker, seed: int) -> Numbers:
    plain = [micro_wait.play(None, rate, seed) for rate in MICRO_RATES]
    mine = [micro_wait.play(make(), rate, seed) for rate in MICRO_RATES]
    decoding = micro_wait.play(make(), 40.0, seed, seconds=20.0, decoding=4)
    pairs = list(zip(mine, plain, strict=True))
    return {
        "attained": sum(p.mean_ttft for p in plain) / sum(p.mean_ttft for p in mine),
        "over_no_wait_ms": max(1e3 * (own.mean_ttft - bare.mean_ttft) for own, bare in pairs),
        "busy_saved": max(bare.busy - own.busy for own, bare in pairs),
        "waits_while_decoding": float(decoding.waits_while_decoding),
        "refused": 0.0,
        "settle_s": 0.0,
    }


def _s13(make: Maker, seed: int) -> Numbers:
    seen = storm.storm(make, seed)
    return {
        "attained": storm.IDEAL_S / seen.seconds if seen.served == storm.CLIENTS else 0.0,
        "served": seen.served / storm.CLIENTS,
        "attempts": seen.attempts / seen.served,
        "finish_s": seen.seconds if seen.served == storm.CLIENTS else m.NEVER,
        "peak": float(seen.peak),
        "refused": float(seen.attempts - seen.served),
        "settle_s": seen.seconds,
    }


def _s13_steady(make: Maker, seed: int) -> Numbers:
    retries = storm.steady(make(), seed)
    return {"attained": 1.0, "retries": retries, "refused": 0.0, "settle_s": 0.0}


def _s16(load: float, error: float) -> Callable[[Maker, int], Numbers]:
    def play(make: Maker, seed: int) -> Numbers:
        seen = deadlines.play(make(), load, seed, error=error)
        return {
            "attained": seen.attained,
            "dropped": seen.dropped,
            "longest_s": seen.longest_s,
            "refused": 0.0,
            "settle_s": 0.0,
        }

    return play


def _engine(
    law: Any,
    rate: float | None,
    end_s: float,
    seed: int,
    then: tuple[float, float] | None = None,
) -> engine.Outcome:
    config = load(DEFAULT).config()
    return engine.play(law, config, rate=rate, end_s=end_s, seed=seed, then=then)


def _e1(make: Maker, seed: int) -> Numbers:
    seen = _engine(make(), 10.0, 240.0, seed)
    free = _engine(_fixed(LIMIT_CEILING), 10.0, 240.0, seed)
    return {
        "attained": seen.attained(60.0, 220.0) / free.attained(60.0, 220.0),
        "highest": float(max(limit for _, limit in seen.limits)),
        "refused": 0.0,
        "settle_s": 0.0,
    }


def _e2(make: Maker, seed: int) -> Numbers:
    seen = _engine(make(), None, 300.0, seed)
    best = _engine(_fixed(256), None, 300.0, seed)
    return {
        "attained": seen.kept(150.0, 300.0) / best.kept(150.0, 300.0),
        "tokens_per_s": seen.kept(150.0, 300.0) / 150.0,
        "highest": float(max(limit for _, limit in seen.limits)),
        "refused": 0.0,
        "settle_s": 0.0,
    }


def _e3_step(make: Maker, seed: int) -> Numbers:
    tripled = (60.0, 18.0)
    seen = _engine(make(), 6.0, 120.0, seed, tripled)
    free = _engine(_fixed(LIMIT_CEILING), 6.0, 120.0, seed, tripled)
    return {
        "attained": seen.attained(60.0, 105.0) / free.attained(60.0, 105.0),
        "cold_start": seen.attained(0.0, 60.0) / free.attained(0.0, 60.0),
        "highest": float(max(limit for _, limit in seen.limits)),
        "refused": 0.0,
        "settle_s": 0.0,
    }


def _e3_overload(make: Maker, seed: int) -> Numbers:
    seen = _engine(make(), 38.0, 120.0, seed)
    best = _engine(_fixed(256), 38.0, 120.0, seed)
    return {
        "attained": seen.kept(20.0, 120.0) / best.kept(20.0, 120.0),
        "held": seen.held(20.0, 100.0),
        "tokens_per_s": seen.kept(20.0, 120.0) / 100.0,
        "highest": float(max(limit for _, limit in seen.limits)),
        "refused": 0.0,
        "settle_s": 0.0,
    }


def _cases() -> list[Case]:
    agents: dict[str, Any] = {"judged": "kv_reserve_agents", "laws": AGENT_LAWS}
    full = (
        Bar("attained", 1.0, least=True),
        Bar("tokens_per_s", 425, least=True),
        Bar("hit_rate", 0.88, least=True),
        Bar("recomputed", 0.05),
    )
    found = [
        Case("S10", "from cold", "best fixed", _s10, full, **agents),
        Case("S10", "collapse", "from cold", _s10_collapse, (Bar("recovery_s", 120),), **agents),
    ]
    tenants = (
        Bar("vip_success", 0.999, least=True),
        Bar("vip_p99_over_rest", 1.3),
        Bar("kv_most", 0.90, each=True),
        Bar("preempted", 0.01, each=True),
        Bar("jain", 0.93, least=True),
        Bar("hog", 0.36),
        Bar("useful", 0.9, least=True),
        Bar("untold", 0, each=True),
        Bar("late_waits", 0, each=True),
        Bar("batch_drained_s", 300, aim=True),
    )
    found.append(
        Case("S11", "4.3 × load", "all vip", _s11, tenants, DecisionPoint.ADMISSION, "kv_reserve")
    )
    waits = (Bar("over_no_wait_ms", 0.3), Bar("waits_while_decoding", 0, each=True))
    batching = (DecisionPoint.BATCHING, "micro_wait", ("continuous", "micro_wait"))
    found.append(Case("S12", "5 to 400/s", "no wait", _s12, waits, *batching))
    back = (Bar("attempts", 2.5), Bar("finish_s", 40), Bar("peak", 50))
    retry: dict[str, Any] = {"point": DecisionPoint.RETRY, "judged": "full_jitter"}
    found.append(Case("S13", "storm", "20 s", _s13, back, **retry))
    # The reserve of 10 is spent once in 5,000 requests.
    share = (Bar("retries", 0.1 + 10 / 5000),)
    found.append(Case("S13", "steady", "no storm", _s13_steady, share, **retry))
    for busy, error, least in (
        (0.95, 0.0, 0.985), (1.1, 0.0, 0.96), (1.5, 0.0, 0.85), (1.1, 0.5, 0.95), (1.5, 0.5, 0.82),
    ):  # fmt: skip
        label = f"ρ {busy}" + (" ±50 %" if error else "")
        bars = (Bar("attained", least, least=True),)
        kept = (DecisionPoint.ORDERING, "slack_density")
        found.append(Case("S16", label, "all in time", _s16(busy, error), bars, *kept))
    streamed: dict[str, Any] = {"laws": REQUEST_LAWS}
    need = (Bar("attained", 0.95, least=True),)
    found.append(Case("E1", "chat 10/s", "no limit", _e1, need, **streamed))
    most = (Bar("attained", 0.75, least=True),)
    found.append(Case("E2", "backlog", "fixed 256", _e2, most, **streamed))
    load_step = (Bar("attained", 0.95, least=True), Bar("cold_start", 0.9, least=True))
    found.append(Case("E3", "load × 3", "no limit", _e3_step, load_step, **streamed))
    full_house = (Bar("attained", 0.75, least=True), Bar("held", 0.98, least=True))
    found.append(Case("E3", "1.5 × load", "fixed 256", _e3_overload, full_house, **streamed))
    return found


POINT_CASES: tuple[Case, ...] = tuple(_cases())
