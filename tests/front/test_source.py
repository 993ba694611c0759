"""Rules of the front end's own files: short modules, no inline code, every word translated."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted((ROOT / "static/js").rglob("*.js"))
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
WORDS = (ROOT / "static/js/words.js").read_text()


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("module", MODULES, ids=name)
def test_a_module_is_short_checked_and_makes_no_markup_from_text(module: Path) -> None:
    text = module.read_text()
    assert text.startswith("// @ts-check\n")
    assert len(text.splitlines()) <= 150
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", text)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)


@pytest.mark.parametrize("template", TEMPLATES, ids=name)
def test_a_template_holds_no_inline_code_and_nothing_from_elsewhere(template: Path) -> None:
    text = template.read_text()
    assert not re.search(r"<script(?![^>]*\bsrc=)", text)
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=", text)
    assert not re.search(r"(?:src|href)=\"(?:https?:)?//", text)


@pytest.mark.parametrize("template", TEMPLATES, ids=name)
def test_a_template_says_what_it_is_and_what_it_needs(template: Path) -> None:
    comment = re.search(r"\{# (.+?) #\}", template.read_text())
    assert comment
    if "base" not in template.stem and template.stem != "bare":
        assert "Needs: " in comment[1]


@pytest.mark.parametrize("template", TEMPLATES, ids=name)
def test_every_word_of_a_template_is_translated(template: Path) -> None:
    text = re.sub(r"\{% block main_class %\}.*?\{% endblock %\}", "", template.read_text())
    text = re.sub(r"\{%\s*blocktranslate.*?endblocktranslate\s*%\}", "", text, flags=re.DOTALL)
    text = re.sub(
        r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}|<(svg|code|pre|kbd)\b.*?</\1>", "", text, flags=re.DOTALL
    )
    text = re.sub(r"<[^>]*>", "|", text)
    own = {"Headway", "SLO", "SLOs", "TTFT", "TPOT", "UTC", "sha256", "P50", "P95", "P99"}
    words = set(re.findall(r"[A-Za-z][A-Za-z0-9]{2,}", text))
    assert words <= own


def test_every_word_that_a_script_asks_for_exists() -> None:
    known = set(re.findall(r"(\w+): \"", WORDS))
    asked = {
        key for module in MODULES for key in re.findall(r"\bsay\(\"(\w+)\"", module.read_text())
    }
    assert asked
    assert asked <= known


def test_every_icon_that_a_template_names_is_drawn() -> None:
    drawn = set(re.findall(r'id="i-(\w+)"', (ROOT / "templates/parts/symbols.html").read_text()))
    named = {
        icon
        for template in TEMPLATES
        for icon in re.findall(r'icon\.html" with name="(\w+)"', template.read_text())
    }
    assert named <= drawn
    statuses = {"queued", "running", "cancelling", "done", "failed", "cancelled", "lost"}
    assert statuses | {"pass", "fail", "inconclusive", "invalid", "none"} <= drawn
