"""What must hold for a gateway that runs for weeks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import gateway.spool as spool_module
from gateway.attached import AttachedGateway, Attachment
from gateway.books import KEPT
from gateway.clock import SteadyClock
from gateway.http.exchange import Exchange
from gateway.server import ServerOptions
from gateway.spool import InUse, Spool, hold
from tests.engines.raw_server import RawServer, page, replying
from tests.gateway.serving import AUTH, CHAT, config, gateway
from tests.gateway.test_disconnect import Leaver, prefill
from tests.gateway.waiting import within
from tests.simulator.serving import connected


async def test_windows_that_nobody_collects_do_not_pile_up() -> None:
    now = [1_000_000.0]
    async with (
        RawServer(replying(page(b"{}"), keep=True)) as engine,
        gateway(config(engine.url), clock=lambda: now[0]) as server,
        connected(server) as client,
    ):
        for _ in range(100):
            now[0] += 1.0
            await client.ask("POST", "/v1/completions", CHAT, extra=AUTH)
            await within(1, lambda: server.at_rest)
            server.books.changed(now[0])
        (account,) = server.books.accounts.values()
        assert len(account.fold._windows) <= KEPT + 2
        assert account.fold.too_late == 0


async def test_a_fault_of_the_gateways_own_is_500_and_costs_one_request(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with gateway(config("http://127.0.0.1:9")) as server, connected(server) as client:

        def broken(exchange: Exchange) -> None:
            raise RuntimeError("a defect")

        with monkeypatch.context() as patch:
            patch.setattr(server.app, "_route", broken)
            answer = await client.ask("GET", "/health")
        assert (answer.status, answer.json()["error"]["code"]) == (500, "internal_error")
        assert (await client.ask("GET", "/health")).status == 200
    assert "a defect" in caplog.text


async def test_a_defect_amid_a_request_frees_its_permit_and_is_written_down(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with (
        RawServer(replying(page(b"{}"), keep=True)) as engine,
        gateway(config(engine.url)) as server,
        connected(server) as client,
    ):
        with monkeypatch.context() as patch:
            patch.setattr(server.lane.engines[0], "request", None)
            answer = await client.ask("POST", "/v1/completions", CHAT, extra=AUTH)
        assert answer.json()["error"]["code"] == "internal_error"
        await within(1, lambda: server.at_rest)
        assert (await client.ask("POST", "/v1/completions", CHAT, extra=AUTH)).status == 200
    assert len(server.served) == 2


def test_two_gateways_never_share_a_state_folder(tmp_path: Path) -> None:
    held = hold(tmp_path)
    with pytest.raises(InUse, match="--state-dir"):
        hold(tmp_path)
    os.close(held)
    os.close(hold(tmp_path))


async def test_a_state_folder_is_free_again_after_the_end(tmp_path: Path) -> None:
    for _ in range(2):
        attachment = Attachment("http://127.0.0.1:9", "edge", "t", tmp_path)
        await AttachedGateway(attachment, ServerOptions(), SteadyClock()).stop()


def test_a_full_disk_costs_batches_and_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool = Spool(tmp_path)
    spool.add(b"1")

    def full(path: Path, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(spool_module, "write_whole", full)
        spool.add(b"2")
    assert spool.dropped == 1
    assert spool.add(b"3") == 2
    assert len(spool) == 2


async def test_a_request_that_takes_long_still_counts_in_the_window_it_came_in() -> None:
    now = [1_000_000.0]
    async with (
        RawServer(prefill) as engine,
        gateway(config(engine.url), clock=lambda: now[0]) as server,
    ):
        client = await Leaver.ask(server)
        await within(1, lambda: engine.asked)
        for _ in range(40):
            now[0] += 1.0
            server.books.changed(now[0])
        await client.reset()
        await within(1, lambda: server.at_rest)
        now[0] += 1.0
        given = [window for _, window in server.books.changed(now[0])]
        (account,) = server.books.accounts.values()
    came = next(window for window in given if window.start == 1_000_000.0)
    assert (came.cohort.offered, came.cohort.excluded, came.final) == (1, 1, True)
    assert account.fold.too_late == 0
