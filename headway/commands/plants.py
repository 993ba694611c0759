"""``headway plants``: concurrency laws on the listed plants, or on a plant of one's own."""

from __future__ import annotations

import argparse
import math
import sys
from typing import TYPE_CHECKING, Any

from schedulers.decision import DecisionPoint

if TYPE_CHECKING:
    from simulator.plants.case import Case, Maker

NAME = "plants"
HELP = "run laws on small plants in virtual time, and hold them to their bars"

EXIT_BAR_MISSED = 1
EXIT_BAD_CONFIGURATION = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "plants", nargs="*", metavar="PLANT", help="S1 S1-long S2 … S16; none: all of them"
    )
    parser.add_argument(
        "--law",
        action="append",
        default=[],
        metavar="LAW",
        help="a law's name, or LAW:PARAMETER=VALUE,…; repeatable; none: every law of the plant's "
        "decision point (with --check: the recommended one)",
    )
    parser.add_argument("--seeds", type=int, default=3, help="runs of each case (default 3)")
    parser.add_argument(
        "--check", action="store_true", help="exit 1 where a bar for recommended laws is missed"
    )
    parser.add_argument("--plant-file", metavar="FILE", help="a plant of one's own, as YAML")


def run(args: argparse.Namespace) -> int:
    from documents.problem import DocumentError

    try:
        _known(args.law)
        if args.seeds < 1:
            raise _bad("seeds", args.seeds, "must be at least 1")
        return _own(args) if args.plant_file else _listed(args)
    except DocumentError as error:
        for problem in error.problems:
            print(f"headway plants: {problem}", file=sys.stderr)
        return EXIT_BAD_CONFIGURATION


def _bad(path: str, value: object, message: str) -> Exception:
    from documents.problem import DocumentError, Problem

    return DocumentError([Problem(path, value, message)])


def _maker(text: str, point: str) -> Maker | None:
    """None where that point has no such law."""
    import yaml

    from documents.fields import describe
    from documents.parse import build
    from schedulers.points import registered

    name, _, parameters = text.partition(":")
    cls: Any = registered(DecisionPoint(point)).get(name)
    if cls is None:
        return None
    document: dict[str, Any] = {}
    for item in filter(None, parameters.split(",")):
        key, equals, value = item.partition("=")
        if not equals:
            raise _bad("law", item, "must be PARAMETER=VALUE")
        document[key] = yaml.safe_load(value)
    warm = "initial" in {info.name for info in describe(cls)}
    build(cls, document, path="law")

    def make(*, initial: int | None = None) -> Any:
        start = {} if initial is None or not warm else {"initial": initial}
        return build(cls, document | start, path="law")

    return make


def _makers(case: Case, args: argparse.Namespace) -> dict[str, Maker]:
    """The laws that a case is played with: those named that fill its point, or its own."""
    from schedulers.points import registered

    own = [case.judged] if args.check else list(case.laws or registered(case.point))
    named = {name: _maker(name, str(case.point)) for name in args.law or own}
    return {name: make for name, make in named.items() if make is not None}


def _known(names: list[str]) -> None:
    from schedulers.points import REGISTRIES

    for text in names:
        if not any(_maker(text, str(point)) for point in REGISTRIES):
            known = sorted(name for registry in REGISTRIES.values() for name in registry.all())
            raise _bad("law", text, f"unknown law; known: {', '.join(known)}")


def _listed(args: argparse.Namespace) -> int:
    from simulator.plants.scenarios import CASES, NAMES

    unknown = [name for name in args.plants if name not in NAMES]
    if unknown:
        raise _bad("plant", unknown[0], f"unknown plant; known: {', '.join(NAMES)}")
    cases = [case for case in CASES if not args.plants or case.scenario in args.plants]
    played = [(case, _makers(case, args)) for case in cases]
    if not any(makers for _, makers in played):
        points = ", ".join(dict.fromkeys(str(case.point) for case in cases))
        raise _bad("law", ", ".join(args.law), f"fills no point of these plants: {points}")
    print(_line("plant", "case", "law", "optimum", "attained", "429s", "settle", "bars"))
    missed = sum(
        _play(case, name, make, args.seeds)
        for case, makers in played
        for name, make in makers.items()
    )
    return EXIT_BAR_MISSED if args.check and missed else 0


def _play(case: Case, name: str, make: Maker, seeds: int) -> int:
    """One row; how many bars were missed."""
    rows = [case.play(make, seed) for seed in range(1, seeds + 1)]
    verdicts, missed = [], 0
    for bar in case.bars:
        values = [row[bar.measure] for row in rows]
        met = bar.met(values)
        missed += not (met or bar.aim)
        sign = "≥" if bar.least else "≤"
        mark = "" if met else ("short of the aim: " if bar.aim else "MISSED ")
        verdicts.append(f"{mark}{bar.measure} {_number(bar.value(values))} {sign} {bar.bound:g}")
    numbers = {key: sum(row[key] for row in rows) / len(rows) for key in rows[0]}
    cells = (
        f"{numbers['attained']:.1%}",
        _number(numbers["refused"]),
        _seconds(numbers["settle_s"]),
    )
    bars = "; ".join(verdicts)
    print(_line(case.scenario, case.label, name, case.optimum, *cells, bars), flush=True)
    return missed


def _own(args: argparse.Namespace) -> int:
    from simulator.plants.case import REQUEST_LAWS
    from simulator.plants.own import load

    if args.plants or args.check:
        raise _bad("plant-file", args.plant_file, "takes no listed plants and has no bars")
    plant = load(args.plant_file)
    named = {name: _maker(name, "concurrency") for name in args.law or REQUEST_LAWS}
    makers = {name: make for name, make in named.items() if make is not None}
    print(_line("plant", "case", "law", "optimum", "attained", "429s", "settle", "measured"))
    for name, make in makers.items():
        for seed in range(1, args.seeds + 1):
            seen = plant.play(make, seed)
            cells = (
                f"{seen['attained']:.1%}",
                _number(seen["refused"]),
                _seconds(seen["settle_s"]),
            )
            rest = (
                f"{_number(seen['seconds'])} s, P50 {seen['p50_s']:.3g} s, "
                f"P99 {seen['p99_s']:.3g} s, "
                f"limit {seen['limit']:.0f}, highest {seen['highest']:.0f}"
            )
            optimum = f"{seen['optimum']:.4g}/s"
            print(_line("own", f"seed {seed}", name, optimum, *cells, rest), flush=True)
    return 0


def _line(*cells: str) -> str:
    widths = (8, 10, 20, 13, 9, 8, 8)
    parts = [cell.ljust(width) for cell, width in zip(cells, widths, strict=False)]
    return " ".join([*parts, *cells[len(widths) :]]).rstrip()


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "never"
    return f"{value:.0f}" if value == int(value) or value >= 100 else f"{value:.3f}"


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if math.isfinite(value) else "never"
