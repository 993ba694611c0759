"""The pages of comparisons: the form, the power before the start, the verdict, the downloads."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse

from controlplane.comparisons import frames, services
from controlplane.comparisons.asking import Ask
from controlplane.comparisons.execution import directory
from controlplane.comparisons.forms import ComparisonForm
from controlplane.comparisons.ledger import ComparisonLedger
from controlplane.comparisons.models import Comparison, Status
from controlplane.teams.rights import Actor
from measurement.comparison.assignment import Design, draw
from measurement.comparison.block import ArmCounts, Block, Count
from measurement.comparison.plan import ComparisonPlan
from measurement.comparison.verdict import Evidence, judge


@pytest.fixture
def filled(comparison: Comparison) -> Comparison:
    """Running, with three blocks."""
    claimed = services.claim(comparison.pk)
    assert claimed is not None
    ledger = ComparisonLedger(claimed, directory(claimed))
    ledger.started({"model": {"profile": "p", "error": "Mean TPOT error 2.8 %."}})
    plan = ComparisonPlan.parse(claimed.plan)
    blocks: list[Block] = []
    for index in range(3):
        counts = (
            ArmCounts(30, counts={"attainment": Count(30, bad)}, policies=frozenset({policy}))
            for bad, policy in ((1, plan.baseline), (4, plan.candidate))
        )
        order = draw(plan.seed, index, Design(plan.design))
        block = Block(index, order, 2.5 * (index + 1), *counts)
        blocks.append(block)
        verdict = judge(plan, Evidence(tuple(blocks))).to_json()
        ledger.hear_block({"block": block.to_json(), "arms": {}, "verdict": verdict})
        ledger.store()
    return Comparison.objects.get(pk=claimed.pk)


def form_of(ask: Ask, **changes: object) -> dict[str, object]:
    return {
        "baseline": ask.baseline.pk,
        "candidate": ask.candidate.pk,
        "where": "model",
        "profile": ask.profile,
        "workload": ask.workload.pk,
        "slo_version": ask.slo_version.pk,
        "process": "poisson",
        "rate": 20,
        "margin": 2,
        "blocks": 40,
        "block_s": 3,
        "seed": 5,
    } | changes


def test_the_form_starts_a_comparison_and_leads_to_it(
    operator: Actor, ask: Ask, page_as: Callable[[Actor], Client]
) -> None:
    answer = page_as(operator).post(reverse("comparisons:new"), form_of(ask))
    started = Comparison.objects.get()
    assert answer["Location"] == started.get_absolute_url()
    assert started.status == Status.QUEUED
    assert started.plan["spec"]["criteria"][0]["pass_margin"] == 0.02
    assert started.request["block_s"] == 3


def test_the_power_is_told_before_the_start(
    operator: Actor, ask: Ask, page_as: Callable[[Actor], Client]
) -> None:
    client = page_as(operator)
    told = client.post(reverse("comparisons:preview"), form_of(ask)).content.decode()
    assert "40 blocks of 40 requests an arm" in told
    assert "2.00 points" in told
    wrong = client.post(reverse("comparisons:preview"), form_of(ask, blocks=5)).content.decode()
    assert "from 33" in wrong
    assert not Comparison.objects.exists()


def test_a_fault_stands_beside_its_field(operator: Actor, ask: Ask) -> None:
    form = ComparisonForm(form_of(ask, blocks=5, rate=-1), team=operator.team)
    assert not form.is_valid()
    two = ComparisonForm(form_of(ask, where="endpoints"), team=operator.team)
    assert not two.is_valid()
    assert "Must be 2 for where=endpoints" in two.errors["endpoint"][0]


def test_a_frame_holds_what_changed_and_the_full_one_everything(filled: Comparison) -> None:
    whole = frames.build(filled, since=0)
    assert whole["full"]
    assert [row["index"] for row in whole["blocks"]] == [0, 1, 2]
    points = whole["courses"]["attainment"]
    assert [round(point[1], 6) for point in points] == [10.0, 10.0, 10.0]
    last = frames.build(filled, since=filled.seq - 1)
    assert not last["full"]
    assert [row["index"] for row in last["blocks"]] == [2]
    assert len(last["courses"]["attainment"]) == 1
    assert last["verdict"]["word"] == "Not sure yet"
    assert "Mean TPOT error" in last["verdict"]["detail"]
    assert frames.build(filled, since=filled.seq)["courses"] == {}
    json.dumps(whole, allow_nan=False)


def test_its_page_shows_verdict_plan_and_files(
    filled: Comparison, operator: Actor, page_as: Callable[[Actor], Client]
) -> None:
    client = page_as(operator)
    page = client.get(filled.get_absolute_url()).content.decode()
    assert "nothing is said before 20" in page
    assert filled.plan_sha256[:12] in page
    assert client.get(reverse("comparisons:verdict", args=[filled.pk])).status_code == 404
    file = client.get(reverse("comparisons:blocks", args=[filled.pk])).content.decode()
    rows = list(csv.DictReader(io.StringIO(file)))
    assert [row["candidate_bad_attainment"] for row in rows] == ["4", "4", "4"]
    listed = client.get(reverse("comparisons:list")).content.decode()
    assert "Not sure yet" in listed


def test_cancelling_asks_its_worker_once_and_then_says_that_it_is_over(
    filled: Comparison, operator: Actor, page_as: Callable[[Actor], Client]
) -> None:
    client = page_as(operator)
    where = reverse("comparisons:cancel", args=[filled.pk])
    assert client.post(where).status_code == 302
    filled.refresh_from_db()
    assert filled.status == Status.CANCELLING
    ComparisonLedger(filled, directory(filled)).finish(Status.CANCELLED, summary=None)
    assert client.post(where).status_code == 409
    page = client.get(filled.get_absolute_url()).content.decode()
    assert "Cancelled." in page
    assert filled.blocks.count() == 3
