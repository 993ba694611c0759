"""Endpoints, tenants, workloads, SLOs and policies over the API."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api import serializers as out
from controlplane.api.resource import Resource
from controlplane.catalogue.documents import EndpointDocument, TenantDocument
from controlplane.catalogue.models import Endpoint, Policy, Slo, Tenant, Workload
from controlplane.catalogue.services import endpoints, lines, probing, tenants, workloads
from controlplane.sealing import Secret
from controlplane.teams.rights import Right, require
from documents.parse import build, unknown_keys
from documents.problem import DocumentError, Problem


class EndpointKind(Resource):
    model = Endpoint
    route = "endpoint"
    serializer_class = out.EndpointOut

    def create(self, body: dict[str, Any]) -> Endpoint:
        credential, _clear = _credential(body)
        document = build(EndpointDocument, body)
        return endpoints.create_endpoint(actor=self.actor, document=document, credential=credential)

    def replace(self, row: Endpoint, body: dict[str, Any]) -> Endpoint:
        credential, clear = _credential(body)
        return endpoints.change_endpoint(
            actor=self.actor,
            endpoint=row,
            document=build(EndpointDocument, body),
            credential=credential,
            clear_credential=clear,
            guard=self.guard(),
        )


class TenantKind(Resource):
    model = Tenant
    route = "tenant"
    serializer_class = out.TenantOut

    def create(self, body: dict[str, Any]) -> Tenant:
        return tenants.create_tenant(actor=self.actor, document=build(TenantDocument, body))

    def replace(self, row: Tenant, body: dict[str, Any]) -> Tenant:
        document = build(TenantDocument, body)
        return tenants.change_tenant(
            actor=self.actor, tenant=row, document=document, guard=self.guard()
        )


class WorkloadKind(Resource):
    model = Workload
    route = "workload"
    serializer_class = out.WorkloadOut

    def create(self, body: dict[str, Any]) -> Workload:
        return workloads.create_workload(actor=self.actor, **_workload(body))

    def replace(self, row: Workload, body: dict[str, Any]) -> Workload:
        said = _workload(body)
        return workloads.change_workload(actor=self.actor, workload=row, guard=self.guard(), **said)


class SloKind(Resource):
    model = Slo
    route = "slo"
    serializer_class = out.SloOut

    def create(self, body: dict[str, Any]) -> Slo:
        with inside(body) as document:
            return lines.save_slo(actor=self.actor, document=document).line

    def replace(self, row: Slo, body: dict[str, Any]) -> Slo:
        guard = self.guard()
        with inside(body) as document:
            return lines.save_slo(actor=self.actor, line=row, document=document, guard=guard).line


class PolicyKind(Resource):
    model = Policy
    route = "policy"
    serializer_class = out.PolicyOut

    def create(self, body: dict[str, Any]) -> Policy:
        with inside(body) as document:
            return lines.save_policy(actor=self.actor, document=document).line

    def replace(self, row: Policy, body: dict[str, Any]) -> Policy:
        guard = self.guard()
        with inside(body) as document:
            return lines.save_policy(
                actor=self.actor, line=row, document=document, guard=guard
            ).line


class EndpointProbe(EndpointKind):
    """Ask the engine what it is; the answer is kept with the endpoint."""

    @extend_schema(request=None, responses=out.EndpointOut)
    def post(self, request: Request, ref: str) -> Response:
        # It answers with the whole endpoint, so the right to write is not enough.
        require(self.actor, Right.READ, to=f"POST {request.path}", kind="api")
        row = probing.probe_endpoint(actor=self.actor, endpoint=self.find(ref))
        return self.answer(row)


def _credential(body: dict[str, Any]) -> tuple[Secret | None, bool]:
    """Taken out of the body before anything could echo it; null means: clear it."""
    if "credential" not in body:
        return None, False
    given = body.pop("credential")
    if given is None:
        return None, True
    if not isinstance(given, str) or not given:
        raise DocumentError([Problem("credential", "…", "must be text, or null to clear it")])
    return Secret(given), False


@contextmanager
def inside(body: dict[str, Any]) -> Iterator[Any]:
    """The body's document; its faults are told as the caller sees them, below ``document``."""
    problems = list(unknown_keys(body, ("document",)))
    if "document" not in body:
        problems.append(Problem("document", None, "is required: the whole document"))
    if problems:
        raise DocumentError(problems)
    try:
        yield body["document"]
    except DocumentError as error:
        raise error.below("document") from None


def _workload(body: dict[str, Any]) -> dict[str, Any]:
    problems = list(unknown_keys(body, ("name", "document", "description")))
    problems += [
        Problem(name, None, "is required") for name in ("name", "document") if name not in body
    ]
    description = body.get("description", "")
    if not isinstance(description, str) or len(description) > 400:
        problems.append(Problem("description", description, "must be text, at most 400 characters"))
    if problems:
        raise DocumentError(problems)
    return {"name": body["name"], "document": body["document"], "description": description}
