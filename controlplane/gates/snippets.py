"""What to paste into a CI system so that it calls a gate."""

from __future__ import annotations

import math
from dataclasses import dataclass

from controlplane.gates.documents import GateDocument
from controlplane.gates.models import Gate

QUEUE_MIN = 15
"""Minutes beside the load itself: waiting for a worker, installing, reporting."""


@dataclass(frozen=True, slots=True)
class Snippet:
    """``where`` says into which file, and where its token is kept."""

    key: str
    title: str
    where: str
    text: str


def snippets(gate: Gate, server: str) -> list[Snippet]:
    """The gate's own, with this server's address."""
    spec = GateDocument.parse(gate.latest.document).spec
    minutes = math.ceil((spec.duration_s + spec.drain_s) / 60) + QUEUE_MIN
    words = command_of(gate.slug, server, minutes)
    return [
        Snippet(
            "github",
            "GitHub Actions",
            "Save as .github/workflows/headway.yml. Put the token into the repository's secret "
            "HEADWAY_TOKEN, and what pip shall install into its variable HEADWAY_PACKAGE.",
            _GITHUB.format(slug=gate.slug, command=_folded(words, 10), minutes=minutes + 5),
        ),
        Snippet(
            "gitlab",
            "GitLab CI",
            "Add to .gitlab-ci.yml. Put the token into the masked CI/CD variable HEADWAY_TOKEN, "
            "and what pip shall install into HEADWAY_PACKAGE.",
            _GITLAB.format(slug=gate.slug, command=_folded(words, 6), minutes=minutes + 5),
        ),
        Snippet(
            "shell",
            "Any shell",
            "Read the token into the environment first; it never stands on the command line.",
            "read -rs HEADWAY_TOKEN && export HEADWAY_TOKEN\n"
            + " \\\n  ".join(words)
            + '\necho "exit code $?"\n',
        ),
    ]


def command_of(slug: str, server: str, minutes: int) -> list[str]:
    """The one command that each of them runs, in lines that fit a page."""
    return [
        f"headway gate run {slug}",
        f"--server {server} --timeout {minutes}m",
        "--junit headway.xml --json headway.json --markdown headway.md",
    ]


def _folded(words: list[str], indent: int) -> str:
    """A YAML scalar that folds to one line."""
    return ">-\n" + "\n".join(" " * indent + line for line in words)


_GITHUB = """\
name: Headway gate {slug}
on: [pull_request]
permissions:
  contents: read
jobs:
  gate:
    runs-on: ubuntu-latest
    timeout-minutes: {minutes}
    steps:
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - name: Install the command
        run: pip install "$HEADWAY_PACKAGE"
        env:
          HEADWAY_PACKAGE: ${{{{ vars.HEADWAY_PACKAGE }}}}
      - name: Run the gate
        run: {command}
        env:
          HEADWAY_TOKEN: ${{{{ secrets.HEADWAY_TOKEN }}}}
      - name: Show the verdict
        if: always() && hashFiles('headway.md') != ''
        run: cat headway.md >> "$GITHUB_STEP_SUMMARY"
      - name: Keep the reports
        if: always()
        uses: actions/upload-artifact@v4
        with:
          name: headway-{slug}
          path: headway.*
          if-no-files-found: ignore
"""

_GITLAB = """\
headway-{slug}:
  image: python:3.12-slim
  timeout: {minutes} minutes
  script:
    - pip install "$HEADWAY_PACKAGE"
    - {command}
  artifacts:
    when: always
    paths: [headway.json, headway.md]
    reports:
      junit: headway.xml
"""
