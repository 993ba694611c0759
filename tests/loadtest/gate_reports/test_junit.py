"""JUnit: one case an objective and a threshold, and nothing that is unsure reads as a pass."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from loadtest.gate_reports.junit import junit
from tests.loadtest.gate_reports.builders import gate_run


def test_each_objective_and_threshold_is_a_case_and_a_failure_names_its_objective() -> None:
    root = ET.fromstring(junit(gate_run()))  # noqa: S314 - our own text
    [suite] = root
    assert suite.attrib["name"] == "gate chat"
    assert {name: suite.attrib[name] for name in ("tests", "failures", "errors")} == {
        "tests": "4",
        "failures": "1",
        "errors": "1",
    }
    names = [case.attrib["name"] for case in suite.iter("testcase")]
    assert names == [
        "run: ended, with the load that was asked for",
        "objective: TTFT ≤ 800 ms",
        "threshold: errors<=0.01",
        "threshold: ttft_ms: p(99)<900",
    ]
    [failure] = suite.iter("failure")
    assert failure.attrib["type"] == "slo"
    assert failure.attrib["message"].startswith("objective: TTFT ≤ 800 ms: 95.00 % of 1,200")
    [error] = suite.iter("error")
    assert error.attrib["type"] == "inconclusive"
    properties = {one.attrib["name"]: one.attrib["value"] for one in suite.iter("property")}
    assert properties["policy"] == "steady@2"


@pytest.mark.parametrize("outcome", ["invalid", "infrastructure", "cancelled"])
def test_a_run_without_a_verdict_is_an_error_whatever_was_measured(outcome: str) -> None:
    root = ET.fromstring(junit(gate_run(outcome, objectives=[], thresholds=[])))  # noqa: S314
    [error] = root.iter("error")
    assert error.attrib["type"] == outcome


def test_what_xml_can_t_hold_is_replaced_and_the_rest_escaped() -> None:
    text = junit(gate_run("invalid", because="\x00 <b>&\ud800"))
    [error] = [one for one in ET.fromstring(text).iter("error") if one.attrib["type"] == "invalid"]  # noqa: S314
    assert error.text == "� <b>&�"
