"""What the engine says of itself on /metrics: vLLM's names, labels and bucket bounds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from simulator.core.engine import Engine
from simulator.core.request import Sequence
from simulator.core.step import Step
from simulator.lag import LagWatch
from simulator.prometheus import Exposition, Histogram

_TTFT = (
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
    20.0, 40.0, 80.0, 160.0, 640.0, 2560.0,
)  # fmt: skip
_PER_TOKEN = (
    0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0,
    40.0, 80.0,
)  # fmt: skip
_WHOLE = (
    0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0,
    480.0, 960.0, 1920.0, 7680.0,
)  # fmt: skip
_STEP_TOKENS = (1, *(2**power for power in range(3, 15)))
_PREEMPTIONS = (1, 2, 3, 4, 5, 10, 20)
_CHOICES = (1, 2, 5, 10, 20)
_LAGS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)
_REASONS = ("stop", "length", "abort", "error", "repetition")
_REFUSALS = ("max_num_queued_reqs", "max_num_queued_tokens")


def length_bounds(longest: int) -> tuple[int, ...]:
    """1, 2, 5, 10 … up to the longest: vLLM's bounds of token counts."""
    found: list[int] = []
    power = 1
    while True:
        for digit in (1, 2, 5):
            if digit * power > longest:
                return tuple(found)
            found.append(digit * power)
        power *= 10


@dataclass(frozen=True, slots=True)
class Gauges:
    """The engine's state at one moment."""

    running: int
    waiting: int
    kv_usage: float

    @classmethod
    def of(cls, engine: Engine, step: Step | None) -> Gauges:
        """As it is while ``step`` runs: what finishes in it holds its blocks until the end."""
        ending = step.finished if step is not None else ()
        held = step.freed_blocks if step is not None else 0
        return cls(
            running=len(engine.running) + len(ending),
            waiting=len(engine.waiting),
            kv_usage=(engine.pool.used + held) / engine.pool.usable,
        )


