"""HEADWAY_EGRESS becomes rules; a forbidden URL is a problem at its field."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane import egress
from documents.problem import DocumentError


@pytest.mark.parametrize(
    ("setting", "url", "allowed"),
    [
        (("public",), "http://127.0.0.1:8000", False),
        (("public",), "http://10.20.0.5:8000", False),
        (("loopback",), "http://127.0.0.1:8000", True),
        (("loopback",), "http://[::1]:8000", True),
        (("loopback",), "http://10.20.0.5:8000", False),
        (("10.20.0.0/16",), "http://10.20.0.5:8000", True),
        (("10.20.0.0/16",), "http://10.21.0.5:8000", False),
        (("169.254.0.0/16",), "http://169.254.169.254/", False),
        (("public",), "https://8.8.8.8", True),
    ],
)
def test_only_what_the_setting_names_may_be_called(
    settings: Any, setting: tuple[str, ...], url: str, *, allowed: bool
) -> None:
    settings.EGRESS = setting
    if allowed:
        egress.check(url, path="base_url")
        return
    with pytest.raises(DocumentError) as caught:
        egress.check(url, path="base_url")
    assert caught.value.problems[0].path == "base_url"
    assert "HEADWAY_EGRESS" in str(caught.value)


def test_a_name_without_an_address_passes_and_is_checked_when_called() -> None:
    egress.check("http://not-up-yet.invalid:8000", path="base_url")
