"""The feed: what is good is served and kept, what is bad is refused, silence changes nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from engines.egress import EgressRules
from engines.transport.httptools_stream import HttptoolsTransport
from gateway.config import GatewayConfig
from gateway.control_plane import ControlPlane
from gateway.policy_feed import EVERY, SLOWEST, ConfigFile, PolicyFeed
from tests.engines.raw_server import RawServer
from tests.gateway.fake_control_plane import TOKEN, FakeControlPlane
from tests.gateway.serving import document, policy

URL = "http://127.0.0.1:9"


class Fed:
    """A feed, its control plane, and what it handed on."""

    def __init__(self, fake: FakeControlPlane, feed: PolicyFeed) -> None:
        self.fake = fake
        self.feed = feed
        self.adopted: list[GatewayConfig] = []


@asynccontextmanager
async def fed(folder: Path, fake: FakeControlPlane | None = None) -> AsyncIterator[Fed]:
    fake = fake or FakeControlPlane(document(URL))
    transport = HttptoolsTransport(EgressRules.open())
    async with RawServer(fake) as server:
        plane = ControlPlane(server.url, "edge", TOKEN, transport)
        adopted: list[GatewayConfig] = []
        feed = PolicyFeed(plane, ConfigFile(folder / "config.json"), lambda: 5.0, adopted.append)
        made = Fed(fake, feed)
        made.adopted = adopted
        yield made
        await transport.close()


async def test_a_configuration_is_handed_on_once_and_then_not_sent_again(tmp_path: Path) -> None:
    async with fed(tmp_path) as it:
        for _ in range(3):
            await it.feed.poll()
        assert it.fake.polls == [200, 304, 304]
        assert [config.revision for config in it.adopted] == [1]
        it.fake.publish(document(URL, revision=2, policies=(policy("next"),)))
        await it.feed.poll()
        assert [config.policy.name for config in it.adopted] == ["steady", "next"]
        assert it.feed.heard_at == 5.0


async def test_the_same_document_under_another_etag_swaps_nothing(tmp_path: Path) -> None:
    async with fed(tmp_path) as it:
        await it.feed.poll()
        it.fake.publish(it.fake.document)
        await it.feed.poll()
        assert it.fake.polls == [200, 200]
        assert len(it.adopted) == 1


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ("{broken", "no JSON"),
        ([1], "mapping"),
        (document(URL, active="0" * 64), "none of the policies"),
        (document(URL) | {"extra": 1}, "unknown field"),
        (document(URL, gateway="other"), "another gateway's"),
        (document(URL, policies=()) | {"policies": [{"sha256": "0" * 64}]}, "policies.0"),
    ],
)
async def test_a_bad_one_is_refused_and_reported_and_the_good_one_stays(
    tmp_path: Path, bad: object, says: str
) -> None:
    async with fed(tmp_path) as it:
        await it.feed.poll()
        it.fake.publish(bad)
        await it.feed.poll()
        await it.feed.poll()
        assert it.fake.polls == [200, 200, 304]
        assert len(it.adopted) == 1
        assert it.feed.refused == 1
        (fault,) = it.feed.faults
        assert fault.code == "config_refused"
        assert says in " ".join(fault.problems)
        kept = ConfigFile(tmp_path / "config.json").load()
        assert kept is not None
        assert kept[0].revision == 1
        it.fake.publish(document(URL, revision=3))
        await it.feed.poll()
        assert [config.revision for config in it.adopted] == [1, 3]


async def test_a_policy_whose_hash_is_not_its_own_is_refused(tmp_path: Path) -> None:
    forged = document(URL)
    forged["policies"][0]["document"]["spec"]["concurrency"]["limit"] = 9
    async with fed(tmp_path, FakeControlPlane(forged)) as it:
        await it.feed.poll()
        assert it.adopted == []
        assert "not the document's hash" in it.feed.faults[0].problems[0]


async def test_an_outage_is_counted_slows_the_polls_and_ends(tmp_path: Path) -> None:
    async with fed(tmp_path) as it:
        await it.feed.poll()
        assert it.feed.delay() == EVERY
        it.fake.up = False
        delays = []
        for _ in range(6):
            await it.feed.poll()
            delays.append(it.feed.delay())
        assert it.feed.silent == 6
        assert delays == sorted(delays)
        assert delays[-1] == SLOWEST
        it.fake.up = True
        await it.feed.poll()
        assert (it.feed.silent, it.feed.delay(), len(it.adopted)) == (0, EVERY, 1)


async def test_a_restart_serves_what_was_kept_and_asks_with_its_etag(tmp_path: Path) -> None:
    async with fed(tmp_path) as it:
        await it.feed.poll()
    async with fed(tmp_path) as it:
        assert it.feed.resume()
        assert [config.revision for config in it.adopted] == [1]
        await it.feed.poll()
        assert it.fake.polls == [304]


@pytest.mark.parametrize("kept", ["", "{", '{"etag": "1"}', '{"etag": "1", "document": {}}'])
async def test_a_kept_file_that_is_of_no_use_is_not_served(tmp_path: Path, kept: str) -> None:
    (tmp_path / "config.json").write_text(kept)
    async with fed(tmp_path) as it:
        assert not it.feed.resume()
        await it.feed.poll()
        assert len(it.adopted) == 1


def test_the_token_shows_nowhere() -> None:
    transport = HttptoolsTransport(EgressRules.open())
    assert TOKEN not in repr(ControlPlane(URL, "edge", TOKEN, transport))
