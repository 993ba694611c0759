"""A run made up from a fixed seed: its figures, and any frame of it, as the server says them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np

NEEDED = {"p50": 6, "p95": 72, "p99": 368}
STEP = 10
EVENTS = [
    *("t", "in_flight", "in_flight_max", "limit", "shadow_limit"),
    *("running", "waiting", "kv_percent"),
]
LATENCIES = [f"{name}_p{q}" for name in ("ttft", "tpot", "e2e") for q in (50, 95, 99)]
COHORTS = [
    *("t", "open", "n", "offered_rps", "sent_rps", "goodput_rps"),
    *(*LATENCIES, "attainment_percent"),
]
Row = list[float | None]
Json = dict[str, Any]


def _line(key: str, label: str, color: str = "s1", dash: str = "none", **more: Any) -> Json:
    return {"key": key, "label": label, "color": color, "dash": dash, "step": False, "d": 0} | more


def _three(name: str, digits: int) -> list[Json]:
    return [
        _line(f"{name}_{q}", q.upper(), dash=q, d=digits, grey_under_n=least)
        for q, least in NEEDED.items()
    ]


def _figure(
    id_: str, title: str, sub: str, unit: str, source: str, series: Any, **more: Any
) -> Json:
    base = {"id": id_, "title": title, "sub": sub, "unit": unit, "source": source}
    return base | {"series": series, "marks": [], "y": {"min": 0}, "scale_toggle": False} | more


ATTAINMENT = {"marks": [{"y": 99, "label": "SLO ≥ 99 %"}], "y": {"max": 100}}
LIMIT = [
    _line("in_flight", "In flight", "s0", fill=0.14, d=1),
    _line("limit", "Limit", step=True),
]
FIGURES: Json = {
    "figures": [
        _figure(
            *("load", "Load", "requests per second", "/s", "cohorts"),
            [
                _line("offered_rps", "Offered", "s0", d=1),
                _line("sent_rps", "Sent", "s3", "p95", d=1),
                _line("goodput_rps", "Goodput", d=1),
            ],
        ),
        _figure(
            *("ttft", "TTFT", "from intended start, ms", "ms", "cohorts", _three("ttft", 0)),
            marks=[{"y": 800, "label": "SLO ≤ 800 ms"}],
            scale_toggle=True,
        ),
        _figure(
            *("tpot", "TPOT", "ms per output token", "ms", "cohorts", _three("tpot", 1)),
            marks=[{"y": 60, "label": "SLO ≤ 60 ms"}],
            scale_toggle=True,
        ),
        _figure(
            *("e2e", "E2E", "from intended start, s", "s", "cohorts", _three("e2e", 2)),
            scale_toggle=True,
        ),
        _figure("in_flight", "In flight and limit", "requests", "", "events", LIMIT),
        _figure(
            *("engine", "Running and waiting", "requests in the engine", "", "events"),
            [_line("running", "Running"), _line("waiting", "Waiting", "s2", "p95")],
        ),
        _figure(
            *(
                "kv_use",
                "KV use",
                "% of blocks",
                "%",
                "events",
                [_line("kv_percent", "KV use", d=1)],
            ),
            y={"min": 0, "max": 100},
        ),
        _figure(
            *("attainment", "Attainment", "% of offered", "%", "cohorts"),
            [_line("attainment_percent", "Attainment", d=2)],
            **ATTAINMENT,
        ),
        _figure("limit", "Limit", "requests in flight allowed", "", "events", LIMIT),
    ],
    "event_columns": EVENTS,
    "cohort_columns": COHORTS,
}


def with_shadow() -> Json:
    """The figures of a run that has a shadow."""
    line = _line("shadow_limit", "Shadow's limit", "s4", "shadow", step=True)
    beside = {"active": "limit", "shadow": "shadow_limit", "within": 0.1, "color": "s4"}
    return FIGURES | {
        "figures": [
            figure | {"series": [*LIMIT, line], "divergence": beside}
            if figure["id"] == "limit"
            else figure
            for figure in FIGURES["figures"]
        ]
    }


@dataclass
class Story:
    """``seconds`` of a run that lasts ``duration``; metrics were missing from ``stale`` on."""

    seconds: int = 860
    duration: int = 1200
    seed: int = 7
    stale: tuple[int, int] = (492, 518)
    shadow: bool = False
    events: list[Row] = field(default_factory=list)
    cohorts: list[Row] = field(default_factory=list)
    decisions: list[Json] = field(default_factory=list)

    def __post_init__(self) -> None:
        draw = np.random.default_rng(self.seed)
        limit, flying, tide = 32.0, 4.0, 0.0
        for t in range(self.seconds):
            tide = 0.94 * tide + 0.7 * draw.standard_normal()
            rate = (40 + 5 * math.sin(t / 140) + 2 * tide) * min(1.0, 0.3 + t / 60)
            slow = 1.5 if 372 <= t < 396 else 1.0
            flying = min(limit, 0.7 * flying + 0.3 * rate * 3.2 * slow + 3 * draw.standard_normal())
            limit = self._decide(t, limit, flying, 3.3 * slow + 0.05 * draw.standard_normal())
            hidden = self.stale[0] <= t < self.stale[1]
            signals: Row = [None] * 3
            if not hidden:
                waiting = max(0.0, round((flying - 150) / 6 + draw.standard_normal()))
                signals = [round(flying - waiting), waiting, round(6 + 0.42 * flying + tide, 2)]
            shadow = math.floor(limit * (0.95 if t < 300 else 0.7)) if self.shadow else None
            level = [t, round(flying, 2), math.ceil(flying) + 1, limit, shadow]
            self.events.append([*level, *signals])
            if (t + 1) % STEP == 0:
                self.cohorts.append(self._cohort(t + 1 - STEP, rate, flying / 150 * slow, draw))

    def _decide(self, t: int, limit: float, flying: float, latency: float) -> float:
        after, reason = limit, "steady"
        if t % 4:
            return limit
        if t in (376, 388, 784):
            after, reason = math.floor(limit * 0.85), "rtt_inflated"
        elif t == 800:
            after, reason = math.floor(limit / 0.85), "undo"
        elif flying > 0.9 * limit and limit < 190:
            after, reason = math.ceil(limit * (1.25 if t < 40 else 1.03)), "grown"
        elif flying < 0.5 * limit:
            reason = "app_limited"
        inputs = {"current_s": round(latency, 3), "baseline_s": 3.35, "in_flight": round(flying)}
        decision = {"at": t + 0.25, "point": "concurrency", "law": "aimd", "before": limit}
        self.decisions.append(decision | {"after": after, "reason": reason, "inputs": inputs})
        return float(after)

    def _cohort(self, t: int, rate: float, load: float, draw: np.random.Generator) -> Row:
        n = int(draw.poisson(rate * STEP))
        first = 160 + 90 * load**3
        tail = (1.0, 1.7, 2.3 * (1.9 if 370 <= t < 400 else 1.0))
        ttft = [round(first * k * (1 + 0.05 * draw.standard_normal()), 1) for k in tail]
        tpot = [round((24 + 9 * load) * k, 2) for k in (1.0, 1.2, 1.35)]
        e2e = [round((first + (24 + 9 * load) * 128 * k) / 1000, 3) for k in (0.8, 1.6, 2.2)]
        missed = int(draw.binomial(n, 0.004 if ttft[2] < 800 else 0.05))
        opened = float(t + STEP > self.seconds - 9 and self.seconds < self.duration)
        share = round(100 * (n - missed) / max(n, 1), 3)
        return [t, opened, n, n / STEP, n / STEP, (n - missed) / STEP, *ttft, *tpot, *e2e, share]

    def _shadow(self, since: int, seconds: int) -> Json:
        """It cuts once, at 300 s, and is asked for nothing else."""
        cut = {"n": 0, "at": 300.0, "before": 95, "after": 70, "reason": "rtt_inflated"}
        decided = [cut | {"inputs": {"median": 2.1}}] if since <= 300 < seconds else []
        said = f"Agreed in 40.0 % of {seconds} steps; first diverged at 300.0 s."
        return {"decisions": decided, "said": [said], "cannot_know": "It forecasts nothing."}

    def frame(self, seq: int, *, since: int = 0, status: str = "running") -> Json:
        """What changed in the seconds from ``since`` to ``seq``; second s is stored as s + 1."""
        seconds = min(seq, self.seconds)
        live = status in ("running", "queued", "cancelling")
        run = {"status": status, "elapsed_s": seconds, "duration_s": self.duration}
        run |= {"left_s": self.duration - seconds, "updated_at": datetime.now(UTC).isoformat()}
        return {
            "type": "frame",
            "full": since == 0,
            "seq": seq,
            "run": run,
            "verdict": verdict(live=live, seconds=seconds),
            "tiles": tiles(self, seconds),
            "events": {"step": 1, "rows": self.events[since:seconds]},
            "cohorts": {
                "step": STEP,
                "rows": [row for row in self.cohorts if since - STEP <= (row[0] or 0) < seconds],
            },
            "decisions": [one for one in self.decisions if since <= one["at"] < seconds],
            "shadow": self._shadow(since, seconds) if self.shadow else None,
            "summaries": SENTENCES if seconds >= STEP else {},
            "failures": FAILURES if seconds >= STEP else [],
            "tenants": TENANTS if seconds >= STEP else [],
        }


SENTENCES = {
    "load": "Goodput is 99.4 % of offered; the widest gap, at 6:20, was 1.9 /s.",
    "ttft": "P99 above 800 ms in 3 of 86 cohorts, first at 6:10.",
    "tpot": "P99 at most 44.9 ms in 86 cohorts; the objective allows 60 ms.",
    "e2e": "P99 between 4.1 and 9.7 s; no objective.",
    "in_flight": "At most 178 in flight; the limit was reached in 61 of 860 rows.",
    "engine": "Up to 5 waiting, first at 4:12. Its metrics were missing for 26 s.",
    "kv_use": "At most 81.3 %, at 4:20.",
    "attainment": "Below 99 % in 4 of 86 cohorts, first at 6:10.",
}


def verdict(*, live: bool, seconds: int) -> Json:
    because = (
        "Passes because 99.44 % of 31,905 offered requests met every objective, and the one-sided "
        "95 % lower bound, 99.20 %, is above the target of 99.00 %."
    )
    if not seconds:
        said = {"outcome": "none", "word": "Queued", "because": "Waiting for a worker to take it."}
        return said | {"detail": "", "state": "so far"}
    if seconds < 20:
        because = "Only 212 of the 368 requests that P99 needs are resolved."
        said = {"outcome": "none", "word": "Collecting", "because": because, "detail": ""}
        return said | {"state": "so far"}
    said = {"outcome": "pass", "word": "Passing" if live else "Passed", "because": because}
    detail = "Stimulus valid: 99.98 % of the schedule handed over within 10 ms, none dropped."
    return said | {"state": "so far" if live else "final", "detail": detail}


def tile(id_: str, title: str, value: float, text: str, unit: str, **more: Any) -> Json:
    base: Json = {"id": id_, "title": title, "value": value, "text": text, "unit": unit}
    base |= {"n": 31905, "n_text": "31,905", "effective_n": None, "target": None, "spark": []}
    return (
        base
        | {"target_text": None, "bad": "above", "status": "none", "enough": True, "judged": True}
        | more
    )


def tiles(story: Story, seconds: int) -> list[Json]:
    done = [row for row in story.cohorts if (row[0] or 0) < seconds]

    def spark(key: str, scale: float = 1.0) -> list[float | None]:
        values = [row[COHORTS.index(key)] for row in done[-60:]]
        return [None if value is None else value * scale for value in values]

    if not done:
        names = {"attainment": "Attainment (offered)", "goodput": "Goodput", "ttft": "TTFT P99"}
        names |= {"tpot": "TPOT P99", "rejected": "Rejected and shed", "errors": "Errors"}
        nothing = {"value": None, "n": None, "n_text": "–"}
        return [tile(id_, name, 0, "–", "") | nothing for id_, name in names.items()]
    few = seconds < 20
    ends = {"low": 0.9915, "high": 0.9973, "low_text": "99.15", "high_text": "99.73"}
    return [
        tile(
            *("attainment", "Attainment (offered)", 0.9944, "99.44", "%"),
            **(ends | {"target": 0.99, "target_text": "≥ 99.00 %", "bad": "below"}),
            min=0.988,
            max=1.0,
            status="warn" if few else "ok",
            effective_n=2573,
            spark=spark("attainment_percent", 0.01),
        ),
        tile(
            *("goodput", "Goodput", 39.6, "39.6", "req/s"),
            low=38.9,
            high=40.2,
            low_text="38.9",
            high_text="40.2",
            min=36,
            max=42,
            bad="below",
            spark=spark("goodput_rps"),
        ),
        tile(
            *("ttft", "TTFT P99", 632, "632", "ms"),
            low=578,
            high=707,
            low_text="578",
            high_text="707",
            target=800,
            target_text="≤ 800 ms",
            min=500,
            max=900,
            status="none" if few else "ok",
            enough=not few,
            spark=spark("ttft_p99"),
        ),
        tile(
            *("tpot", "TPOT P99", 43.3, "43.3", "ms"),
            low=42.4,
            high=44.4,
            low_text="42.4",
            high_text="44.4",
            target=60,
            target_text="≤ 60 ms",
            min=39,
            max=64,
            status="ok",
            spark=spark("tpot_p99"),
        ),
        tile("rejected", "Rejected and shed", 0.0015, "0.15", "%", min=0, max=0.003),
        tile("errors", "Errors", 0.00009, "0.009", "%", min=0, max=0.0002),
    ]


FAILURES = [
    {
        "outcome": "rejected_429",
        "count": 15,
        "share": 0.00047,
        "first_error": "HTTP 429: too many queued requests",
    },
    {
        "outcome": "in_band_error",
        "count": 2,
        "share": 0.00006,
        "first_error": '{"error": {"type": "engine_dead"}}',
    },
    {"outcome": "incomplete", "count": 1, "share": 0.00003, "first_error": ""},
]
TENANTS = [
    {
        "tenant": name,
        "tier": tier,
        "offered": offered,
        "attainment": share,
        "shed": shed,
        "token_share": tokens,
        "low": share - 0.002,
        "high": share + 0.001,
        "target": 0.99,
        "ttft_p99_ms": ttft,
        "tpot_p99_ms": 43.1,
        "ttft_rough_ms": None,
        "tpot_rough_ms": None,
    }
    for name, tier, offered, share, shed, tokens, ttft in (
        ("assistant", "vip", 11208, 0.9981, 0, 0.382, 588),
        ("support-bot", "normal", 9874, 0.9947, 3, 0.309, 622),
        ("docs-search", "normal", 6431, 0.9936, 5, 0.176, 641),
        ("nightly-eval", "batch", 4392, 0.9854, 24, 0.133, 742),
    )
]
PREVIEW: Json = {
    "duration_s": 60.0,
    "requests": 1213,
    "prompt_tokens": 612_803,
    "output_tokens": 155_264,
    "exact": True,
    "mean_prompt_tokens": 505.2,
    "mean_output_tokens": 128.0,
    "rate": [[t, 20 + 6 * math.sin(t * 1.7) + (t % 3)] for t in range(60)],
    "concurrency": None,
    "prompt_lengths": [
        {
            "low": 40 * k + 20,
            "high": 40 * k + 59,
            "count": round(180 * math.exp(-((k - 9) ** 2) / 30)),
        }
        for k in range(24)
    ],
    "output_lengths": [{"low": 128, "high": 128, "count": 1213}],
    "tenants": {"default": 1.0},
}
