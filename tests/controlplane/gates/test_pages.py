"""The pages of gates: list, editor with its preview, detail, snippets, badge."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
import yaml
from django.test import Client

from controlplane.catalogue.models import Endpoint
from controlplane.gates.models import Gate, GateRun
from controlplane.gates.snippets import snippets
from controlplane.teams.rights import Actor
from documents.yaml_text import to_yaml
from headway.__main__ import main
from headway.commands import gate as command
from tests.controlplane.gates.conftest import DOCUMENT, document

pytestmark = pytest.mark.django_db


@pytest.fixture
def page(actor: Actor, page_as: Callable[[Actor], Client]) -> Client:
    return page_as(actor)


def text_of(answer: Any) -> str:
    """What a reader sees, without markup."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", answer.content.decode())).split())


def test_without_a_gate_the_list_says_what_one_is_and_leads_to_the_first(page: Client) -> None:
    answer = page.get("/gates/")
    assert "No gate yet" in text_of(answer)
    assert 'href="/gates/new/"' in answer.content.decode()
    assert 'href="/gates/" aria-current="page"' in answer.content.decode()


def test_the_list_has_each_gate_with_its_newest_verdict(
    page: Client, ended: Callable[..., GateRun]
) -> None:
    ended(1_200, slow=300)
    said = text_of(page.get("/gates/"))
    assert "chat-gate" in said
    assert "Failed" in said
    assert "Fails because" in said


def test_the_editor_starts_from_what_the_team_has_and_keeps_a_gate(
    page: Client, launch: Any
) -> None:
    text = page.get("/gates/new/").context["form"].initial["text"]
    assert "endpoint: sim" in text
    assert page.post("/gates/new/", {"text": text}, follow=True).status_code == 200
    assert Gate.objects.get().slug == "my-gate"


def test_without_anything_in_the_catalogue_the_editor_says_what_comes_first(page: Client) -> None:
    assert "Something has to be in the catalogue first" in text_of(page.get("/gates/new/"))


def test_a_fault_stands_under_the_text_with_its_path(page: Client, launch: Any) -> None:
    answer = page.post("/gates/new/", {"text": to_yaml(document(thresholds=["tfft<1"]))})
    assert answer.status_code == 422
    assert "spec.thresholds.0: unknown metric; known: ttft_ms" in text_of(answer)
    assert page.post("/gates/new/", {"text": "a: [}"}).status_code == 422


def test_the_preview_is_of_the_load_as_typed(page: Client, launch: Any) -> None:
    seen = page.post("/gates/preview/", {"text": to_yaml(DOCUMENT)}).json()
    assert seen["duration_s"] == 60
    assert 1_000 < seen["requests"] < 1_400
    refused = page.post("/gates/preview/", {"text": to_yaml(document(endpoint="away"))})
    assert refused.status_code == 422
    assert "spec.endpoint" in refused.json()["errors"]["text"][0]


def test_the_page_of_a_gate_has_numbers_history_and_how_to_call_it(
    page: Client, ended: Callable[..., GateRun]
) -> None:
    gate_run = ended(1_200, slow=300)
    said = text_of(page.get(gate_run.gate.get_absolute_url()))
    for words in (
        "Failed",
        "ttft_ms: p(95)<800",
        "75.00 % of 1,200 offered requests had TTFT",
        " % within",
        "1200 (",
        gate_run.run.short_id,
        "headway gate run chat-gate",
        "--server http://testserver",
        "HEADWAY_TOKEN",
    ):
        assert words in said, words


def test_before_its_first_run_the_page_says_so(page: Client, gate: Gate) -> None:
    said = text_of(page.get(gate.get_absolute_url()))
    assert "Never run" in said
    assert "not yet" in said


def test_it_is_run_from_its_page(page: Client, gate: Gate) -> None:
    answer = page.post(f"{gate.get_absolute_url()}run/")
    assert answer["Location"] == f"/runs/{GateRun.objects.get().pk}/"
    Endpoint.objects.update(slug="moved")
    refused = page.post(f"{gate.get_absolute_url()}run/")
    assert refused.status_code == 409
    assert "this team has no such endpoint; change the gate" in text_of(refused)


