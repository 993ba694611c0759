"""Addresses under /gateways/."""

from django.urls import path

from controlplane.gateways import views

app_name = "gateways"
urlpatterns = [
    path("", views.index, name="list"),
    path("new/", views.new, name="new"),
    path("<uuid:pk>/", views.detail, name="detail"),
    path("<uuid:pk>/edit/", views.edit, name="edit"),
    path("<uuid:pk>/frames/", views.frame, name="frames"),
    path("<uuid:pk>/budgets/", views.budgets, name="budgets"),
    path("<uuid:pk>/serve/", views.serve, name="serve"),
    path("<uuid:pk>/keys/", views.key_make, name="keys"),
    path("<uuid:pk>/delete/", views.delete, name="delete"),
    path("keys/<uuid:pk>/revoke/", views.key_revoke, name="key_revoke"),
]
