"""Runs over the API: start one, wait for its verdict, stop it."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api import idempotency
from controlplane.api.base import Page, TeamView
from controlplane.api.problem import Conflict
from controlplane.api.serializers import ProblemOut
from controlplane.runs import launch, modelled, services, watchdog
from controlplane.runs.models import LIVE, Run, RunWindow, Status
from controlplane.teams.rights import Right
from documents.problem import DocumentError, Problem
from loadtest import crew_rules, transports
from measurement.verdict import EXIT_CODES

LONGEST_WAIT = 30.0
LOOK_EVERY = 0.25

KEY = OpenApiParameter(idempotency.HEADER, str, OpenApiParameter.HEADER, required=True)
WAIT = OpenApiParameter(
    "wait", float, description=f"seconds to wait for the end, at most {LONGEST_WAIT:g}"
)


class RunIn(serializers.Serializer[Any]):
    """Catalogue objects by slug, ``slug@version`` or id; the rest as in a scenario."""

    endpoint = serializers.CharField(required=False, help_text="or model, one of the two")
    model = serializers.CharField(
        required=False, help_text="a profile of the engine model, in the place of an endpoint"
    )
    policy = serializers.CharField(help_text="slug, slug@version, slug@alias or a version's id")
    workload = serializers.CharField()
    slo = serializers.CharField(required=False, allow_null=True)
    shadow = serializers.CharField(
        required=False,
        allow_null=True,
        help_text="a second policy version, recorded beside the first and never obeyed",
    )
    arrivals = serializers.JSONField(help_text="process and its parameters")
    duration_s = serializers.FloatField(min_value=0.1, max_value=86_400)
    warm_up = serializers.ChoiceField(
        ["seconds", "auto"],
        required=False,
        help_text="auto finds where the run became steady, and cuts no less than warm_up_s",
    )
    warm_up_s = serializers.FloatField(required=False, min_value=0)
    drain_s = serializers.FloatField(required=False, min_value=0)
    timeouts = serializers.JSONField(required=False)
    seed = serializers.IntegerField(required=False, min_value=0)
    prompt_salt = serializers.CharField(required=False)
    retries = serializers.JSONField(required=False, help_text="max, base_ms, cap_ms")
    cancellations = serializers.JSONField(required=False, help_text="share, after_s")
    transport = serializers.ChoiceField(transports.CHOICES, required=False)
    workers = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=crew_rules.MOST,
        help_text="processes that share the load; the requests are the same",
    )
    machines = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=crew_rules.MOST,
        help_text="machines that share the load; a Celery worker must run on each",
    )


class NamedVersion(serializers.Serializer[Any]):
    slug = serializers.CharField(source="line.slug")
    version = serializers.IntegerField(source="number")
    sha256 = serializers.CharField()


class ModelOut(serializers.Serializer[Any]):
    """What stood in for the engine: the run's numbers are a model's, and so far off."""

    profile = serializers.CharField()
    label = serializers.CharField()
    error = serializers.CharField()
    mean_tpot_error_percent = serializers.FloatField(allow_null=True)


class Links(serializers.Serializer[Any]):
    self = serializers.CharField()
    page = serializers.CharField()
    cancel = serializers.CharField()
    windows = serializers.CharField()


class RunOut(serializers.ModelSerializer[Run]):
    """``verdict`` is null until a run ends with one; ``judgement`` is kept of a stopped run too."""

    host = serializers.ChoiceField(["load_test", "model"], read_only=True)
    model = serializers.SerializerMethodField()
    endpoint = serializers.SlugRelatedField[Any](slug_field="slug", read_only=True, allow_null=True)
    workload = serializers.SlugRelatedField[Any](slug_field="slug", read_only=True)
    policy = NamedVersion(source="policy_version", read_only=True)
    slo = NamedVersion(source="slo_version", read_only=True, allow_null=True)
    shadow = NamedVersion(source="shadow_version", read_only=True, allow_null=True)
    duration_s = serializers.FloatField(read_only=True)
    elapsed_s = serializers.FloatField(read_only=True)
    verdict = serializers.SerializerMethodField()
    because = serializers.SerializerMethodField()
    exit_code = serializers.SerializerMethodField()
    links = serializers.SerializerMethodField()

    class Meta:
        model = Run
        fields = (
            "id",
            "status",
            "reason",
            "host",
            "model",
            "endpoint",
            "policy",
            "workload",
            "slo",
            "shadow",
            "seed",
            "workers",
            "machines",
            "scenario_sha256",
            "duration_s",
            "elapsed_s",
            "created_at",
            "started_at",
            "ended_at",
            "retry_of",
            "verdict",
            "because",
            "exit_code",
            "judgement",
            "summary",
            "links",
        )

    @extend_schema_field(ModelOut(allow_null=True))
    def get_model(self, run: Run) -> dict[str, Any] | None:
        """Null where an endpoint answered."""
        model = modelled.of(run)
        return None if model is None else dict(ModelOut(model).data)

    def get_verdict(self, run: Run) -> str | None:
        return run.final_verdict or None

    def get_because(self, run: Run) -> str:
        return run.because if run.final_verdict else ""

    def get_exit_code(self, run: Run) -> int | None:
        """What a command that waited for this run ends with; null while it is live."""
        return exit_code(run)

    def get_links(self, run: Run) -> Links:
        def to(name: str) -> str:
            return reverse(f"api:{name}", args=[run.pk])

        return {  # type: ignore[return-value]
            "self": to("run"),
            "page": run.get_absolute_url(),
            "cancel": to("run-cancel"),
            "windows": to("run-windows"),
        }


class WindowOut(serializers.ModelSerializer[RunWindow]):
    class Meta:
        model = RunWindow
        fields = ("index", "revision", "final", "data")


def exit_code(run: Run) -> int | None:
    """The report's own; a run without one ends as its status says."""
    if run.status in LIVE:
        return None
    if run.status == Status.CANCELLED:  # even where its report is one of a worker that was killed
        return EXIT_CODES["cancelled"]
    if run.status == Status.DONE and run.summary:
        return int(run.summary["exit_code"])
    return EXIT_CODES["infrastructure"]


