"""Deleting from a page: done, or refused with the reason."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from controlplane.catalogue.models import Owned
from controlplane.catalogue.services.removal import InUse, delete


def remove(request: HttpRequest, row: Owned, *, back: str) -> HttpResponse:
    """Delete and go back to the list; what is in use stays, and the page says by what."""
    try:
        delete(actor=request.actor, row=row)
    except InUse as refusal:
        messages.error(request, str(refusal))
        return redirect(row.get_absolute_url())
    messages.success(request, _("%(name)s is deleted.") % {"name": row.name})
    return redirect(back)
