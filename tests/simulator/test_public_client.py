"""The served engine model under a load-test client that is not ours: Locust."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.engine_process import engine_process

FILE = Path(__file__).parent / "fixtures" / "locustfile.py"


def test_locust_reads_every_answer_whole_and_counts_what_the_engine_counts() -> None:
    with engine_process() as engine:
        command = [sys.executable, "-m", "locust", "--locustfile", str(FILE), "--headless"]
        command += ["--host", engine.url, "--users", "4", "--spawn-rate", "4", "--json"]
        command += ["--run-time", "3s", "--stop-timeout", "20", "--loglevel", "ERROR"]
        ended = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
            check=False,
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        answers, first_tokens = sorted(json.loads(ended.stdout), key=lambda row: row["method"])
        assert (answers["method"], first_tokens["method"]) == ("POST", "SSE")
        assert answers["num_failures"] == 0
        n = answers["num_requests"]
        assert n == first_tokens["num_requests"] >= 4, "each of the four users got one at least"
        assert engine.metric("vllm:request_success_total") == n
        assert engine.metric("vllm:generation_tokens_total") == 16 * n
        # No client sees a token before the engine made it.
        waited = engine.metric("vllm:time_to_first_token_seconds_sum") * 1_000
        assert 0 < waited <= first_tokens["total_response_time"]