class EngineMetrics:
    """Counts what steps tell; ``render`` writes it down."""

    def __init__(self, *, model: str, max_model_len: int) -> None:
        lengths = length_bounds(max_model_len)
        self._model = model
        self._prompt_tokens = 0
        self._cached_tokens = 0
        self._generation_tokens = 0
        self._preemptions = 0
        self._finished = dict.fromkeys(_REASONS, 0)
        self._refused = dict.fromkeys(_REFUSALS, 0)
        self._prompt = Histogram(lengths)
        self._computed = Histogram(lengths)
        self._generation = Histogram(lengths)
        self._step_tokens = Histogram(_STEP_TOKENS)
        self._asked = Histogram(lengths)
        self._choices = Histogram(_CHOICES)
        self._ttft = Histogram(_TTFT)
        self._itl = Histogram(_PER_TOKEN)
        self._tpot = Histogram(_PER_TOKEN)
        self._e2e = Histogram(_WHOLE)
        self._queue = Histogram(_WHOLE)
        self._inference = Histogram(_WHOLE)
        self._prefill = Histogram(_WHOLE)
        self._decode = Histogram(_WHOLE)
        self._preempted = Histogram(_PREEMPTIONS)
        self._step_lag = Histogram(_LAGS)

    def refused(self, reason: str) -> None:
        self._refused[reason] += 1

    def aborted(self) -> None:
        self._finished["abort"] += 1

    def answered(self, reason: str, max_tokens: int) -> None:
        """A request finished, for a reason that only its host knows."""
        self._finished[reason] += 1
        self._asked.observe(max_tokens)
        self._choices.observe(1)

    def stepped(self, step: Step, lag: float) -> None:
        """A step was told, so much after its time."""
        self._step_lag.observe(max(0.0, lag))
        self._step_tokens.observe(step.tokens)
        self._generation_tokens += len(step.emitted)
        self._preemptions += len(step.preempted)
        gaps: Counter[float] = Counter()
        for sequence in step.emitted:
            if sequence.last_gap is None:
                self._first(sequence)
            else:
                gaps[sequence.last_gap] += 1
        for gap, times in gaps.items():
            self._itl.observe(gap, times)
        for sequence in step.finished:
            self._done(sequence)

    def _first(self, sequence: Sequence) -> None:
        self._prompt_tokens += sequence.request.prompt_tokens
        self._cached_tokens += sequence.cached_tokens
        if sequence.first_token_at is not None:
            self._ttft.observe(sequence.first_token_at - sequence.arrived_at)

    def _done(self, sequence: Sequence) -> None:
        request = sequence.request
        started, first, last = (
            sequence.scheduled_at,
            sequence.first_token_at,
            sequence.last_token_at,
        )
        if started is None or first is None or last is None:
            return
        self._prompt.observe(request.prompt_tokens)
        self._computed.observe(request.prompt_tokens - sequence.cached_tokens)
        self._generation.observe(request.output_tokens)
        self._preempted.observe(sequence.preemptions)
        self._e2e.observe(last - sequence.arrived_at)
        self._queue.observe(started - sequence.queued_at)
        self._inference.observe(last - started)
        self._prefill.observe(first - started)
        self._decode.observe(last - first)
        if request.output_tokens > 1:
            self._tpot.observe((last - first) / (request.output_tokens - 1))

    def render(self, engine: Engine, step: Step | None, lag: LagWatch, now: float) -> str:
        """The whole page."""
        page = Exposition({"model_name": self._model, "engine": "0"})
        gauges = Gauges.of(engine, step)
        page.gauge("vllm:num_requests_running", "Requests in the batch.", gauges.running)
        page.gauge("vllm:num_requests_waiting", "Requests in the queue.", gauges.waiting)
        page.gauges(
            "vllm:num_requests_waiting_by_reason",
            "Requests in the queue, by reason.",
            "reason",
            {"capacity": gauges.waiting, "deferred": 0},
        )
        page.gauge("vllm:kv_cache_usage_perc", "KV-cache usage, 1 is full.", gauges.kv_usage)
        page.gauge(
            "headway:kv_cache_idle_perc",
            "KV cache that nobody uses and that can be found again, 1 is all of it.",
            engine.pool.cached / engine.pool.usable,
        )
        self._counters(page, engine)
        self._histograms(page)
        config = engine.config
        page.gauge(
            "vllm:cache_config_info",
            "The KV cache's configuration.",
            1,
            block_size=str(config.block_size),
            num_gpu_blocks=str(config.blocks),
            enable_prefix_caching=str(config.prefix_cache),
        )
        page.gauge(
            "headway:engine_lag_seconds",
            "Worst lateness of the host against the model in the last 10 s.",
            lag.worst(now),
        )
        page.histogram(
            "headway:engine_step_lag_seconds", "Lateness of each step's tokens.", self._step_lag
        )
        return page.text()

    def _counters(self, page: Exposition, engine: Engine) -> None:
        prompt, cached = self._prompt_tokens, self._cached_tokens
        queried, hit = (engine.state.queried_tokens, engine.state.hit_tokens)
        if not engine.config.prefix_cache:
            queried = 0
        page.counter(
            "vllm:prefix_cache_queries", "Prompt tokens looked up in the prefix cache.", queried
        )
        page.counter("vllm:prefix_cache_hits", "Prompt tokens found in the prefix cache.", hit)
        page.counter(
            "headway:kv_cache_evicted_tokens",
            "Tokens that could be found and were given up for others.",
            engine.pool.tree.evicted * engine.config.block_size,
        )
        page.counter("vllm:num_preemptions", "Preemptions.", self._preemptions)
        page.counter("vllm:prompt_tokens", "Prompt tokens of prefills that are done.", prompt)
        page.counters(
            "vllm:prompt_tokens_by_source",
            "Prompt tokens by source.",
            "source",
            {
                "local_compute": prompt - cached,
                "local_cache_hit": cached,
                "external_kv_transfer": 0,
            },
        )
        page.counter("vllm:prompt_tokens_cached", "Prompt tokens found cached.", cached)
        page.counter("vllm:generation_tokens", "Tokens generated.", self._generation_tokens)
        page.counters(
            "vllm:request_success", "Requests over, by reason.", "finished_reason", self._finished
        )
        page.counters(
            "vllm:admission_rejections",
            "Requests refused, by limit.",
            "reason",
            self._refused,
            without="engine",
        )

    def _histograms(self, page: Exposition) -> None:
        for name, help_text, histogram in (
            ("request_prompt_tokens", "Prompt tokens of a request.", self._prompt),
            ("request_generation_tokens", "Tokens generated for a request.", self._generation),
            ("iteration_tokens_total", "Tokens of a step.", self._step_tokens),
            ("request_max_num_generation_tokens", "Most tokens a request asked.", self._asked),
            ("request_params_n", "Choices asked for.", self._choices),
            ("request_params_max_tokens", "max_tokens of a request.", self._asked),
            ("time_to_first_token_seconds", "Arrival to first token.", self._ttft),
            ("inter_token_latency_seconds", "Between two tokens.", self._itl),
            ("request_time_per_output_token_seconds", "Mean gap of a request.", self._tpot),
            ("e2e_request_latency_seconds", "Arrival to last token.", self._e2e),
            ("request_queue_time_seconds", "Queued to scheduled.", self._queue),
            ("request_inference_time_seconds", "Scheduled to last token.", self._inference),
            ("request_prefill_time_seconds", "Scheduled to first token.", self._prefill),
            ("request_decode_time_seconds", "First to last token.", self._decode),
            ("request_num_preemptions", "Preemptions of a request.", self._preempted),
            ("request_prefill_kv_computed_tokens", "Prompt tokens computed.", self._computed),
        ):
            page.histogram(f"vllm:{name}", help_text, histogram)
