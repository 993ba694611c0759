"""Machines in virtual time: a start in each one's clock, and what becomes of one that is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from controlplane.runs.machines.member import MachineMember, made_by
from controlplane.runs.machines.wire import SILENCE_S, encode
from engines.egress import EgressRules
from loadtest import crew as crews
from loadtest import measured_json
from loadtest.conclusion import Conclusion, Seen
from loadtest.crew import Crew, lead
from loadtest.crew_member import STOP_WITHIN, Heard, Member
from loadtest.execution import Measured, Order
from loadtest.facts import Facts
from loadtest.news import News
from loadtest.scenario import Scenario
from loadtest.schedule import Slice
from measurement.window import WindowFold
from simulator import virtual_time
from tests.loadtest.test_crew import scenario

READY_WITHIN = 20.0


@dataclass
class FakeMachine:
    """Another machine: its clock, the ways to it and back, and what it does. All in seconds."""

    offset: float = 0.0
    there: float = 0.001
    back: float = 0.001
    ready_after: float = 0.5
    silent_after: float = 1e9
    deaf: bool = False
    """It hears no cancel."""
    missing: int = 0
    """Requests that it measured and whose samples do not arrive."""
    skips: bool = False
    """One of its messages is lost on the way."""
    twice: bool = False
    """Each of its messages comes twice."""
    made_by: dict[str, str] = field(default_factory=made_by)
    lasts: float = 3.0
    heard: list[tuple[float, dict[str, Any]]] = field(default_factory=list)
    began: float = 0.0
    said: int = 0
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def member(self, part: Slice, heard: Heard) -> MachineMember:
        self.part = part
        clock = asyncio.get_running_loop().time
        self.its = MachineMember(part, f"celery@h{part.number}", self.say, heard, clock=clock)
        return self.its

    def named(self) -> list[str]:
        return [message["type"] for _at, message in self.heard]

    async def say(self, message: dict[str, Any]) -> None:
        """The lead says this; it arrives a way later."""
        self.tasks.append(asyncio.ensure_future(self._arrives(message)))

    async def _arrives(self, message: dict[str, Any]) -> None:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(self.there)
        self.heard.append((loop.time(), message))
        kind = message["type"]
        if kind == "given":
            await self._tell(type="here", **self.made_by)
            self.tasks.append(asyncio.ensure_future(self._beat()))
            await asyncio.sleep(self.ready_after)
            await self._tell(type="ready")
        elif kind == "probe":
            now = loop.time() + self.offset
            await self._tell(type="reply", id=message["id"], heard=now, answered=now)
        elif kind == "go":
            self.began = loop.time()
            self.tasks.append(asyncio.ensure_future(self._load()))
        elif kind == "cancel" and not self.deaf:
            await self._ends("cancelled")

    async def _beat(self) -> None:
        while not {"bye", "kill"} & set(self.named()):
            await asyncio.sleep(1.0)
            await self._tell(type="beat")

    async def _load(self) -> None:
        fold = WindowFold()
        await self._tell(type="signals", missing=False)
        for second in range(1, int(self.lasts) + 1):
            await asyncio.sleep(1.0)
            windows = [window.to_json() for window in fold.changed(second + 0.01)]
            totals = {"in_flight": 1, "waiting": 0, "limit": None}
            await self._tell(type="windows", at=float(second), windows=windows, totals=totals)
        await self._ends("finished")

    async def _ends(self, status: str) -> None:
        facts = Facts(0.0, "v", 0, "salt", self.part.number, self.part.of)
        measured = Measured(facts, Seen(windows=(), stopped_at=self.lasts, launched=0), status)
        await self._tell(type="samples", lines=b"{}\n{}\n")
        await self._tell(type="measured", measured=measured_json.to_json(measured))
        await self._tell(type="done", requests=2 + self.missing, how="")

    async def _tell(self, **message: Any) -> None:
        loop = asyncio.get_running_loop()
        if self.began and loop.time() - self.began > self.silent_after:
            return
        numbered = {**message, "n": self.said}
        self.said += 2 if self.skips and message["type"] == "windows" else 1
        await asyncio.sleep(self.back)
        for _time in range(2 if self.twice else 1):
            self.its.hear(encode(numbered), loop.time())


class Watching:
    def __init__(self, cancel_at: float | None = None) -> None:
        self.told: list[tuple[float, News]] = []
        self.stop = asyncio.Event()
        self._cancel_at = cancel_at

    def started(self, scenario: Scenario, facts: Facts) -> None:
        if self._cancel_at is not None:
            asyncio.get_running_loop().call_later(self._cancel_at, self.stop.set)

    def news(self, news: News) -> None:
        self.told.append((asyncio.get_running_loop().time(), news))

    def concluded(self, conclusion: Conclusion) -> None:
        self.ended = asyncio.get_running_loop().time()

    def invalid_at(self) -> float:
        return next(at for at, news in self.told if news.verdict.outcome == "invalid")


Run = Callable[..., tuple[Conclusion, Watching]]


@pytest.fixture
def led(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Lead these machines to the end of their run, in virtual time."""

    async def anywhere(_order: Order) -> None:
        """Names are resolved by threads, which know no virtual time."""

    monkeypatch.setattr(crews, "_check_target", anywhere)

    def run(*machines: FakeMachine, cancel_at: float | None = None) -> tuple[Conclusion, Watching]:
        async def main() -> tuple[Conclusion, Watching]:
            watching = Watching(cancel_at)

            def make(part: Slice, heard: Heard) -> Member:
                return machines[part.number].member(part, heard)

            size = len(machines)
            crew = Crew(size, make, machines=size, ready_within=READY_WITHIN, lead=1.0)
            given = Scenario.parse(scenario(9, duration_s=3, drain_s=1))
            order = Order(given, tmp_path, EgressRules.loopback())
            try:
                return await lead(order, crew, watching, watching.stop), watching
            finally:
                await asyncio.sleep(1.0)  # for what is still on its way to a machine

        return virtual_time.run(main())

    return run


