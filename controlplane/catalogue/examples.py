"""What an editor starts from: documents that are whole, and small enough to read."""

from typing import Any

SLO: dict[str, Any] = {
    "apiVersion": "headway/v1",
    "kind": "SLO",
    "metadata": {"name": "my-slo", "owner": "", "description": ""},
    "spec": {
        "target": 0.99,
        "window": "28d",
        "objectives": [
            {"metric": "ttft_ms", "max": 800},
            {"metric": "tpot_ms", "max": 100},
            {"metric": "error", "max": 0},
        ],
    },
}

POLICY: dict[str, Any] = {
    "apiVersion": "headway/v1",
    "kind": "Policy",
    "metadata": {"name": "my-policy", "owner": "", "description": ""},
    "spec": {"concurrency": {"law": "fixed", "limit": 32}},
}
