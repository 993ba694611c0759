"""`manage.py load_demo_gateway`: a gateway for the demo team. Run twice, it changes nothing."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from controlplane.gateways import demo


class Command(BaseCommand):
    help = "Make the demo gateway before two engines, with its token and a key as files."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--lane-urls", nargs=2, required=True, help="where its engines answer")
        parser.add_argument("--gateway-url", required=True, help="where it listens")

    def handle(self, **options: Any) -> None:
        made = demo.load(
            lane_urls=tuple(options["lane_urls"]),
            gateway_url=options["gateway_url"],
            folder=settings.DATA_DIR,
        )
        self.stdout.write(made or "The demo gateway is there already.")
