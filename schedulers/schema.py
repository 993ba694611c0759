"""The policy document's JSON Schema and form fields, read off the registered laws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from documents.fields import FieldInfo, describe
from schedulers.decision import DecisionPoint
from schedulers.document import (
    API_VERSION,
    KIND,
    LABEL_KEY,
    MAX_DESCRIPTION,
    MAX_LABEL,
    MAX_LABELS,
    MAX_OWNER,
    SLUG,
)
from schedulers.law import Law
from schedulers.points import registered

_TYPES = {int: "integer", float: "number", str: "string", bool: "boolean"}

Control = Literal["number", "text", "select", "checkbox"]


@dataclass(frozen=True, slots=True)
class FormField:
    """One parameter as a form shows it. ``value`` is the law's own, or the default of its class."""

    name: str
    label: str
    control: Control
    value: Any
    default: Any
    minimum: float | None
    maximum: float | None
    exclusive_minimum: bool
    step: Literal["1", "any"]
    unit: str
    choices: tuple[str, ...]
    required: bool
    """False where an empty field has a meaning of its own (null in the document)."""
    help: str


def schema() -> dict[str, Any]:
    """JSON Schema 2020-12 of a policy document; units stand under ``x-unit``.

    It can't compare two fields, so the order of min, initial and max is Policy.parse's alone.
    """
    points = {str(point): _point(point) for point in DecisionPoint}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Headway policy",
        **_object(
            {
                "apiVersion": {"const": API_VERSION},
                "kind": {"const": KIND},
                "metadata": _metadata(),
                "spec": {
                    "description": "The law that fills each decision point.",
                    **_object(points, required=()),
                    "minProperties": 1,
                },
            }
        ),
    }


def law_schema(law: type[Law]) -> dict[str, Any]:
    """The schema of one law's entry in the spec."""
    properties = {info.name: _field(info) for info in describe(law)}
    required = ["law", *(info.name for info in describe(law) if info.required)]
    return {
        "title": law.name,
        "description": law.summary,
        **_object({"law": {"const": law.name}, **properties}, required=required),
    }


def form_fields(law: Law | type[Law]) -> tuple[FormField, ...]:
    """The form of a law: its class gives the defaults, an instance its own values."""
    cls = law if isinstance(law, type) else type(law)
    return tuple(
        FormField(
            name=info.name,
            label=info.name.replace("_", " "),
            control=_control(info),
            value=info.default if isinstance(law, type) else getattr(law, info.attribute),
            default=info.default,
            minimum=info.minimum,
            maximum=info.maximum,
            exclusive_minimum=info.exclusive_minimum,
            step="1" if info.kind is int else "any",
            unit=info.unit,
            choices=info.choices,
            required=not info.optional,
            help=info.help,
        )
        for info in describe(cls)
    )


def _point(point: DecisionPoint) -> dict[str, Any]:
    return {"oneOf": [law_schema(law) for law in registered(point).values()]}


def _metadata() -> dict[str, Any]:
    return _object(
        {
            "name": {"type": "string", "pattern": SLUG},
            "owner": {"type": "string", "maxLength": MAX_OWNER},
            "description": {"type": "string", "maxLength": MAX_DESCRIPTION},
            "labels": {
                "type": "object",
                "maxProperties": MAX_LABELS,
                "propertyNames": {"pattern": LABEL_KEY},
                "additionalProperties": {"type": "string", "maxLength": MAX_LABEL},
            },
        },
        required=("name",),
    )


def _object(
    properties: dict[str, Any], required: tuple[str, ...] | list[str] | None = None
) -> dict[str, Any]:
    """An object with these fields and no others; all are required unless said otherwise."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(properties if required is None else required),
        "properties": properties,
    }


def _field(info: FieldInfo) -> dict[str, Any]:
    kind = _TYPES[info.kind]
    found: dict[str, Any] = {"type": [kind, "null"] if info.optional else kind}
    if info.choices:
        found["enum"] = [*info.choices, *([None] if info.optional else [])]
    if info.minimum is not None:
        found["exclusiveMinimum" if info.exclusive_minimum else "minimum"] = info.minimum
    if info.maximum is not None:
        found["maximum"] = info.maximum
    if not info.required:
        found["default"] = info.default
    if info.unit:
        found["x-unit"] = info.unit
    return {**found, "description": info.help}


def _control(info: FieldInfo) -> Control:
    if info.choices:
        return "select"
    if info.kind is bool:
        return "checkbox"
    return "number" if info.kind in (int, float) else "text"
