"""Every address of the control plane starts here."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver

urlpatterns: list[URLPattern | URLResolver] = []

# Live frames; each app that has a consumer adds its routing here.
websocket_urlpatterns: list[URLPattern] = []
