"""Markdown: the verdict first, no markup of an engine, and it fits a comment."""

from __future__ import annotations

from loadtest.gate_reports.markdown import LIMIT, markdown
from tests.loadtest.gate_reports.builders import gate_run


def test_it_begins_with_its_mark_and_the_verdict_and_what_failed_comes_first() -> None:
    lines = markdown(gate_run(), server="https://headway.example.org/").splitlines()
    assert lines[0] == "<!-- headway:gate:chat -->"
    assert lines[1] == "### Gate chat: fail"
    assert lines[7].startswith("| fail | objective: TTFT ≤ 800 ms |")
    assert lines[-1].endswith("[the run](https://headway.example.org/runs/0198/)</sub>")


def test_what_an_engine_said_is_no_markup() -> None:
    text = markdown(gate_run(because="<img src=x> | **bold** @everyone\n# head"))
    assert "<img" not in text
    assert "&lt;img src=x&gt; \\| \\*\\*bold\\*\\* @&ZeroWidthSpace;everyone \\# head" in text


def test_it_fits_a_comment_however_much_was_judged() -> None:
    row = gate_run()["thresholds"][0] | {"because": "é" * 5_000}
    text = markdown(gate_run(thresholds=[row] * 500))
    assert len(text.encode()) <= LIMIT
    assert "more | |" in text
