"""Rollouts over the API: propose, look, start, abort. Approving is a person's, signed in."""

from __future__ import annotations

import uuid
from typing import Any, NoReturn

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api import idempotency
from controlplane.api.base import TeamView
from controlplane.api.catalogue import inside
from controlplane.api.problem import Conflict
from controlplane.api.runs import KEY, NamedVersion
from controlplane.api.serializers import DocumentIn, ProblemOut
from controlplane.rollouts import approving, deciding, services
from controlplane.rollouts.machine import Refused
from controlplane.rollouts.models import Approval, Rollout, RolloutEvent, StageRun
from controlplane.teams.rights import Denied, Right


class ReasonIn(serializers.Serializer[Any]):
    reason = serializers.CharField(required=False, allow_blank=True, max_length=400)


class StageRunOut(serializers.ModelSerializer[StageRun]):
    """One attempt at one stage; ``evidence`` is what its verdict can be made again from."""

    comparison = serializers.PrimaryKeyRelatedField[Any](read_only=True)

    class Meta:
        model = StageRun
        fields = (
            "index",
            "attempt",
            "kind",
            "finding",
            "because",
            "setting",
            "evidence",
            "accepted",
            "comparison",
            "entered_at",
            "ended_at",
        )


class ApprovalOut(serializers.ModelSerializer[Approval]):
    by = serializers.CharField(source="user.username", read_only=True)

    class Meta:
        model = Approval
        fields = ("stage", "attempt", "by", "comment", "binding", "at", "expires_at", "voided_at")


class RolloutEventOut(serializers.ModelSerializer[RolloutEvent]):
    class Meta:
        model = RolloutEvent
        fields = ("seq", "at", "verb", "by", "text")


class RolloutLinks(serializers.Serializer[Any]):
    self = serializers.CharField()
    page = serializers.CharField()
    start = serializers.CharField()
    abort = serializers.CharField()


class RolloutOut(serializers.ModelSerializer[Rollout]):
    """``approvals_held`` of ``approvals_needed`` hold now for the stage at which it stands."""

    gateway = serializers.SlugRelatedField[Any](slug_field="slug", read_only=True)
    workload = serializers.SlugRelatedField[Any](slug_field="slug", read_only=True)
    baseline = NamedVersion(source="baseline_version", read_only=True)
    candidate = NamedVersion(source="candidate_version", read_only=True)
    slo = NamedVersion(source="slo_version", read_only=True)
    stage_name = serializers.SerializerMethodField()
    approvals_needed = serializers.SerializerMethodField()
    approvals_held = serializers.SerializerMethodField()
    links = serializers.SerializerMethodField()

    class Meta:
        model = Rollout
        fields = (
            "id",
            "gateway",
            "baseline",
            "candidate",
            "slo",
            "workload",
            "phase",
            "stage",
            "stage_name",
            "attempt",
            "because",
            "approvals_needed",
            "approvals_held",
            "plan_sha256",
            "seed",
            "number",
            "retry_of",
            "created_at",
            "started_at",
            "ended_at",
            "links",
        )

    def get_stage_name(self, rollout: Rollout) -> str:
        return rollout.document.name_of(rollout.stage)

    def get_approvals_needed(self, rollout: Rollout) -> int:
        return rollout.standing.needed[rollout.stage]

    def get_approvals_held(self, rollout: Rollout) -> int:
        return len(approving.holding(rollout, timezone.now()))

    def get_links(self, rollout: Rollout) -> RolloutLinks:
        def to(name: str) -> str:
            return reverse(f"api:{name}", args=[rollout.pk])

        return {  # type: ignore[return-value]
            "self": to("rollout"),
            "page": rollout.get_absolute_url(),
            "start": to("rollout-start"),
            "abort": to("rollout-abort"),
        }


