"""Runs that are over, a line each in a file: a play that was cut off goes on where it was.

The first line says of what they are: system, size, version and code. A play asks for its runs in
the same order whatever they come to, so a run is found again by its pass's place in that order and
its seed.
"""

from __future__ import annotations

import hashlib
import json
import math
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from documents.problem import DocumentError, Problem
from loadtest.reproduce.runs import Ended, Numbers, Play, Result, Runner


class Kept:
    """``runner`` makes those that ``path`` doesn't have. ``of``: what they must be of.

    DocumentError where the file is of something else, can't be read, or can't be written.
    """

    def __init__(self, runner: Runner, path: Path, of: Mapping[str, Any]) -> None:
        self._runner = runner
        self._path = path
        self._known = _read(path, of)
        self._passes = 0
        self._lock = threading.Lock()
        self._failed: OSError | None = None
        if not path.exists():
            self._append(dict(of))
        self._check()

    def __len__(self) -> int:
        """Runs that are in the file."""
        return len(self._known)

    def begin(self, play: Play, seeds: Sequence[int], ended: Ended) -> Result:
        """Make those that are missing."""
        place, self._passes = self._passes, self._passes + 1
        known = {seed: self._known[place, seed] for seed in seeds if (place, seed) in self._known}
        for seed, numbers in known.items():
            ended(seed, numbers)
        missing = [seed for seed in seeds if seed not in known]

        def over(seed: int, numbers: Numbers) -> None:
            told = {key: _told(value) for key, value in numbers.items()}
            self._append({"pass": place, "seed": seed, "numbers": told})
            ended(seed, numbers)

        result = self._runner.begin(play, missing, over)

        def all_of_them() -> Sequence[Numbers]:
            made = dict(zip(missing, result(), strict=True))
            self._check()
            return [known[seed] if seed in known else made[seed] for seed in seeds]

        return all_of_them

    def _append(self, line: Mapping[str, Any]) -> None:
        """A line that whoever kills this process can't take back."""
        try:
            with self._lock, self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, allow_nan=False) + "\n")
        except OSError as error:
            self._failed = error

    def _check(self) -> None:
        """Whoever waits for numbers hears what the thread that kept them met."""
        if self._failed is not None:
            message = f"can't be written: {self._failed.strerror}"
            raise DocumentError([Problem("out", str(self._path), message)])


def code() -> str:
    """A fingerprint of all source text that a run's numbers can come from."""
    told = hashlib.sha256()
    root = Path(__file__).parents[2]
    for package in ("documents", "loadtest", "measurement", "schedulers", "simulator"):
        for file in sorted((root / package).rglob("*")):
            if file.suffix in (".py", ".toml", ".json", ".yaml"):
                told.update(f"{file.relative_to(root)}\n".encode() + file.read_bytes())
    return told.hexdigest()[:16]


def _read(path: Path, of: Mapping[str, Any]) -> dict[tuple[int, int], dict[str, float]]:
    try:
        text = path.read_text("utf-8") if path.exists() else ""
    except OSError as error:
        message = f"can't be read: {error.strerror}"
        raise DocumentError([Problem("resume", str(path), message)]) from None
    lines = text.splitlines()
    if text and not text.endswith("\n"):  # it was cut off within a line
        path.write_text("".join(f"{line}\n" for line in lines[:-1]), "utf-8")
        lines.pop()
    if not lines:
        path.unlink(missing_ok=True)
        return {}
    try:
        head, *rest = map(json.loads, lines)
        kept = ", ".join(f"{key} {value}" for key, value in head.items())
        runs = {
            (one["pass"], one["seed"]): {key: _read_number(v) for key, v in one["numbers"].items()}
            for one in rest
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        message = "holds no runs of a play; remove it, or choose another --out"
        raise DocumentError([Problem("resume", str(path), message)]) from None
    if head != dict(of):
        asked = ", ".join(f"{key} {value}" for key, value in of.items())
        message = f"holds runs of {kept}, not of {asked}; remove it, or choose another --out"
        raise DocumentError([Problem("resume", str(path), message)])
    return runs


def _told(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _read_number(value: float | None) -> float:
    return math.inf if value is None else float(value)
