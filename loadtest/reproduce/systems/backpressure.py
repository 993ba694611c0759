"""The backpressure source: a gateway with three tiers on KV watermarks, under 4.3 times load."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from loadtest.reproduce import retry_storm
from loadtest.reproduce.curve import Curve, Shade, line, mean_in, points
from loadtest.reproduce.plan import Plan, cell, law, measure
from loadtest.reproduce.series import Series, below, best
from loadtest.reproduce.served.experiment import Claim, Experiment
from loadtest.reproduce.systems.base import system
from loadtest.reproduce.table import Finding, Reproduction, Row
from schedulers.decision import DecisionPoint
from schedulers.runtime.caps import Caps
from simulator.plants import measures as m
from simulator.plants.tenants import ARRIVALS_END_S, BURST, END_S, STEP_S, Job, Seen, TenantsRun

MARKS = ((0.3, 0.4), (0.4, 0.55), (0.5, 0.65), (0.7, 0.85))
"""Yellow and red; the last are the source's."""
CLAIMED = {"kv": 82.0, "vip": 99.99, "before": 180.0, "during": 215.0, "rise": 1.19}
MEASURES = (
    ("kv", "KV cache, most", "%"),
    ("vip", "vip with a first token", "%"),
    ("before", "vip TTFT P99 before the burst", "ms"),
    ("during", "… during it", "ms"),
    ("after", "… after it", "ms"),
    ("rise", "during over before", "times"),
    ("away", "429s", ""),
    ("preempted", "thrown out of the cache", "% of requests"),
    ("hog", "share of the largest normal tenant", "%"),
    ("jain", "Jain over normal tenants", ""),
    ("tokens", "output of finished requests", "thousand tokens"),
    ("batch", "batch finished", "%"),
    ("drained", "batch drained after the last arrival", "s"),
)
EDGES = tuple(5.0 * i for i in range(61))
"""Seconds between which a curve has a mean: while requests come."""
CURVES = (("vip ttft", "vip TTFT, mean by arrival", "ms"), ("kv", "KV cache in use", "%"))
Numbers = Mapping[str, Series]


def _played(
    admission: tuple[str, Mapping[str, Any]],
    order: str,
    end_s: float,
    scene: str,
    seed: int,
) -> dict[str, float]:
    """The gateway's two laws before the engine."""
    name, parameters = admission
    laws = (law(DecisionPoint.ADMISSION, name, **parameters), law(DecisionPoint.ORDERING, order))
    retry = law(DecisionPoint.RETRY, "full_jitter")
    seen = TenantsRun(laws, retry, Caps(), seed, bursting=scene == "burst").go(end_s)
    return _read(seen, end_s)


def _read(seen: Seen, end_s: float) -> dict[str, float]:
    vip, batch = _of(seen, "vip", end_s), _of(seen, "batch", end_s)
    start, end = BURST
    before, during = _p99(vip, 0.0, start), _p99(vip, start, end)
    normal = [float(seen.service[tenant]) for tenant in ("n1", "n2", "n3", "hog")]
    ends = [job.ended_at for job in batch if job.ended_at is not None]
    inside = [job for job in vip if start <= job.offered_at < end]
    begun = [job for job in vip if job.ttft is not None]
    first = [1e3 * (job.ttft or 0.0) for job in begun]
    steps = [STEP_S * place for place in range(len(seen.kv_at))]
    curves = points("vip ttft", mean_in([job.offered_at for job in begun], first, EDGES))
    curves |= points("kv", mean_in(steps, [100.0 * share for share in seen.kv_at], EDGES))
    return curves | {
        "kv": 100.0 * seen.kv_most,
        "vip": 100.0 * sum(job.ttft is not None for job in inside) / len(inside),
        "before": before,
        "during": during,
        "after": _p99(vip, end, ARRIVALS_END_S),
        "rise": during / before,
        "away": float(seen.sent_away),
        "preempted": 100.0 * seen.preemptions / len(seen.jobs),
        "hog": 100.0 * normal[-1] / sum(normal),
        "jain": m.jain(normal),
        "tokens": sum(job.output for job in seen.jobs if job.ended_at is not None) / 1e3,
        "batch": 100.0 * len(ends) / len(batch),
        "drained": max(ends) - ARRIVALS_END_S,
    }


def _of(seen: Seen, tier: str, end_s: float) -> list[Job]:
    return [job for job in seen.jobs if job.request.tier == tier and job.offered_at < end_s - 20]


def _p99(jobs: list[Job], start: float, end: float) -> float:
    """Milliseconds, of those that have a first token."""
    span = [job.ttft for job in jobs if start <= job.offered_at < end and job.ttft is not None]
    return 1e3 * m.quantile(span, 0.99)


