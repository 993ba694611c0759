"""The shadow of one run: a law beside the limiter, whose decisions are kept and never obeyed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from loadtest.recorder import Recorder
from loadtest.scenario import Scenario
from measurement.window import WindowFold
from schedulers.concurrency.base import ConcurrencyLaw
from schedulers.decision import Decision
from schedulers.runtime.shadow import Shadow, ShadowReport


@dataclass(frozen=True, slots=True)
class ShadowNews:
    """What the shadow decided since the last time, and how the two compare by now."""

    decisions: tuple[Decision, ...]
    report: ShadowReport


class Shadowing:
    """Writes down and passes on what the shadow decides; its ``cell`` observes the limiter."""

    def __init__(self, law: ConcurrencyLaw[Any], recorder: Recorder, fold: WindowFold) -> None:
        self.cell = Shadow(law, self._decided)
        self._recorder = recorder
        self._fold = fold
        self._untold: list[Decision] = []

    def begin(self) -> None:
        """The run starts: from now on windows know what the shadow would allow."""
        self._fold.shadow_limit(0.0, self.cell.limit)

    def news(self) -> ShadowNews:
        """Taken once a second; the report goes to disk too, so that a crash leaves it."""
        decisions, self._untold = tuple(self._untold), []
        report = self.cell.report
        self._recorder.shadow_report(report)
        return ShadowNews(decisions, report)

    def _decided(self, decision: Decision) -> None:
        self._recorder.shadow_decision(decision)
        self._untold.append(decision)
        self._fold.shadow_limit(max(0.0, decision.at), int(decision.after))


def shadowing(scenario: Scenario, recorder: Recorder, fold: WindowFold) -> Shadowing | None:
    """The scenario's shadow; None where it has none."""
    law = scenario.shadow.law("concurrency") if scenario.shadow else None
    return None if law is None else Shadowing(law, recorder, fold)
