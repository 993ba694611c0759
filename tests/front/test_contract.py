"""What the server says of its figures is what the page's script needs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from controlplane.runs import tables, tiles
from controlplane.runs.frames import figures
from controlplane.runs.models import Run
from controlplane.runs.panels.base import every
from tests.front.story import COHORTS, EVENTS, FIGURES, TENANTS, Story, with_shadow

SLO = {
    "apiVersion": "headway/v1",
    "kind": "SLO",
    "metadata": {"name": "chat", "owner": "team"},
    "spec": {
        "target": 0.99,
        "window": "28d",
        "objectives": [{"metric": "ttft_ms", "max": 800}, {"metric": "e2e_ms", "max": 9000}],
    },
}
PAGE = figures(SimpleNamespace(scenario={"slo": SLO}))
COLORS = {"s0", "s1", "s2", "s3", "s4", "s5"}
DASHES = {"none", "p50", "p95", "p99", "shadow"}


def test_every_series_has_its_column_and_a_look_that_the_page_knows() -> None:
    for figure in PAGE["figures"]:
        columns = PAGE[f"{figure['source'].removesuffix('s')}_columns"]
        for series in figure["series"]:
            assert series["key"] in columns
            assert series["color"] in COLORS
            assert series["dash"] in DASHES


def test_the_controller_trace_has_its_figure() -> None:
    limit = next(figure for figure in PAGE["figures"] if figure["id"] == "limit")
    assert [series["key"] for series in limit["series"]] == ["in_flight", "limit"]
    assert limit["source"] == "events"


def test_each_table_begins_as_the_page_reads_it() -> None:
    assert PAGE["event_columns"][0] == "t"
    assert PAGE["cohort_columns"][:3] == ["t", "open", "n"]


def test_a_limit_says_in_its_label_which_side_misses() -> None:
    labels = [mark["label"] for figure in PAGE["figures"] for mark in figure["marks"]]
    assert labels
    assert all("≤" in label or "≥" in label for label in labels)


def test_the_made_up_run_has_the_figures_and_columns_of_a_real_one() -> None:
    assert {figure["id"] for figure in FIGURES["figures"]} == {panel.name for panel in every()}
    assert set(EVENTS) == set(PAGE["event_columns"])
    real = figures(SimpleNamespace(scenario={"slo": SLO, "shadow": {}}))
    for page, made_up in ((PAGE, FIGURES), (real, with_shadow())):
        (one, other) = (
            next(figure for figure in it["figures"] if figure["id"] == "limit")
            for it in (page, made_up)
        )
        assert other.get("divergence") == one["divergence"]
        assert [line["key"] for line in other["series"]] == [line["key"] for line in one["series"]]
    assert set(COHORTS) <= set(PAGE["cohort_columns"])


def test_the_made_up_tenants_have_the_fields_of_a_real_one() -> None:
    counted = {"offered": 4, "met": 3, "missed": 1, "shed": 0, "output_tokens": 9}
    final = {"tenant": "a", "ttft_ms": {"p99": 632.4}, "tpot_ms": {"rough": {"p99": 41.3}}}
    run = Run(
        scenario={},
        live={"counts": {"tenants": {"a": counted}}},
        summary={"tenants": [final]},
    )
    (row,) = tables.tenants(run, None)
    assert {name: row[name] for name in row if name.endswith("_ms")} == {
        "ttft_p99_ms": 632.4,
        "ttft_rough_ms": None,
        "tpot_p99_ms": None,
        "tpot_rough_ms": 41.3,
    }
    assert all(set(tenant) == set(row) for tenant in TENANTS)


def test_percentiles_are_grey_under_the_same_n_in_both() -> None:
    def needed(page: dict[str, Any]) -> dict[str, int | None]:
        series = [one for figure in page["figures"] for one in figure["series"]]
        return {one["key"]: one.get("grey_under_n") for one in series if "_p" in one["key"]}

    assert needed(FIGURES) == needed(PAGE)


def test_the_made_up_tiles_have_only_fields_of_a_real_one() -> None:
    real = {tile["id"]: set(tile) for tile in tiles.tiles(Run(live={}), [], None)}
    made_up = Story(seconds=30).frame(30)["tiles"]
    assert [tile["id"] for tile in made_up] == list(real)
    assert all(set(tile) <= real[tile["id"]] for tile in made_up)
