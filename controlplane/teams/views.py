"""Signing in and out, tokens, members, the audit log, and changing teams."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.contrib.auth.views import LoginView
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from controlplane.audit.models import AuditEntry
from controlplane.teams import members as membership
from controlplane.teams import services
from controlplane.teams.access import page
from controlplane.teams.forms import MemberForm, RoleForm, SignInForm, TokenForm
from controlplane.teams.middleware import SESSION_KEY
from controlplane.teams.models import ApiToken, Membership, Role, Team
from controlplane.teams.rights import Right
from documents.problem import DocumentError


class SignIn(LoginView):
    form_class = SignInForm
    template_name = "teams/sign_in.html"
    redirect_authenticated_user = True

    def form_invalid(self, form: SignInForm) -> HttpResponse:
        response = super().form_invalid(form)
        response.status_code = 429 if form.throttled else 422
        return response


@page()
@require_http_methods(["GET", "POST"])
def tokens(request: HttpRequest) -> HttpResponse:
    """The team's tokens; a new one's secret is in this answer and in no other."""
    form = TokenForm(request.POST or None, actor=request.actor)
    context = {"form": form, "secret": "", "status": 200}
    if request.method == "POST":
        if form.is_valid():
            data = form.cleaned_data
            _token, context["secret"] = services.create_token(
                actor=request.actor,
                name=data["name"],
                scopes=data["scopes"],
                expires_at=form.expires_at,
            )
            context["form"] = TokenForm(actor=request.actor)
        else:
            context["status"] = 422
    context["tokens"] = ApiToken.objects.for_team(request.team).select_related("user")
    response = render(request, "teams/tokens.html", context, status=context["status"])
    response["Cache-Control"] = "no-store"
    return response


@page()
@require_POST
def token_revoke(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    token = get_object_or_404(ApiToken.objects.for_team(request.team), pk=pk)
    services.revoke_token(actor=request.actor, token=token)
    messages.success(request, _("Token %(name)s is revoked.") % {"name": token.name})
    return redirect("teams:tokens")


@page()
@require_http_methods(["GET", "POST"])
def members(request: HttpRequest) -> HttpResponse:
    """Who is in the team; an admin takes someone in."""
    form = MemberForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        try:
            member = membership.add_member(
                actor=request.actor, username=data["username"], role=Role(data["role"])
            )
        except DocumentError as error:
            for problem in error.problems:
                form.add_error(problem.path, problem.message)
        else:
            said = {"name": member.user.get_username(), "role": member.role}
            messages.success(request, _("%(name)s is a member now, as %(role)s.") % said)
            return redirect("teams:members")
    return _members(request, form)


@page()
@require_POST
def member_role(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    member = _member(request, pk)
    form = RoleForm(request.POST)
    if form.is_valid():
        role = Role(form.cleaned_data["role"])
        membership.set_role(actor=request.actor, user=member.user, role=role)
        said = {"name": member.user.get_username(), "role": role}
        messages.success(request, _("%(name)s is %(role)s from now on.") % said)
    else:
        messages.error(request, _("There is no such role."))
    return redirect("teams:members")


@page()
@require_POST
def member_remove(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    member = _member(request, pk)
    membership.remove_member(actor=request.actor, member=member)
    said = {"name": member.user.get_username()}
    messages.success(request, _("%(name)s is no member any more.") % said)
    return redirect("teams:members" if member.user != request.user else "home")


def _member(request: HttpRequest, pk: uuid.UUID) -> Membership:
    rows = Membership.objects.filter(team=request.team).select_related("user")
    return get_object_or_404(rows, pk=pk)


def _members(request: HttpRequest, form: MemberForm) -> HttpResponse:
    rows = list(Membership.objects.filter(team=request.team).select_related("user"))
    admins = sum(row.role == Role.ADMIN for row in rows)
    context = {
        "form": form,
        "members": rows,
        "roles": Role.values,
        "only_admin": next((r.pk for r in rows if r.role == Role.ADMIN and admins == 1), None),
        "may_admin": request.actor.may(Right.TEAM_ADMIN),
    }
    return render(request, "teams/members.html", context, status=422 if form.errors else 200)


@page()
@require_GET
def audit(request: HttpRequest) -> HttpResponse:
    entries = AuditEntry.objects.filter(team_id=request.team.pk).order_by("-sequence")
    listed = Paginator(entries, 100).get_page(request.GET.get("page"))
    return render(request, "teams/audit.html", {"entries": listed})


@page()
@require_POST
def switch(request: HttpRequest, pk: uuid.UUID) -> HttpResponseRedirect:
    """Speak for another of one's teams from now on."""
    team = get_object_or_404(Team.objects.filter(members=request.user), pk=pk)
    request.session[SESSION_KEY] = str(team.pk)
    return redirect("home")