class OneRolloutOut(RolloutOut):
    """With its plan, what its stages have shown, who approved, and what happened.

    ``binding`` is the hash that an approval given now would be of.
    """

    binding = serializers.SerializerMethodField()
    stage_runs = StageRunOut(many=True, read_only=True)
    approvals = ApprovalOut(many=True, read_only=True)
    events = RolloutEventOut(many=True, read_only=True)

    class Meta(RolloutOut.Meta):
        fields = (  # type: ignore[assignment]
            *RolloutOut.Meta.fields,
            "plan",
            "binding",
            "stage_runs",
            "approvals",
            "events",
        )

    def get_binding(self, rollout: Rollout) -> str:
        return approving.binding_of(rollout)


class RolloutView(TeamView):
    serializer_class: type[serializers.BaseSerializer[Any]] = OneRolloutOut
    write_right = Right.RUNS_WRITE

    def get_queryset(self) -> QuerySet[Rollout]:
        if getattr(self, "swagger_fake_view", False):
            return Rollout.objects.none()
        return Rollout.objects.for_team(self.actor.team).with_names()

    def find(self, pk: uuid.UUID) -> Rollout:
        return get_object_or_404(self.get_queryset(), pk=pk)

    def reason(self) -> str:
        given = ReasonIn(data=self.body())
        given.is_valid(raise_exception=True)
        return str(given.validated_data.get("reason", ""))


class Rollouts(RolloutView):
    serializer_class = RolloutOut

    @extend_schema(responses=RolloutOut(many=True))
    def get(self, request: Request) -> Response:  # noqa: ARG002 - DRF's signature
        page = self.paginate_queryset(self.get_queryset())
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

    @extend_schema(
        request=DocumentIn,
        parameters=[KEY],
        responses={201: RolloutOut, **dict.fromkeys((403, 409, 422), ProblemOut)},
    )
    def post(self, request: Request) -> Response:
        """Propose one; it is a draft until somebody starts it."""
        return idempotency.once(request, self.actor, self._propose)

    def _propose(self) -> Response:
        with inside(self.body()) as document:
            rollout = services.propose(actor=self.actor, document=document)
        where = reverse("api:rollout", args=[rollout.pk])
        response = Response(self.shown(rollout), status=201)
        response["Location"] = where
        return response


class OneRollout(RolloutView):
    @extend_schema(responses={200: OneRolloutOut, 404: ProblemOut})
    def get(self, request: Request, pk: uuid.UUID) -> Response:  # noqa: ARG002
        return Response(self.shown(self.find(pk)))


class StartRollout(RolloutView):
    @extend_schema(
        request=None, responses={200: OneRolloutOut, **dict.fromkeys((403, 404, 409), ProblemOut)}
    )
    def post(self, request: Request, pk: uuid.UUID) -> Response:  # noqa: ARG002
        try:
            rollout = services.start(actor=self.actor, rollout=self.find(pk))
        except Refused as refusal:
            raise Conflict(str(refusal)) from None
        return Response(self.shown(rollout))


class AbortRollout(RolloutView):
    @extend_schema(
        request=ReasonIn,
        responses={200: OneRolloutOut, **dict.fromkeys((403, 404, 409), ProblemOut)},
    )
    def post(self, request: Request, pk: uuid.UUID) -> Response:  # noqa: ARG002
        """End it in whatever state it is, and take back all that it did."""
        rollout, reason = self.find(pk), self.reason() if self.request.data else ""
        try:
            rollout = services.abort(actor=self.actor, rollout=rollout, reason=reason)
        except Refused as refusal:
            raise Conflict(str(refusal)) from None
        return Response(self.shown(rollout))


class ApproveRollout(RolloutView):
    """Here so that a program is told why not, and what to do instead."""

    @extend_schema(request=None, responses={403: ProblemOut, 404: ProblemOut})
    def post(self, request: Request, pk: uuid.UUID) -> NoReturn:
        """Always refused: a token can never approve."""
        rollout = self.find(pk)
        page = request.build_absolute_uri(rollout.get_absolute_url())
        try:
            deciding.refuse_token(actor=self.actor, rollout=rollout)
        except Denied as denial:
            raise Denied(f"{denial} {page}") from None
        raise Denied(deciding.A_PERSON_DECIDES)
