"""Frames and backfill: whatever is lost or late, a page ends with what the database holds."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controlplane.runs import frames, stored
from controlplane.runs.board import layout
from controlplane.runs.ledger import Ledger
from controlplane.runs.models import Run, RunRow, Status
from tests.controlplane.runs.conftest import documents, folded

pytestmark = pytest.mark.django_db

SUMMARY = {
    "status": "finished",
    "verdict": "pass",
    "exit_code": 0,
    "judgement": {"outcome": "pass", "because": "Passes because it did."},
}


class Page:
    """What the browser does with frames: newest wins, rows by t, a gap is filled."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.seq = 0
        self.tables: dict[str, dict[int, list[Any]]] = {"events": {}, "cohorts": {}}
        self.decisions: dict[int, Any] = {}
        self.latest: dict[str, Any] = {}

    def hear(self, frame: frames.Frame) -> None:
        if frame["seq"] <= self.seq:
            return
        if frame["seq"] > self.seq + 1:
            self.fill()
        if frame["seq"] > self.seq:
            self.use(frame)

    def fill(self) -> None:
        run = Run.objects.get(pk=self.run.pk)
        self.use(wire(stored.backfill(run, since=self.seq)))

    def use(self, frame: frames.Frame) -> None:
        self.seq = frame["seq"]
        for name, rows in self.tables.items():
            rows |= {row[0]: row for row in frame[name]["rows"]}
        self.decisions |= {decision["n"]: decision for decision in frame["decisions"]}
        keep = ("run", "verdict", "tiles", "summaries", "failures", "tenants")
        self.latest = {name: frame[name] for name in keep}


def wire(frame: frames.Frame) -> frames.Frame:
    """As the browser gets it; NaN would be no JSON."""
    return json.loads(json.dumps(frame, allow_nan=False))


def play(run: Run, out: Path, *, seconds: int = 8, end: bool = True) -> list[frames.Frame]:
    """A whole run through the ledger; the frames that it told."""
    told: list[frames.Frame] = []
    ledger = Ledger(run, out, publish=lambda _run, frame: told.append(wire(frame)))
    ledger.started({"at_unix": 1_700_000_000.0, "offered": 80})
    ledger.store()
    for second, windows in enumerate(folded(seconds, bad=lambda n: n % 9 == 4)):
        ledger.hear_windows({"windows": documents(windows), "totals": {"offered": 10 * second}})
        ledger.hear_decisions({"decisions": [{"at": float(second), "before": 8, "after": 9}]})
        ledger.store()
    if end:
        ledger.finish(Status.DONE, summary=SUMMARY)
    return told


def whole(run: Run) -> Page:
    page = Page(run)
    page.fill()
    return page


def test_frames_alone_make_the_page_that_the_database_makes(claimed: Run, tmp_path: Path) -> None:
    told = play(claimed, tmp_path)
    page = Page(claimed)
    page.seq = told[0]["seq"] - 1
    for frame in told:
        page.hear(frame)
    assert vars(page) == vars(whole(claimed)) | {"run": page.run}


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rng=st.randoms(use_true_random=False), kept=st.floats(0, 1))
def test_any_loss_and_order_of_frames_ends_with_the_databases_state(
    claimed: Run, tmp_path: Path, rng: Random, kept: float
) -> None:
    with transaction.atomic():
        told = play(claimed, tmp_path)
        heard = [frame for frame in told[:-1] if rng.random() < kept]
        rng.shuffle(heard)
        page = Page(claimed)
        for frame in [*heard, told[-1]]:
            page.hear(frame)
        assert vars(page) == vars(whole(claimed)) | {"run": page.run}
        transaction.set_rollback(True)
    claimed.refresh_from_db()


def test_a_page_that_connects_late_loses_nothing(claimed: Run, tmp_path: Path) -> None:
    page = Page(claimed)
    page.fill()
    told = play(claimed, tmp_path)
    for frame in told[4:]:
        page.hear(frame)
    assert vars(page) == vars(whole(claimed)) | {"run": page.run}


def test_a_backfill_has_only_what_changed_since(claimed: Run, tmp_path: Path) -> None:
    told = play(claimed, tmp_path)
    everything = stored.backfill(claimed, since=0)
    assert everything["full"]
    assert len(everything["events"]["rows"]) == 9
    late = stored.backfill(claimed, since=told[-3]["seq"])
    assert not late["full"]
    assert 0 < len(late["events"]["rows"]) < 4
    nothing = stored.backfill(claimed, since=claimed.seq)
    assert nothing["events"]["rows"] == nothing["cohorts"]["rows"] == nothing["decisions"] == []
    assert nothing["tiles"] == everything["tiles"]


def test_a_row_has_a_value_for_every_column(claimed: Run, tmp_path: Path) -> None:
    play(claimed, tmp_path)
    frame, specs = stored.backfill(claimed, since=0), frames.figures(claimed)
    assert {len(row) for row in frame["events"]["rows"]} == {len(specs["event_columns"])}
    assert {len(row) for row in frame["cohorts"]["rows"]} == {len(specs["cohort_columns"])}
    assert specs["event_columns"][0] == "t"
    assert specs["cohort_columns"][:3] == ["t", "open", "n"]


