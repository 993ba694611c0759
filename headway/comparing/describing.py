"""``headway compare`` from its arguments to its exit code."""

from __future__ import annotations

import argparse
import json
import sys

from documents.problem import DocumentError
from headway.comparing.groups import more
from headway.comparing.report import columns
from headway.running.saying import report, tell
from loadtest.ab.described import Described, describe
from loadtest.printable import printable
from measurement.comparison.paired_replay import UnequalStimulus
from measurement.verdict import EXIT_CODES

_LATENCIES = (("ttft_ms", "TTFT"), ("tpot_ms", "TPOT"), ("e2e_ms", "E2E"))


def describe_in_shell(args: argparse.Namespace) -> int:
    """Print the description; what stands in its way is told with its exit code."""
    try:
        found = describe(args.a, args.b)
        beside = more(args.a, args.b)
    except UnequalStimulus as refusal:
        return _refuse("invalid", ["the runs were not asked the same", *refusal.reasons])
    except DocumentError as error:
        return _refuse("bad_configuration", [str(problem) for problem in error.problems])
    if args.json:
        sides = {"side_by_side": beside.to_json() if beside else None}
        text = json.dumps({**found.to_json(), **sides}, ensure_ascii=False, indent=2) + "\n"
    else:
        text = table(found) + (printable(beside.text()) if beside else "")
    return 0 if report(text, name="compare") else EXIT_CODES["infrastructure"]


def table(found: Described) -> str:
    """Both runs in columns, then how their requests paired, then what that does not show."""
    a, b = (part.to_json() for part in found.parts)
    rows = [
        ("requests", f"{a['offered']:,}", f"{b['offered']:,}"),
        ("attainment", _percent(a["attainment"]), _percent(b["attainment"])),
        ("rejected", _percent(a["rejection_rate"]), _percent(b["rejection_rate"])),
    ]
    for name, title in _LATENCIES:
        rows += [
            (f"{title} {p.upper()}", _ms(a[name].get(p)), _ms(b[name].get(p)))
            for p in ("p50", "p95", "p99")
        ]
    change = found.ttft_change_ms
    lines = columns(("", f"A, {found.names[0]}", f"B, {found.names[1]}"), rows)
    alone = f"{found.only_a_bad:,} bad in A alone, {found.only_b_bad:,} in B alone"
    lines += [
        "",
        f"{found.pairs:,} pairs: {alone}, {found.both_bad:,} in both",
        f"median change of TTFT {'–' if change is None else f'{change:+,.1f} ms'}",
        "",
        *found.notes,
    ]
    return printable("\n".join(lines)) + "\n"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.2f} %"


def _ms(value: float | None) -> str:
    return "–" if value is None else f"{value:,.1f} ms"


def _refuse(word: str, reasons: list[str]) -> int:
    for reason in reasons:
        tell(f"headway compare: {printable(reason)}\n", sys.stderr)
    return EXIT_CODES[word]
