"""Where a run's requests go, as a scenario names it: never with a credential."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from documents.fields import parameter
from documents.problem import DocumentError, Problem
from engines.signals.base import adapters

KINDS = (
    "openai",
    "vllm",
    "sglang",
    "llamacpp",
    "tgi",
    "triton",
    "dynamo",
    "ollama",
    "simulated",
)
GENERIC = "openai"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """``base_url`` is kept without a trailing slash and without ``/v1``."""

    base_url: str = parameter(help="http(s) address, with or without /v1")
    model: str = parameter(help="model name as the endpoint lists it")
    kind: str = parameter(default="openai", choices=KINDS, help="which engine answers")
    name: str = parameter(default="", help="what people call it")

    def __post_init__(self) -> None:
        object.__setattr__(self, "base_url", plain_base(self.base_url, path="base_url"))
        if not self.model.strip():
            raise DocumentError([Problem("model", self.model, "must name a model")])

    @property
    def adapter(self) -> str:
        """The adapter that speaks to this kind: its own, else the one that any server takes."""
        return self.kind if self.kind in adapters.all() else GENERIC


def plain_base(url: str, *, path: str = "") -> str:
    """The address without trailing slash and ``/v1``; DocumentError when it is no such address."""

    def fault(message: str, shown: str = url) -> DocumentError:
        return DocumentError([Problem(path, shown, message)])

    try:
        parts = urlsplit(url.strip())
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise fault(f"must be an http(s) address: {error}") from None
    if parts.username is not None or parts.password is not None:
        raise fault("must not hold a credential; it travels as HEADWAY_API_KEY", "(hidden)")
    if parts.scheme not in ("http", "https") or not host:
        raise fault("must be an http(s) address, such as http://127.0.0.1:8000")
    if parts.query or parts.fragment:
        raise fault("must be an address without ? and #")
    return url.strip().rstrip("/").removesuffix("/v1").rstrip("/")
