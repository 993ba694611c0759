"""WebSocket addresses of rollouts."""

from django.urls import path

from controlplane.rollouts.consumers import RolloutConsumer

websocket_urlpatterns = [path("ws/rollouts/<uuid:run_id>/", RolloutConsumer.as_asgi())]
