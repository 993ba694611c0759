"""``headway verify comparison``: error rates and power against their bars."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Iterable

import numpy as np

from headway.verifying import MISSED
from measurement.comparison import verification
from measurement.comparison.verification import Row


def verify(args: argparse.Namespace) -> int:
    """Print the table; 1 where a bar is missed."""
    size = verification.FULL if args.full else verification.REDUCED
    if args.runs:
        size = dataclasses.replace(size, runs=args.runs)
    rng = np.random.default_rng(args.seed)
    print(f"seed {args.seed}, {size.runs:,} runs a cell of {verification.BLOCKS} blocks each")
    rows = list(verification.errors(size, rng))
    print(f"\nErrors: {len(rows)} cells; the upper 95 % bound must stay under the bar")
    _print(rows if args.cells else verification.worst(rows))
    wrong = list(verification.must_fail(size.runs, rng))
    print("\nWrong methods: the same harness must catch them")
    _print(wrong)
    found = list(verification.powers(size.runs, rng))
    print("\nPower: harm found, or equal arms passed, within the blocks")
    _print(found)
    missed = [row for row in (*rows, *wrong, *found) if not row.held]
    if missed:
        print(f"\n{len(missed)} bars are missed:", file=sys.stderr)
        for row in missed:
            print(f"  {row.method}, {row.conditions}: {row.what} {row.rate:.3f}", file=sys.stderr)
        return MISSED
    print("\nEvery bar is held.")
    return 0


def _print(rows: Iterable[Row]) -> None:
    print(f"{'method':30} {'what':10} {'rate':>7} {'upper':>7} {'bar':>8}      conditions")
    for row in rows:
        bar = "" if row.bar is None else f"{_sign(row)} {100 * row.bar:.0f} %"
        held = "ok" if row.held else "NO"
        print(
            f"{row.method:30} {row.what:10} {100 * row.rate:5.1f} % {100 * row.upper:5.1f} % "
            f"{bar:>8} {held:>4} {row.conditions}"
        )


def _sign(row: Row) -> str:
    return "≥" if row.what == "power" else ">" if row.must_fail else "≤"
