"""WebSocket addresses of runs."""

from django.urls import path

from controlplane.runs.consumers import RunConsumer

websocket_urlpatterns = [path("ws/runs/<uuid:run_id>/", RunConsumer.as_asgi())]
