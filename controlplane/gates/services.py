"""What people and tokens do to gates: keep them, and run them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.db import transaction

from controlplane import egress
from controlplane.catalogue.services import lines
from controlplane.catalogue.services.writing import Guard, note, unguarded
from controlplane.gates.documents import GateDocument, check_overrides
from controlplane.gates.models import Gate, GateRun, GateVersion
from controlplane.runs import launch
from controlplane.runs import services as runs
from controlplane.teams.models import Team
from controlplane.teams.rights import Actor, Right, require
from documents.in_words import in_words
from documents.problem import DocumentError, Problem
from loadtest.scenario import Scenario


class TargetNotAllowed(DocumentError):  # noqa: N818 - a rule's word, told to a person
    """The endpoint is one that this server may not call."""


def save_gate(
    *, actor: Actor, document: object, line: Gate | None = None, guard: Guard = unguarded
) -> lines.Saved[Gate, GateVersion]:
    """A new gate, or with ``line`` its next version; an equal document adds none."""
    kind = lines.Kind("gate", Gate, GateVersion, _parser(actor.team))
    return lines.save(kind, actor, line, document, guard)


def scenario_of(team: Team, document: object) -> Scenario:
    """The load that a gate's document asks for, every fault told by its path in the document."""
    gate = GateDocument.parse(document)
    try:
        return launch.parse(team, gate.launch({})).scenario()
    except DocumentError as error:
        raise error.below("spec") from None


def start(*, actor: Actor, gate: Gate, overrides: Mapping[str, Any] | None = None) -> GateRun:
    """Run the newest version. DocumentError when it can't be, with what would let it."""
    require(actor, Right.RUNS_WRITE, to="run_gate", kind="gate", name=gate.name)
    version = gate.latest
    document = GateDocument.parse(version.document)
    replaced = check_overrides(document.spec, overrides or {})
    asked = _launch(actor.team, document, replaced)
    try:
        egress.check(asked.endpoint.base_url, path="endpoint")
    except DocumentError as error:
        raise TargetNotAllowed(error.problems) from None
    with transaction.atomic():
        run = runs.start(actor=actor, launch=asked)
        note(actor, "run_gate", gate, run=str(run.pk), version=version.number, **replaced)
        return GateRun.objects.create(run=run, version=version, overrides=replaced)


def _launch(team: Team, document: GateDocument, replaced: Mapping[str, Any]) -> launch.Launch:
    """What the caller said is told by its own field; what the gate says, as the gate's fault."""
    try:
        asked = launch.parse(team, document.launch(replaced))
        asked.scenario()
    except DocumentError as error:
        raise DocumentError(_whose(problem, replaced) for problem in error.problems) from None
    return asked


def _whose(problem: Problem, replaced: Mapping[str, Any]) -> Problem:
    if problem.path.partition(".")[0] in replaced:
        return problem
    message = f"the gate's own {in_words(problem)}; change the gate"
    return Problem("", problem.value, message)


def _parser(team: Team) -> Callable[[object], Mapping[str, Any]]:
    """The canonical document, when its load could be run as the catalogue is now."""

    def parse(given: object) -> Mapping[str, Any]:
        scenario_of(team, given)
        return GateDocument.parse(given).to_document()

    return parse
