"""Two runs of one schedule, request by request: which were bad in one of them alone."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from controlplane.runs import phrases
from controlplane.runs.models import Run
from controlplane.runs.storage import directory
from documents.problem import DocumentError
from loadtest.ab.described import NOT_SHOWN, describe
from loadtest.recorder import SAMPLES
from measurement.comparison.paired_replay import UnequalStimulus

LARGEST = 64 * 1024 * 1024
"""Bytes of one run's samples that a page still pairs."""


def by_request(a: Run, b: Run) -> dict[str, Any]:
    """The counts of pairs, or under ``cannot`` why there are none."""
    if a.seed != b.seed:
        why = _("Their seeds differ, so the requests of one are not those of the other.")
        return {"cannot": [why]}
    for run in (a, b):
        file = directory(run) / SAMPLES
        if file.exists() and file.stat().st_size > LARGEST:
            why = _(
                "Run %(run)s has samples of over 64 MiB, too many to be paired on a page: use "
                "headway compare with both directories."
            )
            return {"cannot": [why % {"run": run.short_id}]}
    try:
        found = describe(directory(a), directory(b))
    except UnequalStimulus as refusal:
        return {"cannot": list(refusal.reasons)}
    except DocumentError:
        return {"cannot": [_("The files of one of the runs are not here any more.")]}
    change = found.ttft_change_ms
    return {
        "pairs": phrases.number(found.pairs),
        "only_a_bad": phrases.number(found.only_a_bad),
        "only_b_bad": phrases.number(found.only_b_bad),
        "both_bad": phrases.number(found.both_bad),
        "ttft": "" if change is None else f"{'+' if change > 0 else ''}{phrases.number(change, 1)}",
        "notes": [note for note in found.notes if note != NOT_SHOWN],
    }
