"""The verdict of a comparison in sentences that a person can act on."""

from __future__ import annotations

from collections.abc import Sequence

from measurement.comparison.confidence_sequence import LEAST_BLOCKS
from measurement.comparison.criterion_verdict import (
    HARM,
    INCONCLUSIVE,
    INVALID,
    PASS,
    CriterionVerdict,
)
from measurement.comparison.looks import POOLED_EVENTS

NO_BLOCK = "Inconclusive because no block has ended yet."
STREAMED = ("ttft_ms", "ttfat_ms", "tpot_ms", "itl_ms", "longest_gap_ms")
"""Metrics that only a streamed answer has."""


def because(
    outcome: str,
    rows: Sequence[CriterionVerdict],
    reasons: Sequence[str],
    blocks: int,
    *,
    over: bool,
) -> str:
    """Why the verdict is what it is."""
    if outcome == INVALID:
        return f"Invalid because this is no evidence. {reasons[0]}"
    if outcome == HARM:
        return _harm(rows, reasons)
    if outcome == PASS:
        return f"Passing because {_joined([_passed(row) for row in rows])}."
    if not blocks:
        return NO_BLOCK
    end = ", and the planned time is over: a person decides" if over else ""
    return f"Inconclusive because {_open([row for row in rows if row.outcome != PASS])}{end}."


def reasons(outcome: str, rows: Sequence[CriterionVerdict]) -> tuple[str, ...]:
    """Every criterion that stands in the way of a pass, in a sentence."""
    if outcome == HARM:
        return tuple(f"{capital(_harmed(row))}." for row in rows if row.outcome == HARM)
    if outcome != INCONCLUSIVE:
        return ()
    if not any(row.k or row.unused for row in rows):
        return (NO_BLOCK,)
    return tuple(f"{capital(text)}." for text in _told([r for r in rows if r.outcome != PASS]))


def unequal_load(p: float) -> str:
    """Live arms that did not get as much."""
    return (
        f"The arms were not offered the same load: counts as unequal as these have p = {p:.2g}, "
        "where 0.001 may be. Mend how traffic is shared out, and start anew."
    )


def silent(arm: str) -> str:
    """Telemetry that does not come."""
    return f"The {arm}'s telemetry is stale, and silence is no evidence. Find out what fell silent."


def capital(text: str) -> str:
    """A sentence's first letter, without touching the rest."""
    return text[:1].upper() + text[1:]


def _harm(rows: Sequence[CriterionVerdict], reasons: Sequence[str]) -> str:
    if reasons:
        return f"Harm because {reasons[0][:1].lower()}{reasons[0][1:]}."
    return f"Harm because {_harmed(next(row for row in rows if row.outcome == HARM))}."


def _harmed(row: CriterionVerdict) -> str:
    by_radius = (
        row.m is not None and row.r_harm is not None and row.m - row.r_harm > row.harm_margin
    )
    if by_radius and row.m is not None and row.r_harm is not None:
        low, margin = points(row.m - row.r_harm), points(row.harm_margin)
        proof = f"the gap is surely above {low} points, where {margin} may be"
    else:
        proof = f"the evidence against equal arms is E = 10^{row.log10_e or 0.0:.1f}"
    return f"{_rates(row)}, and {proof}"


def _passed(row: CriterionVerdict) -> str:
    margin = points(row.pass_margin)
    if row.m is not None and row.r_pass is not None and not row.rare:
        high = points(row.m + row.r_pass)
        return f"{_rates(row)}, a gap surely under {high} points, of {margin} allowed"
    if row.candidate.bad == 0 and row.clean_needed is not None and row.k >= row.clean_needed:
        return f"{row.label} had no bad request of the candidate in {row.k:,} blocks"
    unseen = 100 * (row.unseen or 0.0)
    return (
        f"{row.accepted_by} passed {row.label}, where up to {unseen:.3g} % of the candidate's "
        "blocks may be bad unseen"
    )


