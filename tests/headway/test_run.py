"""``headway run`` as a user calls it: a subprocess, a real socket, files and an exit code."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from headway.__main__ import main
from loadtest.recorder import read_decisions, read_samples, read_windows
from measurement.window import roll_up
from tests.engine_process import EngineProcess, engine_process

FILES = {"scenario.json", "run.json", "samples.jsonl", "windows.jsonl", "trace.jsonl"}
LATENCIES = ("ttft_ms", "service_ttft_ms", "tpot_ms", "itl_ms", "e2e_ms", "send_lag_ms")


@pytest.fixture(scope="module")
def engine() -> Iterator[EngineProcess]:
    with engine_process() as running:
        yield running


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "headway", "run", *words]


def headway_run(*words: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*words), capture_output=True, text=True, timeout=timeout, check=False
    )


def summary_of(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "summary.json").read_text())
    return found


def reconcile(out: Path) -> dict[str, Any]:
    """Each offered request has one outcome, in summary, samples and windows alike."""
    summary, samples = summary_of(out), list(read_samples(out))
    outcomes: dict[str, int] = {}
    for sample in samples:
        outcomes[sample.outcome] = outcomes.get(sample.outcome, 0) + 1
    assert len({sample.index for sample in samples}) == len(samples) == summary["offered"]
    assert summary["outcomes"] == outcomes
    (whole,) = roll_up(read_windows(out), 3_600.0, ended=True)
    assert whole.cohort.pending == 0
    assert {str(key): count for key, count in whole.cohort.outcomes.items()} == outcomes
    return summary


def test_the_line_of_the_manual_runs_and_leaves_all_its_files(
    engine: EngineProcess, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    ran = headway_run(
        "--endpoint", engine.url, "--model", "simulated", "--policy", "fixed",
        "--policy-set", "concurrency.limit=64", "--workload", "chat", "--max-tokens", "40",
        "--arrivals", "poisson", "--rate", "20", "--duration", "3s",
        "--slo", "chat-interactive", "--seed", "1", "--out", str(out),
    )  # fmt: skip
    summary = reconcile(out)
    assert ran.returncode == summary["exit_code"]
    assert ran.returncode in (0, 10, 12, 13), ran.stderr
    assert {path.name for path in out.iterdir()} == FILES | {"summary.json"}
    assert summary["scheduled"] == summary["offered"] == summary["sent"]
    assert summary["outcomes"] == {"truncated": summary["offered"]}
    assert summary["token_source"] == "usage"
    assert summary["output_tokens"] == 40 * summary["offered"]
    assert summary["verdict"] == summary["judgement"]["outcome"]
    for name in LATENCIES:
        assert {"p50", "p90", "p95", "p99", "n"} <= set(summary[name])
    for name in (
        "attainment", "goodput_rps", "offered_rate", "achieved_rate", "prompt_tokens", "validity",
        "little", "seed", "scenario_sha256", "version", "tenants", "cut", "status",
    ):  # fmt: skip
        assert name in summary
    assert "requests offered" in ran.stdout
    assert "TTFT, from intended start" in ran.stdout
    progress = [line for line in ran.stderr.splitlines() if "in flight" in line]
    assert len(progress) >= 3
    assert "\r" not in ran.stderr


def test_counts_and_times_are_the_engines_own(engine: EngineProcess, tmp_path: Path) -> None:
    names = {
        "prompt_tokens": "vllm:prompt_tokens_total",
        "output_tokens": "vllm:generation_tokens_total",
        "offered": "vllm:request_success_total",
    }
    sums = ("vllm:time_to_first_token_seconds_sum", "vllm:time_to_first_token_seconds_count")
    before = {name: engine.metric(name) for name in (*names.values(), *sums)}
    headway_run(
        "--endpoint", f"{engine.url}/v1", "--model", "simulated", "--kind", "simulated",
        "--workload", "fixed-64", "--arrivals", "constant", "--rate", "15", "--duration", "3s",
        "--out", str(tmp_path),
    )  # fmt: skip
    summary = reconcile(tmp_path)
    for ours, theirs in names.items():
        assert summary[ours] == engine.metric(theirs) - before[theirs], ours
    assert summary["offered"] == 45
    total, count = (engine.metric(name) - before[name] for name in sums)
    assert count == 45
    ours = [s.service_ttft for s in read_samples(tmp_path) if s.service_ttft is not None]
    late = sum(ours) / len(ours) - total / count
    slack = 2 * summary["client"]["loop_lag_ms"]["p99"] / 1e3
    assert -0.001 <= late <= 0.010 + slack
    assert summary["engine_signals"]["supported"]
    assert any(window.events.running for window in read_windows(tmp_path))


def test_the_same_seed_asks_the_same_at_the_same_times(
    engine: EngineProcess, tmp_path: Path
) -> None:
    runs = []
    for name in ("a", "b"):
        out = tmp_path / name
        headway_run(
            "--endpoint", engine.url, "--max-tokens", "4", "--rate", "30", "--duration", "1s",
            "--seed", "7", "--out", str(out), "--quiet",
        )  # fmt: skip
        samples = sorted(read_samples(out), key=lambda sample: sample.index)
        runs.append([(s.intended_at, s.prompt_tokens, s.output_tokens) for s in samples])
    assert runs[0] == runs[1]
    first, second = (summary_of(tmp_path / name) for name in ("a", "b"))
    assert first["scenario_sha256"] == second["scenario_sha256"]
    assert first["prompt_salt"] != second["prompt_salt"]


def test_a_failed_objective_is_exit_code_10(engine: EngineProcess, tmp_path: Path) -> None:
    slo = tmp_path / "slo.yaml"
    slo.write_text(
        "apiVersion: headway/v1\nkind: SLO\nmetadata: {name: strict}\n"
        "spec: {target: 0.99, objectives: [{metric: ttft_ms, max: 0.01}]}\n"
    )
    ran = headway_run(
        "--endpoint", engine.url, "--max-tokens", "2", "--rate", "30", "--duration", "2s",
        "--slo", str(slo), "--out", str(tmp_path / "out"), "--json",
    )  # fmt: skip
    summary = json.loads(ran.stdout)
    assert summary == summary_of(tmp_path / "out")
    lagged = summary["validity"]["status"] == "invalid"
    assert ran.returncode == (13 if lagged else 10)
    assert summary["attainment"] == 0


def test_the_policy_holds_the_load(engine: EngineProcess, tmp_path: Path) -> None:
    headway_run(
        "--endpoint", engine.url, "--policy", "aimd", "--policy-set", "concurrency.max=3",
        "--policy-set", "concurrency.initial=2", "--workload", "fixed-64", "--max-tokens", "8",
        "--rate", "40", "--duration", "2s", "--out", str(tmp_path),
    )  # fmt: skip
    summary = reconcile(tmp_path)
    assert max(w.events.in_flight_max or 0 for w in read_windows(tmp_path)) <= 3
    decisions = list(read_decisions(tmp_path))
    assert len(decisions) == summary["policy"]["decisions"]
    assert {line["point"] for line in decisions} <= {"concurrency"}
    assert summary["policy"]["enforcement"][0]["mode"] == "enforced"
    assert summary["hold_ms"]["max"] > 0


def test_a_closed_loop(engine: EngineProcess, tmp_path: Path) -> None:
    headway_run(
        "--endpoint", engine.url, "--concurrency", "4", "--max-tokens", "5", "--duration", "2s",
        "--out", str(tmp_path), "--quiet",
    )  # fmt: skip
    summary = reconcile(tmp_path)
    assert summary["arrivals"] == "closed"
    assert summary["scheduled"] is None
    assert summary["endpoint"]["model"] == "simulated"
    assert summary["endpoint"]["kind"] == "simulated"
    assert max(w.events.in_flight_max or 0 for w in read_windows(tmp_path)) == 4


def test_ctrl_c_ends_it_within_a_second_with_a_report(
    engine: EngineProcess, tmp_path: Path
) -> None:
    words = ("--endpoint", engine.url, "--rate", "20", "--duration", "60s", "--out", str(tmp_path))
    with subprocess.Popen(
        command(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        while " 2 s " not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        out, _ = process.communicate(timeout=20)
        took = time.monotonic() - began
    summary = reconcile(tmp_path)
    assert process.returncode == 130
    assert took < 5.0  # one second, and five times slack
    assert summary["status"] == "cancelled"
    assert summary["outcomes"]["cancelled"] > 0
    assert "(cancelled)" in out
    assert engine.metric("vllm:num_requests_running") == 0


def test_a_target_that_is_not_there_is_data_and_is_said(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    ran = headway_run(
        "--endpoint", url, "--model", "m", "--kind", "openai", "--rate", "20", "--duration", "1s",
        "--out", str(tmp_path),
    )  # fmt: skip
    summary = reconcile(tmp_path)
    assert set(summary["outcomes"]) == {"connect"}
    assert "No request succeeded" in summary["notes"][0]
    assert summary["failures"][0]["first_error"]
    assert "No request succeeded" in ran.stderr
    assert ran.returncode in (13, 30)
    assert summary["ttft_ms"]["p50"] is None


UNWRITABLE = list(itertools.product(("stdout", "stderr"), ("full", "closed", "unread")))


@pytest.fixture(scope="module")
def unwritten(
    engine: EngineProcess, tmp_path_factory: pytest.TempPathFactory
) -> dict[tuple[str, str], tuple[Path, int, str]]:
    """By stream and by what is wrong with it: the run's files, exit code and what else it said.

    All at once: nothing of them is a time.
    """
    with ThreadPoolExecutor(len(UNWRITABLE)) as pool:
        out = {each: tmp_path_factory.mktemp("-".join(each)) for each in UNWRITABLE}
        ran = pool.map(lambda each: unwritable(*each, engine.url, out[each]), UNWRITABLE)
        return {each: (out[each], *found) for each, found in zip(UNWRITABLE, ran, strict=True)}


def unwritable(stream: str, wrong: str, url: str, out: Path) -> tuple[int, str]:
    """A run with one stream on a full disk, closed, or a pipe that nobody reads."""
    words = command(
        "--endpoint", url, "--model", "simulated", "--kind", "simulated",
        "--max-tokens", "1", "--rate", "10", "--duration", "2s", "--out", str(out),
    )  # fmt: skip
    number = {"stdout": 1, "stderr": 2}[stream]
    to = {"full": f"{number}>/dev/full", "closed": f"{number}>&-"}.get(wrong, "")
    reader, writer = os.pipe()
    if stream == "stderr":  # full: a line more would wait for ever (a report is waited for)
        os.set_blocking(writer, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writer, b"x" * 4096)
        os.set_blocking(writer, True)
    else:
        os.close(reader)
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    if not to:
        streams[stream] = writer
    shell = ["sh", "-c", f'exec "$@" {to}', "sh", *words]
    ran = subprocess.run(shell, text=True, timeout=60, check=False, **streams)
    os.close(writer)
    if stream == "stderr":
        os.close(reader)
    return ran.returncode, (ran.stdout or "") + (ran.stderr or "")


@pytest.mark.parametrize(("stream", "wrong"), UNWRITABLE)
def test_what_cant_be_written_to_does_not_end_the_run(
    stream: str, wrong: str, unwritten: dict[tuple[str, str], tuple[Path, int, str]]
) -> None:
    out, code, said = unwritten[stream, wrong]
    summary = reconcile(out)
    assert summary["status"] == "finished"
    assert summary["offered"] == summary["scheduled"]
    assert code == summary["exit_code"]
    assert "Traceback" not in said


def test_a_run_whose_files_can_not_grow_any_more_stops_and_says_what_to_do(
    engine: EngineProcess, tmp_path: Path
) -> None:
    words = command(
        "--endpoint", engine.url, "--model", "simulated", "--kind", "simulated",
        "--max-tokens", "1", "--rate", "40", "--duration", "50s", "--out", str(tmp_path / "out"),
    )  # fmt: skip
    limited = ["sh", "-c", 'ulimit -f 32; exec "$@"', "sh", *words]  # 16 KiB each
    ran = subprocess.run(limited, text=True, capture_output=True, timeout=40, check=False)
    assert ran.returncode == 30
    told = ran.stderr.splitlines()[-1]
    assert "can't be written: File too large" in told
    assert f"python -m loadtest.recover {tmp_path / 'out'}" in told
    assert "Traceback" not in ran.stderr


def test_a_refusal_that_cant_be_written_keeps_its_exit_code(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(
            command("--endpoint", "http://127.0.0.1:9", "--model", "m", "--rate", "-1",
                    "--out", str(tmp_path / "out")),
            stderr=full, timeout=60, check=False,
        )  # fmt: skip
    assert ran.returncode == 20


def test_without_a_model_an_endpoint_must_say_which_it_serves(tmp_path: Path) -> None:
    ran = headway_run("--endpoint", "http://127.0.0.1:9", "--rate", "1", "--out", str(tmp_path))
    assert ran.returncode == 30
    assert "GET /v1/models: connect" in ran.stderr
    assert "is it up? Else give --model" in ran.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--rate", "20", "--policy", "fxed"], "policy"),
        (["--rate", "20", "--workload", "no-such.yaml"], "chat"),
        (["--rate", "-1"], "arrivals.rate"),
        (["--rate", "20", "--duration", "soon"], "no duration"),
        (["--rate", "20", "--policy-set", "concurrency.limit=2"], "--policy"),
        (["--rate", "20", "--policy", "fixed", "--policy-set", "concurrency.limt=2"], "limit"),
        ([], "arrivals.rate"),
        (["--rate", "20", "--no-such-option"], "unrecognized"),
    ],
)
def test_bad_configuration_is_exit_code_20_and_names_the_fault(
    words: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named = ["--endpoint", "http://127.0.0.1:9", "--model", "m", "--out", str(tmp_path / "out")]
    try:
        code = main(["run", *named, *words])
    except SystemExit as end:  # a fault of argparse's own
        code = int(end.code or 0)
    assert code == 20
    assert told in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("part", "options"),
    [
        ({"endpoint": 5}, []),
        ({"endpoint": {"base_url": 5, "model": "m"}}, []),
        ({"workload": 3}, []),
        ({"arrivals": 3}, []),
        ({"arrivals": [1]}, []),
        ({"timeouts": 3}, ["--timeout", "idle=3s"]),
        ({"timeouts": 3}, []),
        ({"policy": 5}, ["--policy-set", "concurrency.limit=3"]),
        ({"slo": 5}, []),
        ({"tenants": 5}, []),
    ],
)
def test_a_part_of_another_shape_in_a_scenario_file_is_named(
    part: dict[str, Any], options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = {
        "endpoint": {"base_url": "http://127.0.0.1:9", "model": "m"},
        "arrivals": {"process": "poisson", "rate": 1},
        **part,
    }
    (tmp_path / "scenario.json").write_text(json.dumps(given))
    out = tmp_path / "out"
    words = ["run", "--scenario", str(tmp_path / "scenario.json"), "--out", str(out), *options]
    assert main(words) == 20
    assert f"headway run: {next(iter(part))}" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize(
    ("shadow", "said"),
    [
        ("fixed-64", "is the active policy itself"),
        ("nowhere.yaml", "neither a file nor a built-in"),
    ],
)
def test_a_shadow_that_would_show_nothing_is_refused_by_its_option(
    shadow: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words = ["run", "--endpoint", "http://127.0.0.1:9", "--model", "m", "--kind", "openai"]
    words += ["--rate", "1", "--policy", "fixed-64", "--shadow", shadow, "--out", str(out)]
    assert main(words) == 20
    told = capsys.readouterr().err
    assert told.startswith("headway run: shadow: ")
    assert said in told
    assert not out.exists()


def test_a_metadata_address_is_refused_with_exit_code_22(tmp_path: Path) -> None:
    ran = headway_run(
        "--endpoint", "http://169.254.169.254", "--model", "m", "--kind", "openai", "--rate", "1",
        "--duration", "1s", "--out", str(tmp_path),
    )  # fmt: skip
    assert ran.returncode == 22
    assert "metadata" in ran.stderr


def test_an_earlier_run_is_not_written_over_unless_forced(
    engine: EngineProcess, tmp_path: Path
) -> None:
    (tmp_path / "summary.json").write_text("{}")
    (tmp_path / "notes.txt").write_text("mine")
    words = (
        "--endpoint", engine.url, "--max-tokens", "1", "--rate", "5", "--duration", "1s",
        "--out", str(tmp_path), "--quiet",
    )  # fmt: skip
    refused = headway_run(*words)
    assert refused.returncode == 20
    assert "--force" in refused.stderr
    headway_run(*words, "--force")
    reconcile(tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_the_key_travels_in_the_environment_and_is_written_nowhere(
    engine: EngineProcess, tmp_path: Path
) -> None:
    key = "sk-secret-0123456789"
    ran = subprocess.run(
        command("--endpoint", engine.url, "--max-tokens", "1", "--rate", "5", "--duration", "1s",
                "--out", str(tmp_path)),
        env={**os.environ, "HEADWAY_API_KEY": key},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    written = "".join(path.read_text() for path in tmp_path.iterdir())
    assert key not in written + ran.stdout + ran.stderr
    assert summary_of(tmp_path)["offered"] > 0
