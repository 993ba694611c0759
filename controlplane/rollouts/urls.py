"""Addresses under /rollouts/."""

from __future__ import annotations

from django.urls import path

from controlplane.rollouts import views
from controlplane.rollouts import views_acting as acting

app_name = "rollouts"
urlpatterns = [
    path("", views.index, name="list"),
    path("new/", views.new, name="new"),
    path("freeze/", acting.freeze, name="freeze"),
    path("freeze/<uuid:pk>/remove/", acting.thaw, name="thaw"),
    path("<uuid:pk>/", views.detail, name="detail"),
    path("<uuid:pk>/edit/", views.edit, name="edit"),
    path("<uuid:pk>/frames/", views.frame, name="frames"),
    path("<uuid:pk>/evidence/<int:number>/", views.evidence, name="evidence"),
    path("<uuid:pk>/start/", acting.start, name="start"),
    path("<uuid:pk>/decide/", acting.decide, name="decide"),
    path("<uuid:pk>/hold/", acting.hold, name="hold"),
    path("<uuid:pk>/resume/", acting.resume, name="resume"),
    path("<uuid:pk>/abort/", acting.abort, name="abort"),
    path("<uuid:pk>/retry/", acting.retry, name="retry"),
]
