"""The embedded set-up's parts, without starting them."""

from __future__ import annotations

from pathlib import Path

from headway.embedded.plan import Plan, server_specs


def test_the_pages_believe_no_forwarded_address(tmp_path: Path) -> None:
    plan = Plan(tmp_path, tmp_path / "socket", "127.0.0.1", 8000, 8001, None)
    pages = next(spec for spec in server_specs(plan) if spec.name == "pages")
    assert "--no-proxy-headers" in pages.command
