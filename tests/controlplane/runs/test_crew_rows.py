"""Who sends a run's load: told while it runs, told as reported afterwards."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from controlplane.runs import crew, frames, stored
from controlplane.runs.models import Run, Status
from controlplane.teams.models import User

pytestmark = pytest.mark.django_db

CLOCK = {
    "offset_ms": -3.21,
    "uncertainty_ms": 0.4,
    "round_trip_ms": 0.8,
    "rounds": 16,
    "drift_ms": None,
    "off_by_at_most_ms": 0.4,
}
ONE = {"slice": "0/2", "lost": "", "machine": "celery@one", "clock": CLOCK}
TWO = {"slice": "1/2", "lost": "said nothing for 6 s and was given up", "machine": "celery@two"}


def told(run: Run, *rows: dict[str, Any]) -> Run:
    run.machines, run.live = 2, {"totals": {"by_worker": rows}}
    run.save()
    return run


def test_machines_are_told_while_they_send(claimed: Run) -> None:
    assert crew.rows(told(claimed)) == []
    before = frames.state(claimed)["crew"]
    one, two = crew.rows(told(claimed, ONE, TWO))
    assert (one["who"], one["slice"], one["state"]) == ("one", "1 of 2", "sending")
    assert (one["offset"], one["off_by"], one["cpu"]) == ("−3.21 ± 0.40 ms", "0.40 ms", "–")
    assert (two["state"], two["offset"]) == (f"lost: {TWO['lost']}", "–")
    marks = {before, frames.state(claimed)["crew"], frames.state(told(claimed, ONE, ONE))["crew"]}
    assert len(marks) == 3, "a page must see that they are known, and that one is lost"


def test_how_each_is_comes_with_every_frame_while_it_sends(claimed: Run) -> None:
    pulse = {"cpu_share": 0.376, "loop_lag_p99_ms": 3.14, "cpu_course": [0.2, 0.376]}
    told(claimed, {**ONE, **pulse, "lag_course_ms": [0.4, 3.2]})
    (row,) = stored.backfill(claimed, since=claimed.seq)["crew"]
    assert (row["cpu"], row["lag"]) == ("38 %", "3.1 ms")
    assert (row["cpu_course"], row["lag_course"]) == ([0.2, 0.376], [0.4, 3.2])


def test_a_run_of_one_process_has_no_such_table(claimed: Run, user: User) -> None:
    claimed.live = {"totals": {"by_worker": [ONE]}}
    assert crew.rows(claimed) == []
    page = Client()
    page.force_login(user)
    assert 'id="crew"' not in page.get(claimed.get_absolute_url()).content.decode()


def test_the_page_has_the_reports_rows_once_there_is_a_report(claimed: Run, user: User) -> None:
    told(claimed, ONE)
    claimed.status = Status.DONE
    reported = [{**ONE, "cpu_share": 0.376, "loop_lag_p99_ms": 3.14}, TWO]
    claimed.summary = {"client": {"by_worker": reported}}
    claimed.save()
    assert [row["state"] for row in crew.rows(claimed)] == ["reported", f"lost: {TWO['lost']}"]
    page = Client()
    page.force_login(user)
    html = page.get(claimed.get_absolute_url()).content.decode()
    for words in ("38 %", "3.1 ms", "−3.21 ± 0.40 ms", f"lost: {TWO['lost']}", "1 of 2", "2 of 2"):
        assert words in html


def test_a_run_that_was_lost_says_of_nobody_that_it_reported(claimed: Run) -> None:
    told(claimed, ONE)
    claimed.status = Status.LOST
    claimed.summary = {"client": {}}
    assert [row["state"] for row in crew.rows(claimed)] == ["not heard to its end"]
