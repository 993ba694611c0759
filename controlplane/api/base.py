"""What every view of the API stands on: the actor, its rights, ETags, pages by cursor."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.generics import GenericAPIView
from rest_framework.pagination import CursorPagination
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.api.permissions import HasRight, SignedIn
from controlplane.api.problem import PreconditionFailed, PreconditionRequired
from controlplane.teams.rights import Actor, Right
from documents.problem import DocumentError, Problem


class Page(CursorPagination):
    """By id, which sorts by time: newest first, stable while rows are added."""

    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 200
    ordering = "-id"


class TeamView(GenericAPIView):
    """A view for one team's actor. Rights are read from ``read_right`` and ``write_right``."""

    permission_classes = (HasRight,)
    pagination_class = Page
    read_right = Right.READ
    write_right = Right.CATALOGUE_WRITE

    @property
    def actor(self) -> Actor:
        return self.request.auth

    def body(self) -> dict[str, Any]:
        """The request's JSON object; anything else is refused."""
        given = self.request.data
        if not isinstance(given, Mapping):
            raise DocumentError([Problem("", given, "must be a JSON object")])
        return dict(given)

    def shown(self, row: Any) -> dict[str, Any]:
        """A row as the API writes it."""
        return dict(self.get_serializer(row).data)

    def answer(self, row: Any, *, status: int = 200, location: str = "") -> Response:
        shown = self.shown(row)
        response = Response(shown, status=status)
        response["ETag"] = etag(shown)
        if location:
            response["Location"] = location
        return response

    def guard(self) -> Callable[[Any], None]:
        """Refuses a change to what the caller has not read; the service calls it under its lock."""
        wanted = self.request.headers.get("If-Match")
        if not wanted:
            raise PreconditionRequired

        def check(row: Any) -> None:
            tags = [tag.strip() for tag in wanted.split(",")]
            if "*" not in tags and etag(self.shown(row)) not in tags:
                raise PreconditionFailed

        return check


@extend_schema(exclude=True)
class Nowhere(APIView):
    """Every address that no other view has, whatever the method."""

    permission_classes = (SignedIn,)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        raise NotFound("There is nothing at this address; /api/v1/schema lists every one.")


def etag(shown: Mapping[str, Any]) -> str:
    text = json.dumps(json.loads(JSONRenderer().render(shown)), sort_keys=True)
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'
