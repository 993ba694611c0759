"""What did not pass, as the workflow commands that GitHub shows beside a job."""

from __future__ import annotations

from loadtest.gate_reports.cases import GateRun, cases_of

MOST = 10
"""GitHub shows no more of one kind for a step."""


def commands(run: GateRun) -> list[str]:
    """Failures first; the last line says how many more there are."""
    cases = [case for case in cases_of(run) if not case.passed]
    cases.sort(key=lambda case: not case.failed)
    shown = cases if len(cases) <= MOST else cases[: MOST - 1]
    lines = [_error(f"{run['gate']}: {case.name}", case.because) for case in shown]
    if len(cases) > len(shown):
        lines.append(_error(str(run["gate"]), f"and {len(cases) - len(shown)} more"))
    return lines


def _error(title: str, text: str) -> str:
    return f"::error title={_data(title).replace(':', '%3A').replace(',', '%2C')}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
