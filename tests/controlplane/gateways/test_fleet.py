"""The home of somebody on call: every gateway in a row, the worst first."""

from __future__ import annotations

from collections.abc import Callable

from django.test import Client

from controlplane.catalogue.models import PolicyVersion
from controlplane.dashboard import fleet
from controlplane.gateways import budgets, writing
from controlplane.gateways.documents import GatewayDocument
from controlplane.gateways.models import Gateway
from controlplane.rollouts.models import Rollout
from controlplane.teams.rights import Actor
from tests.controlplane.gateways.conftest import AT
from tests.controlplane.gateways.spending import DAY, HOUR, clock, past
from tests.controlplane.rollouts.plans import plan

Pages = Callable[[Actor], Client]


def another(operator: Actor, name: str) -> Gateway:
    document = GatewayDocument(
        name=name, policy="steady", lanes={"p": ["e-p"]}, slo="chat", anonymous="acme"
    )
    return writing.create_gateway(actor=operator, document=document)


def test_what_burns_stands_above_what_is_well_and_what_was_never_heard(
    edge: Gateway, operator: Actor, wide: PolicyVersion
) -> None:
    calm, unheard = another(operator, "calm"), another(operator, "a-new-one")
    past(calm, DAY, 0)
    past(edge, DAY, HOUR)
    past(edge, HOUR, 0, missed=10)
    for gateway in (calm, edge):
        budgets.look(gateway, clock(AT))
    version = edge.slo_version
    assert version is not None
    Rollout.objects.create(
        team=edge.team, gateway=edge, baseline_version=edge.active_version, seed=1,
        candidate_version=wide, slo_version=version, plan_sha256="0" * 64, phase="held",
        plan=plan(),
    )  # fmt: skip
    found = fleet.rows(edge.team, clock(AT))
    assert [row["gateway"] for row in found] == [edge, calm, unheard]
    worst, well, new = found
    assert (worst["budget"]["state"], well["budget"]["state"], new["budget"]) == (
        "page", "ok", None,
    )  # fmt: skip
    assert (worst["tone"], worst["stage"], well["rollout"]) == ("warn", "Model", None)
    assert worst["attainment"] == {"text": "50.00 %", "n": "100", "span": "5 min"}
    assert worst["burn"]["long_text"] == "50.0 ×"


def test_the_first_page_shows_the_fleet_and_says_what_to_do_without_one(
    edge: Gateway, operator: Actor, stranger: Actor, page_as: Pages
) -> None:
    past(edge, HOUR, 0)
    budgets.look(edge, clock(AT))
    page = page_as(operator).get("/").content.decode()
    assert edge.get_absolute_url() in page
    assert "n 100 in 5 min" in page
    other = page_as(stranger).get("/").content.decode()
    assert edge.get_absolute_url() not in other


def test_the_bar_on_top_speaks_of_traffic_in_trouble_before_any_run(
    edge: Gateway, operator: Actor, page_as: Pages
) -> None:
    another(operator, "calm")
    past(edge, DAY, HOUR)
    budgets.look(edge, clock(AT))
    assert fleet.trouble([]) is None
    assert fleet.trouble(fleet.rows(edge.team, clock(AT))) is None
    past(edge, HOUR, 0, missed=10)
    budgets.look(edge, clock(AT))
    said = fleet.trouble(fleet.rows(edge.team, clock(AT)))
    assert said is not None
    assert (said["gateway"], said["outcome"]) == (edge, "fail")
    page = page_as(operator).get("/").content.decode()
    bar = page[page.index('id="state"') : page.index("</section>", page.index('id="state"'))]
    assert edge.get_absolute_url() in bar
    assert "live traffic" in bar
    assert str(said["word"]) in bar


def test_the_burn_shown_is_that_of_the_alert_that_fires(edge: Gateway) -> None:
    past(edge, DAY, HOUR, missed=1)
    past(edge, HOUR, 0)
    budgets.look(edge, clock(AT))
    (row,) = fleet.rows(edge.team, clock(AT))
    assert row["budget"]["state"] == "ticket"
    assert row["burn"]["long"] != "1 h"
    assert f"over {row['burn']['long']}" in row["budget"]["because"]
    assert row["burn"]["factor_text"] in row["budget"]["because"]
