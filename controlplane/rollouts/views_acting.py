"""What people do on a rollout's page: start, decide, hold, resume, abort, retry, freeze."""

from __future__ import annotations

import uuid
from collections.abc import Callable

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from controlplane.rollouts import deciding, freezing, services
from controlplane.rollouts.deciding import rare_of
from controlplane.rollouts.forms import DecideForm, FreezeForm, ReasonForm
from controlplane.rollouts.machine import Refused
from controlplane.rollouts.models import FreezeWindow, Rollout
from controlplane.rollouts.moving import run_of
from controlplane.rollouts.views import list_page, own, rollout_page
from controlplane.teams.access import page
from controlplane.teams.forms import client_address
from controlplane.teams.rights import Right
from documents.in_words import in_words
from documents.problem import DocumentError


@page()
@require_POST
def start(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    return _told(request, pk, lambda one: services.start(actor=request.actor, rollout=one))


@page()
@require_POST
def hold(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    reason = _reason(request)
    return _told(
        request, pk, lambda one: services.hold(actor=request.actor, rollout=one, reason=reason)
    )


@page()
@require_POST
def resume(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    reason = _reason(request)
    return _told(
        request, pk, lambda one: services.resume(actor=request.actor, rollout=one, reason=reason)
    )


@page()
@require_POST
def abort(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    reason = _reason(request)
    return _told(
        request, pk, lambda one: services.abort(actor=request.actor, rollout=one, reason=reason)
    )


@page()
@require_POST
def retry(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """The same plan as a new draft."""
    return _told(request, pk, lambda one: services.retry(actor=request.actor, rollout=one))


@page()
@require_POST
def decide(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """Approve, accept a bound, or reject; 422 with what is wrong, 409 when too late."""
    rollout = own(request, pk)
    run = run_of(rollout)
    form = DecideForm(request.POST, rare=list(rare_of(run)) if run is not None else [])
    word = request.POST.get("word", "")
    if form.is_valid():
        try:
            _decide(request, rollout, form, word)
        except DocumentError as error:
            form.tell(error)
        except Refused as refusal:
            return rollout_page(request, own(request, pk), refusal=str(refusal), status=409)
        else:
            messages.success(request, _("Your word is noted."))
            return redirect(rollout)
    return rollout_page(request, rollout, form=form, status=422)


@page(Right.APPROVE)
@require_POST
def freeze(request: HttpRequest) -> HttpResponse:
    form = FreezeForm(request.POST)
    if form.is_valid():
        try:
            freezing.freeze(actor=request.actor, **form.cleaned_data)
        except DocumentError as error:
            form.tell(error)
        else:
            messages.success(request, _("Nothing is promoted in that time; rollbacks go on."))
            return redirect("rollouts:list")
    return list_page(request, freeze=form, status=422)


@page()
@require_POST
def thaw(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    window = get_object_or_404(FreezeWindow.objects.for_team(request.team), pk=pk)
    freezing.thaw(actor=request.actor, window=window)
    messages.success(request, _("The freeze is taken away."))
    return redirect("rollouts:list")


def _decide(request: HttpRequest, rollout: Rollout, form: DecideForm, word: str) -> None:
    data, address = form.cleaned_data, client_address(request)
    told = {"actor": request.actor, "rollout": rollout, "comment": data["comment"]}
    if word == "reject":
        deciding.reject(**told)
    elif word == "accept":
        deciding.accept(
            **told, criteria=data["criteria"], password=data["password"], address=address
        )
    else:
        deciding.approve(
            **told, binding=data["binding"], password=data["password"], address=address
        )


def _reason(request: HttpRequest) -> str:
    form = ReasonForm(request.POST)
    return str(form.cleaned_data["reason"]) if form.is_valid() else ""


def _told(request: HttpRequest, pk: uuid.UUID, act: Callable[[Rollout], Rollout]) -> HttpResponse:
    """Done, and back to the page; 409 with the reason when its state has no place for it."""
    rollout = own(request, pk)
    try:
        return redirect(act(rollout))
    except Refused as refusal:
        return rollout_page(request, own(request, pk), refusal=str(refusal), status=409)
    except DocumentError as error:
        said = "; ".join(in_words(one) for one in error.problems)
        return rollout_page(request, own(request, pk), refusal=said, status=409)
