"""What an arrival process is: when requests are asked, whatever becomes of them.

An open-loop process names every instant before the run starts. A closed-loop process owns a
number of slots instead, and a slot's next request is due when the one before has ended.
"""

from __future__ import annotations

from typing import ClassVar, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from documents.registry import Registry

Instants = NDArray[np.float64]


class ArrivalProcess(Protocol):
    """A frozen dataclass of parameters; ``open_loop`` says which of the two it is."""

    name: ClassVar[str]
    summary: ClassVar[str]
    open_loop: ClassVar[bool]

    def expected(self, duration: float) -> float | None:
        """How many requests to expect; None where only the engine can tell."""
        ...


@runtime_checkable
class OpenLoop(ArrivalProcess, Protocol):
    """Instants fixed in advance, in seconds from the start, rising, all before ``duration``."""

    def instants(self, duration: float, rng: np.random.Generator) -> Instants: ...

    def peak_rate(self, duration: float) -> float:
        """The highest mean rate within ``duration``, in requests per second."""
        ...

    def evened(self, at: Instants, duration: float) -> Instants:
        """Instants carried to a time in which the rate is even; themselves where it is."""
        ...

    def cv(self) -> float:
        """Coefficient of variation that the evened gaps of a right stimulus have."""
        ...

    def dispersion(self) -> float | None:
        """Variance over mean of the counts in equal bins of evened time; None: no simple law."""
        ...


@runtime_checkable
class ClosedLoop(ArrivalProcess, Protocol):
    """A fixed number of slots, each with one request at a time."""

    @property
    def concurrency(self) -> int: ...

    def pause(self, *, success: bool) -> float:
        """Seconds between the end of a slot's request and the instant its next one is due."""
        ...


processes: Registry[ArrivalProcess] = Registry("loadtest.arrivals", "arrival process")

A = TypeVar("A", bound=type[ArrivalProcess])


def arrival_process(cls: A) -> A:
    """Register an arrival process."""
    processes.add(cls.name, cls)
    return cls
