"""Gates over the API: keep them, run one, wait for its verdict, take its JUnit file."""

from __future__ import annotations

import uuid
from typing import Any

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api import idempotency
from controlplane.api.base import Page
from controlplane.api.catalogue import inside
from controlplane.api.gate_serializers import GateOut, GateRunIn, GateRunOut
from controlplane.api.resource import Resource
from controlplane.api.runs import KEY, WAIT, seconds, wait_for
from controlplane.api.serializers import ProblemOut
from controlplane.gates import services
from controlplane.gates.judging import settle
from controlplane.gates.models import Gate, GateRun, GateRunQuerySet
from controlplane.runs import watchdog
from controlplane.teams.rights import Right
from loadtest.gate_reports.junit import junit


class GateKind(Resource):
    model = Gate
    route = "gate"
    serializer_class: type[serializers.BaseSerializer[Any]] = GateOut

    def create(self, body: dict[str, Any]) -> Gate:
        with inside(body) as document:
            return services.save_gate(actor=self.actor, document=document).line

    def replace(self, row: Gate, body: dict[str, Any]) -> Gate:
        guard = self.guard()
        with inside(body) as document:
            return services.save_gate(
                actor=self.actor, line=row, document=document, guard=guard
            ).line


class _Runs(GateKind):
    """What is about the runs of one gate."""

    serializer_class = GateRunOut
    write_right = Right.RUNS_WRITE

    def runs(self, ref: str) -> GateRunQuerySet:
        """The gate's, found by the caller's team."""
        found = GateRun.objects.for_team(self.actor.team).filter(version__line=self.find(ref))
        return found.with_names()

    def one(self, ref: str, run_id: uuid.UUID) -> GateRun:
        """Judged, when it has ended; a run whose worker is gone is ended first."""
        gate_run = get_object_or_404(self.runs(ref), pk=run_id)
        watchdog.check(gate_run.run)
        return settle(gate_run)


class _ByRun(Page):
    """A gate's run is named by its run's id."""

    ordering = "-run_id"


class GateRuns(_Runs):
    pagination_class = _ByRun

    @extend_schema(responses={200: GateRunOut(many=True), 404: ProblemOut})
    def get(self, request: Request, ref: str) -> Response:  # noqa: ARG002 - DRF's signature
        page = self.paginate_queryset(self.runs(ref))
        settled = [settle(gate_run) for gate_run in page or ()]
        return self.get_paginated_response(self.get_serializer(settled, many=True).data)

    @extend_schema(
        request=GateRunIn,
        parameters=[KEY],
        responses={202: GateRunOut, **dict.fromkeys((403, 404, 409, 422), ProblemOut)},
    )
    def post(self, request: Request, ref: str) -> Response:
        gate = self.find(ref)
        return idempotency.once(request, self.actor, lambda: self._start(gate))

    def _start(self, gate: Gate) -> Response:
        gate_run = services.start(actor=self.actor, gate=gate, overrides=self.body())
        response = Response(self.shown(gate_run), status=202)
        response["Location"] = reverse("api:gate-run", args=[gate.slug, gate_run.pk])
        return response


class OneGateRun(_Runs):
    @extend_schema(parameters=[WAIT], responses={200: GateRunOut, 404: ProblemOut})
    def get(self, request: Request, ref: str, run_id: uuid.UUID) -> Response:
        gate_run = self.one(ref, run_id)
        longest = seconds(request.query_params.get("wait", "0"))
        if gate_run.run.is_live and longest:
            wait_for(gate_run.run, longest)
            gate_run = self.one(ref, run_id)
        return Response(self.shown(gate_run))


class GateRunJunit(_Runs):
    """The run as JUnit XML; 404 until it has ended."""

    @extend_schema(responses={(200, "application/xml"): OpenApiTypes.STR, 404: ProblemOut})
    def get(self, request: Request, ref: str, run_id: uuid.UUID) -> HttpResponse:  # noqa: ARG002
        ended = self.runs(ref).ended()
        gate_run = settle(get_object_or_404(ended, pk=run_id))
        return HttpResponse(
            junit(self.shown(gate_run)), content_type="application/xml; charset=utf-8"
        )
