"""The policy document as its author meets it: read whole, refused with reasons, named by a hash."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from documents.problem import DocumentError
from schedulers.concurrency.base import laws
from schedulers.decision import DecisionPoint
from schedulers.document import Policy, parse_yaml, to_yaml
from tests.schedulers.law_cases import LAW_OF_EVERY_POINT, parameters


def document(spec: object = None, **metadata: object) -> dict[str, Any]:
    return {
        "apiVersion": "headway/v1",
        "kind": "Policy",
        "metadata": {"name": "chat-steady", **metadata},
        "spec": {"concurrency": {"law": "fixed"}} if spec is None else spec,
    }


def refusals(given: object) -> list[str]:
    with pytest.raises(DocumentError) as caught:
        Policy.parse(given)
    return [str(problem) for problem in caught.value.problems]


def test_a_document_becomes_laws_with_their_parameters() -> None:
    policy = Policy.parse(
        parse_yaml("""
            apiVersion: headway/v1
            kind: Policy
            metadata: {name: chat-steady, owner: platform, labels: {tier: interactive}}
            spec:
              concurrency: {law: aimd, max: 64, timeout_ms: null}
        """)
    )
    law = policy.law("concurrency")
    assert law == laws.get("aimd")(max=64, timeout_ms=None)
    assert policy.law(DecisionPoint.RETRY) is None
    assert (policy.name, policy.metadata.owner) == ("chat-steady", "platform")
    assert policy.metadata.labels == {"tier": "interactive"}


def parsed(given: object) -> Policy:
    """The policy, where its parameters can be together."""
    try:
        return Policy.parse(given)
    except DocumentError as error:
        if "must not be above " not in str(error):
            raise
        reject()


@pytest.mark.parametrize(("point", "cls"), LAW_OF_EVERY_POINT)
@settings(max_examples=12, deadline=None)  # many laws: a wide net of few examples each
@given(data=st.data())
def test_every_document_survives_the_round_trip(
    point: str, cls: type[Any], data: st.DataObject
) -> None:
    given = document({point: {"law": cls.name, **data.draw(parameters(cls))}})
    policy = parsed(given)
    written = policy.to_document()
    assert Policy.parse(written) == policy
    assert Policy.parse(written).to_document() == written
    assert given["spec"][point].items() <= written["spec"][point].items()
    assert Policy.parse(parse_yaml(to_yaml(written))).sha256 == policy.sha256


def test_the_hash_names_what_is_said_not_how_it_is_written() -> None:
    short = Policy.parse(document({"concurrency": {"law": "aimd"}}))
    long = Policy.parse(document({"concurrency": {"max": 256.0, "add": 1, "law": "aimd"}}))
    other = Policy.parse(document({"concurrency": {"law": "aimd", "max": 255}}))
    assert short.sha256 == long.sha256 != other.sha256
    assert len(short.sha256) == 64


def test_every_fault_is_told_at_once_with_its_path() -> None:
    given = document({"concurrency": {"law": "fixed", "limt": 3}, "retri": {}}, nam="x", owner=3)
    told = refusals({**given, "kind": "SLO", "extra": 1})
    assert told == [
        "extra: unknown field; known here: apiVersion, kind, metadata, spec (got 1)",
        "kind: must be 'Policy' (got 'SLO')",
        "metadata.nam: unknown field; did you mean 'name'? (got 'x')",
        "metadata.owner: must be text (got 3)",
        "spec.retri: unknown field; did you mean 'retry'? (got {})",
        "spec.concurrency.limt: unknown field; did you mean 'limit'? (got 3)",
    ]


def test_a_document_fills_any_of_the_six_points_and_is_written_in_their_order() -> None:
    spec = {
        "retry": {"law": "full_jitter", "base_ms": 250},
        "batching": {"law": "tpot_budget"},
        "admission": {"law": "kv_reserve", "z": 2},
        "preemption": {"law": "most_slack", "mode": "recompute"},
        "ordering": {"law": "slack_density", "drop_hopeless": False},
    }
    policy = Policy.parse(document(spec))
    assert [str(point) for point in policy.laws] == [
        "admission", "ordering", "batching", "preemption", "retry",
    ]  # fmt: skip
    assert policy.to_document()["spec"]["admission"]["z"] == 2.0
    assert policy.law("concurrency") is None


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({}, "must fill at least one decision point"),
        ([], "must fill at least one decision point"),
        ({"concurrency": 3}, "spec.concurrency: must be a mapping with a law"),
        ({"concurrency": {}}, "known: adaptive_bdp, aimd, arc, concur,"),
        ({"concurrency": {"law": "bbr"}}, "spec.concurrency.law: unknown concurrency law"),
        (
            {"concurrency": {"law": "fixed", "limit": 0}},
            "spec.concurrency.limit: must be a whole number from 1 to 65536 requests (got 0)",
        ),
        (
            {"concurrency": {"law": "aimd", "min": 9, "max": 3}},
            "spec.concurrency.min: must not be above max (3 requests) (got 9)",
        ),
        (
            {"concurrency": {"law": "aimd", "max": 4}},
            "initial: must not be outside min and max (1 to 4 requests) (got 8)",
        ),
    ],
)
def test_a_spec_that_cannot_be_is_refused(spec: object, said: str) -> None:
    told = refusals(document(spec))
    assert len(told) == 1
    assert said in told[0]


@pytest.mark.parametrize(
    "metadata",
    [
        *({"name": name} for name in ("", "A", "-a", "a-", "a b", "a\n", "ä", "a" * 64, 7, None)),
        {"owner": "x" * 64},
        {"owner": "a\0"},
        {"description": "x" * 2001},
        {"description": "\ud800"},
        {"labels": ["tier"]},
        {"labels": {"tier": 1}},
        {"labels": {"": "x"}},
        {"labels": {"two words": "x"}},
        {"labels": {"tier": "x" * 64}},
        {"labels": {f"k{i}": "" for i in range(33)}},
    ],
)
def test_metadata_outside_its_rules_is_refused_by_field(metadata: dict[str, Any]) -> None:
    (told,) = refusals(document(**metadata))
    assert told.startswith(f"metadata.{next(iter(metadata))}")


@pytest.mark.parametrize("given", [None, [], "text", 3])
def test_what_is_no_mapping_is_refused(given: object) -> None:
    assert refusals(given)[0].startswith("document: must be a mapping")


def test_one_parameter_changes_and_the_rest_stays() -> None:
    policy = Policy.parse(document({"concurrency": {"law": "aimd", "backoff": 0.5}}))
    wider = policy.with_parameter("concurrency.max", 64)
    assert wider.law("concurrency") == laws.get("aimd")(backoff=0.5, max=64)
    assert wider.sha256 != policy.sha256
    assert policy.with_parameter("spec.concurrency.max", 256) == policy


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("concurrency.limt", 3, "did you mean 'limit'?"),
        ("concurrency.law", "aimd", "spec.concurrency.law: unknown field"),
        ("concurrency", 3, "unknown field"),
        ("retry.base_ms", 3, "spec.retry: is no decision point of this policy"),
        ("concurrency.limit", 0, "spec.concurrency.limit: must be a whole number from 1"),
    ],
)
def test_a_parameter_that_is_not_there_or_out_of_range_is_refused(
    path: str, value: object, said: str
) -> None:
    with pytest.raises(DocumentError) as caught:
        Policy.parse(document()).with_parameter(path, value)
    assert said in str(caught.value)
