"""Every error of the API as application/problem+json (RFC 9457), with pointers into the body."""

from __future__ import annotations

import logging
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import OperationalError
from django.http import Http404
from rest_framework import status
from rest_framework.exceptions import APIException, ErrorDetail, NotAuthenticated, Throttled
from rest_framework.renderers import JSONRenderer
from rest_framework.response import Response
from rest_framework.views import exception_handler

from controlplane.api.authentication import REMEDY
from controlplane.catalogue.services.removal import InUse
from controlplane.gates.services import TargetNotAllowed
from documents.problem import DocumentError

CONTENT_TYPE = "application/problem+json"
_KINDS: dict[type, str] = {TargetNotAllowed: "target-not-allowed"}
RETRY_AFTER = 5
"""Seconds; said when the database is locked or away."""

log = logging.getLogger(__name__)


class Conflict(APIException):
    status_code = status.HTTP_409_CONFLICT
    default_code = "conflict"


class Unprocessable(APIException):
    status_code = status.HTTP_422_UNPROCESSABLE_ENTITY
    default_code = "unprocessable"


class PreconditionFailed(APIException):
    status_code = status.HTTP_412_PRECONDITION_FAILED
    default_code = "precondition-failed"
    default_detail = "The object has changed since you read it; read it again and send its ETag."


class PreconditionRequired(APIException):
    status_code = status.HTTP_428_PRECONDITION_REQUIRED
    default_code = "precondition-required"
    default_detail = "Send If-Match with the ETag of the object as you read it."


def handle(error: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's hook. What it does not know goes on to Django and becomes a logged 500."""
    context["request"].accepted_renderer = JSONRenderer()  # whatever the answer would have been
    if (ours := _ours(error)) is not None:
        return ours
    if isinstance(error, Http404):
        return problem(404, "not-found", "There is no such object in your team.")
    if isinstance(error, PermissionDenied):
        return problem(403, "denied", str(error) or "Your token may not do this.")
    if isinstance(error, NotAuthenticated):
        error.detail = ErrorDetail(REMEDY, error.default_code)
    answer = exception_handler(error, context)
    if answer is None or not isinstance(error, APIException):
        return answer
    code = error.get_codes()
    kept = {name: answer[name] for name in ("WWW-Authenticate", "Retry-After") if name in answer}
    word = code if isinstance(code, str) else "invalid"
    made = problem(answer.status_code, word.replace("_", "-"), _words(error))
    for name, value in kept.items():
        made[name] = value
    return made


def problem(
    code: int, kind: str, detail: str, errors: list[dict[str, str]] | None = None
) -> Response:
    """One problem document."""
    body: dict[str, Any] = {
        "type": f"urn:headway:problem:{kind}",
        "title": kind.replace("-", " ").capitalize(),
        "status": code,
        "detail": detail,
    }
    if errors:
        body["errors"] = errors
    return Response(body, status=code, content_type=CONTENT_TYPE)


def pointer(path: str) -> str:
    """``spec.concurrency.limit`` as a JSON pointer into the request's body."""
    if not path:
        return "#"
    parts = [part.replace("~", "~0").replace("/", "~1") for part in path.split(".")]
    return "#/" + "/".join(parts)


def _ours(error: Exception) -> Response | None:
    """The answer to what a service or the database raised; None for all else."""
    if isinstance(error, DocumentError):
        return _invalid(error, _KINDS.get(type(error), "invalid-document"))
    if isinstance(error, InUse):
        return problem(409, "in-use", str(error))
    if isinstance(error, OperationalError):
        log.warning("the database did not answer: %s", error)
        busy = problem(503, "busy", f"The database is busy; try again in {RETRY_AFTER} s.")
        busy["Retry-After"] = str(RETRY_AFTER)
        return busy
    return None


def _invalid(error: DocumentError, kind: str) -> Response:
    told = [{"pointer": pointer(one.path), "detail": str(one)} for one in error.problems]
    count = len(told)
    detail = f"{count} thing{'s' if count != 1 else ''} to put right; see errors."
    return problem(422, kind, detail, told)


def _words(error: APIException) -> str:
    if isinstance(error, Throttled) and error.wait is not None:
        return f"Too many requests; try again in {error.wait:.0f} s."
    detail = error.detail
    return str(detail) if isinstance(detail, str) else str(error.default_detail)
