"""The embedded set-up's parts, without starting them."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from headway.embedded.data_dir import held
from headway.embedded.plan import Plan, server_specs


def test_the_pages_believe_no_forwarded_address(tmp_path: Path) -> None:
    plan = Plan(tmp_path, tmp_path / "socket", "127.0.0.1", 8000, 8001, None)
    pages = next(spec for spec in server_specs(plan) if spec.name == "pages")
    assert "--no-proxy-headers" in pages.command


@pytest.mark.parametrize("existing", [False, True])
def test_the_data_directory_is_for_its_owner_alone(tmp_path: Path, existing: bool) -> None:
    path = tmp_path / "data"
    if existing:
        path.mkdir()
        path.chmod(0o755)
    with held(path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
