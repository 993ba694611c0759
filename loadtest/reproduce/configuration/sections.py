"""The four sections of the source's configuration, and the spellings that are read.

``scheduler``, ``slo``, ``admission``, ``loadgen``; everything may be left out but the rate and the
length of answers. What is not known is kept and named, not refused: it is a foreign file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from documents.fields import describe, parameter
from documents.parse import check
from documents.problem import DocumentError, Problem
from documents.yaml_text import parse_yaml

ORDERS = ("slack_aware", "fcfs", "edf", "sjf", "priority")
PREEMPTIONS = ("recompute", "swap", "auto")
MOST = 1_000_000


@dataclass(frozen=True, slots=True)
class Scheduler:
    """Limits of a step, and who is next. None: not said."""

    policy: str | None = parameter(default=None, choices=ORDERS)
    max_num_batched_tokens: int | None = parameter(
        default=None, minimum=1, maximum=MOST, unit="tokens"
    )
    max_num_seqs: int | None = parameter(default=None, minimum=1, maximum=16_384, unit="sequences")
    batch_size_cap: int | None = parameter(
        default=None, minimum=1, maximum=16_384, unit="sequences"
    )
    preemption: str | None = parameter(default=None, choices=PREEMPTIONS)
    swap_space_gb: float | None = parameter(default=None, minimum=0.0, maximum=1e5, unit="GB")
    immunity: float | None = parameter(default=None, minimum=0.0, maximum=1.0)
    chunked_prefill: bool | None = parameter(default=None)


@dataclass(frozen=True, slots=True)
class Slo:
    """Objectives in milliseconds, and the share of requests that is to meet them."""

    ttft_ms: float | None = parameter(default=None, minimum=0.1, maximum=1e7, unit="ms")
    tpot_ms: float | None = parameter(default=None, minimum=0.1, maximum=1e6, unit="ms")
    p95_ms: float | None = parameter(default=None, minimum=0.1, maximum=1e8, unit="ms")
    attainment: float | None = parameter(default=None, minimum=0.5, maximum=0.9999)


@dataclass(frozen=True, slots=True)
class Admission:
    """Shares of the KV cache."""

    kv_reserve_ratio: float | None = parameter(default=None, minimum=0.1, maximum=1.0)
    oversubscribe: float | None = parameter(default=None, minimum=1.0, maximum=4.0)


@dataclass(frozen=True, slots=True)
class Loadgen:
    """What is asked, and how often. μ and σ are those of the logarithm."""

    qps: float = parameter(minimum=0.001, maximum=20_000, unit="1/s")
    output_mu: float = parameter(minimum=0.0, maximum=11.0)
    output_sigma: float = parameter(minimum=0.0, maximum=4.0)
    process: str = parameter(default="poisson", choices=("poisson", "constant"))
    duration_s: float = parameter(default=300.0, minimum=1.0, maximum=86_400, unit="s")
    prompt_mu: float | None = parameter(default=None, minimum=0.0, maximum=11.0)
    prompt_sigma: float | None = parameter(default=None, minimum=0.0, maximum=4.0)
    seed: int = parameter(default=1, minimum=0, maximum=2**63 - 1)


@dataclass(frozen=True, slots=True)
class Configuration:
    """``written``: the author's own path of each field that was read; ``unread``: what wasn't."""

    scheduler: Scheduler
    slo: Slo
    admission: Admission
    loadgen: Loadgen
    written: Mapping[str, str] = field(default_factory=dict)
    unread: Mapping[str, Any] = field(default_factory=dict)

    def path(self, known: str) -> str:
        """Where a field stands in the file; its own name where it doesn't."""
        return self.written.get(known, known)


SPELLINGS: Mapping[str, str] = {
    "scheduler.order": "policy", "scheduler.scheduling_policy": "policy",
    "scheduler.ordering": "policy", "scheduler.token_budget": "max_num_batched_tokens",
    "scheduler.preemption_mode": "preemption", "scheduler.preempt_mode": "preemption",
    "scheduler.swap_space": "swap_space_gb", "scheduler.enable_chunked_prefill": "chunked_prefill",
    "scheduler.immunity_completion": "immunity", "scheduler.immune_above": "immunity",
    "slo.ttft_slo_ms": "ttft_ms", "slo.tpot_slo_ms": "tpot_ms", "slo.p95_latency_ms": "p95_ms",
    "slo.p95_e2e_ms": "p95_ms", "slo.e2e_p95_ms": "p95_ms", "slo.p95_slo_ms": "p95_ms",
    "slo.attainment_target": "attainment", "slo.target": "attainment",
    "slo.slo_attainment": "attainment", "admission.kv_reserve": "kv_reserve_ratio",
    "admission.oversubscription": "oversubscribe", "admission.oversubscribe_ratio": "oversubscribe",
    "admission.oversubscribe_factor": "oversubscribe", "loadgen.rate": "qps",
    "loadgen.target_qps": "qps", "loadgen.arrival": "process", "loadgen.arrivals": "process",
    "loadgen.arrival_process": "process", "loadgen.type": "process",
    "loadgen.duration": "duration_s", "loadgen.output": "output_len",
    "loadgen.output_tokens": "output_len", "loadgen.output_length": "output_len",
    "loadgen.output_len_dist": "output_len", "loadgen.output_lognormal": "output_len",
    "loadgen.prompt": "prompt_len", "loadgen.prompt_tokens": "prompt_len",
    "loadgen.prompt_lognormal": "prompt_len", "loadgen.lognormal_mu": "output_mu",
    "loadgen.lognormal_sigma": "output_sigma",
}  # fmt: skip
_SECTIONS = {"scheduler": Scheduler, "slo": Slo, "admission": Admission, "loadgen": Loadgen}
_NUMBER = r"(\d+\.?\d*|\.\d+)"
_LENGTHS = re.compile(rf"\s*lognormal\s*\(\s*{_NUMBER}\s*,\s*{_NUMBER}\s*\)\s*", re.ASCII)
_LOGNORMAL = 'a lognormal: {"dist": "lognormal", "mu": 6.0, "sigma": 0.6}'
T = TypeVar("T")


