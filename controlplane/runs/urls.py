"""Addresses under /runs/."""

from django.urls import path

from controlplane.runs import compare, downloads, views

app_name = "runs"
urlpatterns = [
    path("", views.index, name="list"),
    path("new/", views.new, name="new"),
    path("compare/", compare.compare, name="compare"),
    path("preview/", views.preview, name="preview"),
    path("<uuid:run_id>/", views.detail, name="detail"),
    path("<uuid:run_id>/cancel/", views.cancel, name="cancel"),
    path("<uuid:run_id>/retry/", views.retry, name="retry"),
    path("<uuid:run_id>/frames/", views.frames, name="frames"),
    path("<uuid:run_id>/samples/", downloads.samples, {"form": "csv"}, name="samples"),
    path("<uuid:run_id>/samples.<str:form>", downloads.samples, name="samples"),
    path("<uuid:run_id>/windows.<str:form>", downloads.windows, name="windows"),
    path("<uuid:run_id>/trace.<str:form>", downloads.trace, name="trace"),
    path("<uuid:run_id>/summary.json", downloads.summary, name="summary"),
]
