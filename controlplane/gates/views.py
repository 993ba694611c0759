"""Pages about gates: find, call a service, render."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from controlplane.catalogue.forms import YamlForm
from controlplane.catalogue.views.cells import as_yaml
from controlplane.catalogue.views.removal import remove
from controlplane.catalogue.views.versions import context_of, saved_words, show_version
from controlplane.gates import badge as drawing
from controlplane.gates import services
from controlplane.gates.documents import GateDocument
from controlplane.gates.examples import example, missing
from controlplane.gates.judging import settle
from controlplane.gates.models import Gate, GateRun, GateRunQuerySet
from controlplane.gates.presenting import bar_of, criteria, row_of
from controlplane.gates.snippets import snippets
from controlplane.teams.access import page
from controlplane.teams.rights import Right
from documents.in_words import in_words
from documents.problem import DocumentError
from loadtest.preview import preview_of

PER_PAGE = 20


@page()
@require_GET
def index(request: HttpRequest) -> HttpResponse:
    """Every gate of the team with its newest verdict."""
    rows = []
    for gate in Gate.objects.for_team(request.team).prefetch_related("versions"):
        newest = runs_of(gate).first()
        spec = gate.versions.all()[0].document["spec"]
        rows.append({"gate": gate, "spec": spec, "row": row_of(newest) if newest else None})
    context = {
        "rows": rows,
        "missing": missing(request.team),
        "may_write": request.actor.may(Right.CATALOGUE_WRITE),
    }
    return render(request, "gates/list.html", context)


@page(Right.CATALOGUE_WRITE)
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    return _editor(request, None)


@page()
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    return _editor(request, _own(request, pk))


@page(Right.CATALOGUE_WRITE)
@require_http_methods(["GET", "POST"])
def preview(request: HttpRequest) -> JsonResponse:
    """The load of the document as it is typed, from the very schedule that a run computes."""
    form = YamlForm(request.POST)
    try:
        scenario = services.scenario_of(request.team, form.document())
    except DocumentError as error:
        form.tell(error)
        return JsonResponse({"errors": form.errors}, status=422)
    return JsonResponse({"duration_s": scenario.duration_s, **preview_of(scenario).to_json()})


@page()
@require_GET
def detail(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """What it asks, what came of it, and how CI calls it."""
    gate = _own(request, pk)
    context = {**context_of(gate), **_page(request, gate), "refusals": ()}
    return render(request, "gates/detail.html", context)


@require_POST
@page(Right.RUNS_WRITE)
def run(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """Run it now and lead to the run; 409 with the reasons when it can't be."""
    gate = _own(request, pk)
    try:
        return redirect(services.start(actor=request.actor, gate=gate).run)
    except DocumentError as error:
        refusals = [in_words(one) for one in error.problems]
        context = {**context_of(gate), **_page(request, gate), "refusals": refusals}
        return render(request, "gates/detail.html", context, status=409)


@page()
@require_GET
def version(request: HttpRequest, pk: uuid.UUID, number: int) -> HttpResponse:
    return show_version(request, _own(request, pk), number, back="gates:list")


@page()
@require_POST
def delete(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    return remove(request, _own(request, pk), back="gates:list")


@require_GET
def badge(request: HttpRequest, slug: str) -> HttpResponse:
    """For members of the team, and for whoever has the key that the gate's page shows."""
    if key := request.GET.get("key", ""):
        for gate in Gate.objects.filter(slug=slug):
            if drawing.opens(key, gate.pk):
                return _svg(gate)
    return _badge_of_ours(request, slug)


@page()
def _badge_of_ours(request: HttpRequest, slug: str) -> HttpResponse:
    return _svg(get_object_or_404(Gate.objects.for_team(request.team), slug=slug))


def runs_of(gate: Gate) -> GateRunQuerySet:
    """Calls of any version of it, newest first."""
    return GateRun.objects.filter(version__line=gate).with_names()


def _svg(gate: Gate) -> HttpResponse:
    """The newest run that has ended says what it shows; it is asked for anew each time."""
    ended = runs_of(gate).ended().first()
    outcome = settle(ended).outcome if ended else ""
    response = HttpResponse(drawing.svg(gate.name, outcome), content_type="image/svg+xml")
    response["Cache-Control"] = "no-cache, max-age=0"
    return response


def _own(request: HttpRequest, pk: uuid.UUID) -> Gate:
    return get_object_or_404(Gate.objects.for_team(request.team), pk=pk)


def _page(request: HttpRequest, gate: Gate) -> dict[str, object]:
    """What the gate's page shows besides its versions."""
    pages = Paginator(runs_of(gate), PER_PAGE).get_page(request.GET.get("page"))
    history = [row_of(gate_run) for gate_run in pages]
    newest = history[0] if history and pages.number == 1 else None
    if newest is None and (first := runs_of(gate).first()):
        newest = row_of(first)
    judged = next(
        (row for row in history if row["gate_run"].thresholds or row["run"].judgement), None
    )
    server = request.build_absolute_uri("/").rstrip("/")
    document = gate.latest.document
    address = reverse("gates:badge", args=[gate.slug])
    badge_url = f"{server}{address}?key={drawing.key_of(gate.pk)}"
    return {
        "gate": gate,
        "spec": GateDocument.parse(document).spec,
        "page_obj": pages,
        "history": history,
        "newest": newest,
        "verdict": bar_of(newest) if newest else None,
        "judged": judged,
        "criteria": criteria(document, judged["gate_run"] if judged else None),
        "snippets": snippets(gate, server),
        "badge": address,
        "badge_markdown": f"[![{gate.name}]({badge_url})]({server}{gate.get_absolute_url()})",
        "may_write": request.actor.may(Right.CATALOGUE_WRITE),
        "may_run": request.actor.may(Right.RUNS_WRITE),
    }


def _editor(request: HttpRequest, gate: Gate | None) -> HttpResponse:
    base = gate.latest.document if gate else example(request.team)
    form = YamlForm(request.POST or None, document=base)
    if request.method == "POST":
        try:
            saved = services.save_gate(actor=request.actor, line=gate, document=form.document())
        except DocumentError as error:
            form.tell(error)
        else:
            messages.success(request, saved_words(saved.line.name, saved.version, new=saved.new))
            return redirect(saved.line)
    context = {
        "gate": gate,
        "form": form,
        "next": gate.latest.number + 1 if gate else 1,
        "missing": missing(request.team),
        "may_write": request.actor.may(Right.CATALOGUE_WRITE),
        "yaml": as_yaml(base),
    }
    return render(request, "gates/edit.html", context, status=422 if form.is_bound else 200)
