"""How often the CPU limit of this process's control groups held it back, as Linux counts.

A container with half a CPU is stopped for up to 100 ms at a time: a client that then reads late is
not slow, it is not let run. Only who reads ``cpu.stat`` can tell the two apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Self

PROCESS = Path("/proc/self")
STAT = "cpu.stat"


@dataclass(frozen=True, slots=True)
class Throttled:
    """In how many periods, and for how many seconds in all: each core that it holds counts."""

    periods: int
    seconds: float

    def since(self, before: Throttled) -> Throttled:
        """What came to it after ``before``."""
        return Throttled(self.periods - before.periods, max(0.0, self.seconds - before.seconds))

    def sentence(self) -> str | None:
        """What it did and what to do; None where it did nothing."""
        if self.periods <= 0:
            return None
        times = "once" if self.periods == 1 else f"in {self.periods:,} periods"
        return (
            f"The CPU limit of the client's control group (container) held its processes back "
            f"{times}, for {self.seconds:,.1f} s summed over cores. Raise the limit (cpu.max; a "
            "container's CPU limit), or run it where there is none."
        )


class CpuLimit:
    """Reads what was counted so far, of every control group from the process's own to the root."""

    def __init__(self, files: tuple[Path, ...]) -> None:
        self._files = files

    @classmethod
    def of_process(cls, process: Path = PROCESS) -> Self:
        """Found by the process's mounts, for version 1 and 2; none where Linux tells none."""
        try:
            groups = (process / "cgroup").read_text("utf-8").splitlines()
            mounts = (process / "mountinfo").read_text("utf-8").splitlines()
        except OSError:
            return cls(())
        found = dict.fromkeys(file for mount in mounts for file in _files(mount, groups))
        return cls(tuple(found))

    def read(self) -> Throttled | None:
        """None where nothing is counted."""
        known = [counts for counts in map(_counts, self._files) if "nr_throttled" in counts]
        if not known:
            return None
        return Throttled(
            sum(counts["nr_throttled"] for counts in known),
            sum(
                counts.get("throttled_usec", 0) / 1e6 + counts.get("throttled_time", 0) / 1e9
                for counts in known
            ),
        )


def _files(mount: str, groups: list[str]) -> Iterator[Path]:
    """The files of one mount that count for a process in these groups."""
    left, _, right = mount.partition(" - ")
    fields, (kind, *more) = left.split(), right.split() or [""]
    if kind not in {"cgroup", "cgroup2"} or len(fields) < 5:
        return
    if kind == "cgroup" and "cpu" not in more[-1].split(","):
        return
    for group in groups:
        _, controllers, path = group.split(":", 2)
        if ("cpu" in controllers.split(",")) if kind == "cgroup" else not controllers:
            yield from _upwards(Path(fields[4]), fields[3], path)


def _upwards(mounted: Path, root: str, path: str) -> Iterator[Path]:
    """From a group to its mount: any of them may have a limit. ``root`` is what is mounted there;
    a path outside it is that of a container that sees its own group only."""
    own = PurePosixPath(path)
    inside = own.relative_to(root) if own.is_relative_to(root) else PurePosixPath()
    for level in (inside, *inside.parents):
        yield mounted / level / STAT


def _counts(file: Path) -> dict[str, int]:
    try:
        pairs = [line.split() for line in file.read_text("utf-8").splitlines()]
        return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2}
    except (OSError, ValueError):
        return {}
