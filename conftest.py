"""Where every part must be present, a skip is a failure: CI sets HEADWAY_FORBID_SKIPS=1.

Tests on the public traces (marker ``traces``) may be skipped all the same: those files are not ours
to ship.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import Any

import pytest

FORBIDDEN = os.environ.get("HEADWAY_FORBID_SKIPS") == "1"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """A skipped test's report becomes a failure that repeats the reason."""
    report = yield
    expected = hasattr(report, "wasxfail") or item.get_closest_marker("traces") is not None
    if FORBIDDEN and report.skipped and not expected:
        report.outcome = "failed"
        report.longrepr = f"skips are forbidden here: {report.longrepr[2]}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, Any, Any]:
    """So does a module that skips itself while it is collected."""
    report = yield
    if FORBIDDEN and report.outcome == "skipped":
        report.outcome = "failed"
        report.longrepr = f"skips are forbidden here: {report.longrepr[2]}"
    return report
