"""The product's own templates, rendered for made-up runs."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from django import forms
from django.template.loader import render_to_string
from django.test import RequestFactory

from tests.front.story import FIGURES, Story, with_shadow

RUN = "0197a3f1-0000-7000-8000-00001974c2e0"
ASKED = datetime(2026, 1, 1, tzinfo=UTC)
SCENARIO = {
    "arrivals": {"process": "poisson", "rate": 40.0},
    "duration_s": 1200.0,
    "warm_up_s": 60,
    "policy": {"spec": {"concurrency": {"law": "aimd"}}},
}


class Person:
    is_authenticated = True

    def get_username(self) -> str:
        return "sre-primary"

    __str__ = get_username


def version(name: str, label: str) -> Any:
    return type(
        "Version", (), {"line": SimpleNamespace(name=name), "__str__": lambda self: label}
    )()


def a_run(status: str = "running", **more: Any) -> SimpleNamespace:
    live = status in ("queued", "running", "cancelling")
    known = {
        "pk": RUN,
        "short_id": "1974c2e0",
        "status": status,
        "get_status_display": status.capitalize(),
        "is_live": live,
        "verdict": "" if live else "pass",
        "reason": "",
        "endpoint": SimpleNamespace(name="qwen3-32b-eu"),
        "endpoint_id": RUN,
        "target_name": "qwen3-32b-eu",
        "policy_version": version("chat-steady", "v14"),
        "policy_version_id": RUN,
        "shadow_version": None,
        "slo_version": version("chat-interactive", "v3"),
        "slo_version_id": RUN,
        "workload": SimpleNamespace(name="chat-multi-turn"),
        "workload_id": RUN,
        "scenario": SCENARIO,
        "scenario_sha256": "c03d551709ab" + "0" * 52,
        "seed": 20417,
        "created_by": Person(),
        "created_at": ASKED,
        "ended_at": None if live else ASKED,
        "duration_s": 1200.0,
        "elapsed_s": 860.0,
        "get_absolute_url": f"/runs/{RUN}/",
    }
    return SimpleNamespace(**(known | more))


def rendered(template: str, path: str, context: dict[str, Any], *, theme: str = "") -> str:
    request = RequestFactory().get(path)
    request.COOKIES["theme"] = theme
    request.user = Person()
    request.team = SimpleNamespace(name="platform")
    request.role = "approver"
    request.htmx = False
    return render_to_string(template, {"user": request.user, **context}, request=request)


def run_page(
    story: Story, *, status: str = "running", seq: int = 0, first: bool = True, **more: Any
) -> str:
    """As it was served at ``seq``; without its ``first`` frame the script must ask for one."""
    frame = story.frame(seq, status=status)
    context = {
        "run": a_run(status, **more),
        "figures": with_shadow() if story.shadow else FIGURES,
        "frame": frame if first else None,
        "verdict": frame["verdict"],
        "tiles": frame["tiles"],
        "may_write": True,
        "may_cancel": status in ("queued", "running"),
    }
    return rendered("runs/detail.html", f"/runs/{RUN}/", context)


class LaunchForm(forms.Form):
    """As the product's form looks to a template."""

    endpoint = forms.ChoiceField(choices=[("1", "embedded"), ("2", "qwen3-32b-eu")])
    policy_version = forms.ChoiceField(label="Policy version", choices=[("1", "chat-steady v14")])
    workload = forms.ChoiceField(choices=[("1", "chat-multi-turn")])
    slo_version = forms.ChoiceField(
        label="SLO", required=False, choices=[("", "No objectives"), ("1", "chat-interactive v3")]
    )
    process = forms.ChoiceField(
        label="Arrivals",
        choices=[
            ("poisson", "poisson: memoryless gaps"),
            ("closed", "closed: a fixed number at once"),
        ],
    )
    rate = forms.FloatField(
        initial=20,
        help_text="Requests per second at the mean",
        widget=forms.NumberInput(attrs={"data-when": "process=poisson"}),
    )
    concurrency = forms.IntegerField(
        required=False, initial=8, widget=forms.NumberInput(attrs={"data-when": "process=closed"})
    )
    duration_s = forms.FloatField(
        label="Duration", initial=60, max_value=86400, help_text="How long load is offered"
    )
    seed = forms.IntegerField(
        required=False, help_text="Fixes the whole schedule; empty draws a new one"
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["rate"].unit = "req/s"
        self.fields["duration_s"].unit = "s"
        self.fields["duration_s"].bounds = "1 – 86,400"


def launch_page(data: dict[str, str] | None = None) -> str:
    return rendered("runs/new.html", "/runs/new/", {"form": LaunchForm(data), "missing": []})


def rows(*pairs: tuple[str, str]) -> list[dict[str, Any]]:
    """Rows of a list of runs: (status, outcome)."""
    words = {"pass": "Passed", "fail": "Failed", "none": "–", "inconclusive": "Not sure yet"}
    because = "99.44 % of 31,905 offered requests met every objective; the target is 99.00 %."
    return [
        {
            "run": a_run(status),
            "verdict": {
                "outcome": outcome,
                "word": words.get(outcome, outcome),
                "because": because,
            },
        }
        for status, outcome in pairs
    ]


def list_page(listed: list[dict[str, Any]]) -> str:
    from django.core.paginator import Paginator

    context = {
        "page_obj": Paginator(listed, 50).get_page(1),
        "rows": listed,
        "status": "",
        "statuses": [("running", "Running")],
        "may_write": True,
    }
    return rendered("runs/list.html", "/runs/", context)


def home_page(listed: list[dict[str, Any]]) -> str:
    endpoint = SimpleNamespace(pk="1", name="embedded", kind="simulated", model="simulated")
    ended = [row for row in listed if not row["run"].is_live]
    context = {
        "endpoints": [{"endpoint": endpoint, "last": ended[0] if ended else None}],
        "now": [row for row in listed if row["run"].is_live],
        "recent": ended,
        "steps": [
            {"id": name, "done": name != "run"}
            for name in ("endpoint", "policy", "workload", "slo", "run")
        ],
        "empty": not listed,
        "may_write": True,
    }
    return rendered("dashboard/home.html", "/", context)
