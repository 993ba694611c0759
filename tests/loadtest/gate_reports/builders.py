"""A gate's run as the API tells it, made up."""

from __future__ import annotations

from typing import Any


def gate_run(outcome: str = "fail", **changes: Any) -> dict[str, Any]:
    objective = {
        "metric": "ttft_ms",
        "label": "TTFT ≤ 800 ms",
        "target": 0.99,
        "outcome": "fail",
        "attainment": 0.95,
        "lower": 0.93,
        "upper": 0.97,
        "n": 1_200,
        "effective_n": 400.0,
        "measured": 1_200,
        "needed": 0,
    }
    threshold = {
        "threshold": "errors<=0.01",
        "label": "error rate <= 1 %",
        "metric": "errors",
        "outcome": "pass",
        "because": "Passes because none had an error.",
    }
    unsure = {**threshold, "threshold": "ttft_ms: p(99)<900", "outcome": "inconclusive"}
    made: dict[str, Any] = {
        "schema": "headway/gate-run/v1",
        "id": "0198",
        "gate": "chat",
        "version": 3,
        "status": "done",
        "outcome": outcome,
        "because": "Fails because 95.00 % met TTFT ≤ 800 ms.",
        "exit_code": 10,
        "objectives": [objective],
        "thresholds": [threshold, unsure],
        "endpoint": "sim",
        "policy": "steady@2",
        "workload": "short",
        "slo": "chat@1",
        "seed": 7,
        "scenario_sha256": "ab" * 32,
        "duration_s": 60.0,
        "elapsed_s": 60.0,
        "created_at": "2026-01-01T00:00:00Z",
        "started_at": "2026-01-01T00:00:01Z",
        "ended_at": "2026-01-01T00:01:01Z",
        "links": {"self": "/api/v1/gates/chat/runs/0198", "page": "/runs/0198/"},
    }
    return made | changes
