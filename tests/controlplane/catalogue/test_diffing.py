"""The diff of two versions, and the way to the next one through it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.catalogue.diffing import Kind, parameter_diff, parameters_kept
from controlplane.catalogue.documents import flat, parse_policy
from controlplane.catalogue.examples import POLICY
from controlplane.catalogue.models import Policy
from controlplane.catalogue.services.lines import save_policy
from controlplane.teams.rights import Actor
from documents.yaml_text import to_yaml


def policy(law: str = "fixed", **parameters: Any) -> dict[str, Any]:
    document = copy.deepcopy(POLICY)
    document["spec"] = {"concurrency": {"law": law, **parameters}}
    return dict(parse_policy(document))


@pytest.fixture
def line(operator: Actor) -> Policy:
    """v1 and v2 are fixed at 32 and 64, v3 has another law."""
    line = save_policy(actor=operator, document=policy(limit=32)).line
    for document in (policy(limit=64), policy("aimd")):
        save_policy(actor=operator, line=line, document=document)
    return line


def test_a_changed_parameter_comes_with_its_unit_and_help() -> None:
    (change,) = parameter_diff(policy(limit=32), policy(limit=64))
    assert (change.path, change.before, change.after) == ("spec.concurrency.limit", 32, 64)
    assert (change.kind, change.unit) == (Kind.CHANGED, "requests")
    assert change.help


def test_another_law_is_told_as_such_and_its_parameters_as_added_and_removed() -> None:
    found = {one.path: one for one in parameter_diff(policy(limit=32), policy("aimd"))}
    assert found["spec.concurrency.law"].kind is Kind.LAW
    assert found["spec.concurrency.limit"].kind is Kind.REMOVED
    assert found["spec.concurrency.backoff"].kind is Kind.ADDED
    assert found["spec.concurrency.timeout_ms"].unit == "ms"


def test_a_law_that_is_no_longer_there_is_still_compared() -> None:
    gone = policy(limit=32)
    gone["spec"]["concurrency"] = {"law": "gone", "knob": 1}
    found = {one.path: one for one in parameter_diff(gone, policy(limit=32))}
    assert found["spec.concurrency.knob"].kind is Kind.REMOVED
    assert found["spec.concurrency.knob"].unit == ""


leaves = st.sampled_from([None, False, 2, 0.5, "", "x"])
documents = st.recursive(
    st.dictionaries(st.sampled_from("abcd"), leaves, max_size=3),
    lambda inner: st.dictionaries(st.sampled_from("abcd"), leaves | inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)  # the first call imports every law
@given(a=documents, b=documents)
def test_applied_to_the_first_a_diff_gives_the_second(
    a: Mapping[str, Any], b: Mapping[str, Any]
) -> None:
    changed = parameter_diff(a, b)
    made = flat(a)
    for one in changed:
        if one.kind is Kind.REMOVED:
            del made[one.path]
        else:
            made[one.path] = one.after
    assert made == flat(b)
    back = {one.path: (one.after, one.before) for one in parameter_diff(b, a)}
    assert back == {one.path: (one.before, one.after) for one in changed}
    kept = {one.path for one in parameters_kept(a, b)}
    assert kept | {one.path for one in changed} == {*flat(a), *flat(b)}


def test_the_page_of_two_versions_shows_both_and_folds_what_is_equal(
    line: Policy, operator: Actor, page_as: Callable[[Actor], Client]
) -> None:
    client = page_as(operator)
    shown = client.get(f"{line.get_absolute_url()}diff/1/2/")
    (change,) = shown.context["changes"]
    assert (change["before"], change["after"]) == ("32", "64")
    assert "spec.concurrency.law" in {one["path"] for one in shown.context["kept"]}
    assert "No two runs to lay side by side" in shown.content.decode()
    assert client.get(f"{line.get_absolute_url()}diff/1/9/").status_code == 404


@pytest.mark.parametrize(
    ("asked", "leads_to"),
    [("?from=1&to=3", "1/3"), ("", "2/3"), ("?from=x&to=99", "2/3"), ("?from=3&to=1", "3/1")],
)
def test_two_versions_are_chosen_by_a_plain_form(
    line: Policy,
    operator: Actor,
    page_as: Callable[[Actor], Client],
    asked: str,
    leads_to: str,
) -> None:
    answer = page_as(operator).get(f"{line.get_absolute_url()}diff/{asked}")
    assert answer["Location"] == f"{line.get_absolute_url()}diff/{leads_to}/"


def test_the_api_gives_the_same_diff(
    line: Policy, operator: Actor, api_as: Callable[..., Callable[..., Any]]
) -> None:
    call = api_as(operator)
    said = call("get", "/policies/my-policy/diff?from=1&to=2").json()
    assert (said["from"], said["to"], said["measured"]) == (1, 2, [])
    (change,) = said["parameters"]
    assert (change["before"], change["after"], change["kind"]) == (32, 64, "changed")
    newest = call("get", "/policies/my-policy/diff").json()
    assert (newest["from"], newest["to"]) == (2, 3)
    for query, pointer in (("from=9", "#/from"), ("to=x", "#/to"), (f"to={'9' * 30}", "#/to")):
        refused = call("get", f"/policies/my-policy/diff?{query}")
        assert refused.status_code == 422
        assert [one["pointer"] for one in refused.json()["errors"]] == [pointer]


def test_a_new_version_is_made_from_any_version_and_says_which(
    line: Policy, operator: Actor, page_as: Callable[[Actor], Client]
) -> None:
    client, address = page_as(operator), line.get_absolute_url()
    form = client.get(f"{address}?from=1")
    assert form.context["law"].at("concurrency").parameters.fields["limit"].initial == "32"
    said = {"from": 1, "concurrency-law": "fixed", "concurrency-limit": "48"}
    review = client.post(address, said).context["review"]
    (change,) = review["changes"]
    assert (change["before"], change["after"]) == ("32", "48")
    assert line.versions.count() == 3
    saved = client.post(address, {**said, "confirm": review["sha256"]})
    assert saved.status_code == 302
    assert (line.latest.number, line.latest.based_on) == (4, 1)
    shown = client.get(f"{address}versions/4/")
    assert shown.context["before"].number == 1
    assert client.get(f"{address}?from=9").status_code == 404


def test_what_is_changed_after_the_look_is_looked_at_again(
    line: Policy, operator: Actor, page_as: Callable[[Actor], Client]
) -> None:
    client, address = page_as(operator), line.get_absolute_url()
    seen = client.post(address, {"from": 1, "concurrency-law": "fixed", "concurrency-limit": "48"})
    confirm = seen.context["review"]["sha256"]
    other = client.post(
        address,
        {"from": 1, "concurrency-law": "fixed", "concurrency-limit": "49", "confirm": confirm},
    )
    assert other.context["review"]["changes"][0]["after"] == "49"
    assert line.versions.count() == 3


@pytest.mark.parametrize("limit", ["32", "64"])
def test_an_identical_document_is_told_which_version_it_is(
    line: Policy, operator: Actor, page_as: Callable[[Actor], Client], limit: str
) -> None:
    said = {"from": 1, "concurrency-law": "fixed", "concurrency-limit": limit}
    answer = page_as(operator).post(line.get_absolute_url(), said, follow=True)
    number = 1 if limit == "32" else 2
    told = answer.content.decode()
    assert f"Nothing changed: this document is my-policy v{number} already." in told
    assert "point an alias at it" in told
    assert line.versions.count() == 3


def test_a_document_as_text_is_looked_at_too(
    line: Policy, operator: Actor, page_as: Callable[[Actor], Client]
) -> None:
    client, address = page_as(operator), line.get_absolute_url()
    said = {"from": 3, "text": to_yaml(policy("aimd", backoff=0.8))}
    review = client.post(address, said).context["review"]
    assert [one["path"] for one in review["changes"]] == ["spec.concurrency.backoff"]
    client.post(address, {**said, "confirm": review["sha256"]})
    assert line.latest.based_on == 3
    broken = client.post(address, {"text": to_yaml(policy(limit=32) | {"kind": "Slo"})})
    assert broken.status_code == 422
    assert "must be 'Policy'" in broken.context["text"].errors["text"][0]


def test_over_the_api_a_version_is_based_on_the_newest(
    line: Policy, operator: Actor, api_as: Callable[..., Callable[..., Any]]
) -> None:
    call = api_as(operator)
    listed = call("get", "/policies/my-policy/versions").json()["results"]
    assert [one["based_on"] for one in listed] == [2, 1, None]
