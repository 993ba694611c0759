"""What all kinds of the catalogue share in the API, from list to versions."""

from __future__ import annotations

import uuid
from typing import Any, ClassVar

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api.base import TeamView
from controlplane.api.serializers import ProblemOut, VersionOut
from controlplane.catalogue.models import Owned
from controlplane.catalogue.services.removal import delete

IF_MATCH = OpenApiParameter(
    "If-Match", str, OpenApiParameter.HEADER, required=True, description="ETag of the last read"
)


class Resource(TeamView):
    """One kind of object. Subclasses say how to make and how to replace one."""

    model: ClassVar[type[Owned]]
    route: ClassVar[str]

    def get_queryset(self) -> QuerySet[Any]:
        if getattr(self, "swagger_fake_view", False):
            return self.model._default_manager.none()  # noqa: SLF001
        return self.model._default_manager.filter(team=self.actor.team)  # noqa: SLF001

    def find(self, ref: str) -> Any:
        """By id or by slug; another team's object is as good as absent."""
        try:
            return get_object_or_404(self.get_queryset(), pk=uuid.UUID(ref))
        except ValueError:
            return get_object_or_404(self.get_queryset(), slug=ref)

    def create(self, body: dict[str, Any]) -> Owned:
        raise NotImplementedError

    def replace(self, row: Any, body: dict[str, Any]) -> Owned:
        raise NotImplementedError


class Collection(Resource):
    def get(self, request: Request) -> Response:  # noqa: ARG002 - DRF's signature
        page = self.paginate_queryset(self.get_queryset())
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

    def post(self, request: Request) -> Response:  # noqa: ARG002
        row: Any = self.create(self.body())
        where = reverse(f"api:{self.route}", args=[row.pk])
        return self.answer(row, status=201, location=where)


class Item(Resource):
    def get(self, request: Request, ref: str) -> Response:  # noqa: ARG002
        return self.answer(self.find(ref))

    def put(self, request: Request, ref: str) -> Response:  # noqa: ARG002
        row = self.find(ref)
        return self.answer(self.replace(row, self.body()))

    def delete(self, request: Request, ref: str) -> Response:  # noqa: ARG002
        row = self.find(ref)
        delete(actor=self.actor, row=row, guard=self.guard())
        return Response(status=204)


class Versions(Resource):
    """All versions of a line, newest first. Subclasses are made beside their kind."""

    @extend_schema(responses=VersionOut(many=True))
    def get(self, request: Request, ref: str) -> Response:  # noqa: ARG002
        versions = self.find(ref).versions.select_related("created_by")
        page = self.paginate_queryset(versions)
        return self.get_paginated_response(VersionOut(page, many=True).data)


class Version(Resource):
    @extend_schema(responses=VersionOut)
    def get(self, request: Request, ref: str, number: int) -> Response:  # noqa: ARG002
        versions = self.find(ref).versions.select_related("created_by")
        return Response(VersionOut(get_object_or_404(versions, number=number)).data)


def views_of(kind: type[Resource], given: Any, noun: str) -> tuple[Any, Any]:
    """The collection's and the item's view of a kind, described for OpenAPI."""
    shown = kind.serializer_class
    collection = type(f"{noun}Collection", (kind, Collection), {})
    item = type(f"{noun}Item", (kind, Item), {})
    failures = dict.fromkeys((403, 409, 422), ProblemOut)
    changed = dict.fromkeys((403, 404, 409, 412, 422, 428), ProblemOut)
    collection = extend_schema_view(
        get=extend_schema(responses={200: shown(many=True)}),
        post=extend_schema(request=given, responses={201: shown, **failures}),
    )(collection)
    item = extend_schema_view(
        get=extend_schema(responses={200: shown, 404: ProblemOut}),
        put=extend_schema(request=given, responses={200: shown, **changed}, parameters=[IF_MATCH]),
        delete=extend_schema(responses={204: None, **changed}, parameters=[IF_MATCH]),
    )(item)
    return collection.as_view(), item.as_view()
