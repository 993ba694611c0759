"""A hidden engine is found again from its logs, at a rate that nobody fitted."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from documents.problem import DocumentError
from headway.__main__ import main
from loadtest.calibration.calibrate import calibrate, document
from loadtest.calibration.fitting import Log
from loadtest.calibration.judging import Error
from loadtest.calibration.simplex import minimise
from loadtest.traces.base import Measured, Traced
from simulator import profile as profiles
from simulator.virtual import Arrival, replay

START = profiles.load("qwen3-32b-h100-tp2")
HIDDEN = dataclasses.replace(START, t0_ms=3.0, t_w_ms=20.0, t_c_ms=0.15, t_kv_ms=1.5e-4)


def log_of(rate: float, count: int, seed: int) -> list[Traced]:
    """What the hidden engine does with a Poisson load."""
    draw = np.random.default_rng(seed)
    times = np.cumsum(draw.exponential(1 / rate, count)).tolist()
    prompts = np.clip(draw.lognormal(6.5, 1.0, count), 16, 6000).astype(int).tolist()
    outputs = np.clip(draw.lognormal(4.0, 0.7, count), 8, 300).astype(int).tolist()
    load = [Arrival(*each) for each in zip(times, prompts, outputs, strict=True)]
    return [
        Traced(ask.at, ask.prompt_tokens, ask.output_tokens, measured=Measured(one.ttft, one.e2e))
        for ask, one in zip(load, replay(load, HIDDEN, seed=seed), strict=True)
        if one.ttft is not None and one.e2e is not None
    ]


def test_an_engine_is_found_again_and_tested_at_a_rate_between() -> None:
    logs = [Log.whole("slow", log_of(0.5, 40, 1)), Log.whole("fast", log_of(2.5, 60, 2))]
    test = Log.whole("between", log_of(1.5, 60, 3))
    found = calibrate(START, logs, test, evaluations=140)
    start = {(each.metric, each.statistic): each.share for each in found.before}
    assert start["TPOT", "mean"] > 0.3
    assert all(each.share < 0.06 for each in found.after if each.statistic == "mean")
    assert found.light in ("green", "amber")
    assert not found.weak
    unknown = set(found.unidentified)
    assert {"t0_ms", "t_s_ms"} <= unknown, "few sequences at once: these are told by nothing"
    assert not {"t_w_ms", "t_c_ms"} & unknown
    for name in ("t_w_ms", "t_c_ms"):
        assert getattr(found.profile, name) == pytest.approx(getattr(HIDDEN, name), rel=0.25)
    written = profiles.parse(document(found.profile))
    assert written == found.profile
    assert "tested on between (60 requests)" in " ".join(written.source.split())
    assert "Not told by the logs: " in " ".join(written.error.split())
    assert written.checked


def test_a_single_log_is_halved_and_said_to_be_weak() -> None:
    found = calibrate(START, [Log.whole("one", log_of(1.0, 30, 4))], None, evaluations=5)
    assert found.weak
    assert "a weak test" in found.profile.error


def test_the_same_logs_give_the_same_profile() -> None:
    log = Log.whole("one", log_of(1.0, 24, 4))
    first, again = (calibrate(START, [log], None, evaluations=12).profile for _ in range(2))
    assert first == again


@pytest.mark.parametrize(
    ("share", "light"), [(0.05, "green"), (0.051, "amber"), (0.15, "amber"), (0.2, "red")]
)
def test_lights_change_at_5_and_15_percent(share: float, light: str) -> None:
    assert Error("TTFT", "mean", 1.0, 1.0 + share - 1e-9).light == light


def test_a_log_needs_enough_measured_requests() -> None:
    with pytest.raises(DocumentError, match="at least 5 requests"):
        Log.whole("short", [Traced(0.0, 5, 5, measured=Measured(0.1, 0.2))])
    few = Log.whole("few", log_of(1.0, 12, 4))
    with pytest.raises(DocumentError, match="at least 20 requests together"):
        calibrate(START, [few], None)
    with pytest.raises(DocumentError, match="test: must hold"):
        calibrate(START, [few, few], few)


def test_the_simplex_goes_down_a_bent_valley() -> None:
    def rosenbrock(point: np.ndarray) -> float:
        x, y = point.tolist()
        return float((1 - x) ** 2 + 100 * (y - x * x) ** 2)

    best, value = minimise(rosenbrock, np.array([-1.2, 1.0]), step=0.5, evaluations=400)
    assert value < 1e-6
    assert best == pytest.approx([1.0, 1.0], abs=0.01)


def written(path: Path, trace: list[Traced]) -> str:
    lines = [
        f'{{"input_toks": {each.prompt_tokens}, "output_toks": {each.output_tokens}, '
        f'"arrival_time": {each.at}, "queued_ts": 5.0, '
        f'"first_token_ts": {5.0 + each.measured.ttft}, '
        f'"last_token_ts": {5.0 + each.measured.e2e}}}\n'
        for each in trace
        if each.measured is not None
    ]
    path.write_text("".join(lines))
    return str(path)


def test_the_command_writes_a_profile_and_tells_each_light(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = written(tmp_path / "a.jsonl", log_of(0.5, 30, 1))
    test = written(tmp_path / "b.jsonl", log_of(1.0, 30, 2))
    out = tmp_path / "mine.yaml"
    words = ["--log", log, "--test", test, "--evaluations", "8", "--out", str(out)]
    assert main(["calibrate", *words, "--set", "gpu=Mine"]) in (0, 1)
    said = capsys.readouterr().out
    assert said.count("green") + said.count("amber") + said.count("red") >= 9
    assert profiles.load(str(out)).gpu == "Mine"
    for wrong, told in (
        ([], "either --log FILE or --endpoint URL"),
        (["--log", "none"], "can't be read"),
        (["--log", log, "--set", "blocks"], "NAME=VALUE"),
        (["--log", log, "--set", "blokcs=3"], "did you mean 'blocks'"),
        (["--log", log, "--set", "max_model_len=300"], "hold a request of"),
    ):
        assert main(["calibrate", *wrong, "--out", str(out)]) == 20
        assert told in capsys.readouterr().err
