"""One measured load: what went in, what came out, how long it took. A point of a capacity curve."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from measurement.moments import Moments


@dataclass(frozen=True, slots=True)
class Observed:
    """``rate`` and ``served`` are requests per second offered and answered; times in seconds."""

    rate: float
    served: float
    attainment: float | None = None
    in_flight: float | None = None
    """Time-weighted mean between send and end."""
    latency: float | None = None
    """P95 of TTFT from the intended start; of E2E where nothing was streamed."""
    goodput: float | None = None
    moments: Moments | None = None

    @classmethod
    def of_summary(cls, summary: Mapping[str, Any]) -> Self | None:
        """Of a run's summary; None of one whose steady part tells no rates."""
        rate = summary.get("offered_rate")
        served = summary.get("served_rate")
        moments = summary.get("moments")
        if not rate or served is None:
            return None
        return cls(
            rate=rate,
            served=served,
            attainment=summary.get("attainment"),
            in_flight=(summary.get("little") or {}).get("in_flight"),
            latency=_seconds(summary, "ttft_ms") or _seconds(summary, "e2e_ms"),
            goodput=summary.get("goodput_rps"),
            moments=Moments.from_json(moments) if moments else None,
        )

    @property
    def decoding(self) -> float | None:
        """Sequences that get tokens at a time, by Little's law on the answer: λ · E[O] · step."""
        found = self.moments
        if found is None or found.output is None or found.step is None:
            return None
        return self.served * found.output * found.step

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "rate": self.rate,
            "served": self.served,
            "attainment": self.attainment,
            "in_flight": self.in_flight,
            "latency_s": self.latency,
            "goodput_rps": self.goodput,
            "moments": self.moments.to_json() if self.moments else None,
        }

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Self:
        """What ``to_json`` gave."""
        moments = given["moments"]
        return cls(
            rate=given["rate"],
            served=given["served"],
            attainment=given["attainment"],
            in_flight=given["in_flight"],
            latency=given["latency_s"],
            goodput=given["goodput_rps"],
            moments=Moments.from_json(moments) if moments else None,
        )


def _seconds(summary: Mapping[str, Any], name: str) -> float | None:
    """P95 in seconds; a rough one is better than none for a curve, and drawn as what it is."""
    found = summary.get(name) or {}
    value = found.get("p95")
    if value is None:
        value = (found.get("rough") or {}).get("p95")
    return None if value is None else value / 1e3
