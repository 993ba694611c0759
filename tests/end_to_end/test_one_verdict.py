"""The real llama.cpp engine, asked from page, API and command line: one load, one verdict."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from measurement.verdict import EXIT_CODES
from tests.end_to_end.embedded import Embedded, Visitor, command

pytestmark = pytest.mark.llamacpp

SEED, RATE, SECONDS, TOKENS = 5, 3, 4, 12
OFFERED = RATE * SECONDS
DRAIN = 120
"""Seconds that a CPU may take for what is still open; a quiet machine needs one."""
NAMED = ("--kind", "llamacpp", "--model", "gemma3-270m")
"""Else the command asks the engine what it is, with a request of its own that would be counted."""
SLO = {
    "apiVersion": "headway/v1",
    "kind": "SLO",
    "metadata": {"name": "answers", "owner": ""},
    "spec": {
        # Loose on purpose: what is held here is that three doors say the same, not a CPU's speed.
        "target": 0.5,
        "window": "28d",
        "objectives": [{"metric": "ttft_ms", "max": 120_000}, {"metric": "error", "max": 0}],
    },
}
WORKLOAD = {"kind": "fixed", "prompt_tokens": 16, "output_tokens": TOKENS}


@pytest.fixture(scope="module")
def engine(program: Visitor) -> str:
    """The real engine's address, as the catalogue has it."""
    pytest.importorskip(
        "xllamacpp", reason="llama.cpp is not installed: pip install 'headway[llamacpp]'"
    )
    return str(program.api("GET", "/endpoints/llamacpp")["base_url"])


@pytest.fixture(scope="module")
def catalogue(program: Visitor) -> None:
    program.api("POST", "/slos", {"document": SLO})
    program.api("POST", "/workloads", {"name": "twelve", "document": WORKLOAD})


def counted(engine: str) -> dict[str, float]:
    """The engine's own counters."""
    with urllib.request.urlopen(f"{engine}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    found = re.findall(r"^llamacpp:(\w+) (\S+)$", text, re.MULTILINE)
    return {name: float(value) for name, value in found}


def generated(before: dict[str, float], after: dict[str, float]) -> int:
    return round(after["tokens_predicted_total"] - before["tokens_predicted_total"])


def held(summary: dict[str, Any], engine_tokens: int) -> None:
    """What must hold whichever door the load came through."""
    assert summary["offered"] == summary["sent"] == OFFERED
    assert sum(summary["outcomes"].values()) == OFFERED
    assert set(summary["outcomes"]) <= {"ok", "truncated"}, "its keep-alive habit costs no request"
    assert summary["token_source"] == "usage"
    assert summary["output_tokens"] == engine_tokens
    # A crowded machine may hand requests over late; then every door must say so alike.
    assert summary["verdict"] == ("pass" if summary["validity"]["status"] == "valid" else "invalid")


def by_api(program: Visitor) -> dict[str, Any]:
    body = {
        "endpoint": "llamacpp",
        "policy": "fixed-32@1",
        "workload": "twelve",
        "slo": "answers",
        "arrivals": {"process": "constant", "rate": RATE},
        "duration_s": SECONDS,
        "drain_s": DRAIN,
        "seed": SEED,
    }
    started = program.api("POST", "/runs", body)
    return dict(program.finished(started["id"], within=240))


def by_page(embedded: Embedded, program: Visitor) -> dict[str, Any]:
    visitor = Visitor(embedded.url).sign_in(embedded.password)
    form = visitor.get("/runs/new/")

    def choice(select: str, label: str) -> str:
        options = form.split(f'name="{select}"')[1].split("</select>")[0]
        return re.search(rf'value="([^"]+)"[^>]*>\s*{label}', options)[1]

    page = visitor.post(
        "/runs/new/",
        endpoint=choice("endpoint", "llamacpp"),
        policy_version=choice("policy_version", "fixed-32 v1"),
        workload=choice("workload", "twelve"),
        slo_version=choice("slo_version", "answers"),
        process="constant",
        rate=str(RATE),
        duration_s=str(SECONDS),
        warm_up_s="0",
        drain_s=str(DRAIN),
        seed=str(SEED),
    )
    run_id = re.search(r"/runs/([0-9a-f-]{36})/cancel/", page)[1]
    return dict(program.finished(run_id, within=240))


def by_command(engine: str, folder: Path) -> tuple[int, str, dict[str, Any]]:
    (folder / "slo.json").write_text(json.dumps(SLO))
    (folder / "workload.json").write_text(json.dumps(WORKLOAD))
    words = ["run", "--endpoint", engine, *NAMED, "--policy", "fixed-32"]
    words += ["--slo", f"{folder}/slo.json"]
    words += ["--workload", f"{folder}/workload.json", "--arrivals", "constant"]
    words += ["--rate", str(RATE), "--duration", f"{SECONDS}s", "--seed", str(SEED)]
    words += ["--drain", f"{DRAIN}s"]
    process = command(*words, "--out", f"{folder}/out", output=subprocess.PIPE)
    said, _ = process.communicate(timeout=240)
    summary = json.loads((folder / "out" / "summary.json").read_text())
    return process.returncode, said, summary


@pytest.mark.usefixtures("catalogue")
def test_page_api_and_command_line_make_one_load_and_say_one_verdict(
    embedded: Embedded, program: Visitor, engine: str, tmp_path: Path
) -> None:
    marks = [counted(engine)]
    api_run = by_api(program)
    marks.append(counted(engine))
    page_run = by_page(embedded, program)
    marks.append(counted(engine))
    code, said, summary = by_command(engine, tmp_path)
    marks.append(counted(engine))

    spans = itertools.pairwise(marks)
    for run, (before, after) in zip((api_run, page_run), spans, strict=False):
        assert run["status"] == "done", run["reason"]
        held(run["summary"], generated(before, after))
        assert run["verdict"] == run["summary"]["verdict"]
        assert run["because"] == run["summary"]["judgement"]["because"]
        assert run["exit_code"] == EXIT_CODES[run["verdict"]]
        shown = Visitor(embedded.url).sign_in(embedded.password).get(run["links"]["page"])
        assert run["because"] in shown.replace("&nbsp;", " ")
    held(summary, generated(marks[2], marks[3]))
    assert code == EXIT_CODES[summary["verdict"]]
    assert summary["verdict"].upper() in said
    assert summary["judgement"]["because"] in " ".join(said.split())
    shapes = {
        json.dumps([s["offered"], s["attainment"], s["judgement"]["n"]])
        for s in (api_run["summary"], page_run["summary"], summary)
    }
    assert len(shapes) == 1


def test_more_requests_than_slots_wait_in_the_engine_and_none_fails(
    engine: str, tmp_path: Path
) -> None:
    """Twelve at once on four slots: it queues without limit, and closes after each stream."""
    before = counted(engine)
    words = ["run", "--endpoint", engine, *NAMED, "--arrivals", "closed", "--concurrency", "12"]
    words += ["--workload", "fixed-64", "--prompt-tokens", "8", "--max-tokens", "8"]
    words += ["--duration", "3s", "--drain", f"{DRAIN}s"]
    words += ["--seed", "2", "--out", f"{tmp_path}/out"]
    process = command(*words, output=subprocess.PIPE)
    said, _ = process.communicate(timeout=240)
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert process.returncode == EXIT_CODES[summary["verdict"]], said
    assert set(summary["outcomes"]) <= {"ok", "truncated"}
    assert summary["offered"] >= 12
    assert summary["output_tokens"] == generated(before, counted(engine))
