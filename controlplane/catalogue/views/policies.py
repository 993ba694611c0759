"""Policies: list, new, edit by law or as text with a look at the changes, aliases, delete."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from controlplane.catalogue.diffing import parameter_diff
from controlplane.catalogue.examples import POLICY
from controlplane.catalogue.forms import AliasForm, YamlForm
from controlplane.catalogue.law_form import LawForm
from controlplane.catalogue.models import Policy, PolicyVersion
from controlplane.catalogue.services import aliases as alias_services
from controlplane.catalogue.services import lines as services
from controlplane.catalogue.views.cells import diff_rows, main, table
from controlplane.catalogue.views.removal import remove
from controlplane.catalogue.views.versions import context_of, saved_words
from controlplane.teams.access import page
from controlplane.teams.rights import Right
from documents.problem import DocumentError

COLUMNS = [("Name", ""), ("Newest", "n"), ("stable", "n"), ("Laws", ""), ("Hash", "")]
REDRAW = "redraw"
MOVES = 20
"""Lines of an alias's history on the policy's page; the API has the rest."""


@page()
@require_GET
def listing(request: HttpRequest) -> HttpResponse:
    rows = []
    policies = Policy.objects.for_team(request.team)
    for one in policies.prefetch_related("versions", "aliases__version"):
        latest = one.versions.all()[0]
        stable = next((a.version for a in one.aliases.all() if a.name == "stable"), None)
        laws = [f"{point}: {entry['law']}" for point, entry in latest.document["spec"].items()]
        rows.append(
            [
                main(one),
                {"text": str(latest)},
                {"text": str(stable) if stable else ""},
                {"text": ", ".join(laws)},
                {"text": latest.sha256[:12], "mono": True},
            ]
        )
    return render(request, "catalogue/policies.html", table(COLUMNS, rows))


@page(Right.CATALOGUE_WRITE)
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    return _edit(request, None)


@page()
@require_http_methods(["GET", "POST"])
def detail(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    return _edit(request, own(request, pk))


@page()
@require_POST
def aliases(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """Move an alias, or make one; what is wrong stands in the form on the policy's page."""
    line = own(request, pk)
    form = _alias_form(request, line)
    if form.is_valid():
        asked = form.cleaned_data
        to = get_object_or_404(line.versions, number=asked["version"])
        try:
            alias = alias_services.move(
                actor=request.actor, line=line, name=asked["alias"], to=to, reason=asked["reason"]
            )
        except DocumentError as error:
            form.tell(error)
        else:
            said = {"alias": alias.name, "line": line.name, "version": to}
            messages.success(request, _("%(alias)s of %(line)s is %(version)s.") % said)
            return redirect(line)
    return _show(request, line, status=422, alias_form=form)


@page()
@require_POST
def delete(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    return remove(request, own(request, pk), back="catalogue:policies")


def own(request: HttpRequest, pk: uuid.UUID) -> Policy:
    return get_object_or_404(Policy.objects.for_team(request.team), pk=pk)


def _edit(request: HttpRequest, line: Policy | None) -> HttpResponse:
    """Two ways to the same next version: the law's own form, or the whole document as text."""
    if request.method == "GET":
        return _show(request, line)
    as_text = "text" in request.POST
    base = _base(request, line)
    if REDRAW in request.POST:  # another law was chosen: nothing is saved, what was typed stays
        return _show(request, line, law=_law_form(request, line, base))
    used: YamlForm | LawForm
    used = YamlForm(request.POST) if as_text else _law_form(request, line, base)
    review = None
    try:
        document = used.document()
        if line is not None and base is not None:
            proposal = services.propose(line, document)
            if proposal.equal:
                messages.info(request, _equal_words(line, proposal.equal))
                return redirect(line)
            if proposal.sha256 != request.POST.get("confirm"):
                changed = parameter_diff(base.document, proposal.document)
                review = {"sha256": proposal.sha256, "changes": diff_rows(changed)}
        if review is None:
            saved = services.save_policy(
                actor=request.actor,
                line=line,
                document=document,
                based_on=base.number if base else None,
            )
            messages.success(request, saved_words(saved.line.name, saved.version, new=saved.new))
            return redirect(saved.line)
    except DocumentError as error:
        used.tell(error)
    given = {"text" if as_text else "law": used, "review": review, "as_text": as_text}
    return _show(request, line, status=200 if review else 422, **given)


def _show(
    request: HttpRequest, line: Policy | None, *, status: int = 200, **given: Any
) -> HttpResponse:
    """The page with its forms as they are, save for those given."""
    base = _base(request, line)
    context = context_of(line) | {
        "policy": line,
        "base": base,
        "text": YamlForm(None, document=base.document if base else POLICY),
        "law": _law_form(request, line, base, bound=False),
        "may_write": request.actor.may(Right.CATALOGUE_WRITE),
    }
    if line is not None:
        versions = list(line.versions.select_related("created_by").prefetch_related("aliases"))
        context |= {
            "versions": versions,
            "compare": [one.number for one in versions] if len(versions) > 1 else [],
            "aliases": line.aliases.select_related("version"),
            "alias_names": alias_services.BUILT_IN,
            "moves": alias_services.history(line)[:MOVES],
            "alias_form": _alias_form(request, line, bound=False),
        }
    return render(request, "catalogue/policy.html", context | given, status=status)


def _base(request: HttpRequest, line: Policy | None) -> PolicyVersion | None:
    """The version that the next one is made from: the one in ``from``, else the newest."""
    if line is None:
        return None
    text = request.POST.get("from") or request.GET.get("from") or ""
    if text.isascii() and text.isdecimal() and len(text) < 10:
        return get_object_or_404(line.versions, number=int(text))
    return line.latest


def _law_form(
    request: HttpRequest, line: Policy | None, base: PolicyVersion | None, *, bound: bool = True
) -> LawForm:
    return LawForm(
        request.POST if bound else None,
        base=base.document if base else POLICY,
        named=line is not None,
    )


def _alias_form(request: HttpRequest, line: Policy, *, bound: bool = True) -> AliasForm:
    numbers = list(line.versions.values_list("number", flat=True))
    asked = request.GET.get("alias", "")
    return AliasForm(request.POST if bound else None, numbers=numbers, alias=asked)


def _equal_words(line: Policy, version: PolicyVersion) -> str:
    said = saved_words(line.name, version, new=False)
    if version.pk == line.latest.pk:
        return said
    return f"{said} {_('To use it again, point an alias at it.')}"
