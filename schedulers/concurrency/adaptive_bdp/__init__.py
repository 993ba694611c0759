"""adaptive_bdp, the recommended concurrency law. What it reckons with: ``schedulers.adaptive``."""

from schedulers.concurrency.adaptive_bdp.law import AdaptiveBdp

__all__ = ["AdaptiveBdp"]
