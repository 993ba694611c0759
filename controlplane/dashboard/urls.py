"""The address of the first page."""

from django.urls import path

from controlplane.dashboard import views

urlpatterns = [path("", views.home, name="home")]
