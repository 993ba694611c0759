"""The verdict in words: one sentence that a person can act on."""

from __future__ import annotations

from collections.abc import Sequence

from measurement.objective_verdict import FAIL, INVALID, PASS, ObjectiveVerdict
from measurement.tally import Tally
from measurement.validity import Validity

NOTHING = "Inconclusive because no request has an outcome yet."


def because(
    outcome: str, decisive: tuple[ObjectiveVerdict, ...], tally: Tally, validity: Validity
) -> str:
    """Why the verdict is what it is. ``decisive`` are the rows of that outcome, joint first."""
    if outcome == INVALID:
        return f"Invalid because the stimulus was not what was asked for. {validity.reasons[0]}"
    if decisive:
        return sentence(decisive[0], tally)
    met, n = tally.joint.k, tally.joint.n
    if not n:
        return NOTHING
    if not met:
        return f"Fails, with no objectives: not one of {n:,} {_what(tally)} succeeded."
    return (
        f"Passes, with no objectives: {met:,} of {n:,} {_what(tally)} succeeded, and no SLO was "
        "given to judge them by."
    )


def sentence(row: ObjectiveVerdict, tally: Tally) -> str:
    """One row's outcome, with its share, its bound and its target."""
    if not row.n:
        return NOTHING
    if not row.measured:
        return f"Inconclusive because no answer had a value to judge {row.label} by."
    share, lower, upper, target = percents(row.attainment or 0.0, row.lower, row.upper, row.target)
    fact = f"{share} of {row.n:,} {_what(tally)} {_met(row)}"
    if row.outcome == PASS:
        relation = f"one-sided 95 % lower bound, {lower}, is above the target of {target}"
        return f"Passes because {fact}, and the {relation}."
    if row.outcome == FAIL:
        relation = f"one-sided 95 % upper bound, {upper}, is below the target of {target}"
        return f"Fails because {fact}, and the {relation}."
    relation = f"one-sided 95 % bounds, {lower} and {upper}, lie on both sides of the target"
    return f"Inconclusive because {fact}, and the {relation} of {target}; {_more(row)}."


def reasons_of(rows: Sequence[ObjectiveVerdict], tally: Tally) -> tuple[str, ...]:
    """The first in the verdict's own sentence, the others in what is different of them."""
    if not rows:
        return ()
    told = [sentence(rows[0], tally)]
    if not rows[0].n:
        return (told[0],)
    groups: dict[tuple[object, ...], list[ObjectiveVerdict]] = {}
    for row in rows[1:]:
        if not row.measured:
            told.append(sentence(row, tally))
            continue
        groups.setdefault(_numbers(row), []).append(row)
    for key, found in groups.items():
        labels = " and ".join(row.label for row in found)
        same = key == _numbers(rows[0])
        told.append(f"The same is so of {labels}." if same else _beside(found[0], labels))
    return tuple(told)


def _numbers(row: ObjectiveVerdict) -> tuple[object, ...]:
    """All that a sentence says of it but its name."""
    return (row.outcome, row.attainment, row.lower, row.upper, row.target, row.needed)


def _beside(row: ObjectiveVerdict, labels: str) -> str:
    share, lower, upper, target = percents(row.attainment or 0.0, row.lower, row.upper, row.target)
    if row.outcome == FAIL:
        return f"Of {labels} alone: {share}, at most {upper}, where {target} must."
    more = f"; {_more(row)}" if row.needed is None else f"; about {row.needed:,} more"
    return f"Of {labels} alone: {share}, {lower} to {upper}, where {target} must{more}."


def left_out(tally: Tally) -> tuple[str, ...]:
    """What the share does not count, where there is any."""
    if not tally.excluded:
        return ()
    noun = "request was" if tally.excluded == 1 else "requests were"
    return (f"{tally.excluded:,} {noun} cancelled before missing any objective, and not counted.",)


def percents(*shares: float) -> list[str]:
    """Shares in percent, with as many digits as it takes to tell different ones apart."""
    written: list[str] = []
    for digits in range(2, 7):
        written = [f"{100 * share:.{digits}f} %" for share in shares]
        whole = f"{100:.{digits}f} %"
        rounded = any(word == whole and s < 1 for s, word in zip(shares, written, strict=True))
        if not rounded and len(set(written)) == len(set(shares)):
            break
    return written


def _what(tally: Tally) -> str:
    return "resolved requests" if tally.pending else "offered requests"


def _met(row: ObjectiveVerdict) -> str:
    return "had no error" if row.metric == "error" else f"met {row.label}"


def _more(row: ObjectiveVerdict) -> str:
    if row.needed is None:
        return "the share is on the target, so no number of requests would decide it"
    return f"about {row.needed:,} more requests at this share would decide it"
