"""Samples as JSON lines, as Parquet, or as both: the same samples, and never none."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings

from documents.problem import DocumentError
from headway.__main__ import main
from loadtest import sample_parquet, sample_store
from loadtest.recorder import PARQUET, SAMPLES, Recorder, read_samples
from measurement.outcome import Outcome
from measurement.sample import Attempt, Sample
from measurement.verdict import EXIT_CODES
from tests.measurement.builders import answered, failed, sample_lists

RICH = [
    answered(0, 0.0, gap_tokens=(1, 2, 1, 1), retry_after=0.1 + 0.2),
    answered(
        1, 0.5, gaps=(), gap_tokens=(), attempts=(Attempt(Outcome.REJECTED_429, 0.1, 0.2, 429),)
    ),
    failed(Outcome.IN_BAND_ERROR, 2, 1.0, error="schlecht: \N{SNOWMAN}\n", status=200),
    Sample(3, "other", 1.5, Outcome.DROPPED),
]


def recorded(out: Path, samples: list[Sample]) -> Path:
    with Recorder(out) as recorder:
        for sample in samples:
            recorder.sample(sample)
    return out


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return recorded(tmp_path, RICH)


@pytest.fixture
def without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, name, None)


@settings(max_examples=15, deadline=None)
@given(sample_lists())
def test_any_samples_come_back_from_parquet_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, samples: list[Sample]
) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path_factory.mktemp("parquet") / PARQUET
    assert sample_parquet.write(samples, path) == len(samples)
    assert list(sample_parquet.read(path)) == samples


@pytest.mark.parametrize(
    ("wanted", "files"),
    [("jsonl", {SAMPLES}), ("parquet", {PARQUET}), ("both", {SAMPLES, PARQUET})],
)
def test_every_format_leaves_its_files_and_every_reader_finds_the_samples(
    out: Path, wanted: str, files: set[str]
) -> None:
    pytest.importorskip("pyarrow")
    sample_store.settle(out, wanted)

    assert {path.name for path in out.glob("*samples*")} == files
    assert list(read_samples(out)) == RICH


def test_more_samples_than_a_group_are_written_group_by_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(sample_parquet, "ROWS", 10)
    samples = [answered(index, index / 10) for index in range(25)]
    sample_parquet.write(iter(samples), tmp_path / PARQUET)

    assert parquet.ParquetFile(tmp_path / PARQUET).num_row_groups == 3
    assert list(sample_parquet.read(tmp_path / PARQUET)) == samples


def test_a_conversion_that_breaks_off_leaves_the_lines_and_no_half_a_file(out: Path) -> None:
    pytest.importorskip("pyarrow")

    def broken() -> Iterator[Sample]:
        yield RICH[0]
        raise OSError("no space left on device")

    with pytest.raises(OSError, match="no space"):
        sample_parquet.write(broken(), out / PARQUET)

    assert [path.name for path in out.glob(".*")] + [
        path.name for path in out.glob("*.parquet")
    ] == []
    assert list(read_samples(out)) == RICH


@pytest.mark.usefixtures("without_pyarrow")
def test_without_pyarrow_nothing_is_sent_and_the_remedy_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--endpoint", "http://127.0.0.1:1", "--model", "m", "--kind", "openai", "--rate", "1"]
    words += ["--duration", "1s", "--out", str(tmp_path / "run"), "--samples-format", "parquet"]

    assert main(["run", *words]) == EXIT_CODES["bad_configuration"]
    assert "headway[parquet]" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_another_format_is_refused_with_those_there_are() -> None:
    with pytest.raises(DocumentError, match="jsonl, parquet, both"):
        sample_store.check("csv")
