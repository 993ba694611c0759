"""The configuration: whole or refused, with every fault and where it is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from documents.problem import DocumentError
from gateway.config_reader import parse
from tests.gateway.serving import digest, document, lane, policy, slo

URL = "http://127.0.0.1:8000"
NEW = policy("new", limit=3)
CANARY = {
    "candidate": NEW.sha256,
    "seed": 1,
    "starts_at": 0,
    "blocks": 40,
    "slot_s": 30,
    "lanes": ["p", "q"],
}
TWO = [lane("p", URL), lane("q", URL)]


def faults(given: object) -> dict[str, str]:
    with pytest.raises(DocumentError) as error:
        parse(given)
    return {problem.path: problem.message for problem in error.value.problems}


def test_a_document_comes_back_as_it_was_with_every_default_written_out() -> None:
    whole = document(URL, lanes=TWO, canary=CANARY, slo=slo(ttft_ms=500), policies=(policy(), NEW))
    config = parse(whole)
    again = parse(json.loads(json.dumps(config.to_document())))
    assert again == config
    assert again.sha256 == config.sha256
    assert config.queue.bound == 256
    assert config.canary is not None
    assert config.canary.pair == ("p", "q")


def test_two_ways_to_write_one_configuration_have_one_hash() -> None:
    one = document(URL)
    other = dict(reversed(list(document(URL, queue={"bound": 256, "ttl_s": 30}).items())))
    assert parse(one).sha256 == parse(other).sha256
    assert parse(document(URL, revision=2)).sha256 != parse(one).sha256


@pytest.mark.parametrize(
    ("changed", "path", "says"),
    [
        ({"gateway": "Edge!"}, "gateway", "small letters"),
        ({"revision": -1}, "revision", "at least 0|from 0"),
        ({"lanes": []}, "lanes", "at least one lane"),
        ({"lanes": [lane("p", URL), lane("p", URL)]}, "lanes.1.name", "given twice"),
        ({"lanes": [{"name": "p", "endpoints": 1}]}, "lanes.0.endpoints", "list"),
        ({"lanes": [lane("p", "ftp://x")]}, "lanes.0.endpoints.0.base_url", "URL"),
        ({"active": "0" * 64}, "active", "none of the policies"),
        ({"policies": [{"sha256": "0" * 64, "document": policy().to_document()}]},
         "policies.0.sha256", "not the document's hash"),
        ({"tenants": [{"name": "a", "keys": ["sk-plain-key"]}]}, "tenants.0.keys.0", "SHA-256"),
        ({"tenants": [{"name": "a", "keys": [digest("k")]}, {"name": "b", "keys": [digest("k")]}]},
         "tenants", "two tenants"),
        ({"tenants": []}, "tenants", "every request would be refused"),
        ({"anonymous": "nobody"}, "anonymous", "no tenant"),
        ({"queue": {"bound": -1}}, "queue.bound", "from 0"),
        ({"queue": {"bond": 1}}, "queue.bond", "did you mean 'bound'"),
        ({"timeouts": {"idle_s": 0}}, "timeouts.idle_s", "from 0.1"),
        ({"slo": {"kind": "SLO"}}, "slo.apiVersion", "required"),
        ({"canary": CANARY}, "canary.candidate", "none of the policies"),
        ({"canary": CANARY | {"lanes": ["p", "p"]}}, "canary.lanes", "two lanes"),
        ({"lanes": TWO, "canary": CANARY | {"candidate": policy().sha256}},
         "canary.candidate", "at no point that acts here"),
        ({"canary": CANARY | {"washout_s": 30}}, "canary.washout_s", "shorter than slot_s"),
        ({"canary": CANARY | {"weight": 0}}, "canary.weight", "above 0"),
        ({"canary": CANARY | {"weight": 0.6}}, "canary.weight", "up to 0.5"),
        ({"lanes": TWO, "canary": CANARY | {"weight": 0.1}}, "canary.weight", "third lane"),
        ({"lanes": [lane("p", URL, URL), lane("q", URL)], "canary": CANARY},
         "canary.lanes", "equally many"),
    ],
)  # fmt: skip
def test_a_fault_is_told_with_its_place(changed: dict[str, Any], path: str, says: str) -> None:
    found = faults(document(URL) | changed)
    assert path in found, found
    assert any(word in found[path] for word in says.split("|"))


def test_all_faults_are_told_at_once() -> None:
    bad = document(URL, queue={"bound": -1}, timeouts={"idle_s": 0}, canary={"seed": "x"})
    assert {"queue.bound", "timeouts.idle_s", "canary.seed", "canary.lanes"} <= faults(bad).keys()


def test_a_key_pasted_in_clear_shows_in_no_fault() -> None:
    with pytest.raises(DocumentError) as error:
        parse(document(URL, tenants=[{"name": "a", "keys": ["sk-very-secret"]}]))
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("given", [None, [], "text", {}, {"apiVersion": "v2"}])
def test_what_is_no_configuration_is_refused(given: object) -> None:
    assert faults(given)
