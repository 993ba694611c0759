"""Addresses under /team/."""

from django.urls import path

from controlplane.teams import views

app_name = "teams"
urlpatterns = [
    path("tokens/", views.tokens, name="tokens"),
    path("tokens/<uuid:pk>/revoke/", views.token_revoke, name="token_revoke"),
    path("switch/<uuid:pk>/", views.switch, name="switch"),
]
