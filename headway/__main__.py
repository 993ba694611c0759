"""The ``headway`` command: a thin list of subcommands, each a file in ``headway/commands``.

A subcommand is a module with NAME, HELP, ``add_arguments(parser)`` and ``run(args) -> int``. Its
module is small and imports what it needs when called, so that the list is quick to print.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
from collections.abc import Iterator, Sequence
from types import ModuleType

from headway import commands

BAD_CONFIGURATION = 20


class _Parser(argparse.ArgumentParser):
    """Faults in arguments are bad configuration, with the exit code that says so."""

    def error(self, message: str) -> None:  # type: ignore[override]
        self.print_usage(sys.stderr)
        self.exit(BAD_CONFIGURATION, f"{self.prog}: {message}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand; without one, print what there is."""
    parser = _Parser(prog="headway", description="The SLO control plane for LLM serving.")
    parser.add_argument("--version", action="store_true", help="print the version and leave")
    subparsers = parser.add_subparsers(title="commands", metavar="")
    for module in _modules():
        sub = subparsers.add_parser(module.NAME, help=module.HELP, description=module.HELP)
        module.add_arguments(sub)
        sub.set_defaults(run=module.run)
    args = parser.parse_args(argv)
    if args.version:
        from loadtest.version import version

        print(f"headway {version()}")
        return 0
    if not hasattr(args, "run"):
        parser.print_help()
        return 0
    try:
        code = int(args.run(args))
    except BrokenPipeError:
        code = 1
    _let_go_of_stdout()
    return code


def _let_go_of_stdout() -> None:
    """Whoever read it may have left, as ``head`` does: that is no other exit code."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        from headway.running.saying import mute

        mute(sys.stdout)


def _modules() -> Iterator[ModuleType]:
    for found in pkgutil.iter_modules(commands.__path__, f"{commands.__name__}."):
        module = importlib.import_module(found.name)
        if hasattr(module, "NAME"):
            yield module


if __name__ == "__main__":
    sys.exit(main())
