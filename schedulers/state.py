"""A law's state as JSON and back: kept over a restart, or compared with a shadow's.

States are frozen dataclasses or named tuples. Where a state is made anew at each request, a named
tuple takes a third of the time: a frozen dataclass sets its fields one by one through ``object``.
"""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")

NOTHING: Mapping[str, Any] = types.MappingProxyType({})
"""An empty mapping that nobody can fill: what a state's mapping is at first."""


def state_to_json(state: Any) -> Any:
    """Plain JSON values for a state made of frozen dataclasses, named tuples, tuples, mappings
    from text, numbers, text and None."""
    if dataclasses.is_dataclass(state) and not isinstance(state, type):
        return {
            field.name: state_to_json(getattr(state, field.name))
            for field in dataclasses.fields(state)
        }
    if isinstance(state, Mapping):
        return {key: state_to_json(item) for key, item in state.items()}
    if isinstance(state, tuple) and hasattr(state, "_fields"):
        return {name: state_to_json(getattr(state, name)) for name in state._fields}
    if isinstance(state, tuple):
        if all(type(item) is float and math.isfinite(item) for item in state):
            return list(state)
        return [state_to_json(item) for item in state]
    if isinstance(state, float) and not math.isfinite(state):
        raise ValueError(f"{state} is no JSON number; a state says None where it knows nothing")
    if state is None or isinstance(state, bool | int | float | str):
        return state
    raise TypeError(f"a state can't hold a {type(state).__name__}")


def state_from_json(cls: type[T], value: Any) -> T:
    """The state of that type; ``type(law.start())`` is the type to give."""
    restored: T = _restore(cls, value)
    return restored


def _restore(hint: Any, value: Any) -> Any:
    if value is None:
        return None
    if get_origin(hint) in (Union, types.UnionType):
        (hint,) = (arg for arg in get_args(hint) if arg is not type(None))
    if get_origin(hint) is tuple:
        if hint == tuple[float, ...]:
            return tuple(map(float, value))
        return tuple(_restore(kind, item) for kind, item in _items(get_args(hint), value))
    if get_origin(hint) is Mapping:
        return {key: _restore(get_args(hint)[1], item) for key, item in value.items()}
    if isinstance(hint, type) and (dataclasses.is_dataclass(hint) or hasattr(hint, "_fields")):
        hints = _hints(hint)
        return hint(**{name: _restore(hints[name], item) for name, item in value.items()})
    return hint(value)


@cache
def _hints(cls: type[Any]) -> dict[str, Any]:
    """Field types; reading annotations costs more than restoring a state."""
    return get_type_hints(cls)


def _items(kinds: tuple[Any, ...], values: list[Any]) -> list[tuple[Any, Any]]:
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return [(kinds[0], item) for item in values]
    return list(zip(kinds, values, strict=True))
