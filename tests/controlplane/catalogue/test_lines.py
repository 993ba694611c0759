"""SLOs and policies: lines of versions that nobody can change."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction
from django.test import Client

from controlplane.catalogue.examples import POLICY, SLO
from controlplane.catalogue.law_form import LawForm
from controlplane.catalogue.models import ImmutableError, Policy, PolicyVersion, Slo
from controlplane.catalogue.services.lines import save_policy, save_slo
from controlplane.catalogue.services.removal import delete
from controlplane.teams.rights import Actor
from documents.parse import build
from documents.problem import DocumentError
from documents.yaml_text import to_yaml
from schedulers.document import Policy as PolicyDocument
from schedulers.points import REGISTRIES


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
    said = {
        "concurrency-law": "fixed",
        "concurrency-limit": "1,024",
        "owner": "ops",
        "description": "d",
    }
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


def test_another_law_is_shown_with_its_parameters_and_keeps_what_was_typed(
    line: Policy, operator: Actor, page_as: Callable[[Actor], Client]
) -> None:
    """Nothing is saved; owner, description and the other points' values stay as they were typed."""
    typed = {
        "redraw": "1", "owner": "night shift", "description": "for the evening",
        "concurrency-law": "fixed", "concurrency-shown": "fixed", "concurrency-limit": "77",
        "ordering-law": "edf", "ordering-shown": "",
    }  # fmt: skip
    shown = page_as(operator).post(line.get_absolute_url(), typed)
    assert shown.status_code == 200
    form = shown.context["law"]
    assert set(form.at("ordering").parameters.fields) == {"drop_hopeless", "patience_s"}
    assert form.at("ordering").parameters["drop_hopeless"].value() is True, "the law's default"
    assert form.at("concurrency").parameters["limit"].value() == "77"
    assert form.at("admission").parameters is None
    html = shown.content.decode()
    assert 'value="night shift"' in html
    assert 'value="for the evening"' in html
    assert line.versions.count() == 1


def test_the_form_adds_a_law_at_one_point_and_takes_it_from_another(
    line: Policy, operator: Actor, page_as: Callable[[Actor], Client]
) -> None:
    said = {
        "admission-law": "saturation", "admission-shown": "saturation",
        "admission-queue_depth": "9",
        "retry-law": "full_jitter", "retry-shown": "",
        "concurrency-law": "", "concurrency-shown": "fixed", "concurrency-limit": "32",
    }  # fmt: skip
    client, address = page_as(operator), line.get_absolute_url()
    confirm = client.post(address, said).context["review"]["sha256"]
    assert client.post(address, {**said, "confirm": confirm}).status_code == 302
    spec = line.latest.document["spec"]
    assert sorted(spec) == ["admission", "retry"]
    assert spec["admission"] == {
        "law": "saturation", "queue_depth": 9.0, "kv_threshold": 0.8, "normal_ceiling": 0.9,
        "batch_ceiling": 0.75, "blind_in_flight": 100,
    }  # fmt: skip
    assert spec["retry"]["max_attempts"] == 6, "a law that was not shown yet has its defaults"


def test_every_point_can_be_filled_with_every_law(
    line: Policy, operator: Actor, page_as: Callable[[Actor], Client]
) -> None:
    """Each law's form, as it stands when it is first shown, gives a document that parses."""
    for point, registry in REGISTRIES.items():
        for name in registry.all():
            asked = {f"{point}-law": name, f"{point}-shown": ""}
            shown = LawForm(asked, base=POLICY, named=True)
            (form,) = [one.parameters for one in shown.points if one.point == point]
            assert form is not None
            filled = {f"{point}-{field}": form[field].value() for field in form.fields}
            filled = {key: value for key, value in filled.items() if value not in (None, False)}
            given = {**filled, f"{point}-law": name, f"{point}-shown": name}
            document = LawForm(given, base=POLICY, named=True).document()
            parsed = PolicyDocument.parse(document)
            assert parsed.laws[point] == build(registry.get(name), {}), name


def test_a_law_that_is_no_longer_there_is_not_replaced_in_silence(operator: Actor) -> None:
    gone = {**POLICY, "spec": {"concurrency": {"law": "gone", "knob": 1}}}
    form = LawForm({"owner": "x"}, base=gone, named=True)
    assert form.at("concurrency").stranger == "gone"
    assert form.document()["spec"] == {"concurrency": {"law": "gone", "knob": 1}}


def test_a_policy_without_any_law_is_refused_on_top(
    line: Policy, operator: Actor, page_as: Callable[[Actor], Client]
) -> None:
    answer = page_as(operator).post(line.get_absolute_url(), {"concurrency-law": ""})
    assert answer.status_code == 422
    assert any("spec" in error for error in answer.context["law"].about.non_field_errors())
    assert line.versions.count() == 1


def test_a_fault_in_the_law_form_stands_at_its_parameter(
    line: Policy, operator: Actor, page_as: Callable[[Actor], Client]
) -> None:
    answer = page_as(operator).post(
        line.get_absolute_url(), {"concurrency-law": "fixed", "concurrency-limit": "lots"}
    )
    assert answer.status_code == 422
    assert "got 'lots'" in answer.context["law"].at("concurrency").parameters.errors["limit"][0]
    assert line.versions.count() == 1


def test_a_new_policy_by_form_needs_a_name(
    operator: Actor, page_as: Callable[[Actor], Client]
) -> None:
    client = page_as(operator)
    refused = client.post(
        "/catalogue/policies/new/",
        {"concurrency-law": "fixed", "concurrency-limit": "8", "name": ""},
    )
    assert "name" in refused.context["law"].about.errors
    client.post(
        "/catalogue/policies/new/",
        {"concurrency-law": "fixed", "concurrency-limit": "8", "name": "eight"},
    )
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