def test_an_edit_is_a_new_version_with_its_changes(page: Client, gate: Gate) -> None:
    text = to_yaml(document(seed=8))
    page.post(f"{gate.get_absolute_url()}edit/", {"text": text})
    said = text_of(page.get(f"{gate.get_absolute_url()}versions/2/"))
    assert "Changes from v1" in said
    assert "spec.seed 7 8" in said


def test_a_viewer_sees_it_and_can_t_run_or_change_it(
    gate: Gate, actor_as: Callable[..., Actor], page_as: Callable[[Actor], Client]
) -> None:
    viewer = page_as(actor_as("viewer"))
    said = viewer.get(gate.get_absolute_url()).content.decode()
    assert "Run it now" not in said
    assert f"{gate.pk}/edit/" not in said
    assert viewer.post(f"{gate.get_absolute_url()}run/").status_code == 403
    assert viewer.post(f"{gate.get_absolute_url()}edit/", {"text": "a: 1"}).status_code == 403
    assert Gate.objects.get().versions.count() == 1


def test_deleting_takes_the_history_and_leaves_the_runs(page: Client, gate_run: GateRun) -> None:
    run = gate_run.run
    page.post(f"{gate_run.gate.get_absolute_url()}delete/")
    assert not Gate.objects.exists()
    assert page.get(run.get_absolute_url()).status_code == 200


@pytest.mark.parametrize("key", ["github", "gitlab", "shell"])
def test_a_snippets_yaml_parses_and_its_command_is_one_that_the_command_takes(
    key: str, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    [snippet] = [one for one in snippets(gate, "https://headway.example.org") if one.key == key]
    commands: list[str] = []
    if key == "github":
        document = yaml.safe_load(snippet.text)
        steps = document["jobs"]["gate"]["steps"]
        commands = [step["run"] for step in steps if "run" in step]
        [env] = [step["env"] for step in steps if step.get("name") == "Run the gate"]
        assert env == {"HEADWAY_TOKEN": "${{ secrets.HEADWAY_TOKEN }}"}
    elif key == "gitlab":
        job = yaml.safe_load(snippet.text)["headway-chat-gate"]
        commands = job["script"]
        assert job["artifacts"]["reports"]["junit"] == "headway.xml"
    else:
        commands = snippet.text.replace("\\\n", "").splitlines()
    [called] = [line for line in commands if line.startswith("headway gate run")]
    taken = []
    monkeypatch.setattr(command, "run", lambda args: taken.append(args) or 0)
    assert main(called.split()[1:]) == 0
    [args] = taken
    assert (args.slug, args.server) == ("chat-gate", "https://headway.example.org")
    assert args.timeout == (2 + 15) * 60
    assert str(args.junit) == "headway.xml"


def test_the_badge_shows_the_newest_verdict_to_the_team_and_to_who_has_the_key(
    page: Client,
    ended: Callable[..., GateRun],
    stranger: Actor,
    page_as: Callable[[Actor], Client],
) -> None:
    gate_run = ended(1_200)
    answer = page.get("/gates/chat-gate/badge.svg")
    assert answer["Content-Type"] == "image/svg+xml"
    assert answer["Cache-Control"] == "no-cache, max-age=0"
    assert "chat-gate: passed" in answer.content.decode()
    said = unescape(page.get(gate_run.gate.get_absolute_url()).content.decode())
    found = re.search(r"http://testserver(/gates/chat-gate/badge\.svg\?key=[\w-]+)", said)
    assert found
    assert "passed" in Client().get(found[1]).content.decode()
    assert Client().get(f"{found[1]}x").status_code == 302
    assert Client().get("/gates/chat-gate/badge.svg").status_code == 302
    assert page_as(stranger).get("/gates/chat-gate/badge.svg").status_code == 404


def test_a_badge_without_a_run_says_so(page: Client, gate: Gate) -> None:
    assert "no verdict yet" in page.get("/gates/chat-gate/badge.svg").content.decode()
