"""Addresses under /history/."""

from __future__ import annotations

from django.urls import path

from controlplane.history import views

app_name = "history"
urlpatterns = [
    path("", views.index, name="list"),
    path("acknowledge/", views.acknowledge, name="acknowledge"),
]
