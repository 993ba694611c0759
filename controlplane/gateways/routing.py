"""WebSocket addresses of gateways."""

from django.urls import path

from controlplane.gateways.consumers import GatewayConsumer

websocket_urlpatterns = [path("ws/gateways/<uuid:run_id>/", GatewayConsumer.as_asgi())]
