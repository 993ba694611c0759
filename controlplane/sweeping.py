"""What has to be looked at every few seconds: each app says so in its own ``sweeps.py``.

A sweep is safe to run late, twice or beside another, since a second watchdog may be alive.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

from django.db import OperationalError
from django.utils.module_loading import autodiscover_modules

Sweep = Callable[[datetime], str]
"""One pass at a time; what it has done, in words for a terminal."""

log = logging.getLogger(__name__)

_SWEEPS: dict[str, Sweep] = {}


def add(name: str, sweep: Sweep) -> None:
    """Called once by an app's ``sweeps`` module."""
    _SWEEPS[name] = sweep


def every() -> Mapping[str, Sweep]:
    """All sweeps by name; they run in the order of their names."""
    autodiscover_modules("sweeps")
    return dict(sorted(_SWEEPS.items()))


def passed(now: Callable[[], datetime]) -> Iterator[tuple[str, str]]:
    """One pass: each sweep's name and what it said. A fault of one costs the others nothing.

    OperationalError passes through: the database is away for all of them.
    """
    for name, sweep in every().items():
        try:
            yield name, sweep(now())
        except OperationalError:
            raise
        except Exception:
            log.exception("the sweep of %s failed", name)
