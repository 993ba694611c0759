"""Faults on purpose: what share of requests meets which, the same requests for the same seed."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from hashlib import blake2b

from documents.fields import parameter
from documents.problem import DocumentError, Problem


class Fault(StrEnum):
    """What befalls a request. The last four strike in the middle of its answer, or slow it."""

    RATE_LIMIT = "rate_limit"
    SERVER_ERROR = "server_error"
    ERROR_FRAME = "error_frame"
    DISCONNECT = "disconnect"
    STALL = "stall"
    SLOW = "slow"


def _share(help: str) -> float:  # noqa: A002 - as parameter() has it
    share: float = parameter(default=0.0, minimum=0.0, maximum=1.0, unit="of requests", help=help)
    return share


@dataclass(frozen=True, slots=True)
class Faults:
    """The shares add up to at most 1: a request meets one fault or none."""

    rate_limit: float = _share("answered 429 with Retry-After")
    server_error: float = _share("answered 500")
    error_frame: float = _share("an error event halfway, then [DONE], under status 200")
    disconnect: float = _share("the connection breaks halfway")
    stall: float = _share("nothing for stall_s halfway, then the rest")
    slow: float = _share("each token slow_ms later than the one before")
    retry_after_s: float = parameter(default=1.0, minimum=0.0, unit="s")
    stall_s: float = parameter(default=5.0, minimum=0.0, unit="s")
    slow_ms: float = parameter(default=50.0, minimum=0.0, unit="ms")
    metrics: str = parameter(
        default="live", choices=("live", "frozen", "missing"), help="what /metrics answers"
    )
    seed: int = parameter(default=0, minimum=0, help="which requests are struck")

    def __post_init__(self) -> None:
        total = sum(getattr(self, fault.value) for fault in Fault)
        if total > 1.0 + 1e-9:
            problem = Problem("", round(total, 6), "the shares of all faults add up to more than 1")
            raise DocumentError([problem])

    def strike(self, index: int) -> Fault | None:
        """The fault of the ``index``-th request."""
        drawn = blake2b(f"{self.seed}:{index}".encode(), digest_size=8).digest()
        lot = int.from_bytes(drawn) / 2**64
        for fault in Fault:
            lot -= getattr(self, fault.value)
            if lot < 0:
                return fault
        return None

    def to_document(self) -> dict[str, float | str | int]:
        """What ``documents.parse.build`` would make this from."""
        return {field.name: getattr(self, field.name) for field in fields(self)}
