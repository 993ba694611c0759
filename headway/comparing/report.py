"""A comparison as text: what its plan could find, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loadtest.ab.order import Order
from loadtest.ab.result import CANCELLED, Result, arm_json
from measurement.comparison.assignment import Arm
from measurement.comparison.criterion_verdict import CriterionVerdict
from measurement.comparison.power import Power


def power_lines(order: Order, power: Sequence[Power]) -> list[str]:
    """What is said before it starts."""
    plan = order.plan
    lines = [
        f"{order.candidate.name} against {order.baseline.name}, {order.where}, seed {plan.seed}",
        f"{plan.blocks} blocks of {plan.requests} requests an arm, {order.seconds:g} s of load",
        "looks after 25, 50, 75 and 100 % of the blocks",
    ]
    for one in power:
        lines.append(
            f"power, {one.criterion}: worse by {100 * one.gap:.3g} points is called harm in "
            f"{100 * one.harm:.0f} %; equal arms pass in {100 * one.passes:.0f} %"
        )
        lines += [f"  warning: {warning}" for warning in one.warnings]
    return lines


def report(result: Result) -> str:
    """The verdict first, then what it rests on."""
    verdict = result.verdict
    head = ""
    if result.status == CANCELLED:
        head = f"Cancelled after {len(result.evidence.blocks)} blocks. Until then: "
    more = [one for one in verdict.reasons if one[1:].rstrip(".") not in verdict.because]
    lines = [head + verdict.because, *more]
    lines += ["", *columns(_CRITERIA, [_criterion(one) for one in verdict.criteria])]
    lines += ["", *columns(("", "A, baseline", "B, candidate"), _arms(result))]
    lines += ["", *result.notes] if result.notes else []
    lines += ["", f"seed {verdict.seed}, plan {verdict.plan_sha256[:12]}, α {verdict.alpha:g}"]
    return "\n".join(lines) + "\n"


_CRITERIA = (
    "criterion",
    "judged",
    "k",
    "n A/B",
    "bad A",
    "bad B",
    "m",
    "r harm",
    "r pass",
    "harm >",
    "pass <",
    "detectable",
)


def _criterion(row: CriterionVerdict) -> tuple[str, ...]:
    return (
        row.name,
        row.outcome,
        str(row.k),
        f"{row.baseline.offered:,}/{row.candidate.offered:,}",
        _percent(row.baseline_rate),
        _percent(row.candidate_rate),
        *(
            _points(value)
            for value in (
                row.m,
                row.r_harm,
                row.r_pass,
                row.harm_margin,
                row.pass_margin,
                row.detectable,
            )
        ),
    )


def _arms(result: Result) -> list[tuple[str, ...]]:
    a, b = (arm_json(result.totals[arm]) for arm in Arm)
    rows = [
        ("requests", f"{a['judged']:,}", f"{b['judged']:,}"),
        ("attainment", _percent(a["attainment"]), _percent(b["attainment"])),
        ("failed", f"{a['failed']:,}", f"{b['failed']:,}"),
    ]
    for name, title in (("ttft_ms", "TTFT"), ("tpot_ms", "TPOT"), ("e2e_ms", "E2E")):
        rows += [
            (f"{title} {percent.upper()}", _ms(a[name], percent), _ms(b[name], percent))
            for percent in ("p50", "p95", "p99")
        ]
    on_time = (result.lateness[arm]["on_time_share"] for arm in Arm)
    return [*rows, ("sent on time", *(_percent(value) for value in on_time))]


def columns(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Left the first two columns where they are words, right the numbers."""
    widths = [max(len(row[at]) for row in (heads, *rows)) for at in range(len(heads))]
    words = 2 if len(heads) > 3 else 1
    return [
        "  ".join(
            text.ljust(width) if at < words else text.rjust(width)
            for at, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (heads, *rows)
    ]


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.2f} %"


def _points(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.2f}"


def _ms(found: dict[str, Any], percent: str) -> str:
    """A percentile of too few values is shown as such, with a tilde."""
    value, rough = found[percent], found["rough"].get(percent)
    if value is not None:
        return f"{value:,.1f} ms"
    return "–" if rough is None else f"~{rough:,.1f} ms"
