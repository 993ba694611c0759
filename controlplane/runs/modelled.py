"""A run that the engine model played: which profile, how far off, and how every page says so."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from django.utils.translation import gettext as _

from controlplane.runs.models import Run
from documents.problem import DocumentError, Problem
from loadtest.simulation.stand_in import told
from simulator import profile as profiles
from simulator.profile import Profile


def profile_of(name: object) -> Profile:
    """A shipped profile; never a file, whatever the name says."""
    known = profiles.names()
    if name not in known:
        wanted = f"must be a profile of the engine model: {', '.join(known)}"
        raise DocumentError([Problem("model", name, wanted)])
    return profiles.load(str(name))


def of(run: Run) -> dict[str, Any] | None:
    """What stood in for the engine, from the report or else from the profile; None: nothing did."""
    if not run.profile:
        return None
    stored = "summary" not in run.get_deferred_fields() and (run.summary or {}).get("model")
    return stored or _told(run.profile)


@lru_cache(maxsize=64)
def _told(name: str) -> dict[str, Any]:
    try:
        return told(profile_of(name), name)
    except DocumentError:  # it shipped when the run was asked for, and doesn't any more
        return {"label": "", "profile": name, "mean_tpot_error_percent": None, "error": ""}


def error_of(model: dict[str, Any]) -> str:
    """``stated error ±3.6 % of mean TPOT``."""
    percent = model.get("mean_tpot_error_percent")
    if percent is None:
        return _("never checked against an engine")
    return _("stated error ±%(percent)s %% of mean TPOT") % {"percent": f"{percent:g}"}


def words(run: Run) -> dict[str, str]:
    """For pages: who stood in, the error in short and in full; empty where an engine answered."""
    model = of(run)
    if model is None:
        return {}
    return {"profile": run.profile, "error": error_of(model), "said": str(model.get("label", ""))}
