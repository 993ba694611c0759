"""What several workers say of a run that is under way, as one verdict so far."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from loadtest.crew_desk import Desk
from loadtest.news import DOUBTED, News
from loadtest.scenario import Scenario
from loadtest.schedule import Slice
from measurement.doubted import Doubted
from measurement.window import WindowFold
from tests.loadtest.test_scenario import document


class Files:
    """A recorder that keeps nothing."""

    def windows(self, found: Any) -> None: ...

    def flush(self) -> None: ...


class Heard:
    """An observer that keeps the news."""

    def __init__(self) -> None:
        self.told: list[News] = []

    def news(self, news: News) -> None:
        self.told.append(news)


async def told(doubted: list[Doubted]) -> News:
    """The news after each worker's first second, of whose first tokens so many are doubted."""
    heard = Heard()
    desk = Desk(Scenario.parse(document()), Files(), len(doubted), heard)  # type: ignore[arg-type]
    over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    over.set_result(None)
    members = []
    for number, one in enumerate(doubted):
        part, fold = Slice(number, len(doubted)), WindowFold()
        fold.in_flight(0.0, 1)
        windows = [window.to_json() for window in fold.finish(1.0)]
        counts = {"answers": one.answers, "doubted": one.doubted, "error": one.error}
        message = {"type": "windows", "windows": windows, "totals": {DOUBTED: counts}, "at": 1.0}
        desk.hear(part, message)
        members.append(
            SimpleNamespace(part=part, listening=over, lost="", doubts=lambda: (), about=dict)
        )
    desk.turn(members)  # type: ignore[arg-type]
    return heard.told[-1]


async def test_first_tokens_that_the_client_read_late_are_told_while_the_run_goes_on() -> None:
    news = await told([Doubted(100, 0), Doubted(100, 6, 0.3)])
    assert news.verdict.outcome == "invalid"
    assert "The first token of 3.0 % of the answers may be up to 300 ms too late" in (
        news.verdict.because
    )


async def test_a_few_of_them_say_nothing_yet() -> None:
    news = await told([Doubted(100, 0), Doubted(100, 2, 0.3)])
    assert news.verdict.outcome != "invalid"
