"""What every law has, whichever decision point it fills: name, standing and known faults."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Protocol


class Standing(StrEnum):
    """What we say of a law where it is offered."""

    RECOMMENDED = "recommended"
    AVAILABLE = "available"
    REFERENCE = "reference"
    """A published law kept as its source has it, faults and all, to be compared with."""


class Guarantee(StrEnum):
    """What tests hold every registered law to, unless the law names it as one of its faults."""

    NO_GROWTH_WHILE_APP_LIMITED = "no_growth_while_app_limited"
    ONE_CUT_PER_EPOCH = "one_cut_per_epoch"


@dataclass(frozen=True, slots=True)
class Fault:
    """A known weakness, told with its measured size; ``breaks`` names the guarantee it costs."""

    text: str
    breaks: Guarantee | None = None


class Law(Protocol):
    """A frozen dataclass of ``parameter()`` fields, registered by its family's decorator."""

    name: ClassVar[str]
    summary: ClassVar[str]
    standing: ClassVar[Standing]
    faults: ClassVar[tuple[Fault, ...]]


def breaks(law: Law | type[Law], guarantee: Guarantee) -> bool:
    """Whether the law itself says that it does not hold this guarantee."""
    return any(fault.breaks is guarantee for fault in law.faults)
