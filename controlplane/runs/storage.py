"""Where a run's files are."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings

from controlplane.runs.models import Run


def directory(run: Run) -> Path:
    """The run's own directory, whether it is there yet or not."""
    return Path(settings.DATA_DIR) / "runs" / str(run.pk)
