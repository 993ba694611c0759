"""The watchdog's sweeps: every app's is found, and a fault of one costs the others nothing."""

from __future__ import annotations

from datetime import datetime

import pytest
from django.db import OperationalError
from django.utils import timezone

from controlplane import sweeping


@pytest.mark.django_db
def test_every_apps_sweep_is_found_and_passes() -> None:
    assert {"runs", "comparisons", "rollouts"} <= set(sweeping.every())
    said = dict(sweeping.passed(timezone.now))
    assert said["rollouts"] == "0 moved"


def broken(_now: datetime) -> str:
    raise RuntimeError("on purpose")


def away(_now: datetime) -> str:
    raise OperationalError("the database is away")


def test_a_fault_of_one_sweep_costs_the_others_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sweeping, "_SWEEPS", {"a": broken, "b": lambda _now: "fine"})
    assert list(sweeping.passed(timezone.now)) == [("b", "fine")]
    assert "the sweep of a failed" in caplog.text
    monkeypatch.setattr(sweeping, "_SWEEPS", {"a": away})
    with pytest.raises(OperationalError):
        list(sweeping.passed(timezone.now))
