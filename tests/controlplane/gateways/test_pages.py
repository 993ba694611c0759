"""The gateways' pages: how one stands in a word and a sentence, and what may be done."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from controlplane.catalogue.models import PolicyVersion, Tenant
from controlplane.dashboard import fleet
from controlplane.gateways import (
    budget_page,
    budgets,
    feed,
    frames,
    ingest,
    live,
    reading,
    services,
)
from controlplane.gateways.batches import read
from controlplane.gateways.models import Gateway, GatewayFault, TenantKey
from controlplane.teams.rights import Actor
from measurement.outcome import Outcome
from tests.controlplane.gateways.saying import Process

Pages = Callable[[Actor], Client]


@pytest.fixture
def now() -> float:
    return float(int(timezone.now().timestamp()) // 15 * 15 - 15)


@pytest.fixture
def process(edge: Gateway, tmp_path: Path, now: float) -> Process:
    return Process(feed.document(edge), tmp_path / "one", now)


def hear(edge: Gateway, process: Process, **changed: Any) -> None:
    batch, windows = read(process.batch() | changed, gateway=edge.slug)
    ingest.store(edge, batch, windows, now=timezone.now())
    edge.refresh_from_db()


def traffic(process: Process, count: int = 40, **served: Any) -> None:
    for _ in range(count):
        process.until(process.now + 0.2)
        process.serve(**served)
    process.until(process.now + 6)


def bar(edge: Gateway) -> tuple[str, str]:
    edge.refresh_from_db()
    found = frames.build(edge, since=0)["verdict"]
    return found["outcome"], found["word"]


def test_a_gateway_that_was_never_heard_says_how_to_start_it(
    operator: Actor, edge: Gateway, page_as: Pages
) -> None:
    page = page_as(operator).get(edge.get_absolute_url()).content.decode()
    assert "Never heard" in page
    assert "headway gateway --control-plane http://testserver --name edge" in page


def test_a_gateway_without_any_key_says_so(edge: Gateway) -> None:
    edge.anonymous_tenant = None
    edge.save()
    assert bar(edge) == ("none", "Not ready")


def test_one_that_serves_by_what_was_wished_passes(edge: Gateway, process: Process) -> None:
    traffic(process)
    hear(edge, process)
    assert bar(edge) == ("pass", "Serving")
    said = frames.build(edge, since=0)["verdict"]["because"]
    assert "steady@" in said
    assert "2 lanes" in said


def test_telemetry_that_was_lost_is_told(edge: Gateway, process: Process) -> None:
    hear(edge, process, dropped=3)
    assert "3 batches of telemetry were lost" in frames.build(edge, since=0)["verdict"]["detail"]


def test_one_that_says_nothing_any_more_is_silent(edge: Gateway, process: Process) -> None:
    hear(edge, process)
    Gateway.objects.update(seen_at=timezone.now() - timedelta(seconds=40))
    assert bar(edge) == ("inconclusive", "Silent")


def test_one_that_refuses_a_revision_says_why(
    edge: Gateway, process: Process, operator: Actor, wide: PolicyVersion
) -> None:
    hear(edge, process)
    services.serve(actor=operator, gateway=edge, version=wide)
    hear(edge, process)
    assert bar(edge) == ("pass", "Serving")  # it has a while to take it
    fault = {"at": process.now, "code": "config_refused", "problems": ["active: is none."]}
    hear(edge, process, faults=[fault])
    assert bar(edge) == ("fail", "Refuses")
    assert "active: is none." in frames.build(edge, since=0)["verdict"]["because"]
    process.configure(feed.document(edge))
    hear(edge, process)
    assert bar(edge) == ("pass", "Serving")
    assert GatewayFault.objects.count() == 1


def test_one_that_does_not_take_a_revision_in_time_is_behind(
    edge: Gateway, process: Process, operator: Actor, wide: PolicyVersion
) -> None:
    services.serve(actor=operator, gateway=edge, version=wide)
    hear(edge, process)
    Gateway.objects.update(published_at=timezone.now() - timedelta(seconds=30))
    assert bar(edge) == ("inconclusive", "Behind")


def test_a_lane_whose_engines_are_all_down_fails(edge: Gateway, process: Process) -> None:
    for engine in process.router.lanes["q"].engines:
        engine.unreachable()
    hear(edge, process)
    assert bar(edge) == ("fail", "No endpoint")


def stands(process: Process, **lane: Any) -> list[dict[str, Any]]:
    return [one | lane for one in process.batch()["lanes"]]


def test_a_lane_that_froze_fails_before_any_request_has_timed_out(
    edge: Gateway, process: Process
) -> None:
    traffic(process)
    hear(edge, process, lanes=stands(process, overdue=3, oldest_s=7.4, quiet_s=7.1))
    assert bar(edge) == ("fail", "Stalled")
    frame = frames.build(edge, since=0)
    assert "no byte has come from the engines of lane p, q for 0:07" in frame["verdict"]["because"]
    assert "6 requests that wait there" in frame["verdict"]["because"]
    (in_flight,) = [tile for tile in frame["tiles"] if tile["id"] == "in_flight"]
    assert ["late already", "6"] in in_flight["rows"]


def frozen(process: Process, count: int) -> list[dict[str, Any]]:
    """Of each of its two lanes."""
    late = {"overdue": count, "overdue_by": {"ttft_ms": count}, "overdue_tenants": {"acme": count}}
    return stands(process, oldest_s=7.4, quiet_s=7.1, **late)


def test_while_no_answer_ends_nothing_on_the_page_is_green(
    edge: Gateway, process: Process, operator: Actor, page_as: Pages
) -> None:
    traffic(process, 400)
    hear(edge, process)
    budgets.look(edge, timezone.now())
    well = frames.build(edge, since=0)
    assert {tile["id"] for tile in well["tiles"] if tile["status"] == "ok"} >= {"attainment"}
    hear(edge, process, lanes=frozen(process, 1))
    frame = frames.build(edge, since=0)
    assert "ok" not in {tile["status"] for tile in frame["tiles"]}
    tiles = {tile["id"]: tile for tile in frame["tiles"]}
    assert tiles["ttft"]["word"] == "stalled"
    assert tiles["ttft"]["note"] == "2 waiting past it, not in the percentiles yet"
    assert [lane["quiet"] for lane in frame["table"]] == ["0:07", "0:07"]
    shown = page_as(operator).get(f"{edge.get_absolute_url()}budgets/").content.decode()
    assert "No answer ends on lane p, q: no byte for 0:07, and 2 requests past" in shown
    assert 'data-v="pass"' not in shown
    (row,) = fleet.rows(edge.team, timezone.now())
    assert (row["state"].word, row["budget"]["word"]) == ("Stalled", "Unknown")
    hear(edge, process, lanes=stands(process, overdue=0, quiet_s=0.0))
    assert frames.build(edge, since=0)["tiles"] == well["tiles"]


def test_those_that_wait_past_their_objective_are_counted_as_missed(
    edge: Gateway, process: Process
) -> None:
    traffic(process, 80)
    hear(edge, process)
    hear(edge, process, lanes=frozen(process, 10))
    frame = frames.build(edge, since=0)
    attainment = frame["tiles"][0]
    assert (attainment["value"], attainment["n"]) == (0.8, 100)
    assert attainment["note"] == "20 waiting past their objective, counted as missed"
    assert "20 of the missed wait still" in frame["summaries"]["attainment"]
    assert frame["tenants"][0]["attainment"] == 0.8
    budgets.look(edge, timezone.now())
    rows = {row["title"]: row for row in budget_page.rows(edge, None)}
    assert [row["missed"] for row in rows.values()] == [20, 20]
    assert "20 of the missed wait still" in rows["All objectives"]["lacking"]
    drawn = frames.build(edge, since=0)["budget"]["rows"]
    assert drawn[-1][1] < 0, "the figure's newest point says what the table says"
    assert rows["All objectives"]["state"] == "page"  # before a single one has timed out


def test_numbers_of_a_silent_gateway_are_not_green(edge: Gateway, process: Process) -> None:
    traffic(process)
    hear(edge, process)
    Gateway.objects.update(seen_at=timezone.now() - timedelta(seconds=40))
    edge.refresh_from_db()
    tiles = frames.build(edge, since=0)["tiles"]
    assert tiles[0]["word"] == "silent"
    assert "ok" not in {tile["status"] for tile in tiles}


def test_silence_without_a_late_request_or_a_late_one_without_silence_is_no_stall(
    edge: Gateway, process: Process
) -> None:
    traffic(process, 400)
    hear(edge, process)
    hear(edge, process, lanes=stands(process, overdue=0, quiet_s=60.0))
    assert bar(edge) == ("pass", "Serving")
    hear(edge, process, lanes=stands(process, overdue=1, oldest_s=9.0, quiet_s=0.3))
    assert bar(edge) == ("pass", "Serving")


def test_an_objective_that_is_surely_missed_fails(edge: Gateway, process: Process) -> None:
    traffic(process, 60, ttft=0.9)
    hear(edge, process)
    assert bar(edge) == ("fail", "Misses its SLO")


def test_the_frame_has_what_changed_and_the_page_all_of_it(
    edge: Gateway, process: Process, operator: Actor, page_as: Pages
) -> None:
    traffic(process)
    hear(edge, process)
    first = page_as(operator).get(f"{edge.get_absolute_url()}frames/").json()
    assert first["full"]
    rows = first["cohorts"]["rows"]
    place = frames.page(edge)["columns"].index("active_offered")
    assert max(row[place] for row in rows) == pytest.approx(5, rel=0.5)
    later = page_as(operator).get(f"{edge.get_absolute_url()}frames/?since={edge.seq}").json()
    assert later["cohorts"]["rows"] == []
    assert later["seq"] == first["seq"]
    tiles = {tile["id"]: tile for tile in first["tiles"]}
    assert tiles["attainment"]["value"] == 1.0
    assert tiles["ttft"]["rows"][0] == ["P50", "100 ms"]
    assert tiles["in_flight"]["rows"][0] == ["limit", "16"]
    assert [row["lane"] for row in first["table"]] == ["p", "q"]


def test_refusals_and_tenants_are_told(edge: Gateway, process: Process) -> None:
    traffic(process, 20)
    traffic(process, 20, tenant="bulk", outcome=Outcome.SHED, ttft=None)
    hear(edge, process)
    frame = frames.build(edge, since=0)
    refused = next(tile for tile in frame["tiles"] if tile["id"] == "rejected")
    assert refused["value"] == pytest.approx(0.5)
    assert {row["tenant"]: row["shed"] for row in frame["tenants"]} == {"acme": 0, "bulk": 20}


def test_frames_are_made_only_while_somebody_looks(
    edge: Gateway, process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[dict[str, Any]] = []

    async def take(_name: str, message: dict[str, Any]) -> None:
        sent.append(message)

    monkeypatch.setattr(live, "_send", take)
    hear(edge, process)
    live.tell(edge, timezone.now())
    assert sent == []
    edge.watched_at = timezone.now()
    live.tell(edge, timezone.now())
    assert json.loads(sent[0]["text"])["seq"] == edge.seq


def test_a_canary_draws_its_arms_side_by_side(edge: Gateway, wide: PolicyVersion) -> None:
    canary = services.Canary(wide, ("p", "q"), 7, 0.0, 40, 10.0, 0.0, 0.5)
    services.set_canary(gateway=edge, canary=canary, by="r", reason="")
    told = frames.page(edge)
    assert told["arms"] == ["baseline", "candidate", "rest"]
    ttft = next(one for one in told["figures"] if one["id"] == "ttft")
    assert [one["color"] for one in ttft["series"]] == ["s1", "s1", "s2", "s2"]


def test_an_operator_serves_another_version_and_a_viewer_can_not(
    edge: Gateway, operator: Actor, actor_as: Callable[..., Actor], page_as: Pages,
    wide: PolicyVersion,
) -> None:  # fmt: skip
    path = f"{edge.get_absolute_url()}serve/"
    refused = page_as(actor_as("viewer")).post(path, {"version": wide.pk})
    assert refused.status_code == 403
    answer = page_as(operator).post(path, {"version": wide.pk, "reason": "faster"})
    assert answer.status_code == 302
    edge.refresh_from_db()
    assert (edge.active_version, edge.revision) == (wide, 2)
    viewed = page_as(actor_as("approver")).get(edge.get_absolute_url()).content.decode()
    assert "wide v1" in viewed


def test_a_version_that_can_not_serve_now_is_told_on_the_page(
    edge: Gateway, operator: Actor, page_as: Pages, wide: PolicyVersion,
    version_of: Callable[..., PolicyVersion],
) -> None:  # fmt: skip
    canary = services.Canary(wide, ("p", "q"), 7, 0.0, 40, 10.0, 0.0, 0.5)
    services.set_canary(gateway=edge, canary=canary, by="r", reason="")
    third = version_of("third", limit=3)
    answer = page_as(operator).post(f"{edge.get_absolute_url()}serve/", {"version": third.pk})
    assert answer.status_code == 422
    assert "end that first" in answer.content.decode()


def test_a_key_is_shown_once_and_revoked(
    edge: Gateway, operator: Actor, acme: Tenant, page_as: Pages
) -> None:
    client = page_as(operator)
    made = client.post(f"{edge.get_absolute_url()}keys/", {"tenant": acme.pk, "name": "web"})
    text = made.content.decode()
    assert "sk-hw-" in text
    assert made["Cache-Control"] == "no-store"
    secret = text.split("<code>sk-hw-")[1].split("<")[0]
    again = client.get(edge.get_absolute_url()).content.decode()
    assert secret not in again
    key = TenantKey.objects.get()
    assert client.post(f"/gateways/keys/{key.pk}/revoke/").status_code == 302
    key.refresh_from_db()
    assert key.revoked_at is not None


FORM = {"name": "new", "policy": "steady@1", "lanes": "p: [e-p]\nq: [e-q]", "slo": "chat@1",
        "anonymous": "acme", "queue_bound": "64", "queue_ttl_s": "20"}  # fmt: skip


def test_a_gateway_is_made_and_changed_by_form(
    edge: Gateway, operator: Actor, page_as: Pages
) -> None:
    client = page_as(operator)
    answer = client.post("/gateways/new/", FORM)
    assert answer.status_code == 302, answer.content.decode()
    made = Gateway.objects.get(slug="new")
    assert made.queue == {"bound": 64, "ttl_s": 20.0}
    changed = client.post(
        f"{made.get_absolute_url()}edit/", {**FORM, "lanes": "p: [e-p, e-q]", "queue_bound": "32"}
    )
    assert changed.status_code == 302, changed.content.decode()
    made.refresh_from_db()
    assert {name: len(ends) for name, ends in made.lanes.items()} == {"p": 2}
    assert made.revision == 2


@pytest.mark.parametrize(
    ("changed", "says"),
    [({"lanes": "p: [nowhere]"}, "no such endpoint"), ({"lanes": ""}, "is required"),
     ({"policy": "steady@9"}, "no such version"), ({"queue_bound": "-1"}, "from 0"),
     ({"name": "two words"}, "letters, digits"), ({"lanes": "P!: [e-p]"}, "small letters")],
)  # fmt: skip
def test_a_fault_stands_at_its_field(
    changed: dict[str, str], says: str, edge: Gateway, operator: Actor, page_as: Pages
) -> None:
    answer = page_as(operator).post("/gateways/new/", {**FORM, **changed})
    assert answer.status_code == 422
    assert says in answer.content.decode()
    assert Gateway.objects.count() == 1


def test_the_list_shows_how_each_stands(
    edge: Gateway, process: Process, operator: Actor, page_as: Pages
) -> None:
    traffic(process)
    hear(edge, process)
    page = page_as(operator).get("/gateways/").content.decode()
    assert "Serving" in page
    assert "/s" in page
    assert reading.traffic(edge, seconds=60) is not None


def test_an_empty_list_says_the_next_step(
    operator: Actor, actor_as: Callable[..., Actor], page_as: Pages
) -> None:
    assert "Add an endpoint" in page_as(operator).get("/gateways/").content.decode()
    viewed = page_as(actor_as("viewer")).get("/gateways/").content.decode()
    assert "needs the role operator" in viewed
