"""A load-test worker that plays a script: a real process with the real protocol and made-up data.

Each line of the script is one step: a message to write, or ``{"do": …}``: sleep, garbage, die,
hang, deaf (ignore SIGTERM), files (leave something to recover).
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


def step(given: dict) -> None:
    kind = given.get("do")
    if kind is None:
        say(given)
    elif kind == "sleep":
        wait(given["seconds"])
    elif kind == "garbage":
        sys.stdout.write(given.get("text", "Traceback: not JSON") + "\n")
        sys.stdout.flush()
    elif kind == "complain":
        print(given["text"], file=sys.stderr, flush=True)
    elif kind == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    elif kind == "exit":
        os._exit(given["code"])
    elif kind == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    elif kind == "hang":
        while True:
            time.sleep(3600)
    elif kind == "tell":
        Path(given["path"]).write_text(given["text"].format(pid=os.getpid(), **os.environ))


def main() -> None:
    signal.signal(signal.SIGTERM, stop)
    for line in Path(sys.argv[1]).read_text().splitlines():
        step(json.loads(line))


if __name__ == "__main__":
    main()
