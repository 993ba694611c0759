"""``--proxy`` on the command line: every process of a run calls through it, or none is started."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engines.proxy import Proxy
from headway.__main__ import main
from loadtest import worker
from loadtest.scenario import Scenario
from measurement.verdict import EXIT_CODES
from tests.loadtest.test_scenario import document


def test_a_proxy_that_is_none_is_refused_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--endpoint", "http://127.0.0.1:1", "--model", "m", "--kind", "openai", "--rate", "1"]
    out = tmp_path / "run"

    code = main(["run", *words, "--out", str(out), "--proxy", "http://user:secret@proxy:3128"])

    said = capsys.readouterr().err
    assert code == EXIT_CODES["bad_configuration"]
    assert "proxy" in said
    assert "secret" not in said
    assert not out.exists()


def test_a_worker_process_calls_through_the_proxy_that_it_is_given(tmp_path: Path) -> None:
    given = tmp_path / "given.json"
    given.write_text(json.dumps(Scenario.parse(document()).to_document()), "utf-8")
    words = ["--scenario", str(given), "--out", str(tmp_path), "--egress", "open"]
    through = worker.order_of(worker.arguments().parse_args([*words, "--proxy", "http://p:81"]))
    straight = worker.order_of(worker.arguments().parse_args(words))

    assert through.rules.proxy == Proxy("p", 81)
    assert straight.rules.proxy is None
