"""A load-test worker that plays a script: a real process with the real protocol and made-up data.

Each line of the script is one step: a message to write, or ``{"do": …}`` with one of STEPS.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from pathlib import Path


def say(message: object) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def stop(*_: object) -> None:
    say({"type": "finished", "status": "cancelled", "summary": {"status": "cancelled"}})
    os._exit(130)


def wait(seconds: float) -> None:
    """Sleep, and stop at the end of input, as the protocol asks."""
    readable, _, _ = select.select([sys.stdin], [], [], seconds)
    if readable and not os.read(sys.stdin.fileno(), 1):
        stop()


def babble(text: str = "Traceback: not JSON") -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def hang() -> None:
    while True:
        time.sleep(3600)


STEPS = {
    "sleep": wait,
    "garbage": babble,
    "die": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "terminated": lambda: os.kill(os.getpid(), signal.SIGTERM),
    "exit": os._exit,
    "deaf": lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN),
    "hang": hang,
    "tell": lambda path: Path(path).write_text(json.dumps(dict(os.environ))),
}


def step(given: dict) -> None:
    do = given.pop("do", None)
    if do is None:
        say(given)
    else:
        STEPS[do](**given)


def main() -> None:
    signal.signal(signal.SIGTERM, stop)
    for line in Path(sys.argv[1]).read_text().splitlines():
        step(json.loads(line))


if __name__ == "__main__":
    main()
