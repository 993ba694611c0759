"""Which hosts carry the slices of a run: of those that answer, one Celery worker a host."""

from __future__ import annotations

from collections.abc import Iterable


class TooFewHosts(Exception):  # noqa: N818 - what was found, told to a person
    """Fewer hosts answered than were asked for."""


def host_of(node: str) -> str:
    """``b`` of a worker that is called ``celery@b``: workers of one host share a machine."""
    return node.partition("@")[2] or node


def chosen(answered: Iterable[str], wanted: int, *, own: str = "", within: float) -> list[str]:
    """Workers on ``wanted`` different hosts; the host of ``own``, who leads, is taken last.

    TooFewHosts says which answered within so many seconds.
    """
    by_host: dict[str, str] = {}
    for node in sorted(answered, key=lambda node: (node != own, node)):
        by_host.setdefault(host_of(node), node)
    mine = host_of(own)
    hosts = sorted(by_host, key=lambda host: (host == mine, host))
    if len(hosts) < wanted:
        names = f": {', '.join(sorted(hosts))}" if hosts else ""
        raise TooFewHosts(
            f"{wanted} hosts were asked for, and {len(hosts)} answered within {within:g} s{names}. "
            "No request was sent. Start a worker on each further host, or ask for fewer hosts."
        )
    return [by_host[host] for host in hosts[:wanted]]
