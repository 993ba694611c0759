"""Annotations: at most ten, failures first, and no text becomes a command."""

from __future__ import annotations

from loadtest.gate_reports.annotations import commands
from tests.loadtest.gate_reports.builders import gate_run


def test_what_did_not_pass_is_told_failures_first() -> None:
    lines = commands(gate_run())
    assert lines[0].startswith("::error title=chat%3A objective%3A TTFT ≤ 800 ms::95.00 %25 of")
    assert len(lines) == 2


def test_ten_at_most_and_the_rest_is_counted() -> None:
    row = gate_run()["thresholds"][0] | {"outcome": "fail"}
    lines = commands(gate_run(objectives=[], thresholds=[row] * 40))
    assert len(lines) == 10
    assert lines[-1].endswith("::and 31 more")


def test_a_line_break_starts_no_command() -> None:
    row = gate_run()["thresholds"][0] | {"outcome": "fail", "because": "a\n::set-output::b"}
    [line] = commands(gate_run(objectives=[], thresholds=[row]))
    assert "\n" not in line
