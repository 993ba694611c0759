"""Compressed bodies that nobody asked for."""

from __future__ import annotations

import gzip
import zlib

import pytest

from engines.transport.decoding import BodyDecoder, DecodingError

TEXT = b"data: hello\n\n" * 50


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(TEXT, mtime=0)),
        ("X-GZIP ", gzip.compress(TEXT, mtime=0)),
        ("deflate", zlib.compress(TEXT)),
    ],
)
def test_byte_by_byte(encoding: str, body: bytes) -> None:
    decoder = BodyDecoder.of(encoding)
    assert decoder is not None
    assert b"".join(decoder.decode(bytes([byte])) for byte in body) == TEXT


@pytest.mark.parametrize("encoding", ["", "identity", " Identity "])
def test_a_plain_body_needs_no_decoder(encoding: str) -> None:
    assert BodyDecoder.of(encoding) is None


def test_a_flushed_event_comes_out_before_the_end() -> None:
    packer = zlib.compressobj(wbits=31)
    decoder = BodyDecoder("gzip")
    assert decoder.decode(packer.compress(TEXT) + packer.flush(zlib.Z_SYNC_FLUSH)) == TEXT


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, br"])
def test_an_unknown_encoding_is_named(encoding: str) -> None:
    with pytest.raises(DecodingError, match=encoding):
        BodyDecoder(encoding).decode(b"x")


def test_a_bomb_is_refused() -> None:
    with pytest.raises(DecodingError, match="over 16,777,216 bytes"):
        BodyDecoder("gzip").decode(gzip.compress(b"\0" * 20_000_000))
