"""Addresses under /api/v1/."""

from __future__ import annotations

from django.urls import URLPattern, path, re_path
from drf_spectacular.views import SpectacularAPIView

from controlplane.api import catalogue as kinds
from controlplane.api import comparisons, experiments, gates, gateways, policies, rollouts, runs
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
    path("policies/<str:ref>/aliases", policies.Aliases.as_view(), name="policy-aliases"),
    path("policies/<str:ref>/aliases/<str:name>", policies.OneAlias.as_view(), name="policy-alias"),
    path(
        "policies/<str:ref>/aliases/<str:name>/history",
        policies.AliasHistory.as_view(),
        name="policy-alias-history",
    ),
    path("policies/<str:ref>/diff", policies.PolicyDiff.as_view(), name="policy-diff"),
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
    path("gateways/<str:slug>/budgets", gateways.Budgets.as_view(), name="gateway-budgets"),
    path("gateways/<str:slug>/telemetry", gateways.Telemetry.as_view(), name="gateway-telemetry"),
    path("rollouts", rollouts.Rollouts.as_view(), name="rollouts"),
    path("rollouts/<uuid:pk>", rollouts.OneRollout.as_view(), name="rollout"),
    path("rollouts/<uuid:pk>/start", rollouts.StartRollout.as_view(), name="rollout-start"),
    path("rollouts/<uuid:pk>/abort", rollouts.AbortRollout.as_view(), name="rollout-abort"),
    path("rollouts/<uuid:pk>/approve", rollouts.ApproveRollout.as_view(), name="rollout-approve"),
    path("comparisons", comparisons.Comparisons.as_view(), name="comparisons"),
    path("comparisons/<uuid:pk>", comparisons.OneComparison.as_view(), name="comparison"),
    path(
        "comparisons/<uuid:pk>/cancel",
        comparisons.CancelComparison.as_view(),
        name="comparison-cancel",
    ),
    path(
        "comparisons/<uuid:pk>/blocks",
        comparisons.ComparisonBlocks.as_view(),
        name="comparison-blocks",
    ),
    path("experiments", experiments.Experiments.as_view(), name="experiments"),
    path("experiments/<uuid:pk>", experiments.OneExperiment.as_view(), name="experiment"),
    path(
        "experiments/<uuid:pk>/cancel",
        experiments.CancelExperiment.as_view(),
        name="experiment-cancel",
    ),
    path("experiments/<uuid:pk>/again", experiments.PlayAgain.as_view(), name="experiment-again"),
    re_path("", Nowhere.as_view(), name="nowhere"),
]
