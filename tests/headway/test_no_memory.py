"""A run whose process gets no more memory ends with a code of the table, and with a sentence."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Coroutine
from typing import Any

import pytest

from headway.running import shell


def refused(monkeypatch: pytest.MonkeyPatch, error: Exception) -> int:
    def run_fast(main: Coroutine[Any, Any, Any]) -> None:
        main.close()
        raise error

    monkeypatch.setattr(shell, "run_fast", run_fast)
    return shell.run_in_shell(Namespace())


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("can't start new thread")])
def test_no_more_memory_is_said_without_a_traceback(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refused(monkeypatch, error) == 30
    assert "no more memory" in capsys.readouterr().err


def test_a_defect_of_our_own_is_not_taken_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RuntimeError, match="a defect"):
        refused(monkeypatch, RuntimeError("a defect"))
