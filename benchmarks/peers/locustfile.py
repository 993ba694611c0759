"""Locust's part: users that stream a chat completion and time its first token themselves."""

import json
import time

from locust import FastHttpUser, constant_throughput, events, task

TTFT_MS: list[float] = []
ERRORS = [0]


@events.init_command_line_parser.add_listener
def _options(parser) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--each", type=float, default=0.0)
    parser.add_argument("--told", default="")


@events.quitting.add_listener
def _tell(environment, **_) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN003
    with open(environment.parsed_options.told, "w") as file:  # noqa: PTH123
        json.dump({"ttft_ms": TTFT_MS, "errors": ERRORS[0]}, file)


class Chat(FastHttpUser):
    """One request after another, or at most ``--each`` a second."""

    def wait_time(self) -> float:
        each = self.environment.parsed_options.each
        return constant_throughput(each)(self) if each else 0.0

    @task
    def ask(self) -> None:
        body = {
            "model": "mock-model",
            "messages": [{"role": "user", "content": "one two three four"}],
            "max_tokens": self.environment.parsed_options.tokens,
            "stream": True,
        }
        began, first, seen = time.perf_counter(), None, b""
        with self.client.post(
            "/v1/chat/completions", json=body, stream=True, catch_response=True
        ) as answer:
            while line := answer.stream.readline(b"\n"):  # by CRLF unless told, as SSE has none
                seen += line
                if first is None and b'"content":"' in line.replace(b": ", b":"):
                    first = time.perf_counter()
            if answer.status_code != 200 or b'"error"' in seen or b"[DONE]" not in seen:
                ERRORS[0] += 1
                answer.failure("no whole answer")
        if first is not None:
            TTFT_MS.append(1e3 * (first - began))
