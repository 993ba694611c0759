"""The catalogue's own templates and forms, rendered for made-up entries with long words in them."""

from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any

from controlplane.catalogue.documents import EndpointDocument, TenantDocument
from controlplane.catalogue.examples import POLICY, SLO
from controlplane.catalogue.forms import (
    AliasForm,
    CredentialForm,
    DocumentForm,
    WorkloadForm,
    YamlForm,
)
from controlplane.catalogue.law_form import LawForm
from controlplane.catalogue.views.cells import as_yaml, table
from controlplane.teams.forms import MemberForm
from controlplane.teams.models import Role
from loadtest.workloads.base import workloads
from tests.front.pages import ASKED, RUN, Person, rendered

SHA = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
KINDS = {"policies": "policy", "slos": "slo", "workloads": "workload", "tenants": "tenant"}
KINDS |= {"endpoints": "endpoint"}


CHANGE = {
    "path": "spec.concurrency.smoothing_window_requests",
    "before": "32",
    "after": "64",
    "kind": "changed",
    "unit": "requests",
    "help": "over how many answers the latency is smoothed",
}


class Version(SimpleNamespace):
    def __str__(self) -> str:
        return f"v{self.number}"


def versions(document: dict[str, Any]) -> list[Version]:
    """The newest of three first."""
    known = {"sha256": SHA, "created_by": Person(), "created_at": ASKED, "document": document}
    return [Version(number=number, pk=RUN, based_on=number - 1, **known) for number in (3, 2, 1)]


def aliases(listed: list[Version]) -> dict[str, Any]:
    """A long name and a long reason, as a policy's page shows them."""
    name = "europe-west-experimental-canary"
    move = SimpleNamespace(
        alias=name,
        from_version=listed[1],
        to_version=listed[0],
        at=ASKED,
        by="rollout 01974c2e-7d1c-7000-8000-000000000001",
        reason="attainment rose by 0.4 points and no tenant was harmed in forty blocks",
    )
    return {
        "aliases": [Alias(name=name, version=listed[0], moved_at=ASKED)],
        "moves": [move],
        "alias_form": AliasForm(numbers=[3, 2, 1]),
        "alias_names": ("stable", "canary"),
        "compare": [3, 2, 1],
        "base": listed[0],
    }


class Alias(SimpleNamespace):
    def __str__(self) -> str:
        return str(self.name)


LONG = POLICY | {"spec": {"admission": {"law": "kv_reserve"}, "concurrency": {"law": "gradient2"}}}
"""Laws of many parameters, and points that are left open."""


def line_page(kind: str, *, may_write: bool, **more: Any) -> str:
    """A policy or an SLO with its versions."""
    document = copy.deepcopy({"policy": POLICY, "slo": SLO}[kind])
    listed = versions(document)
    context = {
        kind: SimpleNamespace(pk=RUN, name=f"chat-interactive-{kind}"),
        "text": YamlForm(None, document=document),
        "law": LawForm(None, base=LONG, named=True),
        "versions": listed,
        "latest": listed[0],
        "yaml": as_yaml(document),
        "next": 4,
        "may_write": may_write,
        **(aliases(listed) if kind == "policy" else {}),
        **more,
    }
    return rendered(f"catalogue/{kind}.html", "/", context)


def version_page() -> str:
    after, before, _ = versions(POLICY)
    context = {
        "line": SimpleNamespace(name="chat-steady", get_absolute_url="/catalogue/policies/1/"),
        "back": "catalogue:policies",
        "version": after,
        "before": before,
        "changes": [CHANGE],
        "yaml": as_yaml(POLICY),
    }
    return rendered("catalogue/version.html", "/", context)


def diff_page() -> str:
    """Two versions with a law of many parameters, and what was measured of both."""
    after, before, _ = versions(POLICY)
    side = {"run": "01974c2e", "href": "/", "at": ASKED}
    numbers = {"before": "1,234,567.89", "after": "–", "n_before": "1,234,567", "n_after": "12"}
    rows = [{"name": name, "unit": "ms", **numbers} for name in ("TTFT P99", "TPOT P50")]
    pair = {
        "load": "chat-multi-turn-long on qwen3-32b-europe-west, gamma 1234 req/s, 3600 s",
        "slo": "chat-interactive v14",
        "before": {**side, "seed": 1},
        "after": {**side, "seed": 2},
    }
    context = {
        "line": SimpleNamespace(pk=RUN, name="chat-steady", get_absolute_url="/"),
        "before": before,
        "after": after,
        "numbers": [3, 2, 1],
        "changes": [CHANGE],
        "kept": [CHANGE | {"kind": "same"}],
        "pairs": [{"pair": pair, "rows": rows}],
        "may_run": True,
    }
    return rendered("catalogue/policy_diff.html", "/", context)


def members_page() -> str:
    name = "someone-with-a-rather-long-name@engineering.example.org"
    rows = [
        SimpleNamespace(
            pk=RUN,
            user=SimpleNamespace(get_username=name),
            role=role,
            created_at=ASKED,
            remove_dialog=f"remove-{role}",
        )
        for role in Role.values
    ]
    context = {"members": rows, "roles": Role.values, "form": MemberForm(), "may_admin": True}
    return rendered("teams/members.html", "/", context)


def entry_page(kind: str) -> str:
    """A workload, a tenant or an endpoint, with the form of its own document."""
    synthetic = workloads.all()["synthetic"]
    documents = {"workload": synthetic, "tenant": TenantDocument, "endpoint": EndpointDocument}
    entry = {"pk": RUN, "name": f"a-long-name-of-some-{kind}", "sha256": SHA, "probe": None}
    context = {
        kind: SimpleNamespace(has_credential=True, kind="vllm", **entry),
        "form": DocumentForm(None, of=documents[kind]),
        "about": WorkloadForm(None),
        "key": CredentialForm(None),
        "kind": synthetic,
        "kinds": workloads.all().values(),
        "yaml": as_yaml(POLICY),
        "may_write": True,
    }
    return rendered(f"catalogue/{kind}.html", "/", context)


def list_page(many: str) -> str:
    name = {"text": "chat-interactive", "href": "/", "sub": "What a chat needs", "main": True}
    row = [name, {"text": "v14"}, {"text": "https://engine-0.qwen3-32b-eu.internal.example:8000"}]
    columns = [("Name", ""), ("Version", "n"), ("Address", "")]
    return rendered(f"catalogue/{many}.html", "/", table(columns, [row]))


def every() -> dict[str, str]:
    """HTML by name."""
    return {
        **{many: list_page(many) for many in KINDS},
        **{kind: entry_page(kind) for kind in ("workload", "tenant", "endpoint")},
        "policy": line_page("policy", may_write=True),
        "policy-read": line_page("policy", may_write=False),
        "slo": line_page("slo", may_write=True),
        "slo-read": line_page("slo", may_write=False),
        "policy-review": line_page(
            "policy", may_write=True, review={"sha256": SHA, "changes": [CHANGE]}
        ),
        "version": version_page(),
        "diff": diff_page(),
        "members": members_page(),
    }
