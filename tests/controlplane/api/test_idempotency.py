"""Idempotency-Key: one request, one effect; the answer is replayed, not made again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.parsers import JSONParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.test import APIRequestFactory

from controlplane.api.idempotency import once
from controlplane.api.models import IdempotencyKey
from controlplane.api.problem import Conflict, Unprocessable
from controlplane.teams.rights import Actor
from documents.problem import DocumentError


@pytest.fixture
def ask(operator: Actor) -> Callable[..., Response]:
    """Ask once under a key; ``work`` answers 202 with a number that counts its calls."""
    calls: list[int] = []

    def answer() -> Response:
        calls.append(1)
        response = Response({"call": len(calls)}, status=202)
        response["Location"] = "/api/v1/runs/1"
        return response

    def send(
        key: str | None = "k", body: Any = None, work: Any = answer, actor: Actor = operator
    ) -> Response:
        headers = {"Idempotency-Key": key} if key is not None else {}
        made = APIRequestFactory().post("/api/v1/runs", body or {}, format="json", headers=headers)
        return once(Request(made, parsers=[JSONParser()]), actor, work)

    return send


def test_a_repeated_request_gets_the_first_answer_marked_as_replayed(ask: Any) -> None:
    first, second = ask(), ask()
    assert (first.data, second.data) == ({"call": 1}, {"call": 1})
    assert (first.status_code, second.status_code) == (202, 202)
    assert second["Location"] == first["Location"]
    assert "Idempotency-Replayed" not in first
    assert second["Idempotency-Replayed"] == "true"


def test_another_key_or_another_persons_is_another_request(ask: Any, stranger: Actor) -> None:
    assert ask().data == {"call": 1}
    assert ask(key="other").data == {"call": 2}
    assert ask(actor=stranger).data == {"call": 3}


def test_the_same_key_with_another_body_is_refused(ask: Any) -> None:
    ask(body={"a": 1})
    with pytest.raises(Unprocessable, match="another request"):
        ask(body={"a": 2})


def test_while_the_first_runs_the_second_is_told_to_wait(ask: Any) -> None:
    def work() -> Response:
        with pytest.raises(Conflict, match="still runs"):
            ask()
        return Response({}, status=202)

    ask(work=work)


@pytest.mark.parametrize("key", [None, "", "x" * 256])
def test_a_key_is_required(ask: Any, key: str | None) -> None:
    with pytest.raises(DocumentError, match="is required"):
        ask(key=key)


def test_a_refused_request_leaves_its_key_free(ask: Any) -> None:
    def fail() -> Response:
        raise DocumentError([])

    with pytest.raises(DocumentError):
        ask(body={"a": 1}, work=fail)
    assert ask(body={"a": 1}, work=lambda: Response({}, status=409)).status_code == 409
    assert ask(body={"a": 2}).data == {"call": 1}


def test_a_first_request_that_died_without_an_answer_holds_its_key_five_minutes(
    ask: Any, operator: Actor
) -> None:
    ask()
    IdempotencyKey.objects.update(status=None)
    with pytest.raises(Conflict):
        ask()
    IdempotencyKey.objects.update(created_at=timezone.now() - timedelta(minutes=6))
    assert ask().data == {"call": 2}


def test_a_key_is_forgotten_after_a_day(ask: Any) -> None:
    ask()
    IdempotencyKey.objects.update(created_at=timezone.now() - timedelta(hours=25))
    assert ask().data == {"call": 2}
