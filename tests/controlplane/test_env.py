"""A wrong variable stops the start, with its name and an example; the docs list them all."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from controlplane.env import VARIABLES, Variable, read

KEY = "k1:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
GOOD = {
    "SECRET_KEY": "s3cret-" * 12,
    "HEADWAY_SEAL_KEY": KEY,
    "ALLOWED_HOSTS": "headway.example.org",
}
BAD = {
    "HEADWAY_EMBEDDED": "perhaps",
    "SECRET_KEY": "short",
    "HEADWAY_SEAL_KEY": "k1:bm90IGxvbmcgZW5vdWdo",
    "ALLOWED_HOSTS": "https://headway.example.org/",
    "DATABASE_URL": "mysql://db/headway",
    "REDIS_URL": "http://127.0.0.1:6379",
    "HEADWAY_DATA_DIR": "relative/path",
    "HEADWAY_EGRESS": "10.0.0.0/99",
    "HEADWAY_GATEWAY_HISTORY_S": "60",
    "HEADWAY_BEHIND_PROXY": "sometimes",
    "LOG_LEVEL": "loud",
}
TAKES_ANY_TEXT = {"HEADWAY_DEMO_USER", "HEADWAY_DEMO_PASSWORD"}


def test_every_variable_has_a_malformed_case_here_or_takes_any_text() -> None:
    assert {one.name for one in VARIABLES} == set(BAD) | TAKES_ANY_TEXT


@pytest.mark.parametrize("name", BAD)
def test_a_malformed_variable_is_named_with_an_example(name: str) -> None:
    example = next(one.example for one in VARIABLES if one.name == name)
    with pytest.raises(ImproperlyConfigured) as caught:
        read({**GOOD, name: BAD[name]})
    assert str(caught.value).startswith(f"{name} is malformed: ")
    assert f"Example: {name}={example}" in str(caught.value)


@pytest.mark.parametrize("variable", VARIABLES, ids=lambda one: one.name)
def test_every_example_is_itself_well_formed(variable: Variable) -> None:
    assert variable.read({variable.name: variable.example}, embedded=False) is not None


@pytest.mark.parametrize("name", ["SECRET_KEY", "ALLOWED_HOSTS"])
def test_a_missing_required_variable_is_named(name: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=f"{name} is not set"):
        read({key: value for key, value in GOOD.items() if key != name})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("HEADWAY_SEAL_KEY", "no-colon"),
        ("HEADWAY_SEAL_KEY", "k1:***"),
        ("HEADWAY_EGRESS", "everything"),
        ("REDIS_URL", "unix://relative.sock"),
        ("REDIS_URL", "redis://host:port/0"),
        ("HEADWAY_DATA_DIR", __file__),
    ],
)
def test_other_malformed_spellings_are_refused_too(name: str, text: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=name):
        read({**GOOD, name: text})


def test_the_message_never_repeats_a_secret() -> None:
    with pytest.raises(ImproperlyConfigured) as caught:
        read({**GOOD, "HEADWAY_SEAL_KEY": "k1:hunter2hunter2"})
    assert "hunter2" not in str(caught.value)


def start(environ: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "ignore", "manage.py", *arguments],
        env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", **environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_the_server_does_not_start_without_a_seal_key_of_its_own(tmp_path: Path) -> None:
    environ = {name: value for name, value in GOOD.items() if name != "HEADWAY_SEAL_KEY"}
    ended = start({**environ, "HEADWAY_DATA_DIR": str(tmp_path)}, "check")
    assert ended.returncode != 0
    assert "HEADWAY_SEAL_KEY is not set" in ended.stderr


def test_the_deployment_checks_are_clean_with_a_production_environment(tmp_path: Path) -> None:
    environ = {**GOOD, "HEADWAY_DATA_DIR": str(tmp_path), "DATABASE_URL": "postgres://h/d"}
    ended = start(environ, "check", "--deploy", "--fail-level", "WARNING")
    assert ended.returncode == 0, ended.stderr
    assert "no issues" in ended.stdout


ASK = """
import django; django.setup()
from django.conf import settings as s
print(s.SESSION_COOKIE_NAME, s.CSRF_COOKIE_NAME, s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE,
      s.SECURE_SSL_REDIRECT, s.EGRESS, s.DEBUG, s.CELERY_BROKER_URL)
"""


def test_cookies_are_bound_to_the_host_and_to_https_unless_embedded(tmp_path: Path) -> None:
    base = {**GOOD, "HEADWAY_DATA_DIR": str(tmp_path), "REDIS_URL": "unix:///run/valkey.sock"}
    served = start(base, "shell", "--no-imports", "-c", ASK).stdout.split(maxsplit=5)
    assert served[:5] == ["__Host-headway-session", "__Host-headway-csrf", "True", "True", "True"]
    assert served[5].split("\n")[0] == "('public',) False redis+socket:///run/valkey.sock"
    embedded = start({**base, "HEADWAY_EMBEDDED": "1"}, "shell", "--no-imports", "-c", ASK).stdout
    assert embedded.split()[:5] == ["sessionid", "csrftoken", "False", "False", "False"]
    assert "('loopback', 'public') False" in embedded


def test_the_docs_have_a_row_for_every_variable_with_its_default_and_example() -> None:
    rows = {}
    for line in Path("docs/configuration.md").read_text().splitlines():
        if found := re.match(r"\| `(\w+)` \| (.+) \| (.+) \| `(.+)` \|$", line):
            rows[found[1]] = found.groups()[1:]
    assert set(rows) == {one.name for one in VARIABLES}
    for one in VARIABLES:
        help_, default, example = rows[one.name]
        assert (help_, example) == (one.help, one.example)
        assert one.default is None or f"`{one.default}`" in default
        assert one.embedded is None or f"`{one.embedded}` embedded" in default