def test_every_series_is_a_column_of_its_table_and_every_figure_has_its_sentence(
    claimed: Run, tmp_path: Path
) -> None:
    play(claimed, tmp_path)
    specs, frame = frames.figures(claimed), stored.backfill(claimed, since=0)
    columns = {"events": specs["event_columns"], "cohorts": specs["cohort_columns"]}
    for spec in specs["figures"]:
        assert {series["key"] for series in spec["series"]} <= set(columns[spec["source"]])
    assert set(frame["summaries"]) == {spec["id"] for spec in specs["figures"]}
    assert all(sentence.endswith(".") for sentence in frame["summaries"].values())


def test_the_figures_of_the_page_are_these(claimed: Run) -> None:
    ids = [spec["id"] for spec in frames.figures(claimed)["figures"]]
    assert ids == [
        "load",
        "ttft",
        "tpot",
        "e2e",
        "in_flight",
        "engine",
        "kv_use",
        "attainment",
        "limit",
    ]


def test_objectives_are_marked_in_their_figures(claimed: Run) -> None:
    marks = {spec["id"]: spec["marks"] for spec in frames.figures(claimed)["figures"]}
    assert marks["ttft"] == [{"y": 800, "label": "SLO ≤ 800 ms"}]
    assert marks["tpot"] == [{"y": 60, "label": "SLO ≤ 60 ms"}]
    assert marks["attainment"] == [{"y": 90, "label": "SLO ≥ 90 %"}]
    assert marks["e2e"] == []


def test_rows_of_an_ended_run_with_other_columns_are_made_anew(
    claimed: Run, tmp_path: Path
) -> None:
    play(claimed, tmp_path)
    before = stored.backfill(claimed, since=0)
    Run.objects.filter(pk=claimed.pk).update(live={**claimed.live, "layout": "older"})
    RunRow.objects.filter(run=claimed).update(values=[1])
    claimed.refresh_from_db()
    after = stored.backfill(claimed, since=0)
    assert after["events"]["rows"] == before["events"]["rows"]
    assert after["cohorts"]["rows"] == before["cohorts"]["rows"]
    assert after["seq"] == before["seq"] + 1
    claimed.refresh_from_db()
    assert claimed.live["layout"] == layout()


def test_failures_are_grouped_with_the_first_error(claimed: Run, tmp_path: Path) -> None:
    lines = [
        {"outcome": "ok"},
        {"outcome": "http_5xx", "error": "first"},
        {"outcome": "http_5xx", "error": "second"},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "samples.jsonl").write_text(text + '{"outcome": "connect", "error": "cut')
    play(claimed, tmp_path)
    (row,) = stored.backfill(claimed, since=0)["failures"]
    assert row == {"outcome": "http_5xx", "count": 9, "share": 9 / 80, "first_error": "first"}


def test_warm_up_is_drawn_and_counts_in_no_number(claimed: Run, tmp_path: Path) -> None:
    Run.objects.filter(pk=claimed.pk).update(scenario={**claimed.scenario, "warm_up_s": 4})
    claimed.refresh_from_db()
    play(claimed, tmp_path)
    frame = stored.backfill(claimed, since=0)
    tiles = {tile["id"]: tile for tile in frame["tiles"]}
    assert [row[0] for row in frame["cohorts"]["rows"]] == [0, 2, 4, 6, 8]
    assert tiles["errors"]["n"] == frame["tenants"][0]["offered"] == 40
    assert len(tiles["goodput"]["spark"]) == 3


def test_tenants_have_their_counts_and_their_target(claimed: Run, tmp_path: Path) -> None:
    play(claimed, tmp_path)
    (row,) = stored.backfill(claimed, since=0)["tenants"]
    assert (row["tenant"], row["offered"], row["shed"], row["target"]) == ("default", 80, 0, 0.9)
    assert row["attainment"] == pytest.approx(71 / 80)
    assert row["token_share"] == 1


def test_storing_takes_few_queries_however_long_the_run_is(
    claimed: Run, tmp_path: Path, django_assert_max_num_queries: Any
) -> None:
    ledger = Ledger(claimed, tmp_path, publish=lambda *_: None)
    for windows in folded(40):
        ledger.hear_windows({"windows": documents(windows)})
        ledger.hear_decisions({"decisions": [{"at": 1.0}]})
        with django_assert_max_num_queries(9):  # one asks who else loads the address
            ledger.store()


def test_the_frame_of_a_queued_run_has_no_numbers(run: Run) -> None:
    frame = wire(stored.backfill(run, since=0))
    assert frame["run"] == frame["run"] | {"status": "queued", "elapsed_s": 0, "left_s": 60}
    assert frame["verdict"]["word"] == "Queued"
    assert {tile["text"] for tile in frame["tiles"]} == {"–"}
    assert frame["failures"] == frame["tenants"] == []


@pytest.mark.parametrize(
    ("status", "started", "said"),
    [
        ("queued", False, "Nothing yet: no worker has taken this run."),
        ("running", False, "Nothing yet: the load has not begun."),
        ("running", True, "Nothing yet: the first second is not over."),
        ("failed", False, "Nothing was measured: the run failed before any load."),
        ("lost", True, "the run was lost before its first second was over."),
    ],
)
def test_a_run_that_measured_nothing_says_why_under_each_figure(
    run: Run, status: str, started: bool, said: str
) -> None:
    run.status = status
    run.load_started_at = timezone.now() if started else None
    summaries = stored.backfill(run, since=0)["summaries"]
    assert len(summaries) > 5
    assert all(said in one for one in summaries.values())
