"""The probe: each kind is known by its marks, and each finding shows question and answer."""

from __future__ import annotations

import json

import pytest

from documents.problem import DocumentError
from engines.egress import EgressDenied, EgressRules
from engines.probe import Probe, probe
from tests.engines.raw_server import Asked, RawServer, Wire, page, stream
from tests.engines.sayings import HELLO, captured

Pages = dict[str, bytes]


def models(owner: str) -> bytes:
    return page(json.dumps({"data": [{"id": "tiny", "owned_by": owner}]}).encode())


STREAM = {"/v1/chat/completions": stream(captured("vllm-continuous.sse"))}
VLLM_METRICS = {"/metrics": page(captured("vllm-metrics.txt"))}
LLAMACPP_METRICS = {"/metrics": page(captured("llamacpp-metrics.txt"))}
VLLM: Pages = {"/v1/models": page(captured("vllm-models.json")), **VLLM_METRICS, **STREAM}
LLAMACPP: Pages = {
    "/v1/models": models("llamacpp"),
    **LLAMACPP_METRICS,
    "/v1/chat/completions": stream(captured("llamacpp-chat.sse")),
}


async def probed(pages: Pages, **options: str) -> tuple[Probe, list[Asked]]:
    async def script(asked: Asked, wire: Wire) -> None:
        wire.keep = True
        path = asked.line.split()[1]
        await wire.send(pages.get(path, page(b"no such page", "404 Not Found")))

    async with RawServer(script) as server:
        found = await probe(server.url, EgressRules.loopback(), **options)
    return found, server.asked


@pytest.mark.parametrize(
    ("pages", "kind"),
    [
        pytest.param(VLLM, "vllm", id="vLLM"),
        pytest.param(VLLM | {"/v1/models": models("me")}, "vllm", id="vLLM's metrics alone"),
        pytest.param({"/v1/models": models("vllm"), **STREAM}, "vllm", id="vLLM's owner alone"),
        pytest.param(VLLM | {"/v1/models": models("headway")}, "simulated", id="our own model"),
        pytest.param(LLAMACPP, "llamacpp", id="llama.cpp"),
        pytest.param(LLAMACPP_METRICS, "llamacpp", id="llama.cpp's metrics alone"),
        pytest.param({"/v1/models": models("acme"), **STREAM}, "openai", id="another server"),
        pytest.param({}, "openai", id="nothing"),
    ],
)
async def test_the_kind_is_known_by_its_marks(pages: Pages, kind: str) -> None:
    assert (await probed(pages))[0].kind == kind


async def test_a_good_endpoint_shows_its_models_signals_and_stream() -> None:
    found, asked = await probed(VLLM)
    assert (found.models, found.streams, found.good) == (("tiny",), True, True)
    assert "kv_use" in found.signals
    assert [finding.good for finding in found.findings] == [True] * 4
    shown = found.findings[-1]
    assert (shown.answered, shown.tells) == (
        "4 chunks, 4 tokens, truncated",
        "tokens counted from usage; each chunk says its tokens",
    )
    assert json.loads(asked[-1].body)["model"] == "tiny"


async def test_what_a_kind_could_say_and_does_not_is_named() -> None:
    few = page(b"vllm:num_requests_running 1\n")
    found, _ = await probed(VLLM | {"/metrics": few})
    assert "lacks kv_tokens, kv_use, output_tokens" in found.findings[2].tells


@pytest.mark.parametrize(
    ("pages", "tells"),
    [
        pytest.param({}, "it fails: http_4xx", id="no such page"),
        pytest.param(
            {"/v1/chat/completions": page(b'{"choices": [{"message": {"content": "Hi"}}]}')},
            "no stream",
            id="one piece",
        ),
        pytest.param(
            {"/v1/chat/completions": stream(HELLO)},
            "tokens counted from usage; chunks say no count; the asked length is not kept",
            id="another length",
        ),
    ],
)
async def test_the_last_finding_tells_how_it_streams(pages: Pages, tells: str) -> None:
    found, _ = await probed(pages)
    assert found.findings[-1].tells == tells


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"data": 5}', b'{"data": [5]}', b"\xff"])
async def test_a_model_list_of_another_shape_is_a_finding(body: bytes) -> None:
    found, _ = await probed({"/v1/models": page(body)})
    assert (found.models, found.findings[0].tells) == ((), "no model list")


async def test_the_key_is_sent_and_never_shown() -> None:
    echo = page(b"key key-S3CRET is unknown", "401 Unauthorized")
    found, asked = await probed({"/v1/models": echo}, api_key="key-S3CRET")
    assert all("Bearer key-S3CRET" in one.head for one in asked)
    assert "S3CRET" not in repr(found)
    assert "[removed]" in found.findings[0].answered


async def test_a_dead_endpoint_is_told_as_findings() -> None:
    found = await probe("http://no-such-host.invalid", EgressRules.loopback())
    assert not found.good
    assert "dns" in found.findings[0].answered


async def test_what_may_not_be_asked_is_an_error() -> None:
    with pytest.raises(EgressDenied):
        await probe("http://10.0.0.1:8000", EgressRules())
    with pytest.raises(DocumentError):
        await probe("nonsense", EgressRules())
