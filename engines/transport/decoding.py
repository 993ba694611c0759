"""Compressed bodies. We ask for none; some proxies compress all the same."""

from __future__ import annotations

import zlib

READ_LIMIT = 16 * 1024 * 1024


class DecodingError(ValueError):
    """A body in an encoding that was not asked for and is not known, or not what it says."""


class BodyDecoder:
    """Decodes gzip and deflate piece by piece, as far as each piece goes."""

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding
        known = encoding in ("gzip", "x-gzip", "deflate")
        self._inflate = zlib.decompressobj(wbits=47) if known else None

    @classmethod
    def of(cls, encoding: str) -> BodyDecoder | None:
        """The decoder for a Content-Encoding; None when there is nothing to decode."""
        name = encoding.strip().lower()
        return None if name in ("", "identity") else cls(name)

    def decode(self, data: bytes) -> bytes:
        """What these bytes add to the body; DecodingError for what can't be read."""
        if self._inflate is None:
            raise DecodingError(f"content-encoding {self._encoding!r} was not asked for")
        try:
            found = self._inflate.decompress(data, READ_LIMIT)
        except zlib.error as error:
            raise DecodingError(f"no {self._encoding} body: {error}") from None
        if self._inflate.unconsumed_tail:
            raise DecodingError(f"one read of {self._encoding} holds over {READ_LIMIT:,} bytes")
        return found
