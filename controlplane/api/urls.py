"""Addresses under /api/v1/."""

from __future__ import annotations

from django.urls import URLPattern, path, re_path
from drf_spectacular.views import SpectacularAPIView

from controlplane.api import catalogue as kinds
from controlplane.api import gates, gateways, runs
from controlplane.api import serializers as given
from controlplane.api.authentication import BearerAuthentication, PageSession
from controlplane.api.base import Nowhere
from controlplane.api.permissions import SignedIn
from controlplane.api.resource import Resource, Version, Versions, views_of


def _kind(kind: type[Resource], body: type, many: str) -> list[URLPattern]:
    collection, item = views_of(kind, body, kind.route.capitalize())
    return [
        path(many, collection, name=many),
        path(f"{many}/<str:ref>", item, name=kind.route),
    ]


def _versions(kind: type[Resource], many: str) -> list[URLPattern]:
    noun = kind.route.capitalize()
    every = type(f"{noun}Versions", (Versions, kind), {})
    one = type(f"{noun}Version", (Version, kind), {})
    return [
        path(f"{many}/<str:ref>/versions", every.as_view(), name=f"{kind.route}-versions"),
        path(
            f"{many}/<str:ref>/versions/<int:number>", one.as_view(), name=f"{kind.route}-version"
        ),
    ]


schema = SpectacularAPIView.as_view(
    authentication_classes=[BearerAuthentication, PageSession], permission_classes=[SignedIn]
)

app_name = "api"
urlpatterns = [
    path("schema", schema, name="schema"),
    *_kind(kinds.EndpointKind, given.EndpointIn, "endpoints"),
    path("endpoints/<str:ref>/probe", kinds.EndpointProbe.as_view(), name="endpoint-probe"),
    *_kind(kinds.TenantKind, given.TenantIn, "tenants"),
    *_kind(kinds.WorkloadKind, given.WorkloadIn, "workloads"),
    *_kind(kinds.SloKind, given.DocumentIn, "slos"),
    *_versions(kinds.SloKind, "slos"),
    *_kind(kinds.PolicyKind, given.DocumentIn, "policies"),
    *_versions(kinds.PolicyKind, "policies"),
    *_kind(gates.GateKind, given.DocumentIn, "gates"),
    *_versions(gates.GateKind, "gates"),
    path("gates/<str:ref>/runs", gates.GateRuns.as_view(), name="gate-runs"),
    path("gates/<str:ref>/runs/<uuid:run_id>", gates.OneGateRun.as_view(), name="gate-run"),
    path(
        "gates/<str:ref>/runs/<uuid:run_id>/junit", gates.GateRunJunit.as_view(), name="gate-junit"
    ),
    path("runs", runs.Runs.as_view(), name="runs"),
    path("runs/<uuid:run_id>", runs.OneRun.as_view(), name="run"),
    path("runs/<uuid:run_id>/cancel", runs.CancelRun.as_view(), name="run-cancel"),
    path("runs/<uuid:run_id>/windows", runs.RunWindows.as_view(), name="run-windows"),
    *_kind(gateways.GatewayKind, gateways.GatewayIn, "gateways"),
    path("gateways/<str:slug>/config", gateways.Config.as_view(), name="gateway-config"),
    path("gateways/<str:slug>/telemetry", gateways.Telemetry.as_view(), name="gateway-telemetry"),
    re_path("", Nowhere.as_view(), name="nowhere"),
]
