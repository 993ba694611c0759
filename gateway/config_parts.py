"""The parts of a gateway's configuration, each checked on its own."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from typing import Any

from documents import canonical
from documents.fields import parameter
from documents.problem import DocumentError, Problem
from engines.target import Target
from gateway.criteria import CriterionConfig, read_criteria

SLUG = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
SLUG_RULE = "must be 1 to 63 small letters, digits and hyphens, a letter or digit at both ends"
_DIGEST = re.compile(r"[0-9a-f]{64}")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{0,63}")


def slug_problems(path: str, value: str) -> list[Problem]:
    """What is wrong with a name; nothing for a good one."""
    return [] if SLUG.fullmatch(value) else [Problem(path, value, SLUG_RULE)]


def digest_problems(path: str, value: object) -> list[Problem]:
    """What is wrong with a SHA-256 in hex."""
    if isinstance(value, str) and _DIGEST.fullmatch(value):
        return []
    shown = "…" if isinstance(value, str) else value  # a key pasted by mistake must not show
    return [Problem(path, shown, "must be a SHA-256: 64 hex digits in small letters")]


@dataclass(frozen=True, slots=True)
class Listen:
    """Where the gateway listens; read at the start only."""

    host: str = parameter(default="127.0.0.1", help="address to listen on")
    port: int = parameter(default=8080, minimum=0, maximum=65535, help="0 takes a free one")


@dataclass(frozen=True, slots=True)
class EndpointConfig:
    """One engine. Its key is never in the document: ``api_key_env`` names where it stands."""

    name: str = parameter(help="its name in metrics and telemetry")
    base_url: str = parameter(help="scheme, host and port, with or without /v1")
    model: str = parameter(help="the model that it answers to")
    kind: str = parameter(default="openai", help="its adapter")
    api_key_env: str = parameter(default="", help="environment variable that holds its key")

    def __post_init__(self) -> None:
        problems = slug_problems("name", self.name)
        if self.api_key_env and not _VARIABLE.fullmatch(self.api_key_env):
            message = "must be the name of an environment variable, such as ENGINE_KEY"
            problems.append(Problem("api_key_env", "…", message))
        try:
            Target(self.base_url, self.model, self.kind)
        except DocumentError as error:
            problems.extend(error.problems)
        if problems:
            raise DocumentError(problems)


@dataclass(frozen=True, slots=True)
class LaneConfig:
    """A lane: equal engines that run one policy at a time."""

    name: str
    endpoints: tuple[EndpointConfig, ...]


@dataclass(frozen=True, slots=True)
class TenantConfig:
    """Who may ask. Keys stand as SHA-256 digests only."""

    name: str
    tier: str
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QueueRules:
    """How many may wait in each lane, and for how long."""

    bound: int = parameter(default=256, minimum=0, maximum=65536, unit="requests")
    ttl_s: float = parameter(default=30.0, minimum=0.05, maximum=3600.0, unit="s")


@dataclass(frozen=True, slots=True)
class UpstreamTimeouts:
    """How long an engine may take; ``first_byte_s`` counts from the send to the answer's head."""

    connect_s: float = parameter(default=5.0, minimum=0.05, maximum=60.0, unit="s")
    first_byte_s: float = parameter(default=300.0, minimum=0.1, maximum=3600.0, unit="s")
    idle_s: float = parameter(default=120.0, minimum=0.1, maximum=3600.0, unit="s")
    total_s: float = parameter(default=1800.0, minimum=0.1, maximum=86400.0, unit="s")


@dataclass(frozen=True, slots=True)
class ClientLimits:
    """What a client may send, and how slowly it may send and take."""

    body_bytes: int = parameter(default=16 * 2**20, minimum=1024, maximum=2**30, unit="bytes")
    head_s: float = parameter(default=10.0, minimum=0.1, maximum=600.0, unit="s")
    body_s: float = parameter(default=60.0, minimum=0.1, maximum=3600.0, unit="s")
    idle_s: float = parameter(default=75.0, minimum=0.1, maximum=3600.0, unit="s")
    stall_s: float = parameter(
        default=60.0, minimum=0.1, maximum=3600.0, unit="s", help="with nothing taken of an answer"
    )


@dataclass(frozen=True, slots=True)
class CanaryConfig:
    """A comparison of two policies on two equal lanes, drawn anew for each block."""

    candidate: str = parameter(help="SHA-256 of the candidate's policy version")
    lanes: object = parameter(help="the names of the two lanes")
    seed: int = parameter(minimum=0, maximum=2**53, help="draws the assignment of every block")
    starts_at: float = parameter(minimum=0.0, unit="Unix seconds", help="start of block 0")
    blocks: int = parameter(minimum=1, maximum=100_000, help="after these, the baseline alone")
    slot_s: float = parameter(minimum=1.0, maximum=86_400.0, unit="s", help="length of a block")
    washout_s: float = parameter(
        default=0.0, minimum=0.0, maximum=86_400.0, unit="s", help="start of a block not counted"
    )
    weight: float = parameter(
        default=0.5,
        minimum=0.0,
        exclusive_minimum=True,
        maximum=0.5,
        unit="of requests",
        help="share of each of the two lanes; what is left over goes to the other lanes",
    )
    criteria: object = parameter(default=(), help="by what each block's requests are counted")

    def __post_init__(self) -> None:
        problems = digest_problems("candidate", self.candidate)
        if self.washout_s >= self.slot_s:
            message = f"must be shorter than slot_s ({self.slot_s:g} s)"
            problems.append(Problem("washout_s", self.washout_s, message))
        pair = _pair(self.lanes)
        if pair is None:
            problems.append(Problem("lanes", self.lanes, "must be the names of two lanes"))
        try:
            object.__setattr__(self, "criteria", read_criteria(self.criteria))
        except DocumentError as error:
            problems.extend(error.problems)
        if problems:
            raise DocumentError(problems)
        object.__setattr__(self, "lanes", pair)

    @property
    def counted(self) -> tuple[CriterionConfig, ...]:
        """The criteria, read."""
        return read_criteria(self.criteria)

    def to_document(self) -> dict[str, Any]:
        """The mapping, every default written out."""
        own = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        criteria = [one.to_document() for one in self.counted]
        return {**own, "lanes": list(self.pair), "criteria": criteria}

    @property
    def sha256(self) -> str:
        """What names this comparison: another one counts its blocks from 0 anew."""
        return canonical.sha256(self.to_document())

    @property
    def pair(self) -> tuple[str, str]:
        """The two lanes, in the document's order: the coin is about the first."""
        return _pair(self.lanes) or ("", "")


def _pair(given: object) -> tuple[str, str] | None:
    """Two different names, or None."""
    if not isinstance(given, list | tuple) or len(given) != 2:
        return None
    first, second = given
    if not isinstance(first, str) or not isinstance(second, str) or first == second:
        return None
    return first, second
