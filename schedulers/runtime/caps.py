"""How much may wait, and for how long: by tier, and in all."""

from __future__ import annotations

from dataclasses import dataclass

from documents.fields import parameter
from documents.problem import DocumentError, Problem


@dataclass(frozen=True, slots=True)
class Caps:
    """Bounds of a waiting room. A tier's time to live counts from arrival."""

    total: int = parameter(
        default=1000, minimum=1, maximum=1_000_000, unit="requests", help="Waiting at most, in all."
    )
    vip: int = parameter(
        default=400, minimum=0, maximum=1_000_000, unit="requests", help="Vip waiting at most."
    )
    normal: int = parameter(
        default=400, minimum=0, maximum=1_000_000, unit="requests", help="Normal waiting at most."
    )
    batch: int = parameter(
        default=400, minimum=0, maximum=1_000_000, unit="requests", help="Batch waiting at most."
    )
    vip_ttl_s: float = parameter(
        default=10.0, minimum=0.01, maximum=86_400.0, unit="s", help="How long vip may wait."
    )
    normal_ttl_s: float = parameter(
        default=30.0, minimum=0.01, maximum=86_400.0, unit="s", help="How long normal may wait."
    )
    batch_ttl_s: float = parameter(
        default=600.0, minimum=0.01, maximum=86_400.0, unit="s", help="How long batch may wait."
    )
    displacement: bool = parameter(
        default=True, help="When all is full, a newcomer takes the newest place of a lower tier."
    )
    retry_after_cap_s: float = parameter(
        default=30.0, minimum=0.1, maximum=3600.0, unit="s", help="The longest wait that is told."
    )

    def __post_init__(self) -> None:
        if max(self.vip, self.normal, self.batch) == 0:
            raise DocumentError([Problem("vip", 0, "some tier must be allowed to wait")])

    def most(self, band: int) -> int:
        """Requests of a band, 0 for vip, that may wait."""
        return (self.vip, self.normal, self.batch)[band]

    def ttl_s(self, band: int) -> float:
        """How long they may."""
        return (self.vip_ttl_s, self.normal_ttl_s, self.batch_ttl_s)[band]
