"""What this server may call, from HEADWAY_EGRESS; each call is checked again when made."""

from __future__ import annotations

import ipaddress
import socket

from asgiref.sync import async_to_sync
from django.conf import settings

from documents.problem import DocumentError, Problem
from engines.egress import EgressDenied, EgressRules, resolve

LOOPBACK = ("127.0.0.0/8", "::1/128")


def rules() -> EgressRules:
    """Public addresses, and the networks that the setting names."""
    named: list[str] = []
    for word in settings.EGRESS:
        named.extend(LOOPBACK if word == "loopback" else () if word == "public" else (word,))
    return EgressRules(allow=tuple(ipaddress.ip_network(text) for text in named))


def check(url: str, *, path: str) -> None:
    """DocumentError at ``path`` when the rules forbid the URL.

    A name that has no address now passes: the engine may come up later, and is checked then.
    """
    try:
        async_to_sync(resolve)(url, rules())
    except EgressDenied as error:
        remedy = f"{error.reason}; {error.remedy} (HEADWAY_EGRESS)"
        raise DocumentError([Problem(path, error.url, remedy)]) from None
    except socket.gaierror:
        return
