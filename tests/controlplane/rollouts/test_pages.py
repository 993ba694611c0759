"""The pages of rollouts: list, plan, one rollout in each state, and what people do there."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from controlplane.rollouts import approving, frames, services
from controlplane.rollouts.models import FreezeWindow, Rollout
from controlplane.teams.rights import Actor
from documents.yaml_text import to_yaml
from tests.controlplane.conftest import PASSWORD
from tests.controlplane.rollouts.conftest import World, told
from tests.controlplane.rollouts.plans import plan

pytestmark = pytest.mark.django_db
PageAs = Callable[[Actor], Client]


def text_of(answer: Any) -> str:
    """What a reader sees, without markup."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", answer.content.decode())).split())


def test_the_list_says_what_comes_first_and_then_what_there_is(
    operator: Actor, page_as: PageAs, stranger: Actor, propose: Callable[..., Rollout]
) -> None:
    assert "No gateway yet" in text_of(page_as(stranger).get("/rollouts/"))
    page = page_as(operator)
    assert "No rollout yet" in text_of(page.get("/rollouts/"))
    propose("canary", "full")
    said = text_of(page.get("/rollouts/"))
    for words in ("steady v1 → v2", "edge", "Draft", "operator-platform"):
        assert words in said, words


def test_the_editor_starts_from_what_the_team_has_and_its_plan_can_be_proposed(
    world: World, operator: Actor, page_as: PageAs
) -> None:
    page = page_as(operator)
    text = page.get("/rollouts/new/").context["form"].initial["text"]
    assert "gateway: edge" in text
    assert "candidate: steady@2" in text
    answer = page.post("/rollouts/new/", {"text": text}, follow=True)
    assert answer.status_code == 200, text_of(answer)
    assert "It has not been started" in text_of(answer)
    assert Rollout.objects.get().gateway.slug == "edge"


def test_a_fault_stands_under_the_text_with_its_path(
    world: World, operator: Actor, page_as: PageAs
) -> None:
    answer = page_as(operator).post("/rollouts/new/", {"text": to_yaml(plan(gateway="away"))})
    assert answer.status_code == 422
    assert "spec.gateway: this team has no such gateway; known: edge" in text_of(answer)


def test_from_draft_to_canary_on_its_page_by_two_people(
    world: World,
    propose: Callable[..., Rollout],
    operator: Actor,
    approver: Actor,
    page_as: PageAs,
) -> None:
    rollout = propose("canary", "full")
    path, mine, theirs = rollout.get_absolute_url(), page_as(operator), page_as(approver)
    assert "Starting it needs no approval" in text_of(mine.get(path))
    mine.post(f"{path}start/")
    said = text_of(mine.get(path))
    assert "Canary waits for one more approval" in said
    assert "Your role (operator) can't approve" in said
    assert "Approve Canary" not in said
    said = text_of(theirs.get(path))
    for words in ("Approve Canary", "any of: approver-platform", "Binds to", "If you do nothing"):
        assert words in said, words

    rollout.refresh_from_db()
    given = {"word": "approve", "binding": approving.binding_of(rollout), "comment": "fine"}
    wrong = theirs.post(f"{path}decide/", given | {"password": "a guess"})
    assert wrong.status_code == 422
    assert "is not your password" in text_of(wrong)
    late = theirs.post(f"{path}decide/", given | {"password": PASSWORD, "binding": "0" * 64})
    assert late.status_code == 409
    assert "changed since you read it" in text_of(late)
    assert theirs.post(f"{path}decide/", given | {"password": PASSWORD}).status_code == 302
    said = text_of(theirs.get(path))
    assert "“fine”" in said
    assert "begins at the next look" in said

    world.go()
    world.blocks(range(4), baseline=2)
    world.through_blocks(4, rollout)
    said = text_of(mine.get(path))
    for words in ("Running", "in Canary", "k = 4 blocks, 240 requests of the candidate", "Hold"):
        assert words in said, words


def test_the_frame_holds_both_arms_and_the_difference_with_its_radius(
    world: World, in_canary: Rollout, operator: Actor, page_as: PageAs
) -> None:
    world.blocks(range(25), baseline=3, candidate=3)
    world.through_blocks(20, in_canary)
    frame = page_as(operator).get(f"{in_canary.get_absolute_url()}frames/").json()
    assert frame["run"]["status"] == "waiting", "20 equal blocks pass"
    (gap,) = frame["canary"]["gaps"]
    assert [row[0] for row in gap["rows"]] == list(range(1, 21))
    _k, d, mean, low, high = gap["rows"][-1]
    assert (d, mean) == (0, 0)
    assert low is not None
    assert low <= mean <= high
    assert frame["canary"]["arms"]["columns"][0] == "t"
    assert {f"{arm}_ttft_p95" for arm in ("baseline", "candidate")} <= set(
        frame["canary"]["arms"]["columns"]
    )
    assert frame == page_as(operator).get(f"{in_canary.get_absolute_url()}frames/").json()


