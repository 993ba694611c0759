"""How a run's samples are kept once it is over: as JSON lines, as a Parquet file, or as both.

While it runs they are JSON lines whatever was asked: only those can be read after a crash at any
byte. ``python -m loadtest.sample_store DIR`` makes the Parquet file of a run that has its lines.
"""

from __future__ import annotations

import sys
from pathlib import Path

from documents.problem import DocumentError, Problem
from loadtest import sample_parquet
from loadtest.recorder import PARQUET, SAMPLES, read_samples
from measurement.verdict import EXIT_CODES

JSONL, BOTH = "jsonl", "both"
FORMATS = (JSONL, "parquet", BOTH)


def check(wanted: str) -> None:
    """DocumentError for a format that there is not, or that can't be written here."""
    if wanted not in FORMATS:
        message = f"must be one of {', '.join(FORMATS)}"
        raise DocumentError([Problem("samples_format", wanted, message)])
    if wanted != JSONL:
        sample_parquet.check("samples_format")


def settle(out: Path, wanted: str) -> None:
    """Leave the samples of a run that is over as they are wanted."""
    if wanted == JSONL:
        return
    sample_parquet.write(read_samples(out), out / PARQUET)
    if wanted != BOTH:
        (out / SAMPLES).unlink()


def main() -> int:
    """Make the Parquet file beside the lines."""
    if len(sys.argv) != 2 or not (Path(sys.argv[1]) / SAMPLES).is_file():
        sys.stderr.write(f"usage: python -m loadtest.sample_store DIR, where {SAMPLES} is\n")
        return EXIT_CODES["bad_configuration"]
    try:
        settle(Path(sys.argv[1]), BOTH)
    except DocumentError as error:
        sys.stderr.write(f"loadtest.sample_store: {error}\n")
        return EXIT_CODES["bad_configuration"]
    return 0


if __name__ == "__main__":
    sys.exit(main())
