"""Addresses under /comparisons/."""

from django.urls import path
from django.views.generic import RedirectView

from controlplane.comparisons import views
from controlplane.teams.access import page

app_name = "comparisons"
urlpatterns = [
    path("", views.index, name="list"),
    path("new/", views.new, name="new"),
    path("preview/", views.preview, name="preview"),
    path(
        "runs/",
        page()(
            RedirectView.as_view(pattern_name="runs:compare", query_string=True, permanent=True)
        ),
        name="runs",
    ),
    path("<uuid:pk>/", views.detail, name="detail"),
    path("<uuid:pk>/cancel/", views.cancel, name="cancel"),
    path("<uuid:pk>/frames/", views.frames, name="frames"),
    path("<uuid:pk>/verdict.json", views.verdict, name="verdict"),
    path("<uuid:pk>/blocks.csv", views.blocks, name="blocks"),
]
