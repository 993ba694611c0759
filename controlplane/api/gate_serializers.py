"""How a gate and its runs look in the API; the latter is what every report of it is made from."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from rest_framework import serializers

from controlplane.api.serializers import COMMON, TIMES, VersionOut
from controlplane.gates.judging import exit_code, settle
from controlplane.gates.models import Gate, GateRun

SCHEMA = "headway/gate-run/v1"


class GateRunIn(serializers.Serializer[Any]):
    """What this one run replaces; refused unless the gate's overrides name it."""

    policy = serializers.CharField(
        required=False, help_text="slug, slug@version or @alias, or version's id"
    )
    endpoint = serializers.CharField(required=False)


class GateRunLinks(serializers.Serializer[Any]):
    self = serializers.CharField()
    junit = serializers.CharField()
    run = serializers.CharField()
    cancel = serializers.CharField()
    page = serializers.CharField()
    gate = serializers.CharField()


class GateRunOut(serializers.ModelSerializer[GateRun]):
    """``outcome`` is null until the run has ended; then a verdict, infrastructure or cancelled."""

    schema = serializers.SerializerMethodField()
    id = serializers.UUIDField(source="run_id", read_only=True)
    gate = serializers.CharField(source="gate.slug", read_only=True)
    version = serializers.IntegerField(source="version.number", read_only=True)
    status = serializers.CharField(source="run.status", read_only=True)
    reason = serializers.CharField(source="run.reason", read_only=True)
    outcome = serializers.SerializerMethodField()
    exit_code = serializers.SerializerMethodField()
    objectives = serializers.SerializerMethodField()
    endpoint = serializers.CharField(source="run.endpoint.slug", read_only=True)
    policy = serializers.SerializerMethodField()
    workload = serializers.CharField(source="run.workload.slug", read_only=True)
    slo = serializers.SerializerMethodField()
    seed = serializers.IntegerField(source="run.seed", read_only=True)
    scenario_sha256 = serializers.CharField(source="run.scenario_sha256", read_only=True)
    so_far = serializers.SerializerMethodField()
    duration_s = serializers.FloatField(source="run.duration_s", read_only=True)
    elapsed_s = serializers.FloatField(source="run.elapsed_s", read_only=True)
    created_at = serializers.DateTimeField(source="run.created_at", read_only=True)
    started_at = serializers.DateTimeField(source="run.started_at", read_only=True)
    ended_at = serializers.DateTimeField(source="run.ended_at", read_only=True)
    links = serializers.SerializerMethodField()

    class Meta:
        model = GateRun
        fields = (
            "schema",
            "id",
            "gate",
            "version",
            "overrides",
            "status",
            "reason",
            "outcome",
            "because",
            "exit_code",
            "objectives",
            "thresholds",
            "endpoint",
            "policy",
            "workload",
            "slo",
            "seed",
            "scenario_sha256",
            "so_far",
            "duration_s",
            "elapsed_s",
            "created_at",
            "started_at",
            "ended_at",
            "links",
        )

    def get_schema(self, _row: GateRun) -> str:
        return SCHEMA

    def get_outcome(self, row: GateRun) -> str | None:
        return row.outcome or None

    def get_exit_code(self, row: GateRun) -> int | None:
        return exit_code(row)

    def get_objectives(self, row: GateRun) -> list[dict[str, Any]]:
        """The run's own, the joint of all first; none while it is live."""
        return list((row.run.judgement or {}).get("objectives", ()))

    def get_policy(self, row: GateRun) -> str:
        version = row.run.policy_version
        return f"{version.line.slug}@{version.number}"

    def get_slo(self, row: GateRun) -> str | None:
        version = row.run.slo_version
        return f"{version.line.slug}@{version.number}" if version else None

    def get_so_far(self, row: GateRun) -> dict[str, Any] | None:
        """What a run that has not ended has come to: its verdict so far and its totals."""
        if not row.run.is_live:
            return None
        live = row.run.live
        return {"verdict": live.get("verdict"), "totals": live.get("totals")}

    def get_links(self, row: GateRun) -> GateRunLinks:
        own = [row.gate.slug, row.pk]
        return {  # type: ignore[return-value]
            "self": reverse("api:gate-run", args=own),
            "junit": reverse("api:gate-junit", args=own),
            "run": reverse("api:run", args=[row.pk]),
            "cancel": reverse("api:run-cancel", args=[row.pk]),
            "page": row.run.get_absolute_url(),
            "gate": row.gate.get_absolute_url(),
        }


class GateOut(serializers.ModelSerializer[Gate]):
    """``last_run`` is the newest; its outcome is null while it is live."""

    latest = VersionOut(read_only=True)
    last_run = serializers.SerializerMethodField()

    class Meta:
        model = Gate
        fields = (*COMMON, "latest", "last_run", *TIMES)

    def get_last_run(self, gate: Gate) -> dict[str, Any] | None:
        newest = GateRun.objects.filter(version__line=gate).with_names().first()
        if newest is None:
            return None
        settled = settle(newest)
        return {
            "id": str(newest.pk),
            "status": newest.run.status,
            "outcome": settled.outcome or None,
        }
