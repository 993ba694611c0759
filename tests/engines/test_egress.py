"""The gate: what may be called, under which spelling of an address, and what a denial says."""

from __future__ import annotations

import ipaddress
import socket

import pytest

from documents.problem import DocumentError
from engines.egress import EgressDenied, EgressRules, resolve

PUBLIC = "93.184.216.34"


def answering(*addresses: str):
    asked: list[str] = []

    async def lookup(host: str, port: int) -> list[str]:
        asked.append(host)
        return list(addresses)

    lookup.asked = asked  # type: ignore[attr-defined]
    return lookup


async def denied(url: str, rules: EgressRules, *addresses: str) -> EgressDenied:
    with pytest.raises(EgressDenied) as caught:
        await resolve(url, rules, lookup=answering(*addresses) if addresses else None)
    return caught.value


async def test_a_public_address_is_pinned() -> None:
    pinned = await resolve("https://llm.example/v1", EgressRules(), lookup=answering(PUBLIC))
    assert (pinned.host, pinned.port, pinned.tls) == ("llm.example", 443, True)
    assert pinned.address == PUBLIC


async def test_a_name_is_looked_up_once() -> None:
    lookup = answering(PUBLIC)
    await resolve("http://llm.example:8000", EgressRules(), lookup=lookup)
    assert lookup.asked == ["llm.example"]  # type: ignore[attr-defined]


FORBIDDEN = {
    "127.0.0.1": "loopback",
    "::1": "loopback",
    "10.1.2.3": "private",
    "172.16.0.1": "private",
    "192.168.1.1": "private",
    "fd00::1": "private",
    "100.64.0.1": "not a public",
    "169.254.1.1": "link-local",
    "fe80::1%eth0": "link-local",
    "0.0.0.0": "unspecified",  # noqa: S104 - called, not bound
    "::": "unspecified",
    "240.0.0.1": "private",
    "224.0.0.1": "multicast",
    "ff02::1": "multicast",
    "fec0::1": "not a public",
    "169.254.169.254": "cloud metadata",
    "100.100.100.200": "cloud metadata",
    "fd00:ec2::254": "cloud metadata",
    "::ffff:127.0.0.1": "loopback",
    "::ffff:169.254.169.254": "cloud metadata",
    "64:ff9b::7f00:1": "loopback",
    "64:ff9b::a9fe:a9fe": "cloud metadata",
    "2002:7f00:1::": "loopback",
}


@pytest.mark.parametrize(("address", "word"), FORBIDDEN.items())
async def test_addresses_that_the_default_forbids(address: str, word: str) -> None:
    denial = await denied("http://rebind.example:8000", EgressRules(), address)
    assert word in denial.reason


async def test_one_forbidden_address_among_public_ones_forbids_the_name() -> None:
    await denied("http://rebind.example", EgressRules(), PUBLIC, "10.0.0.1")


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "0x7f.1",
        "0177.0.0.1",
        "2130706433",
        "127.1",
        "[::1]",
        "[::ffff:7f00:1]",
        "localhost",
    ],
)
async def test_every_spelling_of_loopback_is_found_out_by_the_resolver(host: str) -> None:
    assert "loopback" in (await denied(f"http://{host}:8000", EgressRules())).reason


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "localhost", "0x7f.1"])
async def test_the_embedded_set_up_may_call_this_machine(host: str) -> None:
    pinned = await resolve(f"http://{host}:8000", EgressRules.loopback())
    assert ipaddress.ip_address(pinned.address).is_loopback


@pytest.mark.parametrize("address", ["10.0.0.1", "192.168.0.1", "169.254.169.254", "::"])
async def test_the_embedded_set_up_may_call_nothing_else_that_is_private(address: str) -> None:
    await denied("http://host.example:8000", EgressRules.loopback(), address)


async def test_an_admins_list_allows_its_networks_only() -> None:
    rules = EgressRules(allow=(ipaddress.ip_network("10.1.0.0/16"),))
    await resolve("http://gpu.internal:8000", rules, lookup=answering("10.1.9.9"))
    await resolve("http://gpu.internal:8000", rules, lookup=answering("::ffff:10.1.9.9"))
    denial = await denied("http://gpu.internal:8000", rules, "10.2.0.1")
    assert "allow-list" in denial.remedy


@pytest.mark.parametrize(
    "rules", [EgressRules.open(), EgressRules(allow=(ipaddress.ip_network("0.0.0.0/0"),))]
)
@pytest.mark.parametrize("address", ["169.254.169.254", "224.0.0.1"])
async def test_nothing_opens_cloud_metadata_or_multicast(rules: EgressRules, address: str) -> None:
    denial = await denied("http://x.example", rules, address)
    assert denial.remedy == "no rule allows it"


@pytest.mark.parametrize("address", ["10.0.0.1", "127.0.0.1", "fe80::1", PUBLIC])
async def test_ones_own_command_line_may_call_any_other_address(address: str) -> None:
    await resolve("http://x.example:81", EgressRules.open(), lookup=answering(address))


@pytest.mark.parametrize(
    ("url", "word"),
    [
        ("ftp://x.example", "scheme 'ftp'"),
        ("file:///etc/passwd", "no plain URL"),
        ("//x.example", "scheme ''"),
        ("x.example:8000", "no plain URL"),
        ("http://", "no plain URL"),
        ("http://x.example:22", "port 22"),
        ("http://x.example:0", "port 0"),
        ("http://x.example:99999", "no URL"),
        ("http://x.example:http", "no URL"),
        ("http://[::1", "no URL"),
        ("http://user:S3CRET@x.example", "credentials"),
        ("http://good.example\\@127.0.0.1", "credentials"),
        ("http://x.example /", "no plain URL"),
        ("http://x.example\n.evil", "no plain URL"),
    ],
)
async def test_urls_that_are_refused_before_any_look_up(url: str, word: str) -> None:
    lookup = answering(PUBLIC)
    with pytest.raises(EgressDenied) as caught:
        await resolve(url, EgressRules(), lookup=lookup)
    assert word in caught.value.reason
    assert lookup.asked == []  # type: ignore[attr-defined]
    assert "S3CRET" not in str(caught.value)


async def test_only_https_where_the_rules_say_so() -> None:
    rules = EgressRules(schemes=("https",))
    assert "use https" in (await denied("http://x.example", rules, PUBLIC)).remedy


async def test_a_denial_is_a_document_error_with_url_reason_and_remedy() -> None:
    denial = await denied("http://x.example:8000/v1?key=S3CRET", EgressRules(), "10.0.0.1")
    assert isinstance(denial, DocumentError)
    assert denial.url == "http://x.example:8000/v1"
    assert str(denial.problems[0]) == (
        "url: 10.0.0.1 is a private address; "
        "an admin can allow 10.0.0.1 in the egress allow-list (got 'http://x.example:8000/v1')"
    )


@pytest.mark.parametrize("host", ["no-such-host.invalid", "a..b", "x" * 70 + ".example"])
async def test_a_name_without_an_address_is_no_denial(host: str) -> None:
    with pytest.raises(socket.gaierror):
        await resolve(f"http://{host}:8000", EgressRules())
