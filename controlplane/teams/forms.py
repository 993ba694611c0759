"""Sign-in with a brake, and the forms for tokens and members."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from controlplane.teams import services
from controlplane.teams.models import Role
from controlplane.teams.rights import TOKEN_SCOPES, Actor


class SignInForm(AuthenticationForm):
    """Django's form; five failures for an account at one address, then a wait."""

    throttled = False

    def clean(self) -> dict[str, Any]:
        account = str(self.cleaned_data.get("username", ""))[:150]
        address = client_address(self.request)
        wait = services.sign_in_wait(account=account, address=address)
        if wait > timedelta():
            self.throttled = True
            minutes = math.ceil(wait.total_seconds() / 60)
            raise ValidationError(
                _("Too many failed sign-ins. Try again in %(minutes)s min."),
                code="throttled",
                params={"minutes": minutes},
            )
        try:
            cleaned = super().clean()
        except ValidationError:
            services.note_sign_in_failure(account=account, address=address)
            raise
        services.forget_sign_in_failures(account=account, address=address)
        services.note_sign_in(account=account, address=address)
        return cleaned


class TokenForm(forms.Form):
    name = forms.CharField(
        max_length=80, label=_("Name"), help_text=_("Where it will be used, such as ci-main")
    )
    scopes = forms.MultipleChoiceField(
        label=_("Scopes"),
        choices=[(scope.value, scope.value) for scope in TOKEN_SCOPES],
        widget=forms.CheckboxSelectMultiple,
        initial=["read"],
    )
    days = forms.IntegerField(
        label=_("Expires after"),
        min_value=1,
        max_value=366,
        initial=90,
        help_text=_("Days; from 1 to 366"),
    )

    def __init__(self, *args: Any, actor: Actor, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        mine = [scope.value for scope in TOKEN_SCOPES if actor.may(scope)]
        self.fields["scopes"].choices = [(scope, scope) for scope in mine]  # type: ignore[attr-defined]

    @property
    def expires_at(self) -> datetime:
        return timezone.now() + timedelta(days=self.cleaned_data["days"])


ROLES = [(role.value, role.value) for role in Role]


class MemberForm(forms.Form):
    """Whom to take in. The service judges the name."""

    username = forms.CharField(
        label=_("User name"),
        max_length=150,
        help_text=_("Of an account that exists here"),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    role = forms.ChoiceField(label=_("Role"), choices=ROLES, initial=Role.VIEWER)


class RoleForm(forms.Form):
    role = forms.ChoiceField(label=_("Role"), choices=ROLES)


def client_address(request: HttpRequest | None) -> str:
    """The peer; behind our proxy, the address that the proxy itself added last."""
    if request is None:
        return ""
    if settings.BEHIND_PROXY:
        return request.headers.get("X-Forwarded-For", "").rpartition(",")[2].strip()
    return str(request.META.get("REMOTE_ADDR") or "")
