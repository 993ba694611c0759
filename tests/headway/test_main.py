"""The ``headway`` command: quick to list, one version, faults in arguments are exit code 20."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from headway import commands
from headway.__main__ import main

NAMES = sorted(
    module.NAME
    for found in pkgutil.iter_modules(commands.__path__, "headway.commands.")
    for module in (importlib.import_module(found.name),)
    if hasattr(module, "NAME")
)


def test_without_a_word_it_lists_its_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in NAMES)
    assert {"run", "engine", "up"} <= set(NAMES)


def test_the_version_is_the_projects(capsys: pytest.CaptureFixture[str]) -> None:
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"headway {project['version']}\n"


@pytest.mark.parametrize("words", [["no-such"], ["run", "--rate", "fast"], ["run", "--nope"]])
def test_faults_in_arguments_are_bad_configuration(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 20
    assert "usage" in capsys.readouterr().err


@pytest.mark.parametrize("name", NAMES)
def test_each_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    assert name in capsys.readouterr().out


def test_listing_imports_neither_the_web_framework_nor_the_numbers() -> None:
    code = (
        "import sys; from headway.__main__ import main; main([]);"
        "heavy = {'django', 'numpy', 'aiohttp', 'celery', 'uvloop'} & set(sys.modules);"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True)
    assert ran.returncode == 0, ran.stderr