class RunView(TeamView):
    serializer_class = RunOut
    write_right = Right.RUNS_WRITE

    def get_queryset(self) -> QuerySet[Run]:
        if getattr(self, "swagger_fake_view", False):
            return Run.objects.none()
        runs = Run.objects.for_team(self.actor.team)
        return runs.select_related(
            "endpoint",
            "workload",
            "policy_version__line",
            "slo_version__line",
            "shadow_version__line",
        )

    def find(self, run_id: uuid.UUID) -> Run:
        return watchdog.check(get_object_or_404(self.get_queryset(), pk=run_id))


class Runs(RunView):
    @extend_schema(responses=RunOut(many=True))
    def get(self, request: Request) -> Response:  # noqa: ARG002 - DRF's signature
        page = self.paginate_queryset(self.get_queryset())
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

    @extend_schema(
        request=RunIn,
        parameters=[KEY],
        responses={202: RunOut, **dict.fromkeys((403, 409, 422), ProblemOut)},
    )
    def post(self, request: Request) -> Response:
        return idempotency.once(request, self.actor, self._start)

    def _start(self) -> Response:
        asked = launch.parse(self.actor.team, self.body())
        run = services.start(actor=self.actor, launch=asked)
        response = Response(self.shown(run), status=202)
        response["Location"] = reverse("api:run", args=[run.pk])
        return response


class OneRun(RunView):
    @extend_schema(parameters=[WAIT], responses={200: RunOut, 404: ProblemOut})
    def get(self, request: Request, run_id: uuid.UUID) -> Response:
        run = self.find(run_id)
        if run.is_live and (longest := seconds(request.query_params.get("wait", "0"))):
            wait_for(run, longest)
            run = self.find(run_id)
        return Response(self.shown(run))


class CancelRun(RunView):
    @extend_schema(request=None, responses={202: RunOut, 404: ProblemOut, 409: ProblemOut})
    def post(self, request: Request, run_id: uuid.UUID) -> Response:  # noqa: ARG002
        run = self.find(run_id)
        try:
            services.cancel(actor=self.actor, run=run)
        except services.AlreadyEnded as refusal:
            raise Conflict(str(refusal)) from None
        return Response(self.shown(run), status=202)


class _ByIndex(Page):
    ordering = "index"


class RunWindows(RunView):
    pagination_class = _ByIndex
    serializer_class = WindowOut

    @extend_schema(responses={200: WindowOut(many=True), 404: ProblemOut})
    def get(self, request: Request, run_id: uuid.UUID) -> Response:  # noqa: ARG002
        windows = RunWindow.objects.filter(run=self.find(run_id))
        page = self.paginate_queryset(windows)
        return self.get_paginated_response(WindowOut(page, many=True).data)


def wait_for(run: Run, longest: float, clock: Callable[[], float] = time.monotonic) -> None:
    """Until the run has ended, or for that long."""
    deadline = clock() + longest
    row = Run.objects.filter(pk=run.pk)
    while clock() < deadline and row.filter(status__in=LIVE).exists():
        time.sleep(min(LOOK_EVERY, max(0.0, deadline - clock())))


def seconds(text: str) -> float:
    """What ``?wait=`` says."""
    try:
        given = float(text)
    except ValueError:
        given = -1.0
    if not 0 <= given <= LONGEST_WAIT:
        wanted = f"must be a number of seconds from 0 to {LONGEST_WAIT:g}"
        raise DocumentError([Problem("wait", text, wanted)])
    return given
