"""Gateways over the API; and what their processes ask and say: configuration and telemetry."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import APIException
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api.base import TeamView
from controlplane.api.parsing import BodyParser
from controlplane.api.problem import Conflict
from controlplane.api.resource import Resource
from controlplane.api.serializers import ProblemOut, input_for
from controlplane.gateways import (
    batches,
    budget_page,
    feed,
    ingest,
    live,
    reading,
    waiting,
    writing,
)
from controlplane.gateways.documents import GatewayDocument, document_of
from controlplane.gateways.models import Gateway
from controlplane.teams.rights import Right
from documents.parse import build
from documents.problem import DocumentError

BODY_BYTES = 8 * 2**20
POLLED_STEP = timedelta(seconds=5)


class TooLarge(APIException):
    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_code = "too-large"
    default_detail = f"A batch has at most {BODY_BYTES // 2**20} MiB."


class BoundedParser(BaseParser):
    """JSON of a bounded size, refused before it is read whole.

    No JSONParser itself: to one of those the framework hands a body that it has read already,
    under the bound of all other bodies.
    """

    media_type = "application/json"

    def parse(
        self,
        stream: Any,
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        length = (parser_context or {})["request"].META.get("CONTENT_LENGTH") or ""
        if length.isdecimal() and int(length) > BODY_BYTES:
            raise TooLarge
        return BodyParser().parse(_Bounded(stream), media_type, parser_context)


class _Bounded:
    """A stream that ends in TooLarge where it should have ended."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._left = BODY_BYTES

    def read(self, size: int = -1) -> bytes:
        most = self._left + 1
        data: bytes = self._stream.read(most if size < 0 else min(size, most))
        self._left -= len(data)
        if self._left < 0:
            raise TooLarge
        return data


_LANES = serializers.DictField(
    child=serializers.ListField(child=serializers.CharField()),
    help_text="lanes of equal engines: slugs of endpoints by the lane's name",
)
GatewayIn = type("GatewayIn", (serializers.Serializer,), input_for(GatewayDocument, lanes=_LANES))


class GatewayOut(serializers.Serializer[Gateway]):
    """What is wished of a gateway. How it stands is on its page: it moves each second."""

    id = serializers.UUIDField()
    slug = serializers.CharField()
    revision = serializers.IntegerField(help_text="rises with each change")
    document = GatewayIn(help_text="as it may be sent back")

    def to_representation(self, instance: Gateway) -> dict[str, Any]:
        return {
            "id": str(instance.pk),
            "slug": instance.slug,
            "revision": instance.revision,
            "document": document_of(instance),
        }


class GatewayKind(Resource):
    model = Gateway
    route = "gateway"
    serializer_class: type[serializers.BaseSerializer[Any]] = GatewayOut

    def create(self, body: dict[str, Any]) -> Gateway:
        return writing.create_gateway(actor=self.actor, document=build(GatewayDocument, body))

    def replace(self, row: Gateway, body: dict[str, Any]) -> Gateway:
        guard = self.guard()
        document = build(GatewayDocument, body)
        return writing.change_gateway(actor=self.actor, gateway=row, document=document, guard=guard)


class AlertOut(serializers.Serializer[Any]):
    """Two windows; it fires when both burn at ``factor`` or faster, by ten misses or more."""

    severity = serializers.ChoiceField(["page", "ticket"])
    state = serializers.ChoiceField(["firing", "quiet", "insufficient", "unknown"])
    factor = serializers.FloatField()
    long_s = serializers.FloatField()
    long_burn = serializers.FloatField(allow_null=True)
    long_heard = serializers.FloatField(allow_null=True, help_text="share of its time reported")
    missed = serializers.IntegerField(help_text="in the long window")
    n = serializers.IntegerField(help_text="in the long window")
    short_s = serializers.FloatField()
    short_burn = serializers.FloatField(allow_null=True)
    short_heard = serializers.FloatField(allow_null=True)
    short_missed = serializers.IntegerField()
    short_n = serializers.IntegerField()
    long_seen_s = serializers.FloatField(
        help_text="seconds of it since the first count; less than long_s of a young gateway"
    )
    short_seen_s = serializers.FloatField()


