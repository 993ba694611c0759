"""``headway verify intervals``: coverage of the intervals of percentiles on M/M/1."""

from __future__ import annotations

import argparse
import dataclasses
import sys

import numpy as np

from headway.verifying import MISSED
from measurement import interval_verification as verification
from measurement.interval_verification import Row


def verify(args: argparse.Namespace) -> int:
    """Print the table; 1 where a bar is missed."""
    size = verification.FULL if args.full else verification.REDUCED
    if args.runs:
        size = dataclasses.replace(size, runs=args.runs)
    rng = np.random.default_rng(args.seed)
    claimed, bar = 100 * verification.CLAIMED, 100 * verification.BAR
    print(f"seed {args.seed}, {size.runs:,} runs a cell; intervals that claim {claimed:.0f} %")
    print(
        f"{'method':18}{'load':>6}{'n':>8}{'':>5}{'coverage':>10}{'open':>7}{'width':>8}"
        f"{'eff. n':>9}   bar"
    )
    missed = []
    for row in verification.rows(size, rng):
        print(_line(row, bar))
        if not row.held:
            missed.append(row)
    if missed:
        print(f"\n{len(missed)} bars are missed:", file=sys.stderr)
        for row in missed:
            print(f"  {_line(row, bar)}", file=sys.stderr)
        return MISSED
    print("\nEvery bar is held.")
    return 0


def _line(row: Row, bar: float) -> str:
    sign = "<" if row.method == verification.NAIVE else ">"
    told = f"{sign} {bar:.0f} % {'ok' if row.held else 'NO'}" if row.barred else ""
    width = "–" if row.width is None else f"{100 * row.width:.0f} %"
    return (
        f"{row.method:18}{row.load:>6.1f}{row.n:>8,} P{row.percent:<3g}"
        f"{100 * row.coverage:>8.1f} %{100 * row.open_ends / row.runs:>5.0f} %{width:>8}"
        f"{row.effective:>9,.0f}   {told}"
    )
