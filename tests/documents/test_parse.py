"""Documents as their authors meet them: every fault named, with the path and the remedy."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from documents.canonical import canonical, sha256
from documents.fields import parameter
from documents.parse import build
from documents.problem import DocumentError


@dataclass(frozen=True)
class Law:
    limit: int = parameter(default=8, minimum=1, maximum=512, unit="requests")
    backoff: float = parameter(default=0.9, minimum=0.5, maximum=0.99)
    signal: str = parameter(default="ttft", choices=("ttft", "e2e"))
    share: float | None = parameter(default=None, minimum=0.0, exclusive_minimum=True)


def problems(given: object) -> list[str]:
    with pytest.raises(DocumentError) as caught:
        build(Law, given, path="spec.concurrency")
    return [str(problem) for problem in caught.value.problems]


def test_defaults_fill_what_is_not_given() -> None:
    assert build(Law, {"limit": 4}) == Law(limit=4)


def test_every_fault_is_told_at_once() -> None:
    assert len(problems({"limit": 0, "backof": 0.9, "signal": "tpot", "backoff": True})) == 4


def test_a_fault_names_path_range_unit_and_value() -> None:
    assert problems({"limit": 0}) == [
        "spec.concurrency.limit: must be a whole number from 1 to 512 requests (got 0)"
    ]


def test_a_misspelt_field_is_answered_with_the_nearest_name() -> None:
    assert "did you mean 'backoff'?" in problems({"backof": 0.9})[0]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "8", None, 2.5, True, 10**400])
def test_a_number_field_takes_only_finite_numbers_of_its_kind(value: object) -> None:
    assert len(problems({"limit": value})) == 1


def test_a_field_may_have_another_name_in_documents_than_in_code() -> None:
    @dataclass(frozen=True)
    class Constant:
        size: int = parameter(name="limit", minimum=1)

    assert build(Constant, {"limit": 4}) == Constant(size=4)
    with pytest.raises(DocumentError, match="unknown field"):
        build(Constant, {"size": 4, "limit": 4})


def test_an_exclusive_minimum_is_said_in_words() -> None:
    assert "above 0" in problems({"share": 0.0})[0]
    assert build(Law, {"share": None}).share is None


def test_key_order_and_whole_floats_do_not_change_the_hash() -> None:
    assert sha256({"b": 1.0, "a": [2]}) == sha256({"a": [2.0], "b": 1})
    assert canonical({"b": 1, "a": "é"}) == '{"a":"é","b":1}'.encode()


@dataclass(frozen=True)
class Named:
    name: str = parameter(default="")
    labels: dict[str, object] = parameter(default_factory=dict)  # noqa: RUF009 - it makes a field


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"name": "\ud800"}, "name"),
        ({"labels": {"a": ["\udfff"]}}, "labels.a.0"),
        ({"labels": {"\ud800": 1}}, "labels.\\ud800"),
    ],
)
def test_half_a_surrogate_pair_is_no_text(given: dict[str, object], path: str) -> None:
    for read in (lambda: build(Named, given), lambda: canonical(given)):
        with pytest.raises(DocumentError, match="holds a character that is no text") as caught:
            read()
        assert caught.value.problems[0].path == path
