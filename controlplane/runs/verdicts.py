"""The verdict in words: what the bar on a run's page, the list and the home page say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controlplane.runs import phrases
from controlplane.runs.models import Run, Status
from controlplane.runs.quiet import is_quiet, overdue

SO_FAR = {
    "pass": "Passing",
    "fail": "Failing",
    "inconclusive": "Not sure yet",
    "invalid": "Invalid",
}
FINAL = {
    "pass": "Passed",
    "fail": "Failed",
    "inconclusive": "Inconclusive",
    "invalid": "Invalid",
}
WITHOUT = {
    Status.QUEUED: ("Queued", "Waiting for a worker to take it."),
    Status.RUNNING: ("Starting", "No window has closed yet."),
    Status.CANCELLING: ("Stopping", "It is closing what is open and writing its report."),
    Status.DONE: ("No verdict", "The report has none."),
    Status.FAILED: ("Could not run", "The load test did not start."),
    Status.CANCELLED: ("Cancelled", "Someone stopped it before its end."),
    Status.LOST: ("Lost", "Its worker is gone."),
}
WITH_A_FAULT = ("Broke off", "The load test ended with a fault.")
"""A failed run's that had sent load."""
NO_OBJECTIVES = "No objectives"
QUIET = "Engine quiet"
"""Of a run whose engine says nothing: what has ended says nothing of what waits."""


def judgement_of(run: Run) -> Mapping[str, Any]:
    """The newest judgement: the final one, or that of what is resolved so far."""
    found = run.judgement or run.live.get("verdict") or {}
    return found if isinstance(found, Mapping) else {}


def notes(run: Run) -> Sequence[str]:
    """Sentences of the report that a reader must not miss; a model's label has its own place."""
    summary = run.summary or {}
    label = (summary.get("model") or {}).get("label")
    return [note for note in summary.get("notes", ()) if note != label]


def cut(run: Run) -> str:
    """What was cut of the run's start and by which method; before its end, what was asked."""
    told = (run.summary or {}).get("cut") or {}
    asked = run.scenario.get("warm_up", "seconds")
    if told.get("method") == "auto":
        found = told.get("detected") or {}
        return f"{told['warm_up_s']:g} s, {found.get('method')}: {found.get('because')}"
    if asked == "auto":
        return "to be found"
    return f"{run.warm_up_s:g} s, as given" if run.warm_up_s else ""


def verdict(run: Run, notes: Sequence[str] = ()) -> dict[str, str]:
    """Outcome for the colour, word, state and reasons; ``none`` when nothing can be judged.

    A list goes without the notes, since those are in the bulky report.
    """
    judged = judgement_of(run)
    outcome = str(judged.get("outcome", ""))
    because = str(judged.get("because", ""))
    more = [*notes, *judged.get("reasons", ()), *judged.get("warnings", ())]
    detail = " ".join(str(reason) for reason in more if str(reason) not in because)
    state = "so far" if run.is_live else "final"
    word, said = _without(run)
    stopped = run.status in (Status.CANCELLED, Status.LOST, Status.FAILED, Status.CANCELLING)
    if stopped or outcome not in FINAL or (run.status == Status.QUEUED):
        kept = f"Measured until then: {because}" if because and stopped else detail
        return _said("none", state, word, said, kept)
    if run.slo_version_id is None and outcome == "pass":
        return _said("none", state, NO_OBJECTIVES, because, detail)
    if run.is_live and outcome != "invalid" and is_quiet(run.live):
        failing = outcome == "fail"  # a stall takes no miss back
        said = _nothing_comes(run.live, "Failing" if failing else "Not sure any more")
        return _said("fail" if failing else "inconclusive", state, QUIET, said, because)
    word = (SO_FAR if run.is_live else FINAL)[outcome]
    # A list or a bar shows the word alone: it must not read as a measurement's.
    told = f"{word} in the model" if run.profile else word
    return _said(outcome, state, told, because, detail)


def _nothing_comes(live: Mapping[str, Any], how: str) -> str:
    quiet, late = live["quiet"], overdue(live)
    missed = f", {phrases.number(late)} of them past their objective already" if late else ""
    waiting = phrases.count(quiet["waiting"], "request waits", "requests wait")
    return (
        f"{how}, and no token has come for {phrases.clock(quiet['quiet_s'])}, while "
        f"{waiting} for the engine{missed}. Requests are judged when they end, and none does. "
        "See whether the engine still works."
    )


def _without(run: Run) -> tuple[str, str]:
    """Word and reason of a run that has no verdict to show."""
    if run.status == Status.FAILED and run.load_started_at is not None:
        word, said = WITH_A_FAULT
        return word, f"{said} {run.reason}".strip()
    word, said = WITHOUT[Status(run.status)]
    return word, run.reason or said


def _said(outcome: str, state: str, word: str, because: str, detail: str) -> dict[str, str]:
    return {
        "outcome": outcome,
        "state": state,
        "word": word,
        "because": because,
        "detail": detail,
    }