def read(text: str) -> Configuration:
    """The configuration of a JSON text; DocumentError with every fault in it."""
    given = parse_yaml(text)
    if not isinstance(given, Mapping):
        known = ", ".join(_SECTIONS)
        raise DocumentError([Problem("", given, f"must be an object with the sections {known}")])
    problems: list[Problem] = []
    reader = _Reader(problems)
    parts = {
        name: reader.section(name, cls, given.get(name, {})) for name, cls in _SECTIONS.items()
    }
    reader.unread |= {str(name): value for name, value in given.items() if name not in _SECTIONS}
    if problems:
        raise DocumentError(problems)
    return Configuration(**parts, written=reader.written, unread=reader.unread)


class _Reader:
    def __init__(self, problems: list[Problem]) -> None:
        self._problems = problems
        self.written: dict[str, str] = {}
        self.unread: dict[str, Any] = {}

    def section(self, name: str, cls: type[T], given: object) -> Any:
        """One section, or None where it has faults."""
        if not isinstance(given, Mapping):
            self._problems.append(Problem(name, given, "must be an object"))
            return None
        infos = {info.name: info for info in describe(cls)}
        values: dict[str, Any] = {}
        before = len(self._problems)
        for known, path, value in self._flat(name, given):
            if known not in infos:
                self.unread[path] = value
                continue
            if known in values:
                twice = f"is said twice: also as {self.written[f'{name}.{known}']}"
                self._problems.append(Problem(path, value, twice))
                continue
            self.written[f"{name}.{known}"] = path
            try:
                values[known] = check(infos[known], value, path=path)
            except DocumentError as error:
                self._problems.extend(error.problems)
                values[known] = None
        missing = [info for info in infos.values() if info.required and info.name not in values]
        lengths = [info for info in missing if info.name.startswith("output_")]
        for info in (info for info in missing if info not in lengths):
            needed = f"is required ({info.unit})" if info.unit else "is required"
            self._problems.append(Problem(f"{name}.{info.name}", None, needed))
        told = {at for at in given if SPELLINGS.get(f"{name}.{at}", at) == "output_len"}
        if lengths and not told:
            self._problems.append(Problem(f"{name}.output_len", None, f"is required, {_LOGNORMAL}"))
        return cls(**values) if len(self._problems) == before else None

    def _flat(self, section: str, given: Mapping[Any, Any]) -> list[tuple[str, str, Any]]:
        """Known name, path and value of each field; distributions and processes in their parts."""
        found = []
        for key, value in given.items():
            path = f"{section}.{key}"
            known = SPELLINGS.get(path, str(key))
            if known == "process" and isinstance(value, Mapping):
                found += [(each, f"{path}.{at}", v) for each, at, v in _inner(section, value)]
            elif known in ("output_len", "prompt_len"):
                what = known.removesuffix("_len")
                found += [
                    (f"{what}_{part}", f"{path}.{part}", number)
                    for part, number in self._lengths(path, value)
                ]
            else:
                found.append((known, path, value))
        return found

    def _lengths(self, path: str, value: object) -> list[tuple[str, Any]]:
        """μ and σ, as an object, as two numbers, or as ``lognormal(6.0, 0.6)``."""
        if isinstance(value, Mapping):
            kind = value.get("dist", value.get("type", value.get("distribution", "lognormal")))
            mu = value.get("mu", value.get("mean"))
            if kind == "lognormal":
                return [("mu", mu), ("sigma", value.get("sigma", value.get("std")))]
        match = _LENGTHS.fullmatch(value) if isinstance(value, str) else None
        if match is not None:
            return [("mu", float(match[1])), ("sigma", float(match[2]))]
        if isinstance(value, list) and len(value) == len(("mu", "sigma")):
            return list(zip(("mu", "sigma"), value, strict=True))
        self._problems.append(Problem(path, value, f"must be {_LOGNORMAL}"))
        return []


def _inner(section: str, given: Mapping[Any, Any]) -> list[tuple[str, str, Any]]:
    return [(SPELLINGS.get(f"{section}.{key}", str(key)), str(key), v) for key, v in given.items()]
