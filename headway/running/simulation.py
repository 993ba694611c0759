"""``headway simulate`` from its arguments to its exit code."""

from __future__ import annotations

import argparse
import math
import sys
import time

from documents.problem import DocumentError, Problem
from headway.running.arguments import document
from headway.running.saying import report, tell
from headway.running.shell import directory
from loadtest import publishing, recorder
from loadtest.conclusion import Conclusion
from loadtest.scenario import Scenario
from loadtest.simulate import Options, simulate
from loadtest.simulation.stand_in import NOWHERE
from loadtest.traces.replayed import Trace, parts
from measurement.verdict import EXIT_CODES
from simulator import profile as profiles


def simulate_in_shell(args: argparse.Namespace) -> int:
    """Simulate, print the report, return the exit code."""
    try:
        conclusion, cpu = _simulate(args)
    except DocumentError as error:
        for problem in error.problems:
            tell(f"headway simulate: {problem}\n", sys.stderr)
        return EXIT_CODES["bad_configuration"]
    except OSError as error:
        tell(f"headway simulate: {error}\n", sys.stderr)
        return EXIT_CODES["infrastructure"]
    text = publishing.render("json" if args.json else "table", conclusion)
    kept = f"it is in {args.out / recorder.SUMMARY}" if args.out is not None else ""
    got = report(text, name="simulate", kept=kept)
    if args.speed_report:
        tell(_speed(conclusion, cpu), sys.stderr)
    return conclusion.exit_code if got or kept else EXIT_CODES["infrastructure"]


def _simulate(args: argparse.Namespace) -> tuple[Conclusion, float]:
    """The conclusion, and the CPU seconds that it took."""
    name = args.profile or profiles.DEFAULT
    profile = profiles.load(name)
    trace = _trace(args)
    scenario = _scenario(args, profile, trace)
    options = Options(
        trace=trace,
        out=None if args.out is None else directory(args.out, force=args.force),
        at_unix=time.time(),
        overrides={"style": args.style} if args.style else None,
    )
    began = time.process_time()
    conclusion = simulate(scenario, profile, name=name, options=options)
    return conclusion, time.process_time() - began


def _trace(args: argparse.Namespace) -> Trace | None:
    if args.trace is None:
        return None
    if args.trace_speed <= 0:
        raise DocumentError([Problem("trace_speed", args.trace_speed, "must be above 0")])
    given = ("workload", "arrivals", "rate", "concurrency", "think", "prompt_tokens", "max_tokens")
    both = [name for name in given if getattr(args, name) is not None]
    if both:
        message = f"stands for arrivals and workload; leave out --{both[0].replace('_', '-')}"
        raise DocumentError([Problem("trace", str(args.trace), message)])
    return Trace.of(args.trace, speed=args.trace_speed)


def _scenario(args: argparse.Namespace, profile: profiles.Profile, trace: Trace | None) -> Scenario:
    args.endpoint, args.model, args.kind = NOWHERE, profile.model, "simulated"
    if trace is None:
        return Scenario.parse(document(args))
    if args.duration is None:
        args.duration = math.floor(trace.requests[-1].at) + 1.0
    args.rate = 1.0  # what the trace stands for must parse all the same
    parsed = Scenario.parse(document(args))
    arrivals, workload = parts(trace)
    fields = {key: getattr(parsed, key) for key in _KEPT}
    return Scenario(endpoint=parsed.endpoint, workload=workload, arrivals=arrivals, **fields)


_KEPT = (
    "duration_s", "policy", "slo", "seed", "warm_up_s", "drain_s", "timeouts", "tenants",
    "prompt_salt",
)  # fmt: skip


def _speed(conclusion: Conclusion, cpu: float) -> str:
    span, count = conclusion.seen.stopped_at, conclusion.seen.launched or 0
    return (
        f"{span:,.0f} s of load in {cpu:.2f} s CPU, samples and report included: "
        f"{span / cpu:,.0f} × real time, {count / cpu:,.0f} requests/s\n"
    )