def test_the_start_is_one_instant_in_each_machines_own_clock(led: Run) -> None:
    far = FakeMachine(offset=1_000.0, there=0.001, back=0.009)
    near = FakeMachine(offset=-5.0, there=0.004, back=0.0, ready_after=4.0)
    conclusion, _ = led(far, near)
    starts = []
    for machine, row in zip((far, near), conclusion.seen.workers, strict=True):
        (at, go), *more = [(at, it) for at, it in machine.heard if it["type"] == "go"]
        assert not more
        assert at > 4.0, "nobody starts before the last one is ready"
        within = row["clock"]["uncertainty_ms"] / 1e3
        assert abs(row["clock"]["offset_ms"] / 1e3 - machine.offset) <= within < 0.0051
        starts.append((go["monotonic"] - machine.offset, within))
    (one, one_within), (other, other_within) = starts
    assert abs(one - other) <= one_within + other_within
    assert conclusion.seen.lost == ()
    assert conclusion.facts.machines == 2
    assert all(machine.named()[-1] == "bye" for machine in (far, near))


def test_a_clock_that_is_not_known_well_enough_is_told_from_the_start(led: Run) -> None:
    conclusion, watching = led(FakeMachine(), FakeMachine(there=0.030, back=0.0))
    (doubt,) = conclusion.seen.lost
    assert doubt.startswith("Machine h1 (slice 2 of 2) may have sent its part up to 15.0 ms off")
    assert conclusion.verdict.outcome == "invalid"
    first = watching.told[0][1].verdict
    assert first.outcome == "invalid"
    assert "its clock is known to ±15.0 ms" in first.because


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (FakeMachine(there=60.0), "was not ready within 20 s; no request was sent"),
        (
            FakeMachine(made_by={"version": "0.0.1", "numpy": "1"}),
            "runs Headway 0.0.1 with numpy 1",
        ),
    ],
)
def test_a_machine_that_can_not_take_part_ends_the_run_before_a_request(
    led: Run, wrong: FakeMachine, why: str
) -> None:
    other = FakeMachine()
    with pytest.raises(ChildProcessError, match=why) as refused:
        led(other, wrong)
    assert str(refused.value).startswith("Machine h1 (slice 2 of 2) ")
    assert "go" not in [*other.named(), *wrong.named()]


def test_a_silent_machine_is_lost_at_its_deadline_and_the_other_goes_on(led: Run) -> None:
    silent, other = FakeMachine(silent_after=1.5, lasts=9.0), FakeMachine(lasts=9.0)
    conclusion, watching = led(silent, other)
    (said,) = conclusion.seen.lost
    assert said.startswith(f"Machine h0 (slice 1 of 2) said nothing for {SILENCE_S:g} s")
    assert conclusion.verdict.outcome == "invalid"
    waited = watching.invalid_at() - silent.began - silent.silent_after
    assert SILENCE_S - 1.0 < waited < SILENCE_S + 0.2, "its last word was up to a second before"
    assert watching.ended > watching.invalid_at() + 1.0
    assert "kill" in silent.named(), "should it live on, it must not send on"
    in_flight = [news.totals["in_flight"] for _at, news in watching.told]
    assert (max(in_flight), in_flight[-1]) == (2, 1), "of the lost one nothing is in flight"
    missing = [news.signals_missing for _at, news in watching.told]
    assert missing[0] is False
    assert missing[-1] is True, "the first one had asked the engine for them"
    assert [bool(row["lost"]) for row in conclusion.seen.workers] == [True, False]


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (FakeMachine(missing=1), "measured 3 requests, and 2 arrived"),
        (FakeMachine(skips=True), "did not arrive"),
    ],
)
def test_what_does_not_arrive_whole_is_not_taken_for_whole(
    led: Run, wrong: FakeMachine, why: str
) -> None:
    conclusion, _ = led(FakeMachine(), wrong)
    assert why in conclusion.seen.lost[0]
    assert conclusion.verdict.outcome == "invalid"


def test_what_comes_twice_counts_once(led: Run) -> None:
    conclusion, _ = led(FakeMachine(), FakeMachine(twice=True))
    assert conclusion.seen.lost == ()


def test_a_cancel_reaches_every_machine_and_waits_for_none_past_its_deadline(led: Run) -> None:
    quick, deaf = FakeMachine(lasts=60.0), FakeMachine(lasts=60.0, deaf=True)
    conclusion, watching = led(quick, deaf, cancel_at=1.5)
    assert conclusion.status == "cancelled"
    assert "cancel" in quick.named()
    assert quick.named()[-1] == "bye"
    assert deaf.named()[-1] == "kill"
    cancelled = next(at for at, message in deaf.heard if message["type"] == "cancel")
    assert watching.ended - cancelled < STOP_WITHIN + 0.5
    assert [bool(row["lost"]) for row in conclusion.seen.workers] == [False, True]
