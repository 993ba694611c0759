"""Celery's application. Tasks are named by hand and live in each app's ``tasks.py``."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings")

app = Celery("headway")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
