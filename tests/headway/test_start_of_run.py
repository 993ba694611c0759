"""The first request is sent soon after the command: nothing is imported that it does not need."""

from __future__ import annotations

import subprocess
import sys

_ASK = "import sys, headway.running.shell, loadtest.worker; print(*sys.modules)"
_HEAVY = {"aiohttp", "celery", "channels", "cryptography", "django", "pyarrow", "redis", "scipy"}

_OURS = {"documents", "engines", "headway", "loadtest", "measurement", "schedulers", "simulator"}


def test_a_run_imports_no_heavy_package_before_its_first_request() -> None:
    found = subprocess.run(
        [sys.executable, "-c", _ASK], capture_output=True, text=True, check=True, timeout=60
    ).stdout.split()

    assert not _HEAVY & {name.partition(".")[0] for name in found}
    others = [name for name in found if name.partition(".")[0] not in _OURS]
    assert len(others) < 400, "aiohttp alone was 200 modules and a quarter of a second"
