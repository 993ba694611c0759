"""SLOs and policies: lines of versions that nobody can change."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction
from django.test import Client

from controlplane.catalogue.examples import POLICY, SLO
from controlplane.catalogue.models import ImmutableError, Policy, PolicyVersion, Slo
from controlplane.catalogue.services.lines import save_policy, save_slo
from controlplane.catalogue.services.removal import delete
from controlplane.teams.rights import Actor
from documents.problem import DocumentError
from documents.yaml_text import to_yaml
from schedulers.document import Policy as PolicyDocument


def policy(limit: int = 32, name: str = "my-policy") -> dict[str, Any]:
    document = copy.deepcopy(POLICY)
    document["metadata"]["name"] = name
    document["spec"]["concurrency"]["limit"] = limit
    return document


@pytest.fixture
def line(operator: Actor) -> Policy:
    return save_policy(actor=operator, document=policy()).line


def test_a_changed_document_makes_the_next_version_and_an_equal_one_none(
    line: Policy, operator: Actor
) -> None:
    same = save_policy(actor=operator, line=line, document=policy())
    assert (same.new, same.version.number) == (False, 1)
    changed = save_policy(actor=operator, line=line, document=policy(64))
    assert (changed.new, changed.version.number) == (True, 2)
    assert [one.number for one in line.versions.all()] == [2, 1]


def test_equal_means_by_content_however_written(line: Policy, operator: Actor) -> None:
    spelled = policy()
    spelled["spec"]["concurrency"]["limit"] = 32.0
    assert not save_policy(actor=operator, line=line, document=spelled).new


def test_a_version_is_named_by_the_hash_of_its_canonical_document(
    line: Policy, operator: Actor
) -> None:
    version = line.latest
    assert version.sha256 == PolicyDocument.parse(version.document).sha256
    assert version.created_by == operator.user


def test_a_version_refuses_every_way_to_change_it(line: Policy) -> None:
    version = line.latest
    version.document = {}
    for change in (
        version.save,
        version.delete,
        lambda: PolicyVersion.objects.update(sha256="0"),
        lambda: line.versions.all().update(sha256="0"),
        lambda: PolicyVersion.objects.all().delete(),
        lambda: PolicyVersion.objects.bulk_update([version], ["sha256"]),
    ):
        with pytest.raises(ImmutableError), transaction.atomic():
            change()


@pytest.mark.parametrize("table", ["catalogue_policyversion", "catalogue_sloversion"])
def test_the_database_refuses_too(line: Policy, operator: Actor, table: str) -> None:
    save_slo(actor=operator, document=SLO)
    refused = pytest.raises(DatabaseError, match="never changed")
    with refused, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"UPDATE {table} SET number = 9")


def test_a_version_keeps_its_lines_name(line: Policy, operator: Actor) -> None:
    with pytest.raises(DocumentError, match=r"metadata.name: must stay 'my-policy'"):
        save_policy(actor=operator, line=line, document=policy(name="other"))


def test_every_fault_comes_with_its_path_value_and_remedy(operator: Actor) -> None:
    faulty = policy(0)
    faulty["spec"]["concurrency"]["limt"] = 3
    with pytest.raises(DocumentError) as caught:
        save_policy(actor=operator, document=faulty)
    told = {problem.path: str(problem) for problem in caught.value.problems}
    assert "did you mean 'limit'?" in told["spec.concurrency.limt"]
    assert "(got 0)" in told["spec.concurrency.limit"]


def test_deleting_a_line_takes_its_versions_with_it(line: Policy, operator: Actor) -> None:
    save_policy(actor=operator, line=line, document=policy(64))
    delete(actor=operator, row=line)
    assert not PolicyVersion.objects.exists()


def test_the_editor_saves_yaml_and_points_at_faults(
    operator: Actor, page_as: Callable[[Actor], Client]
) -> None:
    client = page_as(operator)
    made = client.post("/catalogue/slos/new/", {"text": to_yaml(SLO)})
    slo = Slo.objects.get()
    assert made["Location"] == slo.get_absolute_url()
    broken = client.post(slo.get_absolute_url(), {"text": "spec: [unclosed"})
    assert broken.status_code == 422
    faulty = client.post(slo.get_absolute_url(), {"text": to_yaml({**SLO, "spec": {"target": 2}})})
    assert any("spec.target" in error for error in faulty.context["text"].errors["text"])
    assert b"spec.target" in faulty.content
    assert slo.versions.count() == 1


def test_the_law_form_makes_the_next_version_and_keeps_the_rest(
    line: Policy, operator: Actor, page_as: Callable[[Actor], Client]
) -> None:
    said = {"law": "fixed", "limit": "1,024", "owner": "ops", "description": "d"}
    client = page_as(operator)
    shown = client.post(line.get_absolute_url(), said)
    assert shown.status_code == 200
    assert line.versions.count() == 1
    confirm = shown.context["review"]["sha256"]
    answer = client.post(line.get_absolute_url(), {**said, "confirm": confirm})
    assert answer.status_code == 302
    latest = line.latest
    assert latest.number == 2
    assert latest.document["spec"]["concurrency"] == {"law": "fixed", "limit": 1024}
    assert latest.document["metadata"]["owner"] == "ops"
    line.refresh_from_db()
    assert line.description == "d"


def test_the_law_form_has_the_parameters_of_the_asked_law_with_unit_and_range(
    line: Policy, operator: Actor, page_as: Callable[[Actor], Client]
) -> None:
    shown = page_as(operator).get(f"{line.get_absolute_url()}?law=aimd")
    names = set(shown.context["law"].parameters.fields)
    described = {info.name for info in shown.context["law"].parameters.infos}
    assert names == described
    assert "limit" not in names or shown.context["law"].law.name == "aimd"


def test_a_fault_in_the_law_form_stands_at_its_parameter(
    line: Policy, operator: Actor, page_as: Callable[[Actor], Client]
) -> None:
    answer = page_as(operator).post(line.get_absolute_url(), {"law": "fixed", "limit": "lots"})
    assert answer.status_code == 422
    assert "got 'lots'" in answer.context["law"].parameters.errors["limit"][0]
    assert line.versions.count() == 1


def test_a_new_policy_by_form_needs_a_name(
    operator: Actor, page_as: Callable[[Actor], Client]
) -> None:
    client = page_as(operator)
    refused = client.post("/catalogue/policies/new/", {"law": "fixed", "limit": "8", "name": ""})
    assert "name" in refused.context["law"].about.errors
    client.post("/catalogue/policies/new/", {"law": "fixed", "limit": "8", "name": "eight"})
    assert Policy.objects.get().slug == "eight"


def test_a_versions_page_says_what_changed(
    line: Policy, operator: Actor, page_as: Callable[[Actor], Client]
) -> None:
    save_policy(actor=operator, line=line, document=policy(64))
    shown = page_as(operator).get(f"/catalogue/policies/{line.pk}/versions/2/")
    (change,) = shown.context["changes"]
    assert (change["path"], change["before"], change["after"]) == (
        "spec.concurrency.limit",
        "32",
        "64",
    )
    assert change["unit"] == "requests"
    assert page_as(operator).get(f"/catalogue/policies/{line.pk}/versions/3/").status_code == 404


@pytest.mark.parametrize(
    ("objectives", "said"),
    [
        ([("e2e_ms", 60_000), ("error", 0)], "E2E ≤ 60,000 ms, no error"),
        ([("ttft_ms", 1_234_567), ("tpot_ms", 62.5)], "TTFT ≤ 1,234,567 ms, TPOT ≤ 62.5 ms"),
        ([("error", 0)], "No error"),
    ],
)
def test_the_list_of_slos_writes_objectives_as_people_read_them(
    operator: Actor,
    page_as: Callable[[Actor], Client],
    objectives: list[tuple[str, float]],
    said: str,
) -> None:
    spec = {
        "target": 0.9,
        "objectives": [{"metric": name, "max": most} for name, most in objectives],
    }
    save_slo(actor=operator, document={**SLO, "spec": spec})
    (row,) = page_as(operator).get("/catalogue/slos/").context["rows"]
    assert row[-1]["text"] == said
