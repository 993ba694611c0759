"""docs/ab.md names every option, place, message and file."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from headway.commands import ab
from loadtest.ab import execution, worker
from loadtest.ab.order import Where

PAGE = Path("docs/ab.md").read_text("utf-8")


def options() -> list[str]:
    parser = argparse.ArgumentParser()
    ab.add_arguments(parser)
    found = {option for action in parser._actions for option in action.option_strings}
    return sorted(found - {"-h", "--help"})


@pytest.mark.parametrize("option", options())
def test_every_option_has_its_row(option: str) -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| `--")]
    assert any(f"`{option}`" in row for row in rows)


def test_every_place_file_and_message_is_told() -> None:
    for where in Where:
        assert f"| `{where}` |" in PAGE
    for file in (execution.RESULT, execution.ORDER, execution.BLOCKS):
        assert f"| `{file}` |" in PAGE
    said = re.findall(r'say\(\s*"(\w+)"', Path(worker.__file__).read_text("utf-8"))
    assert set(said) == {"started", "progress", "block", "finished", "error"}
    for message in said:
        assert f"| `{message}` |" in PAGE
    for key in worker.KEYS:
        assert f"`{key}`" in PAGE
