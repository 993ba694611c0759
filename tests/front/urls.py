"""Addresses that the templates reverse, so that pages can be rendered without the apps' views."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import include, path


def nothing(request: HttpRequest, **found: object) -> HttpResponse:
    return HttpResponse()


KINDS = {
    "endpoints": "endpoint",
    "tenants": "tenant",
    "slos": "slo",
    "policies": "policy",
    "workloads": "workload",
}
catalogue = [
    page
    for many, one in KINDS.items()
    for page in (
        path(f"{many}/", nothing, name=many),
        path(f"{many}/new/", nothing, name=f"{one}_new"),
        path(f"{many}/<str:pk>/", nothing, name=one),
        path(f"{many}/<str:pk>/delete/", nothing, name=f"{one}_delete"),
        path(f"{many}/<str:pk>/probe/", nothing, name=f"{one}_probe"),
        path(f"{many}/<str:pk>/versions/<int:number>/", nothing, name=f"{one}_version"),
    )
]
catalogue += [
    path("policies/<str:pk>/aliases/", nothing, name="policy_aliases"),
    path("policies/<str:pk>/diff/", nothing, name="policy_diff_choose"),
    path("policies/<str:pk>/diff/<int:a>/<int:b>/", nothing, name="policy_diff"),
]
teams = [
    path("members/", nothing, name="members"),
    path("members/<str:pk>/role/", nothing, name="member_role"),
    path("members/<str:pk>/remove/", nothing, name="member_remove"),
]
runs = [
    path("", nothing, name="list"),
    path("new/", nothing, name="new"),
    path("preview/", nothing, name="preview"),
    path("compare/", nothing, name="compare"),
    path("<str:pk>/", nothing, name="detail"),
    path("<str:pk>/cancel/", nothing, name="cancel"),
    path("<str:pk>/retry/", nothing, name="retry"),
    path("<str:pk>/frames/", nothing, name="frames"),
    path("<str:pk>/samples/", nothing, name="samples"),
    path("<str:pk>/windows.<str:form>", nothing, name="windows"),
    path("<str:pk>/trace.<str:form>", nothing, name="trace"),
    path("<str:pk>/summary.json", nothing, name="summary"),
]
gateways = [path("", nothing, name="list"), path("new/", nothing, name="new")]
urlpatterns = [
    path("", nothing, name="home"),
    path("sign-in/", nothing, name="login"),
    path("sign-out/", nothing, name="logout"),
    path("audit/", include(([path("", nothing, name="list")], "audit"))),
    path("catalogue/", include((catalogue, "catalogue"))),
    path("team/", include((teams, "teams"))),
    path("gateways/", include((gateways, "gateways"))),
    path("runs/", include((runs, "runs"))),
]
