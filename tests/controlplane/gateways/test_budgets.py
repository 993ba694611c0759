"""Error budgets of live traffic: counted once, kept for weeks, told when they burn or go silent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from controlplane import sweeping
from controlplane.audit.models import AuditEntry
from controlplane.catalogue.models import SloVersion
from controlplane.catalogue.services import lines
from controlplane.gateways import budget_page, budgets, counting, feed, frames, ingest
from controlplane.gateways.batches import read
from controlplane.gateways.models import (
    Gateway,
    GatewayBudget,
    GatewayCount,
    GatewayHeard,
    GatewayWindow,
)
from controlplane.teams.rights import Actor
from tests.controlplane.gateways.conftest import AT
from tests.controlplane.gateways.saying import Process
from tests.controlplane.gateways.spending import DAY, HOUR, MINUTE, clock, past
from tests.gateway.serving import slo

Pages = Callable[[Actor], Client]


@pytest.fixture
def process(edge: Gateway, tmp_path: Path) -> Process:
    return Process(feed.document(edge), tmp_path / "one", AT)


def hear(edge: Gateway, process: Process) -> None:
    batch, windows = read(process.batch(), gateway=edge.slug)
    ingest.store(edge, batch, windows, now=clock(process.now))
    edge.refresh_from_db()


def serve(edge: Gateway, process: Process, minutes: int, **served: Any) -> None:
    """Two requests and a batch every ten seconds."""
    for _ in range(6 * minutes):
        process.serve(**served)
        process.serve(**served)
        process.until(process.now + 10)
        hear(edge, process)


def look(edge: Gateway, at: float) -> dict[tuple[str, str], GatewayBudget]:
    budgets.look(edge, clock(at))
    return {(row.scope, row.name): row for row in GatewayBudget.objects.filter(gateway=edge)}


def again(operator: Actor, edge: Gateway, document: dict[str, Any]) -> SloVersion:
    """The next version of its SLO."""
    assert edge.slo_version is not None
    line = edge.slo_version.line
    return lines.save_slo(actor=operator, line=line, document=document).version


def told() -> list[tuple[str, str]]:
    entries = AuditEntry.objects.filter(verb=budgets.VERB, detail__scope="joint")
    return [(one.detail["from"], one.detail["to"]) for one in entries.order_by("sequence")]


def test_misses_page_and_their_end_is_told_with_its_time(edge: Gateway, process: Process) -> None:
    past(edge, DAY, 0)
    serve(edge, process, 4, ttft=0.9)
    joint = look(edge, process.now)["joint", ""]
    assert joint.state == "ok"  # 48 of the hour's 1,168 burn 4.1 x, under 13.4
    GatewayCount.objects.filter(start__gte=AT - HOUR, start__lt=AT).delete()
    joint = look(edge, process.now)["joint", ""]
    assert joint.state == "page"
    row = budget_page.row(joint, None)
    assert "48 of 48 missed" in row["because"]
    look(edge, process.now + HOUR)
    assert told() == [("ok", "page"), ("page", "unknown")]
    assert [one["after"] for one in budget_page.changes(edge)][:1] == ["Unknown"]


def test_an_alert_says_how_much_of_its_window_a_young_gateway_has_seen(edge: Gateway) -> None:
    past(edge, 12 * MINUTE, 0)
    row = budget_page.row(look(edge, AT)["joint", ""], None)
    assert row["because"].endswith(" Only 12 min of 1 h seen.")
    assert [one["long_seen"] for one in row["burns"]][:2] == ["12 min of 1 h", "12 min of 6 h"]
    assert [one["short_seen"] for one in row["burns"]][:2] == ["", "12 min of 30 min"]
    past(edge, 4 * DAY, HOUR)
    row = budget_page.row(look(edge, AT)["joint", ""], None)
    assert "seen" not in row["because"]
    assert {one["long_seen"] for one in row["burns"]} == {""}


def test_a_window_is_counted_once_and_outlives_itself(edge: Gateway, process: Process) -> None:
    serve(edge, process, 4)
    sha256 = edge.slo_version.sha256 if edge.slo_version else ""

    def judged() -> int:
        return sum(one.count.judged for one in counting.stretches(edge, sha256, since=0.0))

    assert GatewayWindow.objects.filter(closed=True).exists()
    assert GatewayWindow.objects.filter(closed=False).exists()
    assert judged() == 48
    ingest.prune(edge, clock(AT + 3 * DAY))
    assert not GatewayWindow.objects.exists()
    assert judged() == 48
    assert set(GatewayCount.objects.values_list("seconds", flat=True)) == {HOUR}
    heard = sum(GatewayHeard.objects.values_list("heard", flat=True))
    assert heard == 4 * MINUTE - 2 * 5 + 5  # from the first batch's window on


def test_a_process_whose_clock_is_ahead_silences_no_other(
    edge: Gateway, process: Process, tmp_path: Path
) -> None:
    """One by a day, one by 12 s: time is heard of by ours, and once."""
    others = [
        Process(feed.document(edge), tmp_path / f"ahead{by}", AT + by) for by in (DAY, 12, -7)
    ]
    for _ in range(30):
        for one in (*others, process):
            one.until(one.now + 4)
            batch, windows = read(one.batch(), gateway=edge.slug)
            ingest.store(edge, batch, windows, now=clock(process.now))
            edge.refresh_from_db()
    heard = GatewayHeard.objects.values_list("start", "seconds", "heard")
    assert all(row[0] <= process.now and row[2] <= row[1] for row in heard)
    assert sum(row[2] for row in heard) == pytest.approx(30 * 4, abs=10)


def test_a_day_of_silence_through_a_wrong_clock_ends_with_the_next_batch(
    edge: Gateway, process: Process
) -> None:
    Gateway.objects.filter(pk=edge.pk).update(heard_index=int(AT + DAY) // 5)
    serve(edge, process, 1)
    assert sum(GatewayHeard.objects.values_list("heard", flat=True)) >= 50


def test_what_no_budget_looks_at_any_more_goes(edge: Gateway, process: Process) -> None:
    serve(edge, process, 2)
    ingest.prune(edge, clock(AT + 2 * 28 * DAY - HOUR))
    assert GatewayCount.objects.exists()
    ingest.prune(edge, clock(AT + 2 * 28 * DAY + 2 * HOUR))
    assert not GatewayCount.objects.exists()
    assert not GatewayHeard.objects.exists()


def test_silence_is_unknown_and_says_what_to_do(edge: Gateway) -> None:
    past(edge, DAY, 0)
    Gateway.objects.filter(pk=edge.pk).update(seen_at=clock(AT))
    said = dict(sweeping.passed(lambda: clock(AT + 10 * MINUTE)))
    assert said["gateways"] == "1 budgets looked at"
    joint = GatewayBudget.objects.get(scope="joint")
    row = budget_page.row(joint, None)
    assert row["state"] == "unknown"
    assert "0 % of the last 5 min" in row["because"]
    assert "is not counted as good" in row["because"]
    assert row["left"] == 1.0  # of what was heard, and the rest is told
    again = dict(sweeping.passed(lambda: clock(AT + 10 * MINUTE + 20)))
    assert again["gateways"] == "0 budgets looked at"
    assert told() == []


@pytest.mark.parametrize(
    ("left", "said"),
    [(None, "–"), (0.6213, "62.1 %"), (0.0, "0.0 %"), (-1.029, "0 %, spent 2.0 times")],
)
def test_what_is_left_of_an_overspent_budget_is_nothing(left: float | None, said: str) -> None:
    assert budget_page.left_text(left) == said


def test_answers_that_an_objective_can_not_measure_are_left_out_and_told(
    edge: Gateway, process: Process
) -> None:
    serve(edge, process, 1, ttft=None)
    found = look(edge, process.now)
    ttft = budget_page.row(found["objective", "ttft_ms"], None)
    assert (ttft["n"], ttft["unmeasured"], ttft["left"]) == (0, 12, None)
    assert "12 answers without a value" in ttft["lacking"]
    assert ttft["state"] == "unknown"
    assert "12 were not streamed" in ttft["because"]


def test_a_tenant_with_a_target_of_its_own_has_a_budget_of_its_own(
    edge: Gateway, operator: Actor, tmp_path: Path
) -> None:
    document = slo(ttft_ms=500)
    document["spec"]["tenants"] = {"acme": {"target": 0.5}}
    edge.slo_version = again(operator, edge, document)
    edge.save()
    process = Process(feed.document(edge), tmp_path / "two", AT)
    serve(edge, process, 2, ttft=0.9)
    acme = look(edge, process.now)["tenant", "acme"]
    assert (acme.target, acme.data["budget"]["n"]) == (0.5, 24)
    assert acme.data["budget"]["left"] == pytest.approx(-1.0)


def test_another_slo_counts_anew_and_none_ends_the_budgets(edge: Gateway, operator: Actor) -> None:
    past(edge, DAY, HOUR)
    past(edge, HOUR, 0, missed=10)
    assert look(edge, AT)["joint", ""].state == "page"
    edge.slo_version = again(operator, edge, slo(ttft_ms=900))
    assert budgets.due(edge, clock(AT))
    assert look(edge, AT)["joint", ""].data["budget"]["n"] == 0
    edge.slo_version = None
    assert look(edge, AT) == {}
    assert told() == [("none", "page"), ("page", "idle")]


def test_the_page_and_the_api_say_the_same(
    edge: Gateway, process: Process, operator: Actor, page_as: Pages, api_as: Any
) -> None:
    past(edge, DAY, 0)
    serve(edge, process, 1)
    found = look(edge, process.now)["joint", ""]
    frame = frames.build(edge, since=0, now=clock(process.now))
    tile = next(one for one in frame["tiles"] if one["id"] == "budget")
    assert (tile["value"], tile["status"]) == (found.data["budget"]["left"], "ok")
    assert frame["budget"]["rows"][-1][1] == 100.0
    assert frames.build(edge, since=edge.seq, now=clock(process.now))["budget"] is None
    html = page_as(operator).get(f"{edge.get_absolute_url()}budgets/").content.decode()
    assert "All objectives" in html
    assert f"{tile['text']} %" in html
    body = api_as(operator)("get", f"/gateways/{edge.slug}/budgets").json()
    assert [row["scope"] for row in body] == ["joint", "objective"]
    assert body[0]["left"] == tile["value"]
    assert body[0]["alerts"][0]["long_s"] == HOUR