def _open(rows: Sequence[CriterionVerdict]) -> str:
    told = _told(rows)
    return told[0] if told else "the bake time is not over"


def _told(rows: Sequence[CriterionVerdict]) -> list[str]:
    """Each in a sentence; those of which the same is to be said, in one."""
    groups: dict[tuple[object, ...], list[CriterionVerdict]] = {}
    for place, row in enumerate(rows):
        why = (bool(row.unmeasured), row.metric) if row.unused else ()
        key = (row.k, row.unused, *why) if row.k < LEAST_BLOCKS else ("own", place)
        groups.setdefault(key, []).append(row)
    return [_unclear(found[0], _names(found)) for found in groups.values()]


def _names(rows: Sequence[CriterionVerdict]) -> str:
    *first, last = (row.label for row in rows)
    return f"{', '.join(first)} and {last}" if first else last


def _unclear(row: CriterionVerdict, names: str) -> str:
    if row.k < LEAST_BLOCKS:
        verb = "has" if names == row.label else "have"
        noun = "block" if row.k == 1 else "blocks"
        said = f"{names} {verb} {row.k} {noun}, and nothing is said before {LEAST_BLOCKS}"
        return f"{said}. {_unused(row)}" if row.unused else said
    if row.rare:
        return f"{row.label} had only {row.pooled} bad requests in {row.k:,} blocks: {_rare(row)}"
    if row.crowded:
        return (
            f"{_rates(row)}: only {row.good} good requests are too few for their spread to be "
            f"believed, where {POOLED_EVENTS} are. Send less load, or judge by an objective that "
            "more requests meet"
        )
    if row.m is None or row.r_pass is None:
        return f"{_rates(row)}, and no look is due"
    return (
        f"{_rates(row)}: the gap is surely only under {points(row.m + row.r_pass)} points, "
        f"where under {points(row.pass_margin)} is needed"
    )


def _unused(row: CriterionVerdict) -> str:
    """Why blocks count for nothing, and what to do."""
    more = " more" if row.k else " so far"
    blocks = f"{row.unused:,} {'block' if row.unused == 1 else 'blocks'}{more} can't be judged"
    if not row.unmeasured:
        return f"{blocks}, as an arm was asked nothing in them: send more traffic, or longer blocks"
    what = row.metric or "every metric of the SLO"
    cause = f"{blocks}, as an arm had no answer with a value of {what} in them"
    if row.metric and row.metric not in STREAMED:
        return f"{cause} ({row.unmeasured:,} answers without one)"
    return (
        f"{cause}: {row.unmeasured:,} answers were not streamed or had too few tokens, and those "
        "have no time of a first token or between tokens. Let clients ask with stream: true, or "
        "judge by an SLO on e2e_ms or by errors"
    )


def _rare(row: CriterionVerdict) -> str:
    """What would pass a criterion whose events are too rare for their spread to be believed."""
    person = (
        f"a person who accepts that up to {100 * (row.unseen or 0.0):.3g} % of the candidate's "
        "blocks may be bad unseen"
    )
    if row.candidate.bad or row.clean_needed is None:
        return f"{POOLED_EVENTS} of them would let its spread be believed, or {person} can pass it"
    return f"{row.clean_needed:,} blocks without one of the candidate would pass it, or {person}"


def _rates(row: CriterionVerdict) -> str:
    theirs, own = (100 * (rate or 0.0) for rate in (row.candidate_rate, row.baseline_rate))
    return (
        f"{row.label} was missed by {theirs:.2f} % of the candidate's {row.candidate.offered:,} "
        f"requests and {own:.2f} % of the baseline's {row.baseline.offered:,} over {row.k:,} blocks"
    )


def points(share: float) -> str:
    """A share in percentage points, with three digits."""
    return f"{100 * share:.3g}"


def _joined(parts: Sequence[str]) -> str:
    return "; ".join(parts)
