"""Addresses under /experiments/."""

from django.urls import path

from controlplane.experiments import views

app_name = "experiments"
urlpatterns = [
    path("", views.index, name="list"),
    path("new/", views.new, name="new"),
    path("<uuid:pk>/", views.detail, name="detail"),
    path("<uuid:pk>/cancel/", views.cancel, name="cancel"),
    path("<uuid:pk>/again/", views.again, name="again"),
    path("<uuid:pk>/result.json", views.result, name="result"),
    path("<uuid:pk>/configuration.json", views.configuration, name="configuration"),
]
