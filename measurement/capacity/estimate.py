"""What a capacity method hands back: a number, what it assumes, how far measurement is from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Estimate:
    """``value`` is null where the method can say nothing; ``note`` then says why."""

    method: str
    what: str
    """What the number is, with its unit."""
    value: float | None
    assumes: tuple[str, ...]
    note: str = ""
    low: float | None = None
    high: float | None = None
    measured: float | None = None
    """The same thing as measured, where it was."""

    @property
    def off(self) -> float | None:
        """How far the number is from the measurement, as a share of the measurement."""
        if self.value is None or not self.measured:
            return None
        return self.value / self.measured - 1

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "method": self.method,
            "what": self.what,
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "measured": self.measured,
            "off": self.off,
            "assumes": list(self.assumes),
            "note": self.note,
        }