def test_harm_is_told_with_its_reason_and_its_evidence_can_be_taken(
    world: World, in_canary: Rollout, operator: Actor, page_as: PageAs
) -> None:
    world.blocks(range(25), candidate=50)
    world.through_blocks(25, in_canary)
    page = page_as(operator)
    said = text_of(page.get(in_canary.get_absolute_url()))
    for words in ("Rolled back", "Harm because attainment was missed", "steady v1 serves", "harm"):
        assert words in said, words
    assert "Try again" in said
    stored = page.get(f"{in_canary.get_absolute_url()}evidence/0/").json()
    assert stored["verdict"]["outcome"] == "harm"
    again = page.post(f"{in_canary.get_absolute_url()}retry/", follow=True)
    assert "attempt 2, after" in text_of(again)


def test_the_navigation_counts_what_waits_for_this_very_person(
    propose: Callable[..., Rollout], operator: Actor, approver: Actor, page_as: PageAs
) -> None:
    rollout = services.start(actor=operator, rollout=propose("canary", "full"))
    theirs = page_as(approver)
    assert theirs.get("/runs/").context["approvals_waiting"] == 1
    assert "approvals_waiting" not in page_as(operator).get("/runs/").context
    given = {"word": "approve", "binding": approving.binding_of(rollout), "password": PASSWORD}
    theirs.post(f"{rollout.get_absolute_url()}decide/", given)
    assert theirs.get("/runs/").context["approvals_waiting"] == 0


def test_abort_says_what_it_will_do_and_does_it(
    world: World, in_canary: Rollout, operator: Actor, page_as: PageAs
) -> None:
    page, path = page_as(operator), in_canary.get_absolute_url()
    said = text_of(page.get(path))
    assert "All traffic of edge goes to steady v1" in said
    page.post(f"{path}abort/")
    assert told(in_canary)["phase"] == "aborted"
    ended = text_of(page.get(path))
    assert "Aborted" in ended
    assert "steady v1 serves on every lane" in ended
    refused = page.post(f"{path}abort/")
    assert refused.status_code == 409
    assert "Nothing was changed. It is aborted already" in text_of(refused)


def test_hold_and_go_on_from_the_page(
    world: World, in_canary: Rollout, operator: Actor, page_as: PageAs
) -> None:
    page, path = page_as(operator), in_canary.get_absolute_url()
    page.post(f"{path}hold/")
    assert "A person holds it" in text_of(page.get(path))
    page.post(f"{path}resume/")
    assert told(in_canary)["phase"] == "running"


def test_a_viewer_sees_everything_and_can_do_nothing(
    world: World, in_canary: Rollout, actor_as: Callable[..., Actor], page_as: PageAs
) -> None:
    page, path = page_as(actor_as("viewer")), in_canary.get_absolute_url()
    said = text_of(page.get(path))
    assert "Aborting needs the role operator" in said
    for verb in ("start", "hold", "resume", "abort", "retry", "decide"):
        answer = page.post(f"{path}{verb}/", {"word": "approve"})
        assert answer.status_code in (403, 409), verb
    assert told(in_canary)["phase"] == "running"


def test_freezes_are_set_seen_and_taken_away(
    propose: Callable[..., Rollout], operator: Actor, approver: Actor, page_as: PageAs
) -> None:
    propose("canary", "full")
    page = page_as(approver)
    now = timezone.now()
    given = {"starts_at": f"{now:%Y-%m-%dT%H:%M}", "ends_at": "2099-01-01T00:00", "reason": "sale"}
    assert page.post("/rollouts/freeze/", given).status_code == 422
    given["ends_at"] = f"{now + timezone.timedelta(hours=2):%Y-%m-%dT%H:%M}"
    said = text_of(page.post("/rollouts/freeze/", given, follow=True))
    assert "Nothing is promoted until" in said
    window = FreezeWindow.objects.get()
    assert page_as(operator).post(f"/rollouts/freeze/{window.pk}/remove/").status_code == 403
    page.post(f"/rollouts/freeze/{window.pk}/remove/")
    assert not FreezeWindow.objects.exists()


def test_a_viewer_of_the_page_is_sent_frames_and_nobody_costs_nothing(
    world: World, in_canary: Rollout, monkeypatch: pytest.MonkeyPatch
) -> None:
    from controlplane.rollouts import live, passing

    sent: list[dict[str, Any]] = []
    monkeypatch.setattr(live, "publish", lambda _row, frame: sent.append(frame))
    passing.once(world.now)
    assert sent == []
    Rollout.objects.update(watched_at=world.now)
    passing.once(world.now)
    assert [frame["run"]["status"] for frame in sent] == ["running"]
    assert sent[0] == frames.build(Rollout.objects.with_names().get(), world.now)


def test_the_conflict_is_shown_before_anybody_approves(
    in_canary: Rollout, propose: Callable[..., Rollout], operator: Actor, page_as: PageAs
) -> None:
    second = propose("canary", "full")
    page = page_as(operator)
    assert "Another rollout is open for this gateway" in text_of(
        page.get(second.get_absolute_url())
    )
    refused = page.post(f"{second.get_absolute_url()}start/")
    assert refused.status_code == 409
    assert "is under way on edge" in text_of(refused)
    services.abort(actor=operator, rollout=in_canary)
    assert page.post(f"{second.get_absolute_url()}start/").status_code == 302
