"""`/healthz`: whether this process can serve, for supervisors and load balancers."""

from __future__ import annotations

from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse


def healthz(_request: HttpRequest) -> HttpResponse:
    """200 while the database answers, 503 with the reason's kind while it does not."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        return HttpResponse(f"database: {type(error).__name__}\n", "text/plain", 503)
    return HttpResponse("ok\n", "text/plain")
