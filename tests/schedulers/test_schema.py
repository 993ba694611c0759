"""The generated schema and forms: they say what the parser says, for every registered law."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from documents.fields import describe
from documents.problem import DocumentError
from schedulers.builtin import builtin, builtin_names
from schedulers.concurrency.base import laws
from schedulers.document import Policy
from schedulers.schema import form_fields, schema
from tests.schedulers.law_cases import LAW_OF_EVERY_POINT
from tests.schedulers.test_document import document

VALIDATOR = Draft202012Validator(schema())
every_law = pytest.mark.parametrize(("point", "cls"), LAW_OF_EVERY_POINT)
ANYTHING = st.one_of(
    st.integers(-5, 70_000),
    st.floats(-1.0, 2.0),
    st.floats(0, 1e6),
    st.sampled_from([None, True, "", "ttft", "e2e", "8", 8.0, 10**400, [], {}]),
)
ORDER = ("must not be above ", "must not be outside min and max")


def faults(given: object) -> list[str]:
    """What the parser finds, but for the comparison of two fields, which a schema can't make."""
    try:
        Policy.parse(given)
    except DocumentError as error:
        return [p.message for p in error.problems if not p.message.startswith(ORDER)]
    return []


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(schema())


@every_law
@settings(max_examples=15, deadline=None)  # many laws: a wide net of few examples each
@given(data=st.data())
def test_schema_and_parser_take_the_same_parameters(
    point: str, cls: type[Any], data: st.DataObject
) -> None:
    names = [info.name for info in describe(cls)]
    entry = data.draw(st.dictionaries(st.sampled_from([*names, "limt"]), ANYTHING, max_size=3))
    given = document({point: {"law": cls.name, **entry}})
    assert VALIDATOR.is_valid(given) == (faults(given) == [])


@every_law
def test_schema_and_parser_agree_at_the_edges_of_every_range(point: str, cls: type[Any]) -> None:
    for info in describe(cls):
        for edge in {info.minimum, info.maximum} - {None}:
            for value in (edge, edge - 1e-6, edge + 1e-6, edge - 1, edge + 1):
                given = document({point: {"law": cls.name, info.name: value}})
                assert VALIDATOR.is_valid(given) == (faults(given) == []), (info.name, value)


@pytest.mark.parametrize(
    "given",
    [
        {},
        document({}),
        document({"concurrency": {"law": "bbr"}}),
        document({"concurrency": {}}),
        document({"admission": {"law": "alway"}}),
        document(name="Not a slug"),
        document(labels={"tier": 1}),
        document(labels={"two words": "x"}),
        document(nam="x"),
        {**document(), "kind": "SLO"},
        {**document(), "extra": 1},
    ],
)
def test_what_the_parser_refuses_the_schema_refuses(given: dict[str, Any]) -> None:
    assert faults(given)
    assert not VALIDATOR.is_valid(given)


@pytest.mark.parametrize("name", builtin_names())
def test_what_is_stored_is_valid(name: str) -> None:
    assert list(VALIDATOR.iter_errors(builtin(name).to_document())) == []


def test_a_field_carries_its_unit_range_default_and_help() -> None:
    entries = schema()["properties"]["spec"]["properties"]["concurrency"]["oneOf"]
    (fixed,) = (entry for entry in entries if entry["title"] == "fixed")
    assert fixed["properties"]["limit"] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 65_536,
        "default": 32,
        "x-unit": "requests",
        "description": "How many requests may be in flight.",
    }


@every_law
def test_a_form_has_every_parameter_and_its_values_parse(point: str, cls: type[Any]) -> None:
    fields = form_fields(cls)
    assert [f.name for f in fields] == [info.name for info in describe(cls)]
    entry = {field.name: field.value for field in fields}
    assert Policy.parse(document({point: {"law": cls.name, **entry}}))


def test_a_form_shows_a_laws_own_values() -> None:
    law = laws.get("aimd")(max=64)
    shown = {field.name: field for field in form_fields(law)}
    assert (shown["max"].value, shown["max"].default, shown["max"].unit) == (64, 256, "requests")
    assert (shown["max"].control, shown["max"].step, shown["add"].step) == ("number", "1", "any")
    assert (shown["signal"].control, shown["signal"].choices) == ("select", ("ttft", "e2e"))
    assert (shown["timeout_ms"].label, shown["timeout_ms"].required) == ("timeout ms", False)
