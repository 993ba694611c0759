"""Who may call what: deny by default."""

from __future__ import annotations

from typing import Any

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from controlplane.teams.rights import Actor, Right, require

SAFE = ("GET", "HEAD", "OPTIONS")


class HasRight(BasePermission):
    """Deny by default: a read needs the view's ``read_right``, all else its ``write_right``."""

    def has_permission(self, request: Request, view: Any) -> bool:
        if not isinstance(request.auth, Actor):
            return False
        right: Right = view.read_right if request.method in SAFE else view.write_right
        require(request.auth, right, to=f"{request.method} {request.path}", kind="api")
        return True


class SignedIn(BasePermission):
    """Any account, whatever its team."""

    def has_permission(self, request: Request, view: Any) -> bool:  # noqa: ARG002
        return bool(request.user and request.user.is_authenticated)
