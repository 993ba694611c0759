"""Addresses under /gates/."""

from __future__ import annotations

from django.urls import path

from controlplane.gates import views

app_name = "gates"
urlpatterns = [
    path("", views.index, name="list"),
    path("new/", views.new, name="new"),
    path("preview/", views.preview, name="preview"),
    path("<uuid:pk>/", views.detail, name="detail"),
    path("<uuid:pk>/edit/", views.edit, name="edit"),
    path("<uuid:pk>/run/", views.run, name="run"),
    path("<uuid:pk>/delete/", views.delete, name="delete"),
    path("<uuid:pk>/versions/<int:number>/", views.version, name="version"),
    path("<slug:slug>/badge.svg", views.badge, name="badge"),
]
