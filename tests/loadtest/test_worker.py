"""The worker process: its messages, and the four ways in which it ends early."""

from __future__ import annotations

import copy
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from loadtest import facts
from loadtest.recorder import Recorder, read_samples, read_shadow_decisions, read_windows
from loadtest.recover import NothingLeft, recover
from loadtest.scenario import Scenario
from measurement.window import Window, roll_up
from schedulers.document import Policy
from tests.engine_process import EngineProcess, engine_process
from tests.loadtest.test_scenario import POLICY, document
from tests.measurement.builders import answered


@pytest.fixture(scope="module")
def engine() -> Iterator[EngineProcess]:
    with engine_process() as running:
        yield running


def scenario(engine: EngineProcess, **changes: Any) -> dict[str, Any]:
    endpoint = {"base_url": engine.url, "model": "simulated", "kind": "simulated"}
    workload = {"kind": "fixed", "prompt_tokens": 16, "output_tokens": 50}
    return document(**{"endpoint": endpoint, "workload": workload, "duration_s": 60, **changes})


class Worker:
    def __init__(self, process: subprocess.Popen[str], out: Path) -> None:
        self.process = process
        self.out = out
        self.messages: list[dict[str, Any]] = []

    def until(self, kind: str, *, times: int = 1) -> dict[str, Any]:
        """Read on to the ``times``-th further message of that kind."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.messages.append(json.loads(line))
            times -= self.messages[-1]["type"] == kind
            if not times:
                return self.messages[-1]
        pytest.fail(f"ended before {kind}: {self.messages}")

    def kinds(self) -> list[str]:
        return [message["type"] for message in self.messages]

    def summary(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.out / "summary.json").read_text())
        return found


@contextmanager
def worker(given: dict[str, Any], path: Path, *options: str) -> Iterator[Worker]:
    (path / "given.json").write_text(json.dumps(given))
    out = path / "out"
    words = ["--scenario", str(path / "given.json"), "--out", str(out), "--egress", "loopback"]
    with subprocess.Popen(
        [sys.executable, "-m", "loadtest.worker", *words, *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Worker(process, out)
        finally:
            process.kill()


def reconcile(out: Path, summary: dict[str, Any]) -> None:
    samples = list(read_samples(out))
    assert summary["offered"] == sum(summary["outcomes"].values())
    assert len({sample.index for sample in samples}) == len(samples) <= summary["offered"]


def test_its_messages_tell_the_whole_run(engine: EngineProcess, tmp_path: Path) -> None:
    given = scenario(engine, duration_s=2.5, policy=POLICY)
    with worker(given, tmp_path) as it:
        finished = it.until("finished")
        assert it.process.wait(timeout=10) == 0
    kinds = it.kinds()
    assert kinds[0] == "started"
    assert kinds[-1] == "finished"
    assert kinds.count("windows") >= 3
    assert "signals" in kinds
    started = it.messages[0]
    assert started["duration_s"] == 2.5
    assert started["offered"] == finished["summary"]["offered"]
    assert abs(started["at_unix"] - time.time()) < 60
    assert finished["status"] == "finished"
    assert finished["summary"] == it.summary()
    assert json.loads((it.out / "scenario.json").read_text())["seed"] == 1
    newest: dict[int, Window] = {}
    for message in it.messages:
        for window in message.get("windows", ()):
            newest[window["index"]] = Window.from_json(window)
    assert [newest[index] for index in sorted(newest)] == read_windows(it.out)
    (whole,) = roll_up(newest.values(), 3_600.0, ended=True)
    assert whole.cohort.offered == finished["summary"]["offered"]
    last = [message for message in it.messages if message["type"] == "windows"][-1]
    assert last["totals"]["resolved"] == last["totals"]["offered"] == started["offered"]
    assert last["totals"]["in_flight"] == 0
    assert last["verdict"]["n"] == started["offered"]
    assert {"attainment", "goodput_rps", "ttft_ms", "tpot_ms", "errors"} <= set(last["totals"])
    assert last["totals"]["first_errors"] == {}


@pytest.mark.parametrize("how", ["sigterm", "stdin"])
def test_a_cancel_closes_everything_and_leaves_a_report(
    how: str, engine: EngineProcess, tmp_path: Path
) -> None:
    with worker(scenario(engine), tmp_path) as it:
        it.until("windows", times=2)
        began = time.monotonic()
        if how == "sigterm":
            it.process.send_signal(signal.SIGTERM)
        else:
            assert it.process.stdin is not None
            it.process.stdin.close()
        finished = it.until("finished")
        code = it.process.wait(timeout=10)
        took = time.monotonic() - began
    assert code == 130
    assert took < 5.0  # one second, and five times slack
    assert finished["status"] == "cancelled"
    assert finished["summary"]["outcomes"]["cancelled"] > 0
    reconcile(it.out, finished["summary"])
    assert engine.metric("vllm:num_requests_running") == 0


def test_it_ends_when_its_parent_dies(engine: EngineProcess, tmp_path: Path) -> None:
    (tmp_path / "given.json").write_text(json.dumps(scenario(engine)))
    script = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-m', 'loadtest.worker', *sys.argv[1:]],"
        " stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)\n"
        "print(child.pid, flush=True)\n"
        "child.wait()\n"
    )
    words = ["--scenario", str(tmp_path / "given.json"), "--out", str(tmp_path / "out")]
    with subprocess.Popen(
        [sys.executable, "-c", script, *words, "--egress", "loopback"],
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        _wait_for((tmp_path / "out" / "run.json").exists)
        parent.kill()
    _wait_for(lambda: not Path(f"/proc/{pid}/task").exists() or _is_zombie(pid))
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["status"] == "cancelled"


def _wait_for(true: Any, *, within: float = 20.0) -> None:
    deadline = time.monotonic() + within
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _is_zombie(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"


@pytest.mark.parametrize(
    ("changes", "code", "word"),
    [
        ({"seed": -1}, 20, "seed"),
        ({"api_key": "sk"}, 20, "api_key"),
        ({"endpoint": {"base_url": "http://10.0.0.1:8000", "model": "m"}}, 22, "10.0.0.1"),
        ({"endpoint": {"base_url": "http://127.0.0.1:22", "model": "m"}}, 22, "port 22"),
    ],
)
def test_what_can_not_be_run_is_told_and_not_begun(
    changes: dict[str, Any], code: int, word: str, engine: EngineProcess, tmp_path: Path
) -> None:
    with worker(scenario(engine, **changes), tmp_path) as it:
        error = it.until("error")
        assert it.process.wait(timeout=10) == code
    assert error["code"] == code
    assert word in error["message"]
    assert not (it.out / "summary.json").exists()


def test_two_workers_of_one_run_make_one_schedule(engine: EngineProcess, tmp_path: Path) -> None:
    given = scenario(engine, duration_s=2, policy=None)
    start = ["--start-at", str(time.time() + 3)]
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    with (
        worker(given, tmp_path / "a", "--slice", "0/2", *start) as one,
        worker(given, tmp_path / "b", "--slice", "1/2", *start) as other,
    ):
        parts = [each.until("finished")["summary"] for each in (one, other)]
    samples = [*read_samples(one.out), *read_samples(other.out)]
    assert sorted(sample.index for sample in samples) == list(range(len(samples)))
    assert sum(part["offered"] for part in parts) == len(samples)
    merged = [
        a.merge(b) for a, b in zip(read_windows(one.out), read_windows(other.out), strict=False)
    ]
    assert merged[0].cohort.offered == sum(sample.intended_at < 1 for sample in samples)


def test_a_killed_run_is_recovered_with_all_it_had_measured(
    engine: EngineProcess, tmp_path: Path
) -> None:
    with worker(scenario(engine), tmp_path) as it:
        it.until("windows", times=3)
        it.process.kill()
        it.process.wait(timeout=10)
    assert not (it.out / "summary.json").exists()
    summary = recover(it.out)
    assert summary == it.summary()
    assert summary["status"] == "lost"
    assert summary["outcomes"]["truncated"] >= 20
    assert summary["outcomes"]["cancelled"] > 0
    assert "lost" in summary["notes"][0]
    reconcile(it.out, summary)


def test_a_shadow_is_told_each_second_written_down_and_found_again_after_a_crash(
    engine: EngineProcess, tmp_path: Path
) -> None:
    tight = copy.deepcopy(POLICY)
    tight["metadata"]["name"] = "tight"
    tight["spec"]["concurrency"] = {"law": "aimd", "min": 1, "initial": 2, "max": 8}
    with worker(scenario(engine, shadow=tight), tmp_path) as it:
        told = it.until("shadow", times=3)
        it.until("windows", times=2)
        it.process.kill()
        it.process.wait(timeout=10)
    assert told["report"]["steps"] > 0
    windows = [w for m in it.messages if m["type"] == "windows" for w in m["windows"]]
    assert all(1 <= window["events"]["shadow_limit"] <= 8 for window in windows)
    decided = [d for m in it.messages if m["type"] == "shadow" for d in m["decisions"]]
    kept = list(read_shadow_decisions(it.out))
    assert decided
    assert kept[: len(decided)] == decided
    shadow = recover(it.out)["shadow"]
    assert shadow["sha256"] == Policy.parse(tight).sha256
    assert shadow["report"]["steps"] >= told["report"]["steps"]
    assert (shadow["report"]["diverged"]["active"], shadow["report"]["agreement"]) == (64, 0.0)
    assert "forecasts nothing" in shadow["cannot_know"]


@pytest.mark.parametrize("closed", [False, True])
def test_a_report_can_be_rebuilt_after_a_crash_at_any_byte(
    closed: bool, engine: EngineProcess, tmp_path: Path
) -> None:
    arrivals = (
        {"process": "closed", "concurrency": 4} if closed else {"process": "constant", "rate": 20}
    )
    given = scenario(engine, duration_s=2, arrivals=arrivals)
    with worker(given, tmp_path) as it:
        whole = it.until("finished")["summary"]
    (it.out / "summary.json").unlink()
    originals = {name: (it.out / name).read_bytes() for name in ("samples.jsonl", "windows.jsonl")}
    complete = recover(it.out)
    assert complete["outcomes"] == whole["outcomes"]
    assert complete["ttft_ms"] == whole["ttft_ms"]
    for share in (0.0, 0.001, 0.37, 0.5, 0.83, 0.999):
        for name, data in originals.items():
            (it.out / name).write_bytes(data[: int(len(data) * share)])
        reconcile(it.out, recover(it.out))
        (it.out / "samples.jsonl").write_bytes(originals["samples.jsonl"])
        reconcile(it.out, recover(it.out))


def recorded(out: Path, count: int) -> None:
    """What a run of ``count`` requests that all succeeded leaves when its process is lost."""
    it = Scenario.parse(document(arrivals={"process": "constant", "rate": 1}))
    facts.write(out, it, facts.Facts(1_700_000_000.0, "0.1.0", 60, "s"))
    with Recorder(out) as recorder:
        for index in range(count):
            recorder.sample(answered(index, float(index), tenant="default"))


def test_broken_lines_are_skipped_and_counted(tmp_path: Path) -> None:
    recorded(tmp_path, 10)
    with (tmp_path / "samples.jsonl").open("ab") as file:
        file.write(b'{"index":1,\x00\n[]\n{"index":3}\n')
        file.write(b'{"index":4,"tenant":"a","intended_at":"x","outcome":"ok"}\n')
    (tmp_path / "windows.jsonl").write_bytes(b"\xff\n7\n{}\n")
    summary = recover(tmp_path)
    assert summary["outcomes"] == {"ok": 10}
    assert "7 broken lines" in summary["notes"][-1]
    assert [sample.index for sample in read_samples(tmp_path)] == list(range(10))


@pytest.mark.parametrize("words", [["nowhere"], []])
def test_a_missing_directory_is_told_in_one_line(words: list[str], tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "loadtest.recover", *(str(tmp_path / word) for word in words)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 20
    assert len(ran.stderr.splitlines()) == 1
    assert "Traceback" not in ran.stderr


def test_where_nothing_had_begun_nothing_is_made_up(tmp_path: Path) -> None:
    with pytest.raises(NothingLeft):
        recover(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_reader_that_never_reads_does_not_stall_the_load(
    engine: EngineProcess, tmp_path: Path
) -> None:
    reading, writing = os.pipe()
    (tmp_path / "given.json").write_text(json.dumps(scenario(engine, duration_s=3)))
    words = ["--scenario", str(tmp_path / "given.json"), "--out", str(tmp_path / "out")]
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)  # full after the first message
    with subprocess.Popen(
        [sys.executable, "-m", "loadtest.worker", *words, "--egress", "loopback"],
        stdin=subprocess.PIPE,
        stdout=writing,
    ) as process:
        try:
            assert process.wait(timeout=30) == 0
        finally:
            os.close(reading)
            os.close(writing)
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["outcomes"] == {"truncated": summary["scheduled"]}
