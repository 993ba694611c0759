"""WebSocket addresses of comparisons."""

from django.urls import path

from controlplane.comparisons.consumers import ComparisonConsumer

websocket_urlpatterns = [path("ws/comparisons/<uuid:run_id>/", ComparisonConsumer.as_asgi())]
