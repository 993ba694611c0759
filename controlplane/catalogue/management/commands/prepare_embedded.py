"""`manage.py prepare_embedded`: database, static files, demo data, first run, in one process."""

from __future__ import annotations

from io import StringIO
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser


class Command(BaseCommand):
    help = (
        "Bring an embedded set-up to where its servers can start, and print the page of the first "
        "load test. Run twice, it changes nothing."
    )
    requires_system_checks: list[str] = []  # they import every page, and a person waits

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--engine-url", required=True, help="where the simulated engine answers"
        )
        parser.add_argument("--llamacpp-url", default="", help="where a llama.cpp server answers")
        parser.add_argument("--llamacpp-model", default="", help="its model")
        parser.add_argument("--lane-urls", nargs=2, help="where the demo gateway's engines answer")
        parser.add_argument("--gateway-url", default="", help="where the demo gateway listens")

    def handle(self, **options: Any) -> None:
        made = StringIO()
        call_command("migrate", interactive=False, verbosity=0)
        call_command("collectstatic", interactive=False, verbosity=0, clear=True)
        told = ("engine_url", "llamacpp_url", "llamacpp_model")
        call_command("load_demo", stdout=made, **{name: options[name] for name in told})
        if options["lane_urls"]:
            told = ("lane_urls", "gateway_url")
            call_command("load_demo_gateway", stdout=made, **{name: options[name] for name in told})
        call_command("load_demo_approver", stdout=made)
        call_command("start_first_run", stdout=self.stdout)