class BudgetOut(serializers.Serializer[Any]):
    """One error budget of live traffic, as it was last looked at."""

    scope = serializers.ChoiceField(["joint", "objective", "tenant"])
    name = serializers.CharField(help_text="the objective's metric, or the tenant's slug")
    target = serializers.FloatField()
    state = serializers.ChoiceField(["page", "ticket", "unknown", "ok", "idle"])
    because = serializers.CharField()
    since = serializers.DateTimeField(help_text="when it came into this state")
    at = serializers.DateTimeField(help_text="when it was last looked at")
    period_s = serializers.FloatField(help_text="the SLO's window")
    counted_from = serializers.DateTimeField(
        allow_null=True, help_text="the first count of it under this SLO"
    )
    n = serializers.IntegerField(help_text="judged in it")
    missed = serializers.IntegerField()
    allowed = serializers.FloatField(help_text="(1 − target) × n")
    left = serializers.FloatField(allow_null=True, help_text="share; negative when overspent")
    spent_in_s = serializers.FloatField(
        allow_null=True, help_text="at the last hour's burn; null where that lasts"
    )
    heard = serializers.FloatField(
        allow_null=True, help_text="share of the time counted of which telemetry came"
    )
    unmeasured = serializers.IntegerField(help_text="successes without a value, left out")
    lacking = serializers.CharField(help_text="what the budget does not know, in words")
    alerts = AlertOut(many=True, source="burns")


class AcknowledgedOut(serializers.Serializer[Any]):
    stream = serializers.CharField()
    acknowledged = serializers.IntegerField(help_text="Every batch up to it is stored.")


class _Own(TeamView):
    """The gateway of that slug in the token's team."""

    read_right = write_right = Right.GATEWAY
    serializer_class: Any = serializers.Serializer

    def gateway(self, slug: str) -> Gateway:
        rows = Gateway.objects.for_team(self.actor.team).select_related(
            "active_version__line", "slo_version", "shadow_version", "canary_version",
            "anonymous_tenant",
        )  # fmt: skip
        return get_object_or_404(rows, slug=slug)


class Budgets(_Own):
    read_right = Right.READ
    serializer_class = BudgetOut
    pagination_class = None

    @extend_schema(
        responses={200: BudgetOut(many=True), **dict.fromkeys((403, 404), ProblemOut)},
    )
    def get(self, request: Request, slug: str) -> Response:  # noqa: ARG002 - DRF's signature
        """Each error budget: all objectives at once, each of them, tenants with a target."""
        gateway = self.gateway(slug)
        doubt = waiting.doubt(gateway, reading.processes(gateway), timezone.now())
        rows = budget_page.rows(gateway, doubt)
        return Response(self.get_serializer(rows, many=True).data)


class Config(_Own):
    @extend_schema(
        parameters=[OpenApiParameter("If-None-Match", str, OpenApiParameter.HEADER)],
        responses={
            200: OpenApiResponse(dict, description="A GatewayConfig, as docs/gateway.md has it."),
            304: OpenApiResponse(description="What the ETag names is still so."),
            **dict.fromkeys((403, 404, 409), ProblemOut),
        },
    )
    def get(self, request: Request, slug: str) -> HttpResponseBase:
        """The configuration that this gateway is to serve by."""
        gateway = self.gateway(slug)
        now = timezone.now()
        if gateway.polled_at is None or now - gateway.polled_at > POLLED_STEP:
            Gateway.objects.filter(pk=gateway.pk).update(polled_at=now)
        told = feed.document(gateway)
        tag = feed.etag(told)
        known = request.headers.get("If-None-Match", "").split(",")
        if tag in [one.strip().removeprefix("W/") for one in known]:
            unchanged = HttpResponse(status=304)
            unchanged["ETag"] = tag
            return unchanged
        try:
            feed.config(gateway)
        except DocumentError as error:
            raise Conflict(f"This gateway can't be served by yet: {error.problems[0]}") from None
        response = Response(told)
        response["ETag"] = tag
        response["Cache-Control"] = "no-store"
        return response


class Telemetry(_Own):
    parser_classes = (BoundedParser,)
    serializer_class = AcknowledgedOut

    @extend_schema(
        request={"application/json": dict},
        responses={200: AcknowledgedOut, **dict.fromkeys((400, 403, 404, 413, 422), ProblemOut)},
    )
    def post(self, request: Request, slug: str) -> Response:  # noqa: ARG002 - DRF's signature
        """Store a batch, once; the answer says up to which number of its stream all is stored."""
        gateway = self.gateway(slug)
        batch, windows = batches.read(self.body(), gateway=gateway.slug)
        now = timezone.now()
        acknowledged, new = ingest.store(gateway, batch, windows, now=now)
        if new:
            live.tell(gateway, now)
        return Response({"stream": batch.stream, "acknowledged": acknowledged})
