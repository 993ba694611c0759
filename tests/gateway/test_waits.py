"""A frozen engine is seen at once, not when its requests time out."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from gateway.spool import Spool
from gateway.telemetry import Telemetry
from gateway.waits import Standing, Waits
from measurement.slo import Slo
from tests.engines.raw_server import RawServer
from tests.gateway.serving import config, gateway, slo
from tests.gateway.test_disconnect import Leaver, prefill
from tests.gateway.waiting import within
from tests.simulator.serving import connected

FIRST_WITHIN_400_MS = Slo.parse(slo(ttft_ms=400))
OVER_WITHIN_2_S = Slo.parse(slo(e2e_ms=2000))
STREAMED, WHOLE = b'{"stream": true}', b'{"prompt": "say \\"stream\\": true"}'


@dataclass(eq=False)
class Asked:
    intended_at: float = 10.0
    sent_at: float | None = 10.0
    heard_at: float | None = None
    first_token_at: float | None = None


def waits(*requests: Asked, body: bytes = STREAMED) -> Waits:
    found = Waits()
    for request in requests:
        found.begin(request, tenant="acme", body=body, prompt_tokens=12)
    return found


def test_nobody_waits_in_a_lane_at_rest() -> None:
    assert waits().standing(50.0, FIRST_WITHIN_400_MS) == Standing()


def test_a_stream_without_a_first_token_in_time_has_missed_before_it_ends() -> None:
    lane = waits(Asked(), Asked(intended_at=11.9, sent_at=11.9))
    assert lane.standing(10.3, FIRST_WITHIN_400_MS).overdue == 0
    told = lane.standing(12.0, FIRST_WITHIN_400_MS)
    assert told == Standing(1, 2.0, 2.0, {"ttft_ms": 1}, {"acme": 1})


def test_one_that_has_begun_is_late_only_by_its_end() -> None:
    begun = Asked(heard_at=10.2, first_token_at=10.2)
    assert waits(begun).standing(13.0, FIRST_WITHIN_400_MS).overdue == 0
    assert waits(begun).standing(13.0, OVER_WITHIN_2_S).overdue == 1


def test_an_answer_in_one_piece_has_no_first_token_to_miss() -> None:
    assert waits(Asked(), body=WHOLE).standing(13.0, FIRST_WITHIN_400_MS).overdue == 0
    assert waits(Asked(), body=WHOLE).standing(13.0, OVER_WITHIN_2_S).overdue == 1


def test_silence_runs_from_the_last_byte_of_any_answer() -> None:
    speaking, dumb = Asked(heard_at=18.0, first_token_at=11.0), Asked()
    lane = waits(speaking, dumb)
    assert lane.standing(20.0, None).quiet_s == 2.0
    lane.end(speaking)
    assert lane.standing(20.0, None).quiet_s == 2.0


def test_silence_does_not_run_while_nobody_is_owed_anything() -> None:
    ended, held = Asked(heard_at=11.0), Asked(sent_at=None)
    lane = waits(ended, held)
    lane.end(ended)
    assert lane.standing(60.0, None).quiet_s == 0.0
    lane.begin(Asked(sent_at=58.0), tenant="acme", body=STREAMED, prompt_tokens=12)
    assert lane.standing(60.0, None).quiet_s == 2.0


async def test_telemetry_and_metrics_tell_of_an_engine_that_froze(tmp_path: Path) -> None:
    now = [1_000_000.0]
    async with (
        RawServer(prefill) as engine,
        gateway(config(engine.url, slo=slo(ttft_ms=400)), clock=lambda: now[0]) as server,
        connected(server) as watcher,
    ):
        leaver = await Leaver.ask(server)
        await within(2, lambda: len(engine.asked) == 1)
        now[0] += 7.0
        spool = Spool(tmp_path)
        Telemetry(server.books, server.router, spool, server.clock).collect()
        first = spool.first()
        assert first is not None
        (lane,) = json.loads(first[1])["lanes"]
        assert (lane["overdue"], lane["oldest_s"], lane["quiet_s"]) == (1, 7.0, 7.0)
        assert (lane["overdue_by"], sum(lane["overdue_tenants"].values())) == ({"ttft_ms": 1}, 1)
        page = await watcher.ask("GET", "/metrics")
        assert b'headway_gateway_overdue{lane="p"} 1.0' in page.body
        assert b'headway_gateway_quiet_seconds{lane="p"} 7.0' in page.body
        await leaver.leave()
        await within(2, lambda: server.at_rest)
        assert server.lane.waits.standing(now[0], server.config.slo) == Standing()
