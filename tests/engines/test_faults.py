"""What servers do wrong, over real sockets: each fault has its outcome, and none is a success."""

from __future__ import annotations

import gzip
import json

import pytest

from measurement.outcome import Outcome
from tests.engines.conftest import Ask
from tests.engines.raw_server import RawServer, chunk, head, page, replying, stream
from tests.engines.sayings import DONE, HELLO, LENGTH, ROLE, STOP, delta, event

STREAM = head(Content_Type="text/event-stream", Transfer_Encoding="chunked")
HI = ROLE + delta(content="Hi")
ERROR = event({"error": {"message": "CUDA out of memory", "code": 500}})
JSON = {"Content_Type": "application/json"}
HTML = {"Content_Type": "text/html"}
NO_TYPE = head(Transfer_Encoding="chunked")
UPGRADE = head("101 Switching", Upgrade="h2c", Connection="Upgrade")
ENDLESS = head(**{f"X{n}": "y" * 4000 for n in range(20)})

# id, what is sent, outcome, a word of the error
ANSWERS = [
    ("a good stream", stream(HELLO), Outcome.OK, ""),
    ("finished by length", stream(HI, LENGTH, DONE), Outcome.TRUNCATED, ""),
    ("[DONE] missing", stream(HI, STOP), Outcome.OK, ""),
    ("[DONE] early, before the reason", stream(HI, DONE, STOP), Outcome.OK, ""),
    ("no reason and no [DONE]", stream(HI), Outcome.INCOMPLETE, "without a finish reason"),
    ("an end that is no length", STREAM + chunk(HI), Outcome.INCOMPLETE, "closed before the end"),
    ("cut behind the reason", STREAM + chunk(HI + STOP), Outcome.INCOMPLETE, "closed before"),
    ("cut behind [DONE]", STREAM + chunk(HELLO), Outcome.OK, ""),
    ("closed without an answer", b"", Outcome.INCOMPLETE, "closed before any answer"),
    ("aborted by the engine", stream(HI, delta(finish="abort"), DONE), Outcome.INCOMPLETE, "abort"),
    ("an error frame first", stream(ERROR, DONE), Outcome.IN_BAND_ERROR, "CUDA"),
    ("an error frame after tokens", stream(HI, ERROR, DONE), Outcome.IN_BAND_ERROR, "CUDA"),
    ("an error frame, then the end", stream(HI, ERROR), Outcome.IN_BAND_ERROR, "CUDA"),
    ("an error frame behind the reason", stream(HI, STOP, ERROR), Outcome.IN_BAND_ERROR, "CUDA"),
    ("an error as the reason", stream(HI, delta(finish="error")), Outcome.IN_BAND_ERROR, "error"),
    ("an error body with 200", page(b'{"error": "no"}', **JSON), Outcome.IN_BAND_ERROR, "no"),
    ("JSON of another kind", page(b'{"detail": "?"}', **JSON), Outcome.MALFORMED, "detail"),
    ("HTML with 200", page(b"<html>Bad gateway", **HTML), Outcome.MALFORMED, "Bad"),
    ("HTML said to be a stream", stream(b"<html>Oops"), Outcome.MALFORMED, "Oops"),
    ("broken JSON in an event", stream(HI, b"data: {\n\n", DONE), Outcome.MALFORMED, "{"),
    ("no token", stream(ROLE, STOP, DONE), Outcome.EMPTY, "no token"),
    ("only [DONE]", stream(DONE), Outcome.EMPTY, "no token"),
    ("no event", stream(b": ping\n\n"), Outcome.EMPTY, "no event"),
    ("no body", page(b""), Outcome.EMPTY, "without a body"),
    ("204", head("204 No Content"), Outcome.EMPTY, "without a body"),
    ("429", page(b"slow down", "429 Too Many"), Outcome.REJECTED_429, "slow down"),
    ("503", page(b"", "503 Busy"), Outcome.REJECTED_503, "HTTP 503 without a body"),
    ("404", page(b"no model", "404 Not Found"), Outcome.HTTP_4XX, "no model"),
    ("401", page(b"no", "401 Unauthorized"), Outcome.HTTP_4XX, "no"),
    ("500", page(b"boom", "500 Oops"), Outcome.HTTP_5XX, "boom"),
    ("500 cut short", head("500 Oops", Content_Length="99") + b"boom", Outcome.HTTP_5XX, "boom"),
    ("a redirect", head("302 Found", Location="http://169.254.169.254/"), Outcome.MALFORMED, "169"),
    ("no HTTP", b"SSH-2.0-OpenSSH_9.2\r\n\r\n", Outcome.MALFORMED, "no HTTP/1.1 answer"),
    ("another protocol", UPGRADE, Outcome.MALFORMED, "switch"),
    ("endless headers", ENDLESS, Outcome.MALFORMED, "headers over"),
    ("a broken chunk size", STREAM + b"zz\r\n", Outcome.MALFORMED, "no HTTP/1.1 answer"),
    ("CRLF line ends", stream(HELLO.replace(b"\n", b"\r\n")), Outcome.OK, ""),
    ("no space behind data:", stream(HELLO.replace(b"data: ", b"data:")), Outcome.OK, ""),
    ("comments between", stream(HELLO.replace(b"data: ", b": ping\n\ndata: ")), Outcome.OK, ""),
    ("no content type", NO_TYPE + chunk(HELLO) + chunk(b""), Outcome.OK, ""),
    ("a length known ahead", page(HELLO), Outcome.OK, ""),
    ("ended by closing", head() + HELLO, Outcome.OK, ""),
    ("an interim answer first", head("103 Early Hints", Link="x") + stream(HELLO), Outcome.OK, ""),
    ("gzip unasked", page(gzip.compress(HELLO), Content_Encoding="gzip"), Outcome.OK, ""),
    ("no gzip at all", page(HELLO, Content_Encoding="gzip"), Outcome.MALFORMED, "no gzip body"),
    ("brotli unasked", page(b"??", Content_Encoding="br"), Outcome.MALFORMED, "'br'"),
    ("an event over 8 MiB", stream(b"data: " + b"x" * 9_000_000), Outcome.MALFORMED, "grew over"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("sent", "outcome", "word"), [pytest.param(*case[1:], id=case[0]) for case in ANSWERS]
)
async def test_each_answer_has_its_outcome(
    ask: Ask, sent: bytes, outcome: Outcome, word: str
) -> None:
    async with RawServer(replying(sent)) as server:
        answer = await ask(server.url)
    assert answer.outcome is outcome
    assert word in answer.error
    assert bool(answer.error) is not outcome.success
    assert len(answer.error) <= 500


@pytest.mark.parametrize("header", ["2", "Sun, 29 Nov 2026 12:00:02 GMT"])
async def test_retry_after_is_kept(ask: Ask, header: str) -> None:
    date = "Sun, 29 Nov 2026 12:00:00 GMT"
    reply = page(b"{}", "429 Too Many", Retry_After=header, Date=date)
    async with RawServer(replying(reply)) as server:
        answer = await ask(server.url)
    assert answer.retry_after == 2.0


async def test_an_echoed_key_is_removed(ask: Ask) -> None:
    reply = page(b"bad key: my-own-key-1 for Bearer my-own-key-1", "401 Unauthorized")
    async with RawServer(replying(reply)) as server:
        answer = await ask(server.url, api_key="my-own-key-1")
        assert "Authorization: Bearer my-own-key-1" in server.asked[0].head
    assert "my-own" not in answer.error
    assert "[removed]" in answer.error


def whole(**message: object) -> bytes:
    choice = {"message": message, "finish_reason": message.pop("finish", "stop")}
    counts = {"prompt_tokens": 4, "completion_tokens": 6}
    return page(json.dumps({"choices": [choice], "usage": counts}).encode(), **JSON)


@pytest.mark.parametrize(
    ("sent", "outcome"),
    [
        pytest.param(whole(content="Hi"), Outcome.OK, id="content"),
        pytest.param(whole(content="Hi", finish="length"), Outcome.TRUNCATED, id="length"),
        pytest.param(whole(content=None, reasoning="Hm"), Outcome.OK, id="reasoning"),
        pytest.param(whole(content=""), Outcome.EMPTY, id="empty"),
        pytest.param(page(b"{"), Outcome.MALFORMED, id="broken"),
    ],
)
@pytest.mark.parametrize("streaming", [True, False])
async def test_an_answer_in_one_piece_has_counts_but_no_first_token(
    ask: Ask, sent: bytes, outcome: Outcome, streaming: bool
) -> None:
    async with RawServer(replying(sent)) as server:
        answer = await ask(server.url, stream=streaming)
    assert answer.outcome is outcome
    assert answer.first_token_at is answer.last_token_at is None
    assert (answer.chunks, answer.gaps) == (0, ())
    assert answer.output_tokens == (None if outcome is Outcome.MALFORMED else 6)
