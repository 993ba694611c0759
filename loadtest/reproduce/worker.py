"""One source system, played in a process of its own: ``python -m loadtest.reproduce.worker``.

News are JSON lines on stdout, as of a load test: ``started``, ``progress`` each second,
``finished`` with the result, or ``error``. SIGTERM, the end of stdin or the parent's death end it
at once: half a play says nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from documents.problem import DocumentError
from loadtest.eventloop import run_fast
from loadtest.reproduce.asked import Asked
from loadtest.reproduce.document import seeds_of
from loadtest.reproduce.plan import Plan
from loadtest.reproduce.table import Reproduction
from loadtest.reproduce.watched import Watch
from loadtest.tether import stop_on_signals, stop_with_parent
from loadtest.version import version
from loadtest.worker import Lines
from measurement.verdict import EXIT_CODES
from simulator import profile as profiles

TELL_EVERY_S = 1.0
_END_WITHIN_S = 3.0
"""What a cancelled load test may take to end its engine."""


def main(argv: Sequence[str] | None = None) -> int:
    """Play it and say how it goes."""
    args = _arguments().parse_args(argv)
    lines = Lines(sys.stdout.fileno())
    try:
        run = run_fast if args.served else asyncio.run
        played = run(_run(args, lines))
    except DocumentError as error:
        return _end(lines, "bad_configuration", str(error))
    except Exception as error:  # noqa: BLE001 - the edge: whatever it is, the supervisor is told
        return _end(lines, "infrastructure", f"{type(error).__name__}: {error}")
    lines.close()
    return 0 if played else EXIT_CODES["cancelled"]


async def _run(args: argparse.Namespace, lines: Lines) -> bool:
    """Whether it was played to its end."""
    asked = _asked(args)
    asked.check()
    seeds = seeds_of(args.seeds)
    watch = Watch(seeds, asked.passes)
    plan = Plan(seeds, reduced=args.reduced, scale=args.scale, part=watch.part, ended=watch.ended)
    began = time.monotonic()
    lines.say("started", version=version())
    stop = asyncio.Event()
    tied = asyncio.ensure_future(stop_with_parent(stop))
    with stop_on_signals(stop, patience=1_000):
        playing = _begun(asked, plan)
        while not playing.done() and not stop.is_set():
            lines.say("progress", **_told(watch, began))
            await asyncio.wait({playing}, timeout=TELL_EVERY_S)
            if time.monotonic() - began > args.within:
                limit = f"it was not over within {args.within:,.0f} s; take fewer seeds, or reduced"
                lines.say("error", code=EXIT_CODES["infrastructure"], message=limit)
                return False
    tied.cancel()
    if not playing.done():
        playing.cancel()
        await asyncio.wait({playing}, timeout=_END_WITHIN_S)
        lines.say("finished", status="cancelled", summary={})
        return False
    told = {"version": version(), **_told(watch, began)}
    result = asked.document(plan, playing.result())
    lines.say("finished", status="finished", summary={"result": result, **told})
    return True


def _asked(args: argparse.Namespace) -> Asked:
    text = None if args.config is None else args.config.read_text("utf-8")
    return Asked(args.system, args.reduced, args.served, text, args.profile, args.scale)


def _told(watch: Watch, began: float) -> dict[str, float]:
    """How far it is: whole runs with a seed, with the part of the one that goes on, of how many."""
    seconds = time.monotonic() - began
    return {"runs": watch.runs, "done": watch.done, "of": watch.of, "seconds": seconds}


def _begun(asked: Asked, plan: Plan) -> asyncio.Future[Reproduction]:
    """A load test's clients belong to this event loop; arithmetic goes to a thread beside it."""
    if asked.served:
        return asyncio.ensure_future(asked.play_served(plan))
    return _in_thread(lambda: asked.play(plan))


def _in_thread(play: Callable[[], Reproduction]) -> asyncio.Future[Reproduction]:
    """Beside this event loop, in a thread that ends with the process: nothing else stops it."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Reproduction] = loop.create_future()

    def tell(result: Reproduction | None, error: BaseException | None) -> None:
        if done.cancelled():
            return
        if error is not None:
            done.set_exception(error)
        elif result is not None:
            done.set_result(result)

    def run() -> None:
        try:
            result = play()
        except Exception as error:  # noqa: BLE001 - told to whoever waits
            loop.call_soon_threadsafe(tell, None, error)
        else:
            loop.call_soon_threadsafe(tell, result, None)

    threading.Thread(target=run, name="play", daemon=True).start()
    return done


def _end(lines: Lines, word: str, message: str) -> int:
    code = EXIT_CODES[word]
    lines.say("error", code=code, reason=word, message=message)
    lines.close()
    return code


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m loadtest.reproduce.worker", description=__doc__
    )
    parser.add_argument("--system", required=True, metavar="NAME")
    parser.add_argument("--seeds", type=int, default=5, metavar="N")
    parser.add_argument("--reduced", action="store_true")
    parser.add_argument("--served", action="store_true")
    parser.add_argument("--config", type=Path, metavar="FILE.json")
    parser.add_argument("--profile", default=profiles.DEFAULT, metavar="NAME")
    parser.add_argument("--scale", type=float, metavar="N")
    parser.add_argument("--within", type=float, default=3_600.0, metavar="SECONDS")
    return parser


if __name__ == "__main__":
    sys.exit(main())
