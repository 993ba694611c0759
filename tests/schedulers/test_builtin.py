"""The policies that come along: each one parses, is found by its name, and says what it is."""

from __future__ import annotations

import pytest

from documents.problem import DocumentError
from schedulers.builtin import builtin, builtin_names
from schedulers.concurrency.base import laws


@pytest.mark.parametrize("name", builtin_names())
def test_a_built_in_policy_is_found_by_its_own_name(name: str) -> None:
    policy = builtin(name)
    assert policy.name == name
    assert policy.metadata.owner == "headway"
    assert policy.metadata.description
    assert policy.law("concurrency") is not None


def test_every_registered_law_has_a_policy_to_try_it_with() -> None:
    used = {type(builtin(name).law("concurrency")) for name in builtin_names()}
    assert used == set(laws.all().values())


@pytest.mark.parametrize("name", ["nope", "../catalogue/fixed-32", ""])
def test_an_unknown_name_is_answered_with_the_known_ones(name: str) -> None:
    with pytest.raises(DocumentError, match="known: adaptive-bdp, agents-concur, "):
        builtin(name)
