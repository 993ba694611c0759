"""One comparison, carried out in this process: lanes driven, blocks closed, each look taken."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from loadtest.ab.book import BlockBook, Closed, washout_was_short
from loadtest.ab.draft import power_of
from loadtest.ab.ground import EngineLost, Ground
from loadtest.ab.lane import Lane, LaneMeans
from loadtest.ab.order import Order
from loadtest.ab.replay import Replay
from loadtest.ab.result import CANCELLED, FINISHED, Result, notes_of
from loadtest.answer_watch import AnswerWatch
from loadtest.conclusion import ttft_target
from loadtest.recorder import Recorder
from loadtest.runclock import RunClock
from loadtest.version import version
from measurement.comparison.assignment import Arm
from measurement.comparison.power import Power
from measurement.comparison.verdict import FINAL, ComparisonVerdict, Evidence, judge
from measurement.validity import most_lag

RESULT, ORDER, BLOCKS = "result.json", "order.json", "blocks.jsonl"
_BEAT = 1.0
_JUDGED_EACH = 200
"""Up to so many blocks each one is looked at; of more, one in a hundred."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How far it is. Seconds of the schedule, and of waiting that are left."""

    at: float
    blocks: int
    of: int
    left_s: float | None
    in_flight: dict[str, int]


class Observer(Protocol):
    """Who is told how a comparison goes, in the event loop that drives it."""

    def started(self, order: Order, power: tuple[Power, ...], model: dict[str, Any]) -> None: ...

    def standing(self, standing: Standing) -> None: ...

    def block(self, closed: Closed, book: BlockBook, verdict: ComparisonVerdict | None) -> None: ...

    def concluded(self, result: Result) -> None: ...


async def compare(
    order: Order,
    ground: Ground,
    out: Path,
    observer: Observer,
    *,
    stop: asyncio.Event,
    wall: Callable[[], float],
) -> Result:
    """To its decision, its last block, or until ``stop`` is set; then a result is written.

    The directory must exist. ``wall`` is monotonic seconds of waiting, whatever the lanes' clock.
    EngineLost where an engine of our own dies.
    """
    power = power_of(order.plan)
    (out / ORDER).write_text(_json(order.to_document()), "utf-8")
    observer.started(order, power, dict(ground.model))
    with ExitStack() as stack:
        run = _Comparison(order, ground, out, observer, wall, stack)
        await run.drive(stop)
    result = run.result(power, stopped=stop.is_set())
    (out / RESULT).write_text(_json(result.to_json()), "utf-8")
    observer.concluded(result)
    return result


