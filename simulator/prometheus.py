"""The Prometheus text format, as far as one process that writes its own numbers needs it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping

Labels = Mapping[str, str]


class Histogram:
    """Cumulative buckets with a sum."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Iterable[float]) -> None:
        self.bounds = tuple(float(bound) for bound in bounds)
        self.counts = [0] * (len(self.bounds) + 1)
        self.total = 0.0

    def observe(self, value: float, times: int = 1) -> None:
        self.counts[bisect_left(self.bounds, value)] += times
        self.total += value * times


class Exposition:
    """Collects families in order; every sample carries the base labels."""

    def __init__(self, base: Labels) -> None:
        self._base = dict(base)
        self._lines: list[str] = []

    def gauge(self, name: str, help_text: str, value: float, **labels: str) -> None:
        self._family(name, help_text, "gauge")
        self._sample(name, value, labels)

    def gauges(self, name: str, help_text: str, label: str, values: Mapping[str, float]) -> None:
        self._family(name, help_text, "gauge")
        for key, value in values.items():
            self._sample(name, value, {label: key})

    def counter(self, name: str, help_text: str, value: float) -> None:
        self._family(f"{name}_total", help_text, "counter")
        self._sample(f"{name}_total", value, {})

    def counters(
        self,
        name: str,
        help_text: str,
        label: str,
        values: Mapping[str, float],
        *,
        without: str = "",
    ) -> None:
        """One sample a key; ``without`` leaves out a base label that this family doesn't carry."""
        self._family(f"{name}_total", help_text, "counter")
        for key, value in values.items():
            self._sample(f"{name}_total", value, {label: key}, without)

    def histogram(self, name: str, help_text: str, histogram: Histogram) -> None:
        self._family(name, help_text, "histogram")
        running = 0
        bounds = [str(bound) for bound in histogram.bounds] + ["+Inf"]
        for bound, count in zip(bounds, histogram.counts, strict=True):
            running += count
            self._sample(f"{name}_bucket", running, {"le": bound})
        self._sample(f"{name}_count", running, {})
        self._sample(f"{name}_sum", histogram.total, {})

    def text(self) -> str:
        return "\n".join([*self._lines, ""])

    def _family(self, name: str, help_text: str, kind: str) -> None:
        self._lines.append(f"# HELP {name} {help_text}")
        self._lines.append(f"# TYPE {name} {kind}")

    def _sample(self, name: str, value: float, labels: Labels, without: str = "") -> None:
        every = self._base | dict(labels)
        pairs = sorted(pair for pair in every.items() if pair[0] != without)
        written = ",".join(f'{key}="{_escaped(text)}"' for key, text in pairs)
        self._lines.append(f"{name}{{{written}}} {float(value)!r}")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
