"""What a gate's run came to: its own verdict and the gate's thresholds, judged once it ended."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from controlplane.gates.models import GateRun
from controlplane.runs.models import Run, Status
from controlplane.runs.storage import directory
from loadtest.column_files import in_columns
from loadtest.recorder import read_samples
from measurement.gate_verdict import GateVerdict, combine
from measurement.slo import Slo
from measurement.threshold_verdict import ThresholdVerdict, judge_thresholds
from measurement.thresholds import Threshold, parse_all
from measurement.verdict import EXIT_CODES

log = logging.getLogger(__name__)


def settle(gate_run: GateRun) -> GateRun:
    """Judge a run that has ended, once; whoever looks first does it, all get the same answer."""
    run = gate_run.run
    if gate_run.outcome or run.is_live:
        return gate_run
    verdict, thresholds = _judge(gate_run, run)
    unjudged = GateRun.objects.filter(pk=gate_run.pk, outcome="")
    unjudged.update(
        outcome=verdict.outcome,
        because=verdict.because,
        thresholds=[one.to_json() for one in thresholds],
    )
    gate_run.refresh_from_db(fields=["outcome", "because", "thresholds"])
    return gate_run


def exit_code(gate_run: GateRun) -> int | None:
    """What a command that waited ends with; None while there is nothing to end with."""
    return EXIT_CODES[gate_run.outcome] if gate_run.outcome else None


def _judge(gate_run: GateRun, run: Run) -> tuple[GateVerdict, Sequence[ThresholdVerdict]]:
    if run.status == Status.CANCELLED:
        return GateVerdict("cancelled", run.reason or "Someone stopped it before its end."), ()
    if run.status != Status.DONE or not run.judgement:
        why = run.reason or "It ended without a report."
        return GateVerdict("infrastructure", f"The run did not end: {why}"), ()
    wanted = parse_all(gate_run.version.document["spec"]["thresholds"])
    try:
        judged = _thresholds(run, wanted)
    except (OSError, ValueError) as error:
        log.warning("gate run %s: its samples can't be read: %s", run.pk, error)
        why = "Its samples can't be read here, so that its thresholds were not judged."
        return GateVerdict("infrastructure", why), ()
    silent = EXIT_CODES["infrastructure"] == (run.summary or {}).get("exit_code")
    return combine(run.judgement, judged, silent=silent), judged


def _thresholds(run: Run, wanted: Sequence[Threshold]) -> tuple[ThresholdVerdict, ...]:
    """On the very samples that the run's report was made of."""
    if not wanted:
        return ()
    slo = Slo.parse(run.scenario["slo"]) if run.scenario["slo"] else None
    place = directory(run)
    with in_columns(read_samples(place), place if place.is_dir() else None) as columns:
        if not len(columns) and (run.summary or {}).get("offered"):
            raise ValueError("there are none")
        return judge_thresholds(wanted, columns, slo, start=run.warm_up_s, end=run.duration_s)
