"""Samples as an Apache Parquet file: one row a request, one column a field, written as a stream.

A Parquet file can be read only once its footer is there, which is its end. So it is made from
samples that stand elsewhere, beside the place where it will be, and put there whole. Needs
pyarrow: the extra ``headway[parquet]``.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from documents.problem import DocumentError, Problem
from measurement.sample import Sample

ROWS = 4096
"""Rows of a group: what is held in memory at a time, whatever the run's length."""


def check(path: str) -> None:
    """DocumentError at ``path`` where pyarrow is not installed."""
    try:
        importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        message = (
            "needs pyarrow, which is not installed here; install headway[parquet], or keep the "
            "samples as jsonl"
        )
        raise DocumentError([Problem(path, "parquet", message)]) from error


def write(samples: Iterable[Sample], path: Path) -> int:
    """Write them all, then put the file in its place; how many there were.

    OSError leaves nothing behind but what was there before.
    """
    check("samples_format")
    arrow, parquet = map(importlib.import_module, ("pyarrow", "pyarrow.parquet"))
    schema = _schema(arrow)
    fresh, count, left = path.with_name(f".{path.name}.new"), 0, iter(samples)
    try:
        with parquet.ParquetWriter(fresh, schema, compression="zstd") as writer:
            while rows := [msgspec.to_builtins(sample) for sample in islice(left, ROWS)]:
                writer.write_table(arrow.Table.from_pylist(rows, schema=schema))
                count += len(rows)
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
    return count


def read(path: Path) -> Iterator[Sample]:
    """Every sample of a file that ``write`` wrote, exactly, a group at a time."""
    check("samples_format")
    parquet = importlib.import_module("pyarrow.parquet")
    with parquet.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=ROWS):
            for row in batch.to_pylist():
                row["attempts"] = [_known(attempt) for attempt in row["attempts"]]
                yield msgspec.convert(row, Sample)


def _known(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}


def _schema(arrow: Any) -> Any:
    """Null where a metric has no meaning for a request, as in the sample itself."""
    seconds, count = arrow.float64(), arrow.int64()
    word = arrow.dictionary(arrow.int32(), arrow.string())
    attempt = {
        "outcome": arrow.string(),
        "sent_at": seconds,
        "done_at": seconds,
        "status": count,
        "retry_after": seconds,
    }
    columns = {
        "index": count,
        "tenant": word,
        "intended_at": seconds,
        "outcome": word,
        "handed_at": seconds,
        "admitted_at": seconds,
        "sent_at": seconds,
        "first_token_at": seconds,
        "first_answer_at": seconds,
        "last_token_at": seconds,
        "done_at": seconds,
        "prompt_tokens": count,
        "output_tokens": count,
        "token_source": word,
        "first_chunk_tokens": count,
        "chunks": count,
        "gaps": arrow.list_(seconds),
        "gap_tokens": arrow.list_(count),
        "status": count,
        "retry_after": seconds,
        "attempts": arrow.list_(arrow.struct(list(attempt.items()))),
        "error": arrow.string(),
    }
    return arrow.schema(list(columns.items()))
