"""Experiments over the API: play a source system, wait for its table, stop it, play it again."""

from __future__ import annotations

import time
import uuid
from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api import idempotency
from controlplane.api.base import TeamView
from controlplane.api.problem import Conflict
from controlplane.api.runs import KEY, LOOK_EVERY, WAIT, seconds
from controlplane.api.serializers import ProblemOut
from controlplane.experiments import asking, presenting, services, watchdog
from controlplane.experiments.models import Experiment
from controlplane.runs.models import LIVE
from controlplane.teams.rights import Right


class ExperimentIn(serializers.Serializer[Any]):
    system = serializers.CharField(help_text="a source system, as headway reproduce names it")
    seeds = serializers.IntegerField(required=False, min_value=1, max_value=asking.MOST_SEEDS)
    reduced = serializers.BooleanField(
        required=False, help_text="shorter runs of the same shape: a look, no figures to quote"
    )
    served = serializers.BooleanField(
        required=False,
        help_text="over HTTP: a load test against the engine model as a server, as far as one can "
        "enforce the system's laws",
    )
    configuration = serializers.JSONField(
        required=False,
        help_text="queueing: play the source's own configuration (scheduler, slo, admission, "
        "loadgen) in the place of the system's experiment",
    )
    profile = serializers.CharField(
        required=False, help_text="with configuration: the engine model's profile that plays it"
    )

    scale = serializers.FloatField(
        required=False,
        help_text="batching: play an hour of its day as so many times less, 1 (the whole day) to "
        "60 (each hour in a minute, which is the default)",
    )


class ResultOut(serializers.Serializer[Any]):
    """``document`` is what ``headway reproduce --out`` writes; it never changes."""

    document = serializers.JSONField()
    sha256 = serializers.CharField()
    holds = serializers.BooleanField(help_text="whether every sentence is supported")
    runs = serializers.IntegerField(help_text="with a seed, over all laws and cases")
    seconds = serializers.FloatField()
    version = serializers.CharField()


class ProgressOut(serializers.Serializer[Any]):
    runs = serializers.IntegerField(help_text="with a seed, so far")
    done = serializers.FloatField(help_text="the same with a part of the one that goes on")
    of = serializers.IntegerField(
        allow_null=True, help_text="how many there will be; null of a system that is gone"
    )


class RepeatOut(serializers.Serializer[Any]):
    first = serializers.UUIDField()
    identical = serializers.BooleanField()
    said = serializers.CharField()


class ExperimentLinks(serializers.Serializer[Any]):
    self = serializers.CharField()
    page = serializers.CharField()
    cancel = serializers.CharField()
    again = serializers.CharField()


class ExperimentOut(serializers.ModelSerializer[Experiment]):
    """``result`` is null until it is done; ``repeat`` unless it is one and both are done."""

    command = serializers.SerializerMethodField()
    progress = serializers.SerializerMethodField()
    result = ResultOut(source="found", read_only=True, allow_null=True)
    repeat = serializers.SerializerMethodField()
    links = serializers.SerializerMethodField()

    class Meta:
        model = Experiment
        fields = (
            "id",
            "system",
            "seeds",
            "reduced",
            "way",
            "profile",
            "scale",
            "again_of",
            "status",
            "reason",
            "created_at",
            "started_at",
            "ended_at",
            "command",
            "progress",
            "result",
            "repeat",
            "links",
        )

    def get_command(self, experiment: Experiment) -> str:
        return presenting.command(experiment)

    @extend_schema_field(ProgressOut)
    def get_progress(self, experiment: Experiment) -> dict[str, Any]:
        seen = presenting.progress(experiment)
        return {name: seen[name] for name in ("runs", "done", "of")}

    @extend_schema_field(RepeatOut(allow_null=True))
    def get_repeat(self, experiment: Experiment) -> dict[str, Any] | None:
        seen = presenting.repeat_of(experiment)
        if not seen:
            return None
        first = str(seen["first"].pk)
        return {"first": first, "identical": seen["identical"], "said": seen["said"]}

    def get_links(self, experiment: Experiment) -> ExperimentLinks:
        def to(name: str) -> str:
            return reverse(f"api:{name}", args=[experiment.pk])

        return {  # type: ignore[return-value]
            "self": to("experiment"),
            "page": experiment.get_absolute_url(),
            "cancel": to("experiment-cancel"),
            "again": to("experiment-again"),
        }


class ExperimentView(TeamView):
    serializer_class = ExperimentOut
    write_right = Right.RUNS_WRITE

    def get_queryset(self) -> QuerySet[Experiment]:
        if getattr(self, "swagger_fake_view", False):
            return Experiment.objects.none()
        own = Experiment.objects.for_team(self.actor.team)
        return own.select_related("result", "again_of__result")

    def find(self, ref: uuid.UUID) -> Experiment:
        return watchdog.check(get_object_or_404(self.get_queryset(), pk=ref))

    def accepted(self, experiment: Experiment) -> Response:
        """202, and where it stands."""
        response = Response(self.shown(experiment), status=202)
        response["Location"] = reverse("api:experiment", args=[experiment.pk])
        return response


class Experiments(ExperimentView):
    @extend_schema(responses=ExperimentOut(many=True))
    def get(self, request: Request) -> Response:  # noqa: ARG002 - DRF's signature
        page = self.paginate_queryset(self.get_queryset())
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

    @extend_schema(
        request=ExperimentIn,
        parameters=[KEY],
        responses={202: ExperimentOut, **dict.fromkeys((403, 409, 422), ProblemOut)},
    )
    def post(self, request: Request) -> Response:
        return idempotency.once(request, self.actor, self._start)

    def _start(self) -> Response:
        ask = asking.parse(self.body())
        return self.accepted(services.start(actor=self.actor, ask=ask))


class OneExperiment(ExperimentView):
    @extend_schema(parameters=[WAIT], responses={200: ExperimentOut, 404: ProblemOut})
    def get(self, request: Request, pk: uuid.UUID) -> Response:
        experiment = self.find(pk)
        deadline = time.monotonic() + seconds(request.query_params.get("wait", "0"))
        row = Experiment.objects.filter(pk=experiment.pk, status__in=LIVE)
        while time.monotonic() < deadline and row.exists():
            time.sleep(LOOK_EVERY)
        return Response(self.shown(self.find(pk)))


class CancelExperiment(ExperimentView):
    @extend_schema(request=None, responses={202: ExperimentOut, 404: ProblemOut, 409: ProblemOut})
    def post(self, request: Request, pk: uuid.UUID) -> Response:  # noqa: ARG002
        experiment = self.find(pk)
        try:
            services.cancel(actor=self.actor, experiment=experiment)
        except services.AlreadyEnded as refusal:
            raise Conflict(str(refusal)) from None
        return Response(self.shown(experiment), status=202)


class PlayAgain(ExperimentView):
    @extend_schema(
        request=None,
        parameters=[KEY],
        responses={202: ExperimentOut, **dict.fromkeys((403, 404, 409, 422), ProblemOut)},
    )
    def post(self, request: Request, pk: uuid.UUID) -> Response:
        experiment = self.find(pk)
        return idempotency.once(request, self.actor, lambda: self._again(experiment))

    def _again(self, experiment: Experiment) -> Response:
        try:
            return self.accepted(services.again(actor=self.actor, experiment=experiment))
        except services.StillLive as refusal:
            raise Conflict(str(refusal)) from None
