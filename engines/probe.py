"""The probe: which kind of engine stands there, told with what was asked and what was answered."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from engines.answer import Answer
from engines.client import EngineClient
from engines.egress import EgressRules
from engines.headers import excerpt
from engines.http_get import GetFailed, Page, get
from engines.prometheus import names
from engines.request import CompletionRequest, Timeouts
from engines.signals.base import adapter, adapters
from engines.target import Target
from engines.transport.base import Clock
from engines.transport.httptools_stream import HttptoolsTransport
from measurement.outcome import Outcome

FALLBACK = "openai"
TOKENS = 4


@dataclass(frozen=True, slots=True)
class Finding:
    """One question to the endpoint: what was asked, what it answered, what that tells us."""

    question: str
    asked: str
    answered: str
    tells: str
    good: bool


@dataclass(frozen=True, slots=True)
class Probe:
    """What was found. ``kind`` is the generic one where nothing tells more."""

    kind: str
    models: tuple[str, ...]
    signals: frozenset[str]
    """The signals that its metrics hold now."""
    streams: bool
    findings: tuple[Finding, ...]

    @property
    def good(self) -> bool:
        """Whether load can be sent there: it answers, and streams tokens."""
        return self.streams

    @property
    def asked_for_models(self) -> str:
        """What the first question brought, for whoever needs a model's name and got none."""
        first = self.findings[0]
        return f"{first.asked}: {first.answered}" if first.answered else first.asked


async def probe(
    base_url: str,
    rules: EgressRules,
    *,
    model: str = "",
    api_key: str = "",
    within: float = 15.0,
    clock: Clock = time.monotonic,
) -> Probe:
    """Ask for models, metrics and one short stream. DocumentError when it may not be asked."""
    target = Target(base_url, model, api_key=api_key)
    transport = HttptoolsTransport(rules)
    try:
        await transport.prepare(target.root)
        ask = _Asker(target, transport, within, clock)
        models, owners = await ask.models()
        metrics = await ask.metrics()
        kind = _kind(owners, metrics)
        signals = ask.signals(kind)
        streams = await ask.stream(kind, model or next(iter(models), ""))
        return Probe(kind, models, signals, streams, tuple(ask.findings))
    finally:
        await transport.close()


def _kind(owners: Iterable[str], metrics: frozenset[str]) -> str:
    """The kind with the most marks: who owns the models counts for more than the metrics' names."""
    owned = frozenset(owners)
    marks = {}
    for name, cls in adapters.all().items():
        prefix = cls.metric_prefix
        exposes = prefix is not None and any(metric.startswith(prefix) for metric in metrics)
        marks[name] = 2 * (not owned.isdisjoint(cls.owners)) + exposes
    best = max(marks, key=lambda name: marks[name])
    return best if marks[best] else FALLBACK


class _Asker:
    """Asks one endpoint, and keeps the findings."""

    def __init__(
        self, target: Target, transport: HttptoolsTransport, within: float, clock: Clock
    ) -> None:
        self._target = target
        self._transport = transport
        self._within = within
        self._clock = clock
        self._scrape: Page | None = None
        self.findings: list[Finding] = []

    def _note(self, question: str, asked: str, answered: str, tells: str, *, good: bool) -> None:
        shown = excerpt(answered.encode(), (self._target.api_key,))
        self.findings.append(Finding(question, asked, shown, tells, good))

    async def _get(self, path: str) -> Page | str:
        try:
            return await get(
                self._target.url(path),
                self._transport,
                within=self._within,
                headers=self._target.headers(),
                clock=self._clock,
            )
        except GetFailed as error:
            return f"{error.outcome}: {error}"

    async def models(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Model names and their owners."""
        question, asked = "Which models does it serve?", "GET /v1/models"
        page = await self._get("/v1/models")
        if isinstance(page, str) or page.status != 200:
            answered = page if isinstance(page, str) else f"HTTP {page.status}: {page.text}"
            self._note(question, asked, answered, "no model list", good=False)
            return (), ()
        entries = _models(page.body)
        ids = tuple(str(entry["id"]) for entry in entries if "id" in entry)
        owners = tuple(str(entry["owned_by"]) for entry in entries if entry.get("owned_by"))
        tells = f"models: {', '.join(ids)}" if ids else "no model list"
        self._note(question, asked, page.text, tells, good=bool(ids))
        return ids, owners

    async def metrics(self) -> frozenset[str]:
        """The names of its metrics."""
        question, asked = "Does it say how busy it is?", "GET /metrics"
        page = await self._get("/metrics")
        if isinstance(page, str) or page.status != 200:
            answered = page if isinstance(page, str) else f"HTTP {page.status}: {page.text}"
            self._note(question, asked, answered, "no metrics: no engine signals", good=False)
            return frozenset()
        found = names(page.text)
        self._scrape = page
        tells = f"{len(found)} metrics" if found else "no Prometheus text"
        self._note(question, asked, page.text, tells, good=bool(found))
        return found

    def signals(self, kind: str) -> frozenset[str]:
        """The signals of this kind in what was scraped."""
        if self._scrape is None:
            return frozenset()
        present = adapter(kind).parse(self._scrape.text, self._scrape.at).present
        answered = ", ".join(sorted(present)) or "none"
        lacking = ", ".join(sorted(adapter(kind).capabilities - present))
        tells = f"lacks {lacking}" if lacking else "all that the kind can say"
        self._note(f"Which signals does {kind} give?", "its metrics", answered, tells, good=True)
        return present

    async def stream(self, kind: str, model: str) -> bool:
        """Whether a short stream brings tokens, and how they are counted."""
        named = Target(self._target.base_url, model, kind, self._target.api_key)
        client = EngineClient(named, self._transport, self._clock)
        limits = Timeouts(self._within, self._within, self._within, self._within)
        answer = await client.complete(CompletionRequest("Say hello.", TOKENS), limits)
        good = answer.outcome.success and answer.first_token_at is not None
        self._note(
            "Does it stream, and how are its tokens counted?",
            f"POST /v1/chat/completions, stream, {TOKENS} tokens of {model or 'its model'}",
            _shape(answer),
            _tells(answer, good=good),
            good=good,
        )
        return good


def _models(body: bytes) -> list[dict[str, Any]]:
    try:
        listed = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return []
    data = listed.get("data") if isinstance(listed, dict) else None
    return [entry for entry in data if isinstance(entry, dict)] if isinstance(data, list) else []


def _shape(answer: Answer) -> str:
    if not answer.outcome.success:
        status = f"HTTP {answer.status}, " if answer.status else ""
        return f"{status}{answer.outcome}: {answer.error}"
    return f"{answer.chunks} chunks, {answer.output_tokens} tokens, {answer.outcome}"


def _tells(answer: Answer, *, good: bool) -> str:
    if not good:
        return "no stream" if answer.outcome.success else f"it fails: {answer.outcome}"
    each = "each chunk says its tokens" if answer.gap_tokens is not None else "chunks say no count"
    whole = f"tokens counted from {answer.token_source}"
    late = "; the asked length is not kept" if answer.outcome is not Outcome.TRUNCATED else ""
    return f"{whole}; {each}{late}"
