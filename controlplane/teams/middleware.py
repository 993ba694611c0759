"""Which team a request speaks for, and what its member may do there."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from controlplane.teams.models import Membership, Role
from controlplane.teams.rights import Actor

SESSION_KEY = "team"


class TeamMiddleware:
    """Sets request.team, request.role and request.actor; all None for a stranger.

    The team is the one chosen in the session, else the first that the person joined. Rights are
    read afresh at each request, so a membership that ended gives nothing.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        found = membership(request)
        request.team = found.team if found else None
        request.role = Role(found.role) if found else None
        request.actor = Actor(found.user, found.team, Role(found.role)) if found else None
        return self.get_response(request)


def membership(request: HttpRequest) -> Membership | None:
    if not request.user.is_authenticated:
        return None
    mine = list(Membership.objects.filter(user=request.user).select_related("team", "user"))
    chosen = request.session.get(SESSION_KEY)
    for one in mine:
        if str(one.team_id) == chosen:
            return one
    return mine[0] if mine else None
