"""Addresses under /team/."""

from django.urls import path

from controlplane.teams import views

app_name = "teams"
urlpatterns = [
    path("tokens/", views.tokens, name="tokens"),
    path("tokens/<uuid:pk>/revoke/", views.token_revoke, name="token_revoke"),
    path("members/", views.members, name="members"),
    path("members/<uuid:pk>/role/", views.member_role, name="member_role"),
    path("members/<uuid:pk>/remove/", views.member_remove, name="member_remove"),
    path("switch/<uuid:pk>/", views.switch, name="switch"),
]
