"""Markdown of a gate's run, for a pull request's comment or a job's summary: the verdict first."""

from __future__ import annotations

import re

from loadtest.gate_reports.cases import Case, GateRun, cases_of

LIMIT = 60_000
"""Bytes: a comment on GitHub ends at 65,536."""

_SPECIAL = re.compile(r"([\\`*_{}\[\]|#~])")
_LONGEST = 600


def markdown(run: GateRun, *, server: str = "") -> str:
    """The first line is a mark by which a bot finds the comment that it wrote before."""
    outcome = run["outcome"] or "not judged"
    head = [
        f"<!-- headway:gate:{run['gate']} -->",
        f"### Gate {_plain(run['gate'])}: {outcome}",
        "",
        _plain(run["because"]),
        "",
        "| | judged | because |",
        "| --- | --- | --- |",
    ]
    tail = ["", _facts(run, server), ""]
    room = LIMIT - _size(head) - _size(tail) - 100
    return "\n".join([*head, *_rows(cases_of(run), room), *tail])


def _rows(cases: list[Case], room: int) -> list[str]:
    """As many as there is room for, what did not pass first; the rest is counted."""
    rows: list[str] = []
    order = sorted(cases, key=lambda case: case.passed)
    for place, case in enumerate(order):
        row = f"| {case.outcome} | {_plain(case.name)} | {_plain(case.because)} |"
        room -= _size([row])
        if room < 0:
            rows.append(f"| | and {len(order) - place:,} more | |")
            break
        rows.append(row)
    return rows


def _facts(run: GateRun, server: str) -> str:
    facts = [
        f"policy {run['policy']}",
        f"endpoint {run['endpoint']}",
        f"workload {run['workload']}",
    ]
    facts += [f"SLO {run['slo']}"] * bool(run["slo"]) + [f"seed {run['seed']}"]
    link = f" · [the run]({server.rstrip('/')}{run['links']['page']})" if server else ""
    return f"<sub>{' · '.join(_plain(fact) for fact in facts)}{link}</sub>"


def _plain(value: object) -> str:
    """Words that Markdown and HTML leave alone, on one line."""
    text = " ".join(str(value).split())
    text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", text).replace("@", "@&ZeroWidthSpace;")


def _size(lines: list[str]) -> int:
    return sum(len(line.encode()) + 1 for line in lines)
