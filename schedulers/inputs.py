"""What each input of a decision is, in the words that a page shows below the trace."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

INPUTS: Mapping[str, str] = MappingProxyType(
    {
        "active": "agents that are at work",
        "answers": "answers since the limit was last looked at",
        "arrival_rate": "requests per second of late",
        "average": "latency over a long time, s",
        "base_ms": "time of a step without tokens, ms",
        "baseline": "latency of an engine that nothing waits in, s",
        "chance": "probability of being refused here, 0 to 1",
        "contexts": "tokens of the contexts that agents hold",
        "cost": "tokens that the request is charged",
        "deviation": "how far latencies lie from their mean, s",
        "dropped": "requests taken out of the queue",
        "error": "standard error of the median, in its logarithm",
        "evidence": "what has gathered against the limit over several looks",
        "exact": "the limit before it is rounded down",
        "failed": "failures in a row",
        "gradient": "least latency over its median; under 1 shrinks the limit",
        "grown": "tokens that contexts have grown by",
        "hit_rate": "share of prompt tokens found in the prefix cache, 0 to 1",
        "in_flight": "requests at the engine at that moment",
        "kv_tokens": "KV cache that the request holds, tokens",
        "kv_used": "share of the KV cache in use, 0 to 1",
        "latency": "latency that was measured, s",
        "least": "smallest latency seen of late, s",
        "left": "what is left: retries of the budget, or seconds until the deadline",
        "level": "tokens in the tenant's bucket",
        "mean": "mean latency, s",
        "median": "median latency of the answers looked at, s",
        "needed": "seconds that the request needs until its first token",
        "peak": "most requests in flight since the limit was last looked at",
        "per_token_us": "time that a token adds to a step, µs",
        "pooled": "median latency over several looks, s",
        "promised": "tokens promised to those admitted",
        "queue": "requests that wait inside the engine, by its latency",
        "ratio": "latency that is aimed at over the one measured; under 1 is too slow",
        "retry_after_s": "seconds after which to come back",
        "saturation": "how full the engine is; 1 is full",
        "shed": "1 where the request was refused, else 0",
        "signal": "how congested the KV cache is",
        "spared": "requests that were passed over",
        "swap": "1 where KV was moved out, 0 where it is made anew",
        "tokens": "tokens that the request takes",
        "wait": "time in the queue, s",
        "wait_s": "time to wait, s",
        "waiting": "requests in the queue",
    }
)
"""By name; a law that tells another input describes it here."""
