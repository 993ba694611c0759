"""Comparisons over the API: start one, wait for its verdict, stop it."""

from __future__ import annotations

import time
import uuid
from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api import idempotency
from controlplane.api.base import Page, TeamView
from controlplane.api.problem import Conflict
from controlplane.api.runs import KEY, LOOK_EVERY, WAIT, NamedVersion, seconds
from controlplane.api.serializers import ProblemOut
from controlplane.comparisons import asking, services, watchdog
from controlplane.comparisons.models import Comparison, ComparisonBlock
from controlplane.runs.models import LIVE, Status
from controlplane.teams.rights import Right
from measurement.verdict import EXIT_CODES


class ComparisonIn(serializers.Serializer[Any]):
    """Catalogue objects by slug, ``slug@version`` or id; the rest as ``headway ab`` takes it."""

    baseline = serializers.CharField(help_text="policy: slug, slug@version or a version's id")
    candidate = serializers.CharField(help_text="policy: slug, slug@version or a version's id")
    workload = serializers.CharField()
    slo = serializers.CharField(help_text="slug, slug@version or a version's id")
    where = serializers.ChoiceField(choices=Comparison.Where.choices, required=False)
    profile = serializers.CharField(required=False, help_text="of model and engines")
    endpoints = serializers.ListField(
        child=serializers.CharField(), required=False, help_text="two, or one for switchback"
    )
    arrivals = serializers.JSONField(required=False, help_text="an open loop and its parameters")
    blocks = serializers.IntegerField(required=False, min_value=33)
    block_s = serializers.FloatField(required=False, min_value=1)
    washout_s = serializers.FloatField(required=False, min_value=0)
    margins = serializers.JSONField(required=False, help_text="criterion: share, such as 0.01")
    bases = serializers.JSONField(required=False, help_text="criterion: share, for power")
    seed = serializers.IntegerField(required=False, min_value=0)
    stages = serializers.IntegerField(required=False, min_value=1)
    drain_s = serializers.FloatField(required=False, min_value=0)
    timeouts = serializers.JSONField(required=False)


class ComparisonLinks(serializers.Serializer[Any]):
    self = serializers.CharField()
    page = serializers.CharField()
    cancel = serializers.CharField()
    blocks = serializers.CharField()


class ComparisonOut(serializers.ModelSerializer[Comparison]):
    """``outcome`` is null until it ends with one; ``verdict`` is the newest, whatever the status.

    ``result`` holds plan, blocks and verdict as they are stored.
    """

    baseline = NamedVersion(source="baseline_version", read_only=True)
    candidate = NamedVersion(source="candidate_version", read_only=True)
    slo = NamedVersion(source="slo_version", read_only=True)
    workload = serializers.SlugRelatedField[Any](slug_field="slug", read_only=True)
    endpoints = serializers.SerializerMethodField()
    outcome = serializers.SerializerMethodField()
    duration_s = serializers.FloatField(read_only=True)
    elapsed_s = serializers.FloatField(read_only=True)
    exit_code = serializers.SerializerMethodField()
    links = serializers.SerializerMethodField()

    class Meta:
        model = Comparison
        fields = (
            "id",
            "status",
            "reason",
            "baseline",
            "candidate",
            "where",
            "endpoints",
            "workload",
            "slo",
            "plan",
            "plan_sha256",
            "power",
            "duration_s",
            "elapsed_s",
            "created_at",
            "started_at",
            "ended_at",
            "outcome",
            "because",
            "exit_code",
            "verdict",
            "result",
            "links",
        )

    def get_endpoints(self, comparison: Comparison) -> list[str]:
        return [one.slug for one in comparison.endpoints]

    def get_outcome(self, comparison: Comparison) -> str | None:
        return comparison.outcome or None

    def get_exit_code(self, comparison: Comparison) -> int | None:
        """What a command that waited for it ends with; null while it is live."""
        return exit_code(comparison)

    def get_links(self, comparison: Comparison) -> ComparisonLinks:
        def to(name: str) -> str:
            return reverse(f"api:{name}", args=[comparison.pk])

        return {  # type: ignore[return-value]
            "self": to("comparison"),
            "page": comparison.get_absolute_url(),
            "cancel": to("comparison-cancel"),
            "blocks": to("comparison-blocks"),
        }


class BlockOut(serializers.ModelSerializer[ComparisonBlock]):
    class Meta:
        model = ComparisonBlock
        fields = ("index", "data", "arms")


def exit_code(comparison: Comparison) -> int | None:
    """The result's own; what ended without one ends as its status says."""
    if comparison.status in LIVE:
        return None
    if comparison.status == Status.CANCELLED:
        return EXIT_CODES["cancelled"]
    if comparison.status == Status.DONE and comparison.result:
        return int(comparison.result["exit_code"])
    return EXIT_CODES["infrastructure"]


class ComparisonView(TeamView):
    serializer_class = ComparisonOut
    write_right = Right.RUNS_WRITE

    def get_queryset(self) -> QuerySet[Comparison]:
        if getattr(self, "swagger_fake_view", False):
            return Comparison.objects.none()
        return Comparison.objects.for_team(self.actor.team).with_names()

    def find(self, ref: uuid.UUID) -> Comparison:
        return watchdog.check(get_object_or_404(self.get_queryset(), pk=ref))


class Comparisons(ComparisonView):
    @extend_schema(responses=ComparisonOut(many=True))
    def get(self, request: Request) -> Response:  # noqa: ARG002 - DRF's signature
        page = self.paginate_queryset(self.get_queryset())
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

    @extend_schema(
        request=ComparisonIn,
        parameters=[KEY],
        responses={202: ComparisonOut, **dict.fromkeys((403, 409, 422), ProblemOut)},
    )
    def post(self, request: Request) -> Response:
        return idempotency.once(request, self.actor, self._start)

    def _start(self) -> Response:
        ask = asking.parse(self.actor.team, self.body())
        comparison = services.start(actor=self.actor, ask=ask)
        response = Response(self.shown(comparison), status=202)
        response["Location"] = reverse("api:comparison", args=[comparison.pk])
        return response


class OneComparison(ComparisonView):
    @extend_schema(parameters=[WAIT], responses={200: ComparisonOut, 404: ProblemOut})
    def get(self, request: Request, pk: uuid.UUID) -> Response:
        comparison = self.find(pk)
        deadline = time.monotonic() + seconds(request.query_params.get("wait", "0"))
        row = Comparison.objects.filter(pk=comparison.pk, status__in=LIVE)
        while time.monotonic() < deadline and row.exists():
            time.sleep(LOOK_EVERY)
        return Response(self.shown(self.find(pk)))


class CancelComparison(ComparisonView):
    @extend_schema(request=None, responses={202: ComparisonOut, 404: ProblemOut, 409: ProblemOut})
    def post(self, request: Request, pk: uuid.UUID) -> Response:  # noqa: ARG002
        comparison = self.find(pk)
        try:
            services.cancel(actor=self.actor, comparison=comparison)
        except services.AlreadyEnded as refusal:
            raise Conflict(str(refusal)) from None
        return Response(self.shown(comparison), status=202)


class _ByIndex(Page):
    ordering = "index"


class ComparisonBlocks(ComparisonView):
    pagination_class = _ByIndex
    serializer_class = BlockOut

    @extend_schema(responses={200: BlockOut(many=True), 404: ProblemOut})
    def get(self, request: Request, pk: uuid.UUID) -> Response:  # noqa: ARG002
        blocks = ComparisonBlock.objects.filter(comparison=self.find(pk))
        page = self.paginate_queryset(blocks)
        return self.get_paginated_response(BlockOut(page, many=True).data)
