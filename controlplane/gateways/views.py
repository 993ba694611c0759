"""Pages about gateways: find, call a service, render."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from controlplane.catalogue.models import Endpoint, Policy
from controlplane.catalogue.views.removal import remove
from controlplane.gateways import (
    budget_page,
    feed,
    frames,
    reading,
    services,
    states,
    waiting,
    writing,
)
from controlplane.gateways.documents import document_of
from controlplane.gateways.forms import GatewayForm, KeyForm, ServeForm
from controlplane.gateways.models import Gateway, TenantKey
from controlplane.gateways.recent import recent
from controlplane.runs.launch import LONGEST_NUMBER
from controlplane.teams.access import page
from controlplane.teams.rights import Right
from documents.problem import DocumentError
from documents.yaml_text import to_yaml

TRAFFIC_S = 60.0


@page()
@require_GET
def index(request: HttpRequest) -> HttpResponse:
    """Every gateway of the team: how it stands, what it serves, how much."""
    now = timezone.now()
    gateways = _rows(request)
    context = {
        "rows": [_row(gateway, now) for gateway in gateways],
        "missing": _missing(request),
        "may_write": request.actor.may(Right.CATALOGUE_WRITE),
    }
    return render(request, "gateways/list.html", context)


@page(Right.CATALOGUE_WRITE)
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    return _editor(request, None)


@page()
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    return _editor(request, _own(request, pk))


@page()
@require_GET
def detail(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """A gateway's page; all that moves on it comes in frames."""
    return _page(request, _own(request, pk))


@page()
@require_GET
def frame(request: HttpRequest, pk: uuid.UUID) -> JsonResponse:
    """Everything that changed after ``?since=``, in one frame."""
    text = request.GET.get("since", "0")
    known = text.isascii() and text.isdecimal() and len(text) <= 2 * LONGEST_NUMBER
    response = JsonResponse(frames.build(_own(request, pk), since=int(text) if known else 0))
    response["Cache-Control"] = "no-store"
    return response


@page()
@require_GET
def budgets(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """The error budgets' table and what changed, to be swapped into the gateway's page."""
    return render(request, "gateways/_budgets.html", _budgets(_own(request, pk)))


def _budgets(gateway: Gateway) -> dict[str, Any]:
    doubt = waiting.doubt(gateway, reading.processes(gateway), timezone.now())
    return {
        "gateway": gateway,
        "budgets": budget_page.rows(gateway, doubt),
        "changes": budget_page.changes(gateway),
    }


@page()
@require_POST
def serve(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """Let another version serve from the next request on."""
    gateway = _own(request, pk)
    form = ServeForm(request.POST, team=request.team)
    if form.is_valid():
        version = form.cleaned_data["version"]
        try:
            services.serve(
                actor=request.actor,
                gateway=gateway,
                version=version,
                reason=form.cleaned_data["reason"],
            )
        except DocumentError as error:
            form.tell(error)
        else:
            said = _("%(version)s serves from the next poll on, as revision %(n)s.")
            name = f"{version.line.name} {version}"
            messages.success(request, said % {"version": name, "n": gateway.revision})
            return redirect(gateway)
    return _page(request, gateway, serve=form, status=422)


@page()
@require_POST
def key_make(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """A key for a tenant, whose secret stands on this one page alone."""
    gateway = _own(request, pk)
    form = KeyForm(request.POST, team=request.team)
    if form.is_valid():
        try:
            _key, secret = writing.make_key(
                actor=request.actor,
                gateway=gateway,
                tenant=form.cleaned_data["tenant"],
                name=form.cleaned_data["name"],
            )
        except DocumentError as error:
            form.tell(error)
        else:
            response = _page(request, gateway, secret=secret)
            response["Cache-Control"] = "no-store"
            return response
    return _page(request, gateway, key=form, status=422)


@page()
@require_POST
def key_revoke(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    mine = TenantKey.objects.filter(gateway__team=request.team).select_related("gateway")
    key = get_object_or_404(mine, pk=pk)
    writing.revoke_key(actor=request.actor, key=key)
    messages.success(request, _("Key %(name)s is revoked.") % {"name": key.name})
    return redirect(key.gateway)


@page()
@require_POST
def delete(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    return remove(request, _own(request, pk), back="gateways:list")


def _rows(request: HttpRequest) -> Any:
    return Gateway.objects.for_team(request.team).select_related(
        "active_version__line", "slo_version__line", "shadow_version__line",
        "canary_version__line", "anonymous_tenant",
    )  # fmt: skip


def _own(request: HttpRequest, pk: uuid.UUID) -> Gateway:
    return get_object_or_404(_rows(request), pk=pk)


def _row(gateway: Gateway, now: Any) -> dict[str, Any]:
    processes = reading.processes(gateway)
    last = recent(gateway, processes, now, minutes=1)
    return {
        "gateway": gateway,
        "state": states.state(states.facts(gateway, processes, last, now)),
        "lanes": {name: len(ends) for name, ends in gateway.lanes.items()},
        "rate": reading.traffic(gateway, seconds=TRAFFIC_S),
        "processes": len(processes),
    }


def _page(
    request: HttpRequest,
    gateway: Gateway,
    *,
    serve: ServeForm | None = None,
    key: KeyForm | None = None,
    secret: str = "",
    status: int = 200,
) -> HttpResponse:
    first = frames.build(gateway, since=0)
    server = request.build_absolute_uri("/").rstrip("/")
    context = {
        "gateway": gateway,
        "verdict": first["verdict"],
        "frame": first,
        "tiles": first["tiles"],
        "page": frames.page(gateway),
        "lanes": gateway.lanes,
        "variables": [
            (feed.key_variable(end), end)
            for ends in gateway.lanes.values()
            for end in ends
            if end.has_credential
        ],
        "keys": gateway.keys.select_related("tenant", "created_by"),
        "serve": serve or ServeForm(team=request.team),
        "key_form": key or KeyForm(team=request.team),
        "secret": secret,
        "command": f"headway gateway --control-plane {server} --name {gateway.slug}",
        "may_write": request.actor.may(Right.CATALOGUE_WRITE),
        **_budgets(gateway),
    }
    return render(request, "gateways/detail.html", context, status=status)


def _editor(request: HttpRequest, gateway: Gateway | None) -> HttpResponse:
    values = document_of(gateway) if gateway else None
    form = GatewayForm(
        request.POST or None, team=request.team, values=values, fixed_name=gateway is not None
    )
    if request.method == "POST":
        try:
            document = form.document()
            if gateway is None:
                saved = writing.create_gateway(actor=request.actor, document=document)
            else:
                saved = writing.change_gateway(
                    actor=request.actor, gateway=gateway, document=document
                )
        except DocumentError as error:
            form.tell(error)
        else:
            said = _("%(name)s is at revision %(n)s.")
            messages.success(request, said % {"name": saved.name, "n": saved.revision})
            return redirect(saved)
    context = {
        "gateway": gateway,
        "form": form,
        "missing": _missing(request),
        "yaml": to_yaml(values) if values else "",
        "may_write": request.actor.may(Right.CATALOGUE_WRITE),
    }
    return render(request, "gateways/edit.html", context, status=422 if form.is_bound else 200)


def _missing(request: HttpRequest) -> list[str]:
    """What has to be in the catalogue first."""
    kinds = {"endpoint": Endpoint.objects, "policy": Policy.objects}
    return [name for name, rows in kinds.items() if not rows.for_team(request.team).exists()]
