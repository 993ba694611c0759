"""What only policies have in the API: aliases that move, and the diff of two versions."""

from __future__ import annotations

from collections.abc import Callable

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api.base import Page
from controlplane.api.catalogue import PolicyKind
from controlplane.api.policy_serializers import AliasIn, AliasMoveOut, AliasOut, DiffOut
from controlplane.api.problem import PreconditionFailed
from controlplane.api.serializers import ProblemOut
from controlplane.catalogue import evidence
from controlplane.catalogue.diffing import parameter_diff
from controlplane.catalogue.documents import AliasDocument
from controlplane.catalogue.models import Alias, Policy, PolicyVersion
from controlplane.catalogue.services import aliases
from controlplane.runs.launch import LONGEST_NUMBER
from documents.parse import build
from documents.problem import DocumentError, Problem

IF_MATCH = OpenApiParameter(
    "If-Match", str, OpenApiParameter.HEADER, description="ETag of the last read; not for a new one"
)


class PolicyView(PolicyKind):
    """A view of something below one policy."""

    def version(self, line: Policy, number: object, *, path: str) -> PolicyVersion:
        """The line's version of that number; DocumentError says which there are."""
        text = str(number)
        plain = text.isascii() and text.isdecimal() and len(text) <= LONGEST_NUMBER
        found = line.versions.filter(number=int(text)).first() if plain else None
        if found is None:
            wanted = f"must be a version of {line.name}: 1 to {line.latest.number}"
            raise DocumentError([Problem(path, number, wanted)])
        return found


class AliasView(PolicyView):
    serializer_class = AliasOut

    def rows(self, ref: str) -> QuerySet[Alias]:
        return Alias.objects.filter(line=self.find(ref)).select_related("version")


class Aliases(AliasView):
    @extend_schema(responses=AliasOut(many=True))
    def get(self, request: Request, ref: str) -> Response:  # noqa: ARG002 - DRF's signature
        page = self.paginate_queryset(self.rows(ref))
        return self.get_paginated_response(self.get_serializer(page, many=True).data)


class OneAlias(AliasView):
    @extend_schema(responses={200: AliasOut, 404: ProblemOut})
    def get(self, request: Request, ref: str, name: str) -> Response:  # noqa: ARG002
        return self.answer(get_object_or_404(self.rows(ref), name=name))

    @extend_schema(
        request=AliasIn,
        parameters=[IF_MATCH],
        responses={
            **dict.fromkeys((200, 201), AliasOut),
            **dict.fromkeys((403, 404, 412, 422, 428), ProblemOut),
        },
    )
    def put(self, request: Request, ref: str, name: str) -> Response:  # noqa: ARG002
        """Move the alias; a name that is new makes one, and needs no If-Match."""
        line = self.find(ref)
        asked = build(AliasDocument, self.body())
        made: list[bool] = []
        alias = aliases.move(
            actor=self.actor,
            line=line,
            name=name,
            to=self.version(line, asked.version, path="version"),
            reason=asked.reason,
            guard=self._guard(made),
        )
        where = reverse("api:policy-alias", args=[line.pk, name]) if made else ""
        return self.answer(alias, status=201 if made else 200, location=where)

    def _guard(self, made: list[bool]) -> Callable[[Alias | None], None]:
        """What exists is moved by who has read it; what does not can't have been read."""

        def check(alias: Alias | None) -> None:
            if alias is not None:
                self.guard()(alias)
            elif self.request.headers.get("If-Match"):
                raise PreconditionFailed
            else:
                made.append(True)

        return check


class _Newest(Page):
    ordering = ("-at", "-id")


class AliasHistory(AliasView):
    pagination_class = _Newest
    serializer_class = AliasMoveOut

    @extend_schema(responses={200: AliasMoveOut(many=True), 404: ProblemOut})
    def get(self, request: Request, ref: str, name: str) -> Response:  # noqa: ARG002
        alias = get_object_or_404(self.rows(ref), name=name)
        page = self.paginate_queryset(aliases.history(alias.line, alias.name))
        return self.get_paginated_response(self.get_serializer(page, many=True).data)


class PolicyDiff(PolicyView):
    """Parameters and measured numbers of two versions, side by side."""

    @extend_schema(
        parameters=[
            OpenApiParameter("from", int, description="number; the one before ``to`` unless said"),
            OpenApiParameter("to", int, description="number; the newest unless said"),
        ],
        responses={200: DiffOut, 404: ProblemOut, 422: ProblemOut},
    )
    def get(self, request: Request, ref: str) -> Response:
        line, query = self.find(ref), request.query_params
        b = self.version(line, query.get("to", line.latest.number), path="to")
        a = self.version(line, query.get("from", b.based_on or b.number), path="from")
        found = {
            "from": a.number,
            "to": b.number,
            "parameters": [one.to_json() for one in parameter_diff(a.document, b.document)],
            "measured": evidence.pairs(a, b),
        }
        return Response(DiffOut(found).data)
