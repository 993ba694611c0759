"""Words of a command line become a scenario document; its parser then checks all of it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from documents.problem import DocumentError, Problem
from documents.yaml_text import parse_yaml
from loadtest import builtin
from schedulers.builtin import builtin as builtin_policy
from schedulers.builtin import builtin_names
from schedulers.concurrency.base import laws
from schedulers.document import API_VERSION, KIND, Policy

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "": 1.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|)")
_SCALARS = {
    "duration": "duration_s",
    "drain": "drain_s",
    "seed": "seed",
    "prompt_salt": "prompt_salt",
    "transport": "transport",
}


def seconds(text: str) -> float:
    """``90``, ``90s``, ``1.5m``, ``250ms`` or ``1h``."""
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no duration; write 60s, 250ms, 2m or 1h")
    return float(found[1]) * _UNITS[found[2]]


def warm_up(text: str) -> float | str:
    """A duration, or ``auto``."""
    return "auto" if text.strip() == "auto" else seconds(text)


def timeout(text: str) -> tuple[str, float]:
    """``first_token=10s``: one of the four time-outs."""
    name, _, value = text.partition("=")
    if name not in ("connect", "first_token", "idle", "total"):
        raise argparse.ArgumentTypeError("write connect|first_token|idle|total=DURATION")
    return f"{name}_s", seconds(value)


def document(args: argparse.Namespace) -> dict[str, Any]:
    """The scenario document that the arguments ask for; the model may still be open.

    A command without one of these options asks for nothing by it.
    """
    args = argparse.Namespace(**{**_NOT_GIVEN, **vars(args)})
    given: dict[str, Any] = dict(_file(args.scenario, "scenario")) if args.scenario else {}
    for option, name in _SCALARS.items():
        if getattr(args, option) is not None:
            given[name] = getattr(args, option)
    given |= _warm_up(args.warm_up)
    given.setdefault("duration_s", 60.0)
    given["endpoint"] = _endpoint(args, given.get("endpoint"))
    given["workload"] = _workload(args, given.get("workload"))
    given["arrivals"] = _arrivals(args, given.get("arrivals"))
    if args.timeout:
        given["timeouts"] = {**_mapping(given.get("timeouts"), "timeouts"), **dict(args.timeout)}
    if args.slo:
        given["slo"] = dict(named(args.slo, builtin.SLOS, "slo"))
    policy = _policy(args.policy) if args.policy else given.get("policy")
    given["policy"] = _set(policy, args.policy_set)
    if args.shadow:
        given["shadow"] = _policy(args.shadow, "shadow")
    return given


def _warm_up(given: float | str | None) -> dict[str, Any]:
    """Seconds on the command line win over a file that asks for ``auto``, and the reverse."""
    if given is None:
        return {}
    if isinstance(given, str):
        return {"warm_up": given, "warm_up_s": 0.0}
    return {"warm_up": "seconds", "warm_up_s": given}


_NOT_GIVEN: Mapping[str, Any] = {
    **dict.fromkeys(("scenario", "shadow", "concurrency", "think", "rate", *_SCALARS)),
    "arrivals_set": (),
}


def _endpoint(args: argparse.Namespace, given: Any) -> dict[str, Any]:
    endpoint = dict(_mapping(given, "endpoint"))
    for option, name in (("endpoint", "base_url"), ("model", "model"), ("kind", "kind")):
        if getattr(args, option):
            endpoint[name] = getattr(args, option)
    if "base_url" not in endpoint:
        raise DocumentError([Problem("endpoint", None, "is required; give --endpoint URL")])
    return endpoint


def _workload(args: argparse.Namespace, given: Any) -> dict[str, Any]:
    if args.workload or given is None:
        given = named(args.workload or "chat", builtin.WORKLOADS, "workload")
    workload = dict(_mapping(given, "workload"))
    for what, length in (("prompt", args.prompt_tokens), ("output", args.max_tokens)):
        if length is None:
            continue
        if workload.get("kind") == "fixed":
            workload[f"{what}_tokens"] = length
            continue
        name = f"{what}_tokens"
        exact = {"mean": length, "sigma": 0, "min": length, "max": length}
        workload.update({f"{name}_{key}": value for key, value in exact.items()})
    return workload


def _arrivals(args: argparse.Namespace, given: Any) -> dict[str, Any]:
    given = _mapping(given, "arrivals")
    name = args.arrivals or given.get("process")
    if name is None:
        name = "closed" if args.concurrency is not None else "poisson"
    arrivals = dict(given) if given.get("process") == name else {"process": name}
    options = (("rate", args.rate), ("concurrency", args.concurrency), ("think_s", args.think))
    arrivals.update({key: value for key, value in options if value is not None})
    for change in args.arrivals_set:
        parameter, _, value = change.partition("=")
        arrivals[parameter.strip()] = parse_yaml(value)
    return arrivals


def _mapping(given: Any, path: str) -> Mapping[str, Any]:
    """A part of the scenario's file as it stands there; nothing where it is not given."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise DocumentError([Problem(path, given, "must be a mapping of field: value")])
    return given


def _policy(text: str, what: str = "policy") -> Mapping[str, Any]:
    """A built-in policy, a law by its bare name with its defaults, or a file."""
    if text in builtin_names():
        return builtin_policy(text).to_document()
    if text in laws.all():
        spec = {"concurrency": {"law": text}}
        name = text.replace("_", "-")
        return {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": name}, "spec": spec}
    return _file_or_names(text, (*builtin_names(), *laws.all()), what)


def _set(policy: Any, changes: list[str]) -> Any:
    """``concurrency.limit=64`` and the like on a policy document, all of them before any check."""
    if not changes:
        return policy
    if policy is None:
        raise DocumentError([Problem("policy", None, "--policy-set needs a --policy")])
    try:
        changed = Policy.parse(policy).to_document()
    except DocumentError as error:
        raise error.below("policy") from None
    for change in changes:
        path, _, value = change.partition("=")
        point, _, name = path.strip().removeprefix("spec.").partition(".")
        if point not in changed["spec"]:
            filled = ", ".join(changed["spec"])
            message = f"{point!r} is no decision point of this policy; it fills: {filled}"
            raise DocumentError([Problem("policy", change, message)])
        changed["spec"][point][name] = parse_yaml(value)
    return changed


def named(text: str, known: Mapping[str, Mapping[str, Any]], what: str) -> Mapping[str, Any]:
    """A built-in document by its name, or a file."""
    return known[text] if text in known else _file_or_names(text, tuple(known), what)


def _file_or_names(text: str, names: tuple[str, ...], what: str) -> Mapping[str, Any]:
    if not Path(text).exists():
        message = f"is neither a file nor a built-in name; known: {', '.join(sorted(names))}"
        raise DocumentError([Problem(what, text, message)])
    return _file(Path(text), what)


def _file(path: Path, what: str) -> Mapping[str, Any]:
    try:
        found = parse_yaml(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise DocumentError([Problem(what, str(path), f"can't be read: {error}")]) from None
    if not isinstance(found, Mapping):
        raise DocumentError([Problem(what, str(path), "must hold a mapping of field: value")])
    return found


policy_document, named_document = _policy, named
workload_document, arrivals_document, with_changes = _workload, _arrivals, _set
"""For other commands that take the same words."""
