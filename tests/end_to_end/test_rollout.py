"""A rollout with real processes: through every stage to all traffic, and back by itself on harm."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from headway.embedded.ports import free_port
from tests.end_to_end.embedded import Embedded, wait_for
from tests.end_to_end.rollout import (
    CANARY,
    FULL,
    LOAD_TEST,
    MODEL,
    SHADOW,
    Team,
    Traffic,
    traffic_of,
)

BEFORE = "fixed-32@"


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedded]:
    """Without the set-up's own trickle: its long answers would make long washouts."""
    data = tmp_path_factory.mktemp("rollout") / "data"
    made = Embedded(data, free_port(), ("--no-traffic",)).start()
    yield made
    made.end()


def test_a_version_goes_through_every_stage_to_all_traffic_and_a_bad_one_comes_back_by_itself(
    embedded: Embedded,
) -> None:
    team = Team.of(embedded)
    team.prepare()
    with traffic_of(embedded).flowing() as traffic:
        wait_for(lambda: traffic.latest.startswith(BEFORE), within=60, why="an answer")
        planted(team, traffic)
        wanted(team, traffic)
    verdicts = {run["kind"]: run for run in team.look(team.latest)["stage_runs"]}
    assert {kind: run["finding"] for kind, run in verdicts.items()} == dict.fromkeys(
        ("model", "load_test", "shadow", "canary", "full"), "pass"
    )
    canary = verdicts["canary"]["evidence"]
    assert canary["verdict"]["k"] >= 20
    assert canary["plan"]["spec"]["seed"] == verdicts["canary"]["setting"]["seed"]
    audit = team.admin.get("/audit/")
    for verb in ("propose", "start", "approve", "enter", "roll_back", "pass"):
        assert f"{verb}_rollout" in audit or f"{verb} rollout" in audit, verb


def planted(team: Team, traffic: Traffic) -> None:
    """One request at a time can't bear the load: the canary shows it, and nobody has to act."""
    rollout = team.propose("one-at-a-time", CANARY, FULL)
    team.until(rollout, "waiting", stage="Canary")
    team.approve(rollout)
    ended = team.until(rollout, "rolled_back", within=150)
    assert "Harm because" in ended["because"]
    asked = sum(traffic.policies.values())
    wait_for(lambda: sum(traffic.policies.values()) > asked + 200, within=60, why="more answers")
    assert traffic.latest.startswith(BEFORE), "the version of before serves"
    page = team.admin.get(f"/rollouts/{rollout}/")
    assert re.search(r"data-part=\"word\">Rolled back<", page)


def wanted(team: Team, traffic: Traffic) -> None:
    """Two approvals by the second person; everything else goes by itself."""
    rollout = team.propose("wider", MODEL, LOAD_TEST, SHADOW, CANARY, FULL)
    team.until(rollout, "waiting", stage="Canary", within=240)
    assert traffic.latest.startswith(BEFORE), "nothing has acted on traffic yet"
    team.approve(rollout)
    team.until(rollout, "waiting", stage="Full", within=150)
    seen = {name.partition("@")[0] for name in traffic.policies}
    assert seen == {"fixed-32", "one-at-a-time", "wider"}
    team.approve(rollout)
    team.until(rollout, "done", within=90)
    wait_for(lambda: traffic.latest.startswith("wider@"), within=30, why="wider on every lane")
