"""The tokens hold what tokens.css promises: contrast in both themes, series that stay apart."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
CSS = (ROOT / "static/css/tokens.css").read_text()
SURFACES = ("page", "sheet", "sunk")
SERIES = ("s1", "s2", "s3", "s4", "s5")
TONES = ("ok", "warn", "bad", "void")

# (what is read, what it stands on, least ratio)
PAIRS = [
    *((ink, ground, 4.5) for ink in ("ink", "ink-2", "ink-3", "accent") for ground in SURFACES),
    *((tone, ground, 4.5) for tone in TONES for ground in ("page", "sheet", f"{tone}-wash")),
    *(("on-fill", f"{tone}-fill", 4.5) for tone in TONES),
    *(("ink", f"{tone}-wash", 4.5) for tone in TONES),
    ("on-accent", "accent", 4.5),
    ("page", "ink", 4.5),
    *((series, "sheet", 3.0) for series in (*SERIES, "s0")),
    *((line, ground, 3.0) for line in ("control-line", "accent") for ground in ("page", "sheet")),
]
# Viénot's dichromat of the L and M cones, in linear light.
DEUTERANOPE = np.array([[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]])
TO_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def tokens(theme: str) -> dict[str, str]:
    """Each colour of one theme as #rrggbb."""
    found = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", CSS))
    for name, light, dark in re.findall(
        r"--([\w-]+):\s*light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)", CSS
    ):
        found[name] = light if theme == "light" else dark
    return found


def linear(color: str) -> np.ndarray:
    channels = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def ratio(one: str, other: str) -> float:
    weights = np.array([0.2126, 0.7152, 0.0722])
    low, high = sorted(float(weights @ linear(color)) for color in (one, other))
    return (high + 0.05) / (low + 0.05)


def seen_by_a_deuteranope(color: str) -> np.ndarray:
    """OKLab of what remains of a colour."""
    light = np.clip(DEUTERANOPE @ linear(color), 0, 1)
    return TO_LAB @ np.cbrt(TO_LMS @ light)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("ink", "ground", "least"), PAIRS)
def test_what_is_read_stands_out_from_what_it_stands_on(
    theme: str, ink: str, ground: str, least: float
) -> None:
    colors = tokens(theme)
    assert ratio(colors[ink], colors[ground]) >= least


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(SERIES, 2)))
def test_series_stay_apart_for_a_deuteranope(theme: str, one: str, other: str) -> None:
    colors = tokens(theme)
    difference = seen_by_a_deuteranope(colors[one]) - seen_by_a_deuteranope(colors[other])
    assert 100 * float(np.linalg.norm(difference)) >= 14


def test_black_and_white_have_the_ratio_that_the_standard_gives() -> None:
    assert ratio("#000000", "#ffffff") == pytest.approx(21)


def test_every_color_outside_the_tokens_is_a_token() -> None:
    for sheet in (ROOT / "static/css").glob("*.css"):
        if sheet.name != "tokens.css":
            assert not re.findall(r"#[0-9a-f]{3,8}\b|rgb\(|hsl\(", sheet.read_text()), sheet.name


def test_every_token_that_is_used_exists() -> None:
    known = set(re.findall(r"--([\w-]+):", CSS))
    local = {"part", "x", "series", "tone", "tone-wash", "tone-fill"}
    for sheet in (ROOT / "static/css").glob("*.css"):
        assert set(re.findall(r"var\(--([\w-]+)", sheet.read_text())) <= known | local, sheet.name
