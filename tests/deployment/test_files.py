"""Compose file, image and locks, as far as they can be held without a container engine."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())


def tool(name: str) -> str:
    found = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    assert found, f"{name} is not installed; `make test` installs it"
    return found


def test_the_compose_file_is_valid_by_the_compose_specification() -> None:
    done = subprocess.run(
        [
            tool("check-jsonschema"),
            "--builtin-schema",
            "vendor.compose-spec",
            ROOT / "docker-compose.yml",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_dockerfile_passes_its_linter() -> None:
    done = subprocess.run(
        [tool("hadolint"), ROOT / "Dockerfile"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_the_image_believes_no_forwarded_address() -> None:
    assert '"--no-proxy-headers"' in (ROOT / "Dockerfile").read_text().partition("\nCMD ")[2]


def test_every_service_waits_only_for_services_that_exist() -> None:
    services = COMPOSE["services"]
    for name, service in services.items():
        assert set(service.get("depends_on", {})) <= set(services), name


def test_no_service_is_published_beyond_loopback() -> None:
    published = [
        port for service in COMPOSE["services"].values() for port in service.get("ports", [])
    ]
    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_there_may_be_several_workers_each_with_a_name_of_its_own() -> None:
    """``--scale worker=3`` makes three; each one's host name is what a run's slices go by."""
    worker = COMPOSE["services"]["worker"]
    assert not {"container_name", "hostname", "ports"} & set(worker)
    assert not {"-n", "--hostname", "-Q", "--queues"} & set(worker["command"])


def test_every_variable_of_the_compose_file_is_documented() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    used = set(re.findall(r"\$\{([A-Z_]+)", text)) | set(COMPOSE["x-headway"]["environment"])
    documented = (ROOT / "docs/configuration.md").read_text()
    assert {name for name in used if f"`{name}`" not in documented} == set()


@pytest.mark.parametrize("extra", ["server", "llamacpp", "dev"])
def test_each_lock_names_every_direct_dependency_with_hashes(extra: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = list(project["dependencies"])
    for group in {"server": ["server"], "llamacpp": ["server", "llamacpp"]}.get(
        extra, ["server", "llamacpp", "dev"]
    ):
        wanted += project["optional-dependencies"][group]
    text = (ROOT / "requirements" / f"{extra}.txt").read_text()
    locked = dict(re.findall(r"^([a-z0-9-]+)==(\S+)", text, flags=re.MULTILINE))
    names = {re.split(r"[\[<>=;~! ]", line, maxsplit=1)[0].lower() for line in wanted}
    assert names <= set(locked)
    assert text.count("--hash=sha256:") >= len(locked)
    assert "://" not in text


def test_the_wheel_carries_every_data_file_of_its_packages() -> None:
    tool_tables = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    packages = [name.rstrip("*") for name in tool_tables["packages"]["find"]["include"]]
    carried = {
        found
        for package, patterns in tool_tables["package-data"].items()
        for pattern in patterns
        for found in (ROOT / package.replace(".", "/")).glob(pattern)
    }
    data = {
        path
        for package in packages
        for path in (ROOT / package).rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
    }
    assert data
    assert data == carried
