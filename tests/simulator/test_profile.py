"""Profiles: every shipped one is whole and in the docs; a faulty one says where."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from documents.problem import DocumentError
from simulator import profile

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "simulator/profiles/qwen3-32b-h100-tp2.yaml").read_text()


def test_the_default_is_the_fitted_one() -> None:
    default = profile.load(profile.DEFAULT)
    assert (default.t0_ms, default.t_w_ms, default.t_c_ms) == (5.43, 10.3, 0.0594)
    assert default.mean_error_percent == 3.6
    assert len(profile.names()) >= 16


@pytest.mark.parametrize("name", profile.names())
def test_a_shipped_profile_states_its_source_and_its_error(name: str) -> None:
    shipped = profile.load(name)
    assert len(shipped.source) > 30
    assert shipped.checked == ("%" in shipped.error and "mean" in shipped.error.lower()) or (
        not shipped.checked and re.search(r"[Nn]o end-to-end check|wasn't checked", shipped.error)
    )
    assert shipped.config().blocks == shipped.blocks


def test_the_docs_have_a_row_for_each_profile_and_no_other() -> None:
    page = (ROOT / "docs/profiles.md").read_text()
    rows = dict(re.findall(r"^\| `([^`]+)` \|(.*)$", page, flags=re.MULTILINE))
    assert sorted(rows) == profile.names()
    for name, row in rows.items():
        shipped = profile.load(name)
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        stated = f"{shipped.mean_error_percent:g} %" if shipped.checked else "not checked"
        assert cells == [
            shipped.gpu,
            shipped.model,
            str(shipped.tensor_parallel),
            shipped.engine,
            str(shipped.blocks),
            f"{shipped.token_budget} / {shipped.max_seqs}",
            stated,
        ]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        pytest.param(("t0_ms: 5.43", "t0_ms: -1"), "t0_ms: must be", id="a negative time"),
        pytest.param(("t0_ms: 5.43", "t_zero: 1"), "t0_ms: is required", id="a missing field"),
        pytest.param(("t0_ms: 5.43", "t0_mss: 1"), "did you mean 't0_ms'", id="a misspelt field"),
        pytest.param(("blocks: 19400", "blocks: 100"), "must fit the KV cache", id="no memory"),
        pytest.param(("gpu: ", "gpu: ["), "is not YAML", id="no YAML"),
    ],
)
def test_a_faulty_profile_says_where(change: tuple[str, str], told: str) -> None:
    with pytest.raises(DocumentError, match=re.escape(told)):
        profile.parse(TEXT.replace(*change), path="mine")


def test_a_file_of_ones_own_can_be_named(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text(TEXT.replace("blocks: 19400", "blocks: 5000"))
    assert profile.load(str(mine)).blocks == 5000
    with pytest.raises(DocumentError, match="or one of: deepseek-v3-fp8-h200-tp8"):
        profile.load("gpt-2")
