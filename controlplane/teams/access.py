"""The gate before every page: signed in, in a team, with the right."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse

from controlplane.teams.rights import Denied, Right, require

View = Callable[..., HttpResponse]


def page(right: Right = Right.READ) -> Callable[[View], View]:
    """A stranger is sent to sign in; a member without the right is refused, and it is noted.

    ``@page(Right.RUNS_WRITE)`` also guards what a GET shows; use it for pages that are only
    of use to who may write.
    """

    def decorate(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if not request.user.is_authenticated:
                return redirect_to_login(request.get_full_path())
            if request.actor is None:
                raise Denied("Your account is in no team; ask an admin of one to add you.")
            require(request.actor, right, to=f"open {request.path}", kind="page")
            return view(request, *args, **kwargs)

        return guarded

    return decorate
