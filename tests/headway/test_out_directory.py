"""Where the files of a run go: never where another run is still writing its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from documents.problem import DocumentError
from headway.running.shell import claimed, directory
from loadtest.recorder import SAMPLES


def test_two_runs_in_one_directory_are_refused_even_by_force(tmp_path: Path) -> None:
    samples = tmp_path / SAMPLES
    samples.write_text("the first run's")
    with claimed(tmp_path):
        with pytest.raises(DocumentError, match="being written by another run"):
            directory(tmp_path, force=True)
        assert samples.exists(), "nothing of it is touched"

    assert directory(tmp_path, force=True) == tmp_path
    assert not samples.exists()
