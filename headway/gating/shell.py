"""``headway gate`` from its arguments to its exit code."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from documents.problem import DocumentError
from headway.gating.reports import lines, one_line, write
from headway.gating.server import Away, Refused, Server
from headway.gating.waiting import GateRun, Patience, Stopped, Waiting
from headway.running.saying import report, tell
from loadtest.endpoint import plain_base
from loadtest.tether import stop_on_signals
from measurement.verdict import EXIT_CODES

MOST_PAGES = 50


class Unusable(Exception):  # noqa: N818 - what the arguments are
    """Nothing was asked: the arguments or the environment won't do."""

    def __init__(self, word: str, reason: str) -> None:
        super().__init__(reason)
        self.word = word


def run_gate(args: argparse.Namespace, patience: Patience | None = None) -> int:
    """Run, report, return the verdict's exit code."""
    return _guarded(lambda: _run(args, patience or Patience()))


def list_gates(args: argparse.Namespace) -> int:
    """Every gate of the token's team with its newest verdict."""
    return _guarded(lambda: _list(args))


def _guarded(work: Any) -> int:
    try:
        return int(asyncio.run(work()))
    except Unusable as error:
        return _refuse(error.word, [error])
    except DocumentError as error:
        return _refuse("bad_configuration", error.problems)
    except Refused as error:
        return _refuse(error.word, error.lines)
    except Away as error:
        return _refuse("infrastructure", [error])
    except KeyboardInterrupt:  # the second Ctrl-C: not even the cancel is waited for
        return _refuse("cancelled", ["left without waiting; the run may still be going"])


async def _run(args: argparse.Namespace, patience: Patience) -> int:
    _check_writable((args.junit, args.json, args.markdown))
    server, stop = _server(args), asyncio.Event()
    say = (lambda _text: None) if args.quiet else _say
    waiting = Waiting(server, stop, timeout=args.timeout, say=say, patience=patience)
    overrides = {
        name: value
        for name, value in (("policy", args.policy), ("endpoint", args.endpoint))
        if value
    }
    try:
        with stop_on_signals(stop):
            try:
                run = await waiting.verdict(quote(args.slug, safe=""), overrides)
            except Stopped as stopped:
                return await _give_up(args, waiting, stopped)
    finally:
        await server.close()
    return _report(args, run)


async def _give_up(args: argparse.Namespace, waiting: Waiting, stopped: Stopped) -> int:
    """Cancel what was started, and report it as what it is: no verdict."""
    run, reason = stopped.run, str(stopped)
    if run is None:
        return _refuse(stopped.word, [f"{reason} No run was started."])
    told = await waiting.cancel(run)
    reason += " The run is cancelled." if told else " The run could not be cancelled."
    code = EXIT_CODES[stopped.word]
    return _report(args, {**run, "outcome": stopped.word, "because": reason, "exit_code": code})


def _report(args: argparse.Namespace, run: GateRun) -> int:
    base = plain_base(args.server)
    write(run, server=base, junit=args.junit, as_json=args.json, markdown=args.markdown)
    told = lines(run, server=base, annotate=os.environ.get("GITHUB_ACTIONS") == "true")
    report("".join(f"{line}\n" for line in told), name="gate", kept=f"it is at {base}")
    return int(run["exit_code"])


async def _list(args: argparse.Namespace) -> int:
    server, path = _server(args), "/gates?page_size=200"
    try:
        for _ in range(MOST_PAGES):
            page = await server.get(path)
            for gate in page["results"]:
                print(one_line(_row(gate)))
            if not page.get("next"):
                break
            path = f"/gates?{urlsplit(page['next']).query}"
    finally:
        await server.close()
    return 0


def _row(gate: Mapping[str, Any]) -> str:
    last = gate.get("last_run") or {}
    word = last.get("outcome") or last.get("status") or "never run"
    return f"{gate['slug']:<32} v{gate['latest']['number']:<5} {word}"


def _server(args: argparse.Namespace) -> Server:
    token = os.environ.get("HEADWAY_TOKEN", "").strip()
    if not token:
        remedy = "make one on the server's page API tokens, with the scopes read and runs:write"
        raise Unusable("not_authorised", f"HEADWAY_TOKEN is not set; {remedy}")
    if not token.isascii() or not token.isprintable() or " " in token:
        raise Unusable("not_authorised", "HEADWAY_TOKEN is no token: it holds other characters")
    return Server(plain_base(args.server, path="server"), token)


def _check_writable(files: Iterable[Path | None]) -> None:
    """Before anything is started: a report that can't be written is found out now."""
    for file in files:
        if file is not None and (file.is_dir() or not file.absolute().parent.is_dir()):
            raise Unusable("bad_configuration", f"{file} can't be written: is its folder there?")


def _say(text: str) -> None:
    tell(f"{one_line(text)}\n", sys.stderr)


def _refuse(word: str, reasons: Iterable[object]) -> int:
    for reason in reasons:
        _say(f"headway gate: {reason}")
    return EXIT_CODES[word]
