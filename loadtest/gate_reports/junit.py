"""JUnit XML of a gate's run: one suite a gate, one case an objective and a threshold."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from loadtest.gate_reports.cases import Case, GateRun, cases_of

_ILLEGAL = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML can't hold, even escaped: an engine's answer may bring it."""

_PROPERTIES = ("id", "version", "policy", "endpoint", "workload", "slo", "seed", "scenario_sha256")


def junit(run: GateRun) -> str:
    """The document. What could not be told is an error, so that no reader takes it for a pass."""
    cases = cases_of(run)
    counts = {
        "tests": len(cases),
        "failures": sum(case.failed for case in cases),
        "errors": sum(not (case.failed or case.passed) for case in cases),
        "skipped": 0,
    }
    suite = ET.Element("testsuite", {"name": f"gate {run['gate']}", **_texts(counts)})
    suite.set("time", f"{run['elapsed_s'] or 0:.3f}")
    suite.set("timestamp", str(run["started_at"] or run["created_at"]))
    properties = ET.SubElement(suite, "properties")
    for name in _PROPERTIES:
        if run.get(name) is not None:
            ET.SubElement(properties, "property", name=name, value=_legal(run[name]))
    for case in cases:
        suite.append(_case(case, f"headway.gate.{run['gate']}"))
    root = ET.Element("testsuites", {"name": "headway", **_texts(counts)})
    root.append(suite)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _case(case: Case, classname: str) -> ET.Element:
    made = ET.Element("testcase", classname=classname, name=_legal(case.name), time="0")
    if not case.passed:
        told = ET.SubElement(made, "failure" if case.failed else "error")
        told.set("type", "slo" if case.failed else _legal(case.outcome))
        told.set("message", _legal(f"{case.name}: {case.because}"))
        told.text = _legal(case.because)
    return made


def _texts(counts: dict[str, int]) -> dict[str, str]:
    return {name: str(count) for name, count in counts.items()}


def _legal(value: object) -> str:
    return _ILLEGAL.sub("�", str(value))
