"""Sealed values open for their owner under a listed key, and show themselves nowhere."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

from controlplane.sealing import SealError, Secret, is_current, seal, unseal

TEXT = "sk-live-1234567890"


@pytest.fixture
def keys(settings: Any) -> dict[str, bytes]:
    settings.SEAL_KEYS = {"k2": b"2" * 32, "k1": b"1" * 32}
    return settings.SEAL_KEYS


def test_what_was_sealed_opens_again_for_its_owner(keys: dict[str, bytes]) -> None:
    sealed = seal(Secret(TEXT), owner="a")
    assert sealed.startswith("k2.")
    assert TEXT not in sealed
    assert unseal(sealed, owner="a").reveal() == TEXT


def test_two_seals_of_one_text_differ(keys: dict[str, bytes]) -> None:
    assert seal(Secret(TEXT), owner="a") != seal(Secret(TEXT), owner="a")


def test_a_seal_moved_to_another_row_does_not_open(keys: dict[str, bytes]) -> None:
    with pytest.raises(SealError):
        unseal(seal(Secret(TEXT), owner="a"), owner="b")


@pytest.mark.parametrize("cut", [lambda s: s[:-4], lambda s: s[:10], lambda s: f"{s[:-2]}AA"])
def test_a_damaged_seal_does_not_open(keys: dict[str, bytes], cut: Any) -> None:
    with pytest.raises(SealError):
        unseal(cut(seal(Secret(TEXT), owner="a")), owner="a")


def test_an_old_key_opens_until_it_is_dropped(settings: Any) -> None:
    settings.SEAL_KEYS = {"k1": b"1" * 32}
    sealed = seal(Secret(TEXT), owner="a")
    settings.SEAL_KEYS = {"k2": b"2" * 32, "k1": b"1" * 32}
    assert unseal(sealed, owner="a").reveal() == TEXT
    assert not is_current(sealed)
    settings.SEAL_KEYS = {"k2": b"2" * 32}
    with pytest.raises(SealError, match="k1"):
        unseal(sealed, owner="a")


def test_a_secret_does_not_show_itself() -> None:
    secret = Secret(TEXT)
    assert TEXT not in f"{secret} {secret!r} {[secret]}"
    with pytest.raises(TypeError):
        pickle.dumps(secret)
    with pytest.raises(TypeError):
        json.dumps(secret)
