"""Comparisons over the API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from controlplane.comparisons.asking import Ask
from controlplane.comparisons.models import Comparison
from controlplane.teams.rights import Actor


def body_of(ask: Ask, **changes: Any) -> dict[str, Any]:
    return {
        "baseline": "steady@1",
        "candidate": "steady",
        "workload": "short",
        "slo": "chat",
        "arrivals": {"process": "poisson", "rate": 20},
        "block_s": 3,
    } | changes


def test_one_is_started_once_however_often_it_is_asked_for(
    operator: Actor, ask: Ask, api_as: Callable[..., Callable[..., Any]]
) -> None:
    call = api_as(operator)
    first = call("post", "/comparisons", body_of(ask), Idempotency_Key="k1")
    assert first.status_code == 202
    again = call("post", "/comparisons", body_of(ask), Idempotency_Key="k1")
    assert again.json() == first.json()
    started = Comparison.objects.get()
    assert first["Location"] == f"/api/v1/comparisons/{started.pk}"
    shown = first.json()
    assert (shown["status"], shown["outcome"], shown["exit_code"]) == ("queued", None, None)
    assert (shown["baseline"]["version"], shown["candidate"]["version"]) == (1, 2)
    assert shown["power"][0]["criterion"] == "attainment"
    listed = call("get", "/comparisons").json()["results"]
    assert [one["id"] for one in listed] == [str(started.pk)]


def test_it_is_cancelled_and_then_can_not_be_again(
    comparison: Comparison, operator: Actor, api_as: Callable[..., Callable[..., Any]]
) -> None:
    call = api_as(operator)
    where = f"/comparisons/{comparison.pk}"
    assert call("post", f"{where}/cancel").status_code == 202
    assert call("post", f"{where}/cancel").status_code == 409
    shown = call("get", f"{where}?wait=0").json()
    assert (shown["status"], shown["exit_code"]) == ("cancelled", 130)
    assert call("get", f"{where}/blocks").json()["results"] == []


def test_a_wrong_body_is_told_by_its_fields(
    operator: Actor, ask: Ask, api_as: Callable[..., Callable[..., Any]]
) -> None:
    call = api_as(operator)
    wrong = body_of(ask, candidate="nobody", endpoints="one", speed=3)
    answer = call("post", "/comparisons", wrong, Idempotency_Key="k2")
    assert answer.status_code == 422
    text = answer.content.decode()
    for told in ("candidate", "endpoints", "speed"):
        assert told in text
    for field, given in (
        ("margins", [1]),
        ("bases", "x"),
        ("profile", "/etc/x.yaml"),
        ("seed", "s"),
    ):
        answer = call("post", "/comparisons", body_of(ask, **{field: given}), Idempotency_Key=field)
        assert answer.status_code == 422
        assert field in answer.content.decode()
    closed = body_of(ask, arrivals={"process": "closed", "concurrency": 2})
    answer = call("post", "/comparisons", closed, Idempotency_Key="k3")
    assert "would not be asked the same" in answer.content.decode()


def test_a_viewer_may_read_and_not_start(
    comparison: Comparison,
    ask: Ask,
    actor_as: Callable[..., Actor],
    api_as: Callable[..., Callable[..., Any]],
) -> None:
    call = api_as(actor_as("viewer"))
    assert call("get", f"/comparisons/{comparison.pk}").status_code == 200
    assert call("post", "/comparisons", body_of(ask), Idempotency_Key="k").status_code == 403
    assert call("post", f"/comparisons/{comparison.pk}/cancel").status_code == 403
