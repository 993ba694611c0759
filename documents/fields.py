"""Fields that explain themselves: unit, range and help stand on the dataclass field, once.

The parser's checks, the generated form, the JSON Schema and the docs table all read them from
here, so there is no second list to fall out of step.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, get_args, get_origin, get_type_hints

_MISSING = dataclasses.MISSING


@dataclass(frozen=True, slots=True)
class FieldInfo:
    """What is known of one field. ``kind`` is int, float, str, bool or any other annotation."""

    name: str
    kind: Any
    default: Any
    required: bool
    unit: str
    minimum: float | None
    maximum: float | None
    exclusive_minimum: bool
    choices: tuple[str, ...]
    help: str
    optional: bool
    attribute: str
    """Where the value stands on the instance; it differs from ``name`` where a method has that."""


def parameter(  # noqa: PLR0913 - a field's facts, all by keyword
    *,
    default: Any = _MISSING,
    default_factory: Any = _MISSING,
    unit: str = "",
    minimum: float | None = None,
    maximum: float | None = None,
    exclusive_minimum: bool = False,
    choices: tuple[str, ...] = (),
    help: str = "",  # noqa: A002 - the word that forms and schemas use
    name: str = "",
) -> Any:
    """Declare a dataclass field with its unit, range, choices and help.

    ``name`` is what documents call it, where that differs from the attribute.
    """
    metadata = {
        "unit": unit,
        "minimum": minimum,
        "maximum": maximum,
        "exclusive_minimum": exclusive_minimum,
        "choices": choices,
        "help": help,
        "name": name,
    }
    return dataclasses.field(default=default, default_factory=default_factory, metadata=metadata)


def describe(cls: type[Any]) -> tuple[FieldInfo, ...]:
    """Every init field of a dataclass, in order, with what was declared about it."""
    hints = get_type_hints(cls)
    found = []
    for field in dataclasses.fields(cls):
        if not field.init:
            continue
        kind, optional = _unwrap(hints[field.name])
        default = _default(field)
        meta = field.metadata
        found.append(
            FieldInfo(
                name=meta.get("name") or field.name,
                kind=kind,
                default=None if default is _MISSING else default,
                required=default is _MISSING,
                unit=meta.get("unit", ""),
                minimum=meta.get("minimum"),
                maximum=meta.get("maximum"),
                exclusive_minimum=meta.get("exclusive_minimum", False),
                choices=tuple(meta.get("choices", ())),
                help=meta.get("help", ""),
                optional=optional,
                attribute=field.name,
            )
        )
    return tuple(found)


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not _MISSING:
        return field.default_factory()
    return field.default


def _unwrap(hint: Any) -> tuple[Any, bool]:
    """``int | None`` becomes (int, True)."""
    args = get_args(hint)
    if type(None) in args and get_origin(hint) is not None:
        rest = [arg for arg in args if arg is not type(None)]
        return (rest[0] if len(rest) == 1 else hint), True
    return hint, False
