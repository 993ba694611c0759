"""Addresses under /catalogue/."""

from __future__ import annotations

from types import ModuleType

from django.urls import URLPattern, path

from controlplane.catalogue.views import (
    endpoints,
    policies,
    policy_versions,
    slos,
    tenants,
    workloads,
)


def _kind(views: ModuleType, many: str, one: str) -> list[URLPattern]:
    """The pages that every kind has: list, new, detail, delete."""
    return [
        path(f"{many}/", views.listing, name=many),
        path(f"{many}/new/", views.new, name=f"{one}_new"),
        path(f"{many}/<uuid:pk>/", views.detail, name=one),
        path(f"{many}/<uuid:pk>/delete/", views.delete, name=f"{one}_delete"),
    ]


app_name = "catalogue"
urlpatterns = [
    *_kind(endpoints, "endpoints", "endpoint"),
    path("endpoints/<uuid:pk>/probe/", endpoints.probe, name="endpoint_probe"),
    *_kind(tenants, "tenants", "tenant"),
    *_kind(workloads, "workloads", "workload"),
    *_kind(slos, "slos", "slo"),
    path("slos/<uuid:pk>/versions/<int:number>/", slos.version, name="slo_version"),
    *_kind(policies, "policies", "policy"),
    path("policies/<uuid:pk>/aliases/", policies.aliases, name="policy_aliases"),
    path("policies/<uuid:pk>/diff/", policy_versions.choose, name="policy_diff_choose"),
    path(
        "policies/<uuid:pk>/diff/<int:a>/<int:b>/",
        policy_versions.diff,
        name="policy_diff",
    ),
    path(
        "policies/<uuid:pk>/versions/<int:number>/",
        policy_versions.version,
        name="policy_version",
    ),
]
