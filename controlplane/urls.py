"""Every address of the control plane starts here."""

from __future__ import annotations

from django.contrib.auth.views import LogoutView
from django.urls import URLPattern, URLResolver, include, path, re_path

from controlplane.comparisons import routing as comparisons
from controlplane.gateways import routing as gateways
from controlplane.health import healthz
from controlplane.rollouts import routing as rollouts
from controlplane.runs import routing as runs
from controlplane.runs.consumers import NoSuchPath
from controlplane.teams import views as teams

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include("controlplane.dashboard.urls")),
    path("runs/", include("controlplane.runs.urls")),
    path("capacity/", include("controlplane.capacity.urls")),
    path("history/", include("controlplane.history.urls")),
    path("comparisons/", include("controlplane.comparisons.urls")),
    path("experiments/", include("controlplane.experiments.urls")),
    path("gates/", include("controlplane.gates.urls")),
    path("rollouts/", include("controlplane.rollouts.urls")),
    path("gateways/", include("controlplane.gateways.urls")),
    path("sign-in/", teams.SignIn.as_view(), name="login"),
    path("sign-out/", LogoutView.as_view(), name="logout"),
    path("team/", include("controlplane.teams.urls")),
    path("audit/", include(([path("", teams.audit, name="list")], "audit"))),
    path("catalogue/", include("controlplane.catalogue.urls")),
    path("api/v1/", include("controlplane.api.urls")),
    path("healthz", healthz, name="healthz"),
]

# Live frames; each app that has a consumer adds its routing here.
websocket_urlpatterns: list[URLPattern] = [
    *runs.websocket_urlpatterns,
    *gateways.websocket_urlpatterns,
    *rollouts.websocket_urlpatterns,
    *comparisons.websocket_urlpatterns,
    re_path(r"", NoSuchPath.as_asgi()),
]
