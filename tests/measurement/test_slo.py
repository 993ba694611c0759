"""The SLO document: what it refuses, what it says, and how it judges one request."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.problem import DocumentError
from measurement.objectives import METRICS
from measurement.outcome import Outcome
from measurement.slo import Judgement, Slo, judge
from tests.measurement.builders import answered, failed, slo

TTFT = {"metric": "ttft_ms", "max": 800}
ERROR = {"metric": "error", "max": 0}


def document(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "headway/v1",
        "kind": "SLO",
        "metadata": {"name": "chat-interactive", "owner": "platform"},
        "spec": {"target": 0.99, "objectives": [TTFT], **spec},
    }


def problems(given: object) -> list[str]:
    with pytest.raises(DocumentError) as caught:
        Slo.parse(given)
    return [str(problem) for problem in caught.value.problems]


def test_a_whole_document_reads_as_it_is_written() -> None:
    given = document(
        window="7d",
        objectives=[TTFT, {"metric": "tpot_ms", "max": 100, "target": 0.995}, ERROR],
        bands=[{"prompt_tokens_over": 4000, "ttft_ms": 2500}],
        tenants={"vip": {"ttft_ms": 300, "target": 0.999}},
    )
    found = Slo.parse(given)
    assert [found.target_of(objective) for objective in found.objectives] == [0.99, 0.995, 0.99]
    assert (found.target_for("vip"), found.target_for("acme")) == (0.999, 0.99)
    assert Slo.parse(found.to_document()) == found
    assert Slo.parse(found.to_document()).sha256 == found.sha256
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301 - our own bytes


@given(
    st.lists(
        st.sampled_from([m for m in METRICS if m != "error"]), min_size=1, max_size=4, unique=True
    ),
    st.floats(0.5, 0.999),
    st.dictionaries(st.text(max_size=5), st.floats(0, 1e6), max_size=2),
)
def test_every_slo_survives_its_document(
    metrics: list[str], target: float, tenants: dict[str, float]
) -> None:
    found = slo(
        *({"metric": metric, "max": 5.5} for metric in metrics),
        target=target,
        tenants={name: {metrics[0]: top} for name, top in tenants.items()},
    )
    assert Slo.parse(found.to_document()) == found


def test_an_unknown_metric_is_told_with_the_known_ones() -> None:
    [problem] = problems(document(objectives=[{"metric": "ttft", "max": 800}]))
    assert problem.startswith("spec.objectives.0.metric: must be one of ttft_ms, ")
    assert all(name in problem for name in METRICS)


@pytest.mark.parametrize(
    ("spec", "where"),
    [
        ({"target": 1}, "spec.target"),
        ({"target": None}, "spec.target"),
        ({"window": "a month"}, "spec.window"),
        ({"window": "367d"}, "spec.window"),
        ({"window": "9" * 400 + "d"}, "spec.window"),
        ({"objectives": []}, "spec.objectives"),
        ({"objectives": {"ttft_ms": 800}}, "spec.objectives"),
        ({"objectives": [TTFT, TTFT]}, "spec.objectives.1.metric"),
        ({"objectives": [TTFT | {"max": -1}]}, "spec.objectives.0.max"),
        ({"objectives": [TTFT | {"target": 1.5}]}, "spec.objectives.0.target"),
        ({"objectives": [ERROR | {"max": 0.01}]}, "spec.objectives.0.max"),
        ({"bands": {"ttft_ms": 3}}, "spec.bands"),
        ({"bands": [{"ttft_ms": 2500}]}, "spec.bands.0.prompt_tokens_over"),
        ({"bands": [{"prompt_tokens_over": 10, "tpot_ms": 3}]}, "spec.bands.0.tpot_ms"),
        ({"bands": ["long"]}, "spec.bands.0"),
        ({"tenants": ["vip"]}, "spec.tenants"),
        ({"tenants": {"vip": {"ttft_ms": "fast"}}}, "spec.tenants.vip.ttft_ms"),
        ({"tenants": {"vip": {"target": 2}}}, "spec.tenants.vip.target"),
        ({"tenants": {"vip": {"bands": [{}]}}}, "spec.tenants.vip.bands.0.prompt_tokens_over"),
        ({"objectivs": []}, "spec.objectivs"),
    ],
)
def test_each_fault_is_told_where_it_stands(spec: dict[str, Any], where: str) -> None:
    assert [problem.split(":")[0] for problem in problems(document(**spec))] == [where]


def test_faults_outside_the_spec_are_told_too() -> None:
    head = {"apiVersion": "v2", "kind": "Policy", "metadata": {}, "spec": {}}
    assert len(problems(head)) == 2
    good = document()
    assert "metadata.name" in problems(good | {"metadata": {}})[0]
    labels = {"name": "x", "labels": {"tier": 1}}
    assert "metadata.labels" in problems(good | {"metadata": labels})[0]
    assert problems("nonsense")


def test_all_faults_are_told_at_once() -> None:
    assert len(problems(document(target=2, window="x") | {"metadata": {}})) == 2
    assert len(problems(document(window="x", bands=[{}], tenants=3))) == 3


def test_a_request_is_good_when_it_meets_every_objective() -> None:
    both = slo(TTFT, {"metric": "tpot_ms", "max": 100})
    assert both.judge(answered()) == Judgement(met=True)
    slow = answered(last_token_at=0.6)
    assert both.judge(slow) == Judgement(met=False, missed=("tpot_ms",))


def test_a_threshold_is_met_when_it_is_reached_exactly() -> None:
    assert slo(TTFT).judge(answered(at=0.3, first_token_at=1.1)).met  # 0.8000000000000002 s
    assert not slo(TTFT).judge(answered(at=0.3, first_token_at=1.100001)).met


@pytest.mark.parametrize(
    "outcome", [o for o in Outcome if not o.success and o is not Outcome.CANCELLED]
)
def test_a_failure_misses_every_objective_however_fast_it_was(outcome: Outcome) -> None:
    quick = failed(outcome, first_token_at=0.001, last_token_at=0.002)
    every = [{"metric": name, "max": 0 if name == "error" else 1e6} for name in METRICS]
    assert slo(*every).judge(quick).missed == tuple(METRICS)


def test_truncated_is_a_success() -> None:
    assert slo(TTFT, ERROR).judge(answered(outcome=Outcome.TRUNCATED)).met


def test_a_null_metric_of_a_success_is_no_miss_but_is_told() -> None:
    short = answered(output_tokens=1, first_chunk_tokens=1)
    assert slo({"metric": "tpot_ms", "max": 1}).judge(short) == Judgement(
        met=True, unmeasured=("tpot_ms",)
    )


@pytest.mark.parametrize(
    ("objective", "changes", "excluded"),
    [
        (TTFT, {"done_at": 0.7}, True),
        (TTFT, {"done_at": 0.9}, False),
        (TTFT, {"first_token_at": 0.5, "done_at": 9.0}, True),
        (TTFT, {"first_token_at": 0.9, "done_at": 9.0}, False),
        (TTFT, {"done_at": None}, True),
        ({"metric": "e2e_ms", "max": 800}, {"first_token_at": 0.1, "done_at": 0.9}, False),
        ({"metric": "tpot_ms", "max": 1}, {"first_token_at": 0.1, "done_at": 0.9}, True),
        ({"metric": "longest_gap_ms", "max": 300}, {"gaps": (0.1, 0.4)}, False),
        (ERROR, {"done_at": 9.0}, True),
    ],
)
def test_a_cancelled_request_is_excluded_unless_it_had_missed_already(
    objective: dict[str, Any], changes: dict[str, Any], excluded: bool
) -> None:
    found = slo(objective).judge(failed(Outcome.CANCELLED, **changes))
    assert (found.excluded, found.met, bool(found.missed)) == (excluded, False, not excluded)


def test_bands_hold_for_longer_prompts_and_the_longest_that_fits_wins() -> None:
    bands = [
        {"prompt_tokens_over": 8000, "ttft_ms": 5000},
        {"prompt_tokens_over": 4000, "ttft_ms": 2500},
    ]
    found = slo(TTFT, ERROR, bands=bands)
    tops = [found.maximum("ttft_ms", prompt_tokens=n) for n in (None, 4000, 4001, 8000, 8001)]
    assert tops == [800, 800, 2500, 2500, 5000]
    late = answered(first_token_at=2.0, prompt_tokens=4500)
    assert found.judge(late).met
    assert not found.judge(answered(first_token_at=2.0, prompt_tokens=None)).met


def test_more_bands_and_tenants_than_anyone_needs_are_refused() -> None:
    bands = [{"prompt_tokens_over": edge, "ttft_ms": 900} for edge in range(65)]
    tenants = {f"t{number}": {"ttft_ms": 900} for number in range(1001)}
    own = {"vip": {"bands": bands}}
    assert problems(document(bands=bands)) == [
        "spec.bands: must be at most 64 bands (got 65)",
    ]
    assert problems(document(tenants=own)) == [
        "spec.tenants.vip.bands: must be at most 64 bands (got 65)"
    ]
    assert problems(document(tenants=tenants)) == [
        "spec.tenants: must be at most 1,000 tenants (got 1001)"
    ]
    del tenants["t0"]
    assert len(Slo.parse(document(bands=bands[:64], tenants=tenants)).tenants) == 1000


def test_a_length_below_0_is_in_the_shortest_band() -> None:
    assert slo(TTFT, ERROR).judge(answered(prompt_tokens=-5)).met


def test_a_tenants_threshold_holds_at_every_length_but_in_its_own_bands() -> None:
    found = slo(
        TTFT,
        bands=[{"prompt_tokens_over": 4000, "ttft_ms": 2500}],
        tenants={
            "vip": {"ttft_ms": 300},
            "batch": {"ttft_ms": 9000, "bands": [{"prompt_tokens_over": 100, "ttft_ms": 60000}]},
            "plain": {"target": 0.9},
        },
    )
    assert found.maximum("ttft_ms", tenant="vip", prompt_tokens=5000) == 300
    assert found.maximum("ttft_ms", tenant="batch", prompt_tokens=50) == 9000
    assert found.maximum("ttft_ms", tenant="batch", prompt_tokens=5000) == 60000
    assert found.maximum("ttft_ms", tenant="plain", prompt_tokens=5000) == 2500


def test_without_an_slo_successes_are_good_and_cancels_are_excluded() -> None:
    assert judge(answered(), None) == Judgement(met=True)
    assert judge(failed(Outcome.SHED), None) == Judgement(met=False)
    assert judge(failed(Outcome.CANCELLED), None) == Judgement(met=False, excluded=True)
