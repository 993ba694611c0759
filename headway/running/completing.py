"""What the arguments leave open, asked of the endpoint: its kind, and its only model."""

from __future__ import annotations

from typing import Any

from documents.problem import DocumentError, Problem
from engines.egress import EgressRules
from engines.probe import probe
from loadtest.scenario import Scenario


class NoModel(RuntimeError):  # noqa: N818 - reads as what happened
    """The endpoint can't be asked which model it serves."""


async def complete(given: dict[str, Any], rules: EgressRules, key: str) -> dict[str, Any]:
    """Ask the endpoint for its kind and model where the arguments leave them open."""
    endpoint = given["endpoint"]
    if endpoint.get("model") and endpoint.get("kind"):
        return given
    open_model = {**endpoint, "model": endpoint.get("model") or "?"}
    Scenario.parse({**given, "endpoint": open_model})  # other faults first
    found = await probe(
        endpoint["base_url"], rules, model=endpoint.get("model", ""), api_key=key, within=5.0
    )
    model = endpoint.get("model") or _only(found.models, endpoint["base_url"])
    kind = endpoint.get("kind") or found.kind
    return {**given, "endpoint": {**endpoint, "model": model, "kind": kind}}


def _only(models: tuple[str, ...], base_url: str) -> str:
    if not models:
        raise NoModel(f"{base_url} doesn't say which model it serves; give --model")
    if len(models) > 1:
        message = f"serves {len(models)} models; give one with --model: {', '.join(models)}"
        raise DocumentError([Problem("endpoint.model", None, message)])
    return models[0]
