"""`manage.py load_demo`: a team with something to run at once. Run twice, it changes nothing."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from controlplane.catalogue import demo


class Command(BaseCommand):
    help = "Make the demo team: an account, endpoints, tenants, SLOs, policies and workloads."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--user", default=settings.DEMO_USER, help="the admin's account")
        parser.add_argument(
            "--engine-url",
            default="http://127.0.0.1:8100",
            help="where the simulated engine answers",
        )
        parser.add_argument("--llamacpp-url", default="", help="where a llama.cpp server answers")
        parser.add_argument("--llamacpp-model", default="gemma-3-270m", help="its model")

    def handle(self, **options: Any) -> None:
        made = demo.load(
            user=options["user"],
            password=settings.DEMO_PASSWORD,
            engine_url=options["engine_url"],
            llamacpp=(options["llamacpp_url"], options["llamacpp_model"]),
        )
        self.stdout.write(made or "Everything is there already.")
