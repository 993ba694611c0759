"""Telemetry is stored: each batch once, whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
from django.conf import settings
from django.db import transaction

from controlplane.gateways import budgets, counting, feed
from controlplane.gateways.batches import Batch, BlockEntry
from controlplane.gateways.folding import fold
from controlplane.gateways.models import (
    STEP,
    Gateway,
    GatewayBlock,
    GatewayDecision,
    GatewayFault,
    GatewayGauge,
    GatewayPresence,
    GatewayProcess,
    GatewaySecond,
    GatewayShadow,
    GatewayStream,
    GatewayWindow,
)
from measurement.window import Window

DECISIONS_A_BATCH, DECISIONS_KEPT = 200, 2_000
FAULTS_KEPT = 50
PROCESSES_KEPT = timedelta(days=1)
STREAMS_KEPT = timedelta(days=400)
"""What was acknowledged is known for longer than any budget looks back: a batch whose answer got
lost may come again after an outage of weeks, and must not count twice."""
PRUNE_EVERY = 60
"""Batches of a stream between two looks for what is too old."""
SPOKEN_WITHIN = 15.0
"""Seconds between two batches of a process that are one report; a process sends each second."""
LOOK_EVERY = 5
"""Batches of a stream between two looks whether the error budgets are due."""


def store(
    gateway: Gateway, batch: Batch, windows: Sequence[Window], *, now: datetime
) -> tuple[int, bool]:
    """The highest number of the stream that is stored, and whether this batch was new."""
    with transaction.atomic():
        row = Gateway.objects.select_for_update().get(pk=gateway.pk)
        stream, _new = GatewayStream.objects.get_or_create(
            gateway=row, stream=batch.stream, defaults={"heard_at": now}
        )
        if batch.sequence <= stream.acknowledged:
            return stream.acknowledged, False
        stream.acknowledged, stream.heard_at = batch.sequence, now
        stream.save(update_fields=["acknowledged", "heard_at"])
        row.seq += 1
        _hear(row, batch, now)
        _process(row, batch, now)
        fold(row, batch, windows)
        _gauges(row, batch)
        _blocks(row, batch)
        _rest(row, batch, now)
        row.seen_at = now
        row.revision_seen, row.config_seen = batch.revision, batch.config_sha256
        row.save(update_fields=["seq", "seen_at", "heard_index", "revision_seen", "config_seen"])
        if batch.sequence % PRUNE_EVERY == 0:
            prune(row, now)
        if batch.sequence % LOOK_EVERY == 0 and budgets.due(row, now):
            budgets.look(row, now)
    gateway.seq, gateway.seen_at = row.seq, now
    gateway.revision_seen, gateway.config_seen = batch.revision, batch.config_sha256
    return batch.sequence, True


def prune(gateway: Gateway, now: datetime) -> None:
    """Let go of what is older than the installation keeps; a canary's blocks stay, and counts."""
    oldest = int(now.timestamp()) - settings.GATEWAY_HISTORY_S
    windows = GatewayWindow.objects.filter(gateway=gateway, index__lt=oldest // STEP)
    counting.add(gateway, windows.filter(closed=False))
    windows.delete()
    counting.compact(gateway, now.timestamp())
    GatewayGauge.objects.filter(gateway=gateway, index__lt=oldest // STEP).delete()
    GatewaySecond.objects.filter(gateway=gateway, index__lt=oldest).delete()
    GatewayDecision.objects.filter(gateway=gateway, at__lt=oldest).delete()
    _keep(GatewayDecision.objects.filter(gateway=gateway).order_by("-pk"), DECISIONS_KEPT)
    _keep(GatewayFault.objects.filter(gateway=gateway).order_by("-pk"), FAULTS_KEPT)
    GatewayProcess.objects.filter(gateway=gateway, heard_at__lt=now - PROCESSES_KEPT).delete()
    GatewayStream.objects.filter(gateway=gateway, heard_at__lt=now - STREAMS_KEPT).delete()


def _keep(rows: Any, most: int) -> None:
    edge = rows.values_list("pk", flat=True)[most : most + 1].first()
    if edge is not None:
        rows.filter(pk__lte=edge).delete()


def _hear(gateway: Gateway, batch: Batch, now: datetime) -> None:
    """A batch tells of all the time since the process's last one, unless that was long ago.

    A process whose clock is ahead tells of no time to come: it would silence all the others until
    then.
    """
    present = int(now.timestamp()) // STEP
    index = min(int(batch.at) // STEP, present)
    last = GatewayProcess.objects.filter(gateway=gateway, boot=batch.boot).first()
    first = index
    if last is not None and batch.at - last.at <= SPOKEN_WITHIN:
        first = min(int(min(last.at, last.heard_at.timestamp())) // STEP + 1, index + 1)
    known = gateway.heard_index if gateway.heard_index <= present else 0
    counting.hear(gateway, max(first, known + 1), index)
    gateway.heard_index = max(known, index)


def _process(gateway: Gateway, batch: Batch, now: datetime) -> None:
    told = {
        "at": batch.at,
        "heard_at": now,
        "ended": batch.last,
        "revision": batch.revision,
        "config_sha256": batch.config_sha256,
        "enforced": batch.enforced,
        "lanes": [_plain(lane) for lane in batch.lanes],
        "dropped": batch.dropped,
    }
    GatewayProcess.objects.update_or_create(
        gateway=gateway,
        boot=batch.boot,
        defaults=told,
        create_defaults={**told, "since": batch.at},
    )


def _gauges(gateway: Gateway, batch: Batch) -> None:
    index = int(batch.at) // STEP
    known = {
        row.lane: row
        for row in GatewayGauge.objects.filter(gateway=gateway, boot=batch.boot, index=index)
    }
    for lane in batch.lanes:
        row = known.get(lane.lane) or GatewayGauge(
            gateway=gateway, boot=batch.boot, lane=lane.lane, index=index, in_flight=0, waiting=0
        )
        row.seq, row.limit = gateway.seq, lane.limit
        row.in_flight = max(row.in_flight, lane.in_flight)
        row.waiting = max(row.waiting, lane.waiting)
        row.save()


def _blocks(gateway: Gateway, batch: Batch) -> None:
    present = next((lane.block for lane in batch.lanes if lane.block is not None), None)
    if batch.canary is not None and present is not None:
        GatewayPresence.objects.get_or_create(
            gateway=gateway, boot=batch.boot, canary=batch.canary, block=present
        )
    engines: Mapping[str, list[str]] | None = None
    for entry in batch.blocks:
        row = GatewayBlock.objects.filter(gateway=gateway, boot=batch.boot, **_name(entry)).first()
        if row is None:
            engines = engines or _engines(gateway)
            row = GatewayBlock(
                gateway=gateway,
                boot=batch.boot,
                arm=entry.arm,
                engines=engines.get(entry.lane, []),
                **_name(entry),
            )
        elif row.revision >= entry.revision:
            continue
        row.revision, row.data = entry.revision, _plain(entry)
        row.save()


def _name(entry: BlockEntry) -> dict[str, Any]:
    """What names a block's count beside its process."""
    names = ("canary", "block", "lane", "policy")
    return {name: getattr(entry, name) for name in names}


def _engines(gateway: Gateway) -> Mapping[str, list[str]]:
    """Fingerprints by lane."""
    return {
        name: sorted({feed.fingerprint(endpoint) for endpoint in endpoints})
        for name, endpoints in gateway.lanes.items()
    }


def _rest(gateway: Gateway, batch: Batch, now: datetime) -> None:
    """Decisions (the newest of very many), shadows, faults."""
    GatewayDecision.objects.bulk_create(
        GatewayDecision(
            gateway=gateway,
            lane=line.lane,
            shadow=line.shadow,
            at=line.at,
            seq=gateway.seq,
            data=_without(_plain(line), "lane", "shadow"),
        )
        for line in batch.decisions[-DECISIONS_A_BATCH:]
    )
    for one in batch.shadow:
        told = {
            "at": batch.at,
            "report": _plain(one.report),
            "deciding_seconds": one.deciding_seconds,
            "fault": one.fault or "",
        }
        GatewayShadow.objects.update_or_create(
            gateway=gateway,
            boot=batch.boot,
            lane=one.lane,
            policy=one.policy,
            defaults=told,
            create_defaults={**told, "since": batch.at},
        )
    GatewayFault.objects.bulk_create(
        GatewayFault(
            gateway=gateway,
            boot=batch.boot,
            at=one.at,
            heard_at=now,
            code=one.code,
            problems=one.problems,
        )
        for one in batch.faults
    )


def _without(row: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


def _plain(struct: Any) -> Any:
    """As JSON has it."""
    return msgspec.to_builtins(struct)