class _Comparison:
    """The parts of one comparison, wired together."""

    def __init__(
        self,
        order: Order,
        ground: Ground,
        out: Path,
        observer: Observer,
        wall: Callable[[], float],
        stack: ExitStack,
    ) -> None:
        self._order = order
        self._ground = ground
        self._observer = observer
        self._wall = wall
        self._began = wall()
        self._clock = RunClock(ground.clock)
        self._salt = order.load.prompt_salt or secrets.token_hex(8)
        replay = Replay(order, self._salt)
        self._book = BlockBook(order, replay, ground.engines)
        self._answers = AnswerWatch(
            self._clock,
            ground.stalls,
            most=most_lag(ttft_target(order.load.slo)),
            stamped=False,
        )
        self._blocks = stack.enter_context((out / BLOCKS).open("w", encoding="utf-8"))
        self._lanes = [
            Lane(
                name,
                order,
                replay,
                LaneMeans(
                    ground.clients[name],
                    self._clock,
                    stack.enter_context(Recorder(_directory(out / f"lane-{name}"))),
                    self._take,
                    self._book.ran,
                    ground.signals.get(name, _unsaid),
                ),
            )
            for name in replay.lanes
        ]
        self._decided = False
        self._lost = ""

    async def drive(self, stop: asyncio.Event) -> None:
        """All lanes at once, until they have ended or something ends them."""
        self._began = self._wall()
        self._clock.origin = self._ground.clock() + self._ground.lead
        async with _beside(self._stop_on(stop)), _beside(self._beat()):
            await asyncio.gather(*(lane.drive(self._look) for lane in self._lanes))
        if self._lost:
            raise EngineLost(self._lost)
        self._look(last=True)

    def result(self, power: tuple[Power, ...], *, stopped: bool) -> Result:
        """What it came to; a stop after the decision changes nothing."""
        book, order = self._book, self._order
        evidence = self._evidence()
        verdict = judge(order.plan, evidence)
        ended = verdict.state == FINAL or len(book.blocks) == order.plan.blocks
        longest = washout_was_short(book.totals, order.washout_s)
        return Result(
            order=order,
            status=CANCELLED if stopped and not ended else FINISHED,
            evidence=evidence,
            verdict=verdict,
            power=power,
            totals=book.totals,
            lateness={arm: book.lateness(arm).to_json() for arm in Arm},
            model=self._ground.model,
            prompt_salt=self._salt,
            client_version=version(),
            notes=notes_of(order, self._ground.model, longest),
        )

    def _take(self, lane: str, sample: Any) -> None:
        first, _ = self._answers.look(sample)
        self._book.take(lane, sample, first)
        self._look()

    def _look(self, *, last: bool = False) -> None:
        """Close what is complete; the first decision ends the comparison."""
        for closed in self._book.close(float("inf") if last else self._clock()):
            for lane in self._lanes:
                lane.settle()
            self._write(closed)
            verdict = judge(self._order.plan, self._evidence()) if self._judged() else None
            self._observer.block(closed, self._book, verdict)
            if verdict is not None and verdict.state == FINAL:
                self._end()
                return

    def _write(self, closed: Closed) -> None:
        self._blocks.write(json.dumps(closed.block.to_json(), separators=(",", ":")) + "\n")
        self._blocks.flush()

    def _judged(self) -> bool:
        k, planned = len(self._book.blocks), self._order.plan.blocks
        return planned <= _JUDGED_EACH or k == planned or k % (planned // 100) == 0

    def _evidence(self) -> Evidence:
        blocks = tuple(self._book.blocks)
        return Evidence(blocks, elapsed_s=max((one.ended_at for one in blocks), default=0.0))

    def _end(self) -> None:
        self._book.freeze()
        for lane in self._lanes:
            lane.driver.cancel()

    async def _stop_on(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self._end()

    async def _beat(self) -> None:
        """Say where it stands about once a second of waiting, whatever the lanes' clock."""
        said = self._wall()
        while True:
            await asyncio.sleep(_BEAT / 4)
            if lost := self._ground.lost():
                self._lost = lost
                self._end()
                return
            if self._wall() - said >= _BEAT:
                said = self._wall()
                self._observer.standing(self.standing())

    def standing(self) -> Standing:
        """How far it is now."""
        at = min(max(0.0, self._clock()), self._order.seconds)
        waited = self._wall() - self._began
        left = waited * (self._order.seconds - at) / at if at > 0 else None
        return Standing(
            at=at,
            blocks=len(self._book.blocks),
            of=self._order.plan.blocks,
            left_s=left,
            in_flight={lane.name: lane.driver.in_flight for lane in self._lanes},
        )


@asynccontextmanager
async def _beside(work: Any) -> AsyncIterator[None]:
    """Run something beside the lanes; a fault in it comes out here, its cancelling does not."""
    task = asyncio.ensure_future(work)
    try:
        yield
    finally:
        if not task.done():
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def read_blocks(out: Path) -> Iterator[dict[str, Any]]:
    """The blocks that a comparison had closed, whatever became of its process."""
    path = out / BLOCKS
    if not path.exists():
        return
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.endswith("\n"):
                yield json.loads(line)


def _unsaid() -> None:
    """Of an engine that says nothing of itself."""


def _directory(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    return path


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
