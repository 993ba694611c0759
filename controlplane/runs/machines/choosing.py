"""Which machines carry the slices of a run: of those that answer, one Celery worker a machine."""

from __future__ import annotations

from collections.abc import Iterable


class TooFewMachines(Exception):  # noqa: N818 - what was found, told to a person
    """Fewer machines answered than were asked for."""


def machine_of(node: str) -> str:
    """``b`` of a worker that is called ``celery@b``: workers of one machine share a machine."""
    return node.partition("@")[2] or node


def chosen(answered: Iterable[str], wanted: int, *, own: str = "", within: float) -> list[str]:
    """Workers on ``wanted`` different machines; the machine of ``own``, who leads, is taken last.

    TooFewMachines says which answered within so many seconds.
    """
    by_machine: dict[str, str] = {}
    for node in sorted(answered, key=lambda node: (node != own, node)):
        by_machine.setdefault(machine_of(node), node)
    mine = machine_of(own)
    machines = sorted(by_machine, key=lambda machine: (machine == mine, machine))
    if len(machines) < wanted:
        names = f": {', '.join(sorted(machines))}" if machines else ""
        raise TooFewMachines(
            f"{wanted} machines were asked for, and {len(machines)} answered within {within:g} s"
            f"{names}. No request was sent. Start a worker on each further machine, or ask for "
            "fewer machines."
        )
    return [by_machine[machine] for machine in machines[:wanted]]