@system
class BackpressureSystem:
    """The burst under the source's gateway and Headway's, the marks moved, the retry storm."""

    name: ClassVar[str] = "backpressure"
    summary: ClassVar[str] = (
        "three tiers of tenants at 80 % of an engine of 300,000 KV tokens, from 60 to 180 s at 4.3 "
        "times it; then 1,000 refused clients that come back in four ways"
    )
    laws: ClassVar[str] = (
        "reference `watermark` with `priority`, corrected `kv_reserve` with `vtc`, best fixed "
        "marks of 30/40, 40/55, 50/65, 70/85 % by vip's TTFT; optimum: the corrected laws without "
        "a burst; clients back off by `full_jitter`"
    )
    passes: ClassVar[tuple[int, int]] = (11, 8)
    has_day: ClassVar[bool] = False

    served: ClassVar[Experiment] = Experiment(
        summary=(
            "vip, normal, a large normal tenant and batch, 20 requests a second and 80 from the "
            "5th to the 15th of 25 s, against the engine model as a server with 30,000 tokens of "
            "KV cache; who is refused comes back by `full_jitter`"
        ),
        engine=("--blocks", "1900", "--max-model-len", "8192"),
        load={
            "workload": {
                "kind": "synthetic",
                "prompt_tokens_mean": 400,
                "prompt_tokens_sigma": 0.5,
                "output_tokens_mean": 64,
                "output_tokens_sigma": 0.5,
                "tenants": {"vip": 0.2, "normal": 0.2, "hog": 0.4, "batch": 0.2},
            },
            "tenants": {
                "vip": {"tier": "vip"},
                "normal": {"tier": "normal"},
                "hog": {"tier": "normal"},
                "batch": {"tier": "batch"},
            },
            "arrivals": {
                "process": "spike",
                "base_rate": 20.0,
                "spike_rate": 80.0,
                "spike_at_s": 5.0,
                "spike_s": 10.0,
            },
            "duration_s": 25.0,
        },
        arms={
            "reference": {
                "admission": {"law": "watermark"},
                "ordering": {"law": "priority"},
                "retry": {"law": "full_jitter"},
            },
            "corrected": {
                "admission": {"law": "kv_reserve"},
                "ordering": {"law": "vtc"},
                "retry": {"law": "full_jitter"},
            },
        },
        measures=(
            ("vip ttft p95", "vip TTFT P95", "ms"),
            ("refused", "refused for good", "%"),
            ("output", "output", "tok/s"),
            ("hog share", "the large tenant's share of output", "%"),
        ),
        claims=(
            Claim(
                ("corrected", "vip ttft p95"),
                ("reference", "vip ttft p95"),
                "With what requests will need reserved vip's first tokens take {low} ms at P95 "
                "over HTTP, {high} with a mark on what the cache holds.",
            ),
        ),
    )

    def play(self, plan: Plan) -> Reproduction:
        end_s = 200.0 if plan.reduced else END_S

        def seen(name: str, order: str, scene: str = "burst", **parameters: float) -> Numbers:
            play = partial(_played, (name, parameters), order, end_s, scene)
            return measure(plan, play)

        marks = MARKS[1:2] if plan.reduced else MARKS
        fixed = {
            f"{yellow:.0%}/{red:.0%}".replace("%", ""): seen(
                "watermark", "priority", yellow=yellow, red=red
            )
            for yellow, red in marks
        }
        own, ours = seen("watermark", "priority"), seen("kv_reserve", "vtc")
        rest = seen("kv_reserve", "vtc", scene="rest")
        chosen = best(fixed, "during", least=True)
        rows = self._rows(plan, own, ours, (chosen, fixed[chosen]), rest)
        storms, said = retry_storm.play(plan)
        findings = [*_explained(own, ours, (chosen, fixed[chosen])), *said]
        curves = _curves(own, ours, (chosen, fixed[chosen]), rest)
        return Reproduction((*rows, *storms), tuple(findings), curves)

    def _rows(
        self, plan: Plan, own: Numbers, ours: Numbers, fixed: tuple[str, Numbers], rest: Numbers
    ) -> list[Row]:
        late = ("after", "batch", "drained")
        return [
            Row(
                case="burst",
                measure=words,
                unit=unit,
                claimed=cell(CLAIMED.get(key)),
                reference=cell(own[key]),
                corrected=cell(ours[key]),
                best_fixed=cell(fixed[1][key], fixed[0]),
                optimum=cell(rest[key]) if key in ("kv", "before", "during", "after") else None,
            )
            for key, words, unit in MEASURES
            if not (plan.reduced and key in late)
        ]


def _curves(
    own: Numbers, ours: Numbers, fixed: tuple[str, Numbers], rest: Numbers
) -> tuple[Curve, ...]:
    """Before, in and after the burst."""
    count = len(EDGES) - 1
    return tuple(
        Curve(
            case="burst",
            measure=measured,
            unit=unit,
            along="s",
            x=EDGES[:-1],
            lines=(
                line("reference law", own, key, count),
                line("corrected law", ours, key, count),
                line("best fixed setting", fixed[1], key, count, fixed[0]),
                line("optimum", rest, key, count, "no burst"),
            ),
            shades=(Shade(*BURST, "burst"),),
        )
        for key, measured, unit in CURVES
    )


def _explained(own: Numbers, ours: Numbers, fixed: tuple[str, Numbers]) -> list[Finding]:
    marks, moved = fixed
    return [
        Finding(
            "A mark on what the cache holds comes too late, as what was just let in goes on "
            f"growing: KV reaches {own['kv'].mean:.0f} % and vip's P99 rises "
            f"{own['rise'].mean:.0f} times; with what requests will need reserved, KV stays at "
            f"{ours['kv'].mean:.0f} % and P99 rises {ours['rise'].mean:.2f} times.",
            below(ours["kv"], 90.0) and below(ours["rise"], own["rise"], times=2),
        ),
        Finding(
            f"Lower marks ({marks} %) pay with refusals and don't reach it: vip's P99 is "
            f"{moved['during'].mean:,.0f} ms with {moved['away'].mean:,.0f} 429s, against "
            f"{ours['during'].mean:,.0f} with {ours['away'].mean:,.0f}.",
            below(ours["during"], moved["during"]) and below(ours["away"], moved["away"]),
        ),
        Finding(
            "A queue by tier alone lets one tenant take "
            f"{own['hog'].mean:.0f} % of its tier; counting tokens by tenant leaves it "
            f"{ours['hog'].mean:.0f} %.",
            below(ours["hog"], own["hog"]),
        ),
    ]
