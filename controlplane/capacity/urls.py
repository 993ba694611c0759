"""The address /capacity/."""

from __future__ import annotations

from django.urls import path

from controlplane.capacity import views

app_name = "capacity"
urlpatterns = [path("", views.index, name="plan")]
