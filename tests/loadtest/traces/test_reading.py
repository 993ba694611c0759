"""Traces of each format become requests in order of time; a faulty line says which it is."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from documents.problem import DocumentError
from loadtest.traces.base import Measured, Traced, formats, read_trace
from loadtest.traces.contents import content_of
from measurement.outcome import Outcome
from measurement.sample import Sample
from measurement.sample_json import to_dict
from simulator.virtual import Arrival, replay
from tests.simulator.core.engines import config

ROOT = Path(__file__).parents[3]
AZURE = """TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:15:50.9951690,396,109
2023-11-16 18:15:46.6805900,374,44
"""
AZURE_2024 = """TIMESTAMP,ContextTokens,GeneratedTokens
2024-05-10 00:00:00.009930+00:00,2162,5
2024-05-10 00:00:01.017335+00:00,2399,6
"""
MOONCAKE = """{"timestamp": 0, "input_length": 1030, "output_length": 5, "hash_ids": [7, 8, 9]}
{"timestamp": 3000, "input_length": 1024, "output_length": 6, "hash_ids": [7, 8]}
"""
BURSTGPT = """Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type
5,ChatGPT,472,18,490,Conversation log
45,ChatGPT,1087,0,1087,Conversation log
118,GPT-4,417,276,693,API log
"""
LOG = """{"request_id": "a", "input_toks": 9, "output_toks": 3, "arrival_time": 1777.5, \
"queued_ts": 10.0, "scheduled_ts": 10.1, "first_token_ts": 10.25, "last_token_ts": 11.0}
""".replace("\\\n", "")


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "trace"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(AZURE, [(0.0, 374, 44), (4.314579, 396, 109)], id="azure 2023"),
        pytest.param(AZURE_2024, [(0.0, 2162, 5), (1.007405, 2399, 6)], id="azure 2024"),
        pytest.param(MOONCAKE, [(0.0, 1030, 5), (3.0, 1024, 6)], id="mooncake"),
        pytest.param(BURSTGPT, [(0.0, 472, 18), (113.0, 417, 276)], id="burstgpt, a failed row"),
        pytest.param(LOG, [(0.0, 9, 3)], id="request log"),
    ],
)
def test_each_format_is_recognised_by_its_first_line(
    tmp_path: Path, text: str, expected: list[tuple[float, int, int]]
) -> None:
    found = read_trace(written(tmp_path, text))
    assert [each.at for each in found] == pytest.approx([at for at, _, _ in expected])
    assert [(each.prompt_tokens, each.output_tokens) for each in found] == [
        (prompt, output) for _, prompt, output in expected
    ]


def test_a_log_tells_what_the_engine_did(tmp_path: Path) -> None:
    assert read_trace(written(tmp_path, LOG))[0].measured == Measured(0.25, 1.0)


def test_samples_of_a_run_are_a_trace_without_their_failures(tmp_path: Path) -> None:
    import msgspec

    good = Sample(
        0, "default", 4.0, Outcome.OK, sent_at=4.5, first_token_at=5.0, done_at=6.0,
        prompt_tokens=10, output_tokens=20,
    )  # fmt: skip
    bad = Sample(1, "default", 5.0, Outcome.CONNECT, sent_at=5.0)
    text = b"\n".join(msgspec.json.encode(to_dict(each)) for each in (good, bad)).decode()
    assert read_trace(written(tmp_path, text)) == [Traced(0.0, 10, 20, measured=Measured(0.5, 1.5))]


def test_a_gzipped_trace_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv.gz"
    path.write_bytes(gzip.compress(AZURE.encode()))
    assert len(read_trace(path)) == 2


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("", "no known format", id="empty"),
        pytest.param("a,b,c\n1,2,3\n", "no known format", id="another table"),
        pytest.param(
            AZURE + "2023-11-16,x,1\n", "line 4 is no request of the format azure", id="words"
        ),
        pytest.param(MOONCAKE + "{}\n", "line 3 is no request", id="a field that lacks"),
        pytest.param(AZURE.splitlines()[0] + "\n", "holds no request", id="a head alone"),
    ],
)
def test_a_faulty_trace_says_what_is_wrong(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(DocumentError, match=told):
        read_trace(written(tmp_path, text))


def test_a_missing_trace_is_told_as_such(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="can't be read"):
        read_trace(tmp_path / "none")


def test_equal_pieces_are_found_again(tmp_path: Path) -> None:
    trace = read_trace(written(tmp_path, MOONCAKE))
    load = [
        Arrival(each.at, each.prompt_tokens, each.output_tokens, content=content_of(each, place))
        for place, each in enumerate(trace)
    ]
    served = replay(load, config(blocks=2000, max_model_len=2000))
    assert [each.cached_tokens for each in served] == [0, 1020], "all but the block of the last"


def test_the_docs_have_a_row_for_each_format() -> None:
    page = (ROOT / "docs/simulate.md").read_text()
    for name, cls in formats.all().items():
        assert f"| `{name}` | {cls.summary} |" in page


@pytest.mark.traces
@pytest.mark.skipif("HEADWAY_TRACES" not in os.environ, reason="HEADWAY_TRACES names no folder")
def test_the_public_traces_are_read_whole() -> None:
    folder = Path(os.environ["HEADWAY_TRACES"])
    azure = read_trace(folder / "azure2023/AzureLLMInferenceTrace_conv.csv")
    assert len(azure) == 19_366
    assert azure[-1].at == pytest.approx(3_501.7, abs=0.1)
    assert len(read_trace(folder / "mooncake-fast25/conversation_trace.jsonl")) == 12_031
