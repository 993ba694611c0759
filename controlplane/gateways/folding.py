"""Seconds as they were sent become windows as they are kept: several seconds, all tenants in one.

A process sends in order, so once it has said something a minute later a window can't change, and
its seconds go.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import reduce

from controlplane.gateways import counting
from controlplane.gateways.batches import Batch
from controlplane.gateways.models import STEP, Gateway, GatewaySecond, GatewayWindow
from measurement.window import Window, roll_up

SETTLED_AFTER = 60
TIDY_EVERY = 15
"""Batches between two looks for what has settled."""

Whose = tuple[str, str, str]
"""Arm, policy, SLO."""


def fold(gateway: Gateway, batch: Batch, windows: Sequence[Window]) -> None:
    """Store a batch's windows and make anew what they change, under the gateway's ``seq``."""
    touched = _put(gateway, batch, windows)
    for whose, buckets in touched.items():
        for bucket in buckets:
            _make(gateway, batch.boot, whose, bucket)
    if batch.sequence % TIDY_EVERY == 0:
        _tidy(gateway, batch.boot, int(batch.at))


def _put(gateway: Gateway, batch: Batch, windows: Sequence[Window]) -> dict[Whose, set[int]]:
    """The newest revision of each second; what buckets that changed."""
    indexes = {window.index for window in windows}
    known = {
        (one.arm, one.policy, one.slo, one.tenant, one.index): one
        for one in GatewaySecond.objects.filter(
            gateway=gateway, boot=batch.boot, index__in=indexes
        ).defer("data")
    }
    closed = _closed(gateway, batch.boot, {index // STEP for index in indexes})
    touched: dict[Whose, set[int]] = defaultdict(set)
    new: list[GatewaySecond] = []
    for entry, window in zip(batch.windows, windows, strict=True):
        whose = (entry.arm, entry.policy, entry.slo or "")
        before = known.get((*whose, entry.tenant, window.index))
        bucket = window.index // STEP
        if (before and before.revision >= window.revision) or (*whose, bucket) in closed:
            continue
        row = before or GatewaySecond(
            gateway=gateway, boot=batch.boot, arm=whose[0], policy=whose[1], slo=whose[2],
            tenant=entry.tenant, index=window.index,
        )  # fmt: skip
        row.revision, row.final, row.data = window.revision, window.final, entry.window
        touched[whose].add(bucket)
        if before is None:
            new.append(row)
        else:
            row.save(update_fields=["revision", "final", "data"])
    GatewaySecond.objects.bulk_create(new)
    return touched


def _closed(gateway: Gateway, boot: str, buckets: set[int]) -> set[tuple[str, str, str, int]]:
    """Windows that nothing may change any more."""
    rows = GatewayWindow.objects.filter(gateway=gateway, boot=boot, index__in=buckets, closed=True)
    return set(rows.values_list("arm", "policy", "slo", "index"))


def _make(gateway: Gateway, boot: str, whose: Whose, bucket: int) -> None:
    arm, policy, slo = whose
    found = GatewaySecond.objects.filter(
        gateway=gateway, boot=boot, arm=arm, policy=policy, slo=slo,
        index__gte=bucket * STEP, index__lt=(bucket + 1) * STEP,
    )  # fmt: skip
    merged = joined(Window.from_json(data) for data in found.values_list("data", flat=True))
    GatewayWindow.objects.update_or_create(
        gateway=gateway, boot=boot, arm=arm, policy=policy, slo=slo, index=bucket,
        defaults={
            "seq": gateway.seq, "offered": merged.cohort.offered, "data": merged.to_json()
        },
    )  # fmt: skip


def joined(windows: Iterable[Window]) -> Window:
    """Those of one index side by side, then all of them as one window of STEP seconds."""
    beside: dict[int, list[Window]] = defaultdict(list)
    for window in windows:
        beside[window.index].append(window)
    (whole,) = roll_up((reduce(Window.merge, same) for same in beside.values()), float(STEP))
    return whole


def _tidy(gateway: Gateway, boot: str, at: int) -> None:
    """Close and count the windows that have settled, and let their seconds go."""
    edge = (at - SETTLED_AFTER) // STEP
    seconds = GatewaySecond.objects.filter(gateway=gateway, boot=boot, index__lt=edge * STEP)
    open_ = {index // STEP for index in seconds.filter(final=False).values_list("index", flat=True)}
    found = {index // STEP for index in seconds.values_list("index", flat=True)}
    settled = GatewayWindow.objects.filter(gateway=gateway, boot=boot, index__in=found - open_)
    counting.add(gateway, settled.filter(closed=False))
    settled.update(closed=True)
    for bucket in found - open_:
        seconds.filter(index__gte=bucket * STEP, index__lt=(bucket + 1) * STEP).delete()
