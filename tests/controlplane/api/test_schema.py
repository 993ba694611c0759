"""The committed OpenAPI document is the one that the code makes, and the API serves it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import call_command
from django.test import Client

from controlplane.teams.rights import Actor

COMMITTED = Path("docs/openapi.yaml")


def test_the_committed_document_is_current(tmp_path: Path) -> None:
    made = tmp_path / "openapi.yaml"
    call_command("spectacular", file=str(made), validate=True, fail_on_warn=True)
    assert made.read_text() == COMMITTED.read_text(), (
        "run: python manage.py spectacular --file docs/openapi.yaml"
    )


def test_it_is_3_1_and_every_operation_says_how_it_fails() -> None:
    document = yaml.safe_load(COMMITTED.read_text())
    assert document["openapi"].startswith("3.1")
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            if method in ("post", "put", "delete") and not path.endswith("probe"):
                failing = {code for code in operation["responses"] if code >= "400"}
                assert failing, f"{method} {path}"


def test_ranges_in_it_are_the_documents_own() -> None:
    document = yaml.safe_load(COMMITTED.read_text())
    caps = document["components"]["schemas"]["EndpointInRequest"]["properties"]
    assert caps["max_concurrency"]["maximum"] == 100_000
    assert "writeOnly" in caps["credential"]


@pytest.mark.django_db
def test_it_is_served_to_tokens_and_signed_in_browsers(
    operator: Actor,
    api_as: Callable[..., Callable[..., Any]],
    page_as: Callable[[Actor], Client],
) -> None:
    assert api_as(operator)("get", "/schema").status_code == 200
    assert page_as(operator).get("/api/v1/schema").status_code == 200
