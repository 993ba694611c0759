"""The table at the end of a run, for a terminal of 80 columns: failures first, then latencies."""

from __future__ import annotations

import textwrap
from typing import Any, ClassVar

from loadtest.conclusion import Carried, Conclusion
from loadtest.printable import printable
from loadtest.reports.base import report
from loadtest.reports.summary_json import OF_A_CLIENT
from loadtest.shadow_rules import sentences
from measurement.outcome import Outcome
from measurement.quantiles import Quantiles
from measurement.steady import METHOD

_LATENCIES = (
    ("TTFT, from intended start", "ttft_ms"),
    ("TTFT, from send", "service_ttft_ms"),
    ("TPOT", "tpot_ms"),
    ("ITL", "itl_ms"),
    ("longest gap", "longest_gap_ms"),
    ("E2E, from intended start", "e2e_ms"),
    ("send lag", "send_lag_ms"),
)
_WIDTH = 80
_PERCENTS = ("p50", "p90", "p95", "p99")
_WORDS = {"pass": "PASS", "fail": "FAIL", "inconclusive": "INCONCLUSIVE", "invalid": "INVALID"}


@report
class Table:
    name: ClassVar[str] = "table"
    summary: ClassVar[str] = "A table for the terminal: verdict, outcomes, latencies, rates."
    filename: ClassVar[str | None] = None

    def render(self, conclusion: Conclusion) -> str:
        lines = [
            "",
            *_verdict(conclusion),
            "",
            *_outcomes(conclusion),
            "",
            *_latencies(conclusion),
            "",
            *_rates(conclusion),
            *_cut(conclusion),
            *_tenants(conclusion),
            *_shadow(conclusion),
            *(f"Note: {note}" for note in (*conclusion.notes, *conclusion.verdict.warnings)),
        ]
        return printable("\n".join(lines)) + "\n"


def _verdict(conclusion: Conclusion) -> list[str]:
    verdict = conclusion.verdict
    ended = "" if conclusion.status == "finished" else f" ({conclusion.status})"
    rows = [f"{_WORDS[verdict.outcome]}{ended}  {verdict.because}"]
    rows += [f"  - {reason}" for reason in verdict.reasons if reason not in verdict.because]
    return rows


_MEANS = {Outcome.TRUNCATED: "a success, as long as was asked for"}
"""Of outcomes whose name may be taken for another."""


def _outcomes(conclusion: Conclusion) -> list[str]:
    part = conclusion.summary.steady
    rows = [_row("requests offered", f"{part.offered:,}", ""), _row("  sent", f"{part.sent:,}", "")]
    for outcome, count in sorted(part.outcomes.items(), key=lambda item: -item[1]):
        share = f"{100 * count / part.offered:.2f} %" if part.offered else ""
        why = conclusion.first_errors.get(str(outcome), _MEANS.get(outcome, "")).replace("\n", " ")
        rows.append(_row(f"  {outcome}", f"{count:,}", f"{share:<9} {_short(why)}"))
    return rows


def _short(text: str) -> str:
    return text if len(text) <= 46 else f"{text[:45]}…"


def _row(label: str, value: str, more: str) -> str:
    return f"{label:<28}{value:>12}  {more}".rstrip()


def _latencies(conclusion: Conclusion) -> list[str]:
    part = conclusion.summary.steady
    head = "".join(f"{name.upper():>10}" for name in (*_PERCENTS, "max"))
    rows = [f"{'latency of successes, ms':<26}{head}{'n':>8}"]
    for title, name in _LATENCIES:
        if conclusion.seen.model and name in OF_A_CLIENT:
            continue
        found = part.latencies[name]
        label = "inter-chunk latency" if name == "itl_ms" and part.itl_kind == "icl" else title
        cells = "".join(f"{_cell(found, percent):>10}" for percent in (*_PERCENTS, "max"))
        rows.append(f"{label:<26}{cells}{found.n:>8,}")
    if any(part.latencies[name].rough for _, name in _LATENCIES):
        rows.append("~ too few requests for this percentile")
    return rows


def _cell(found: Quantiles, name: str) -> str:
    value = getattr(found, name)
    if value is not None:
        return _number(value)
    rough = found.rough.get(name)
    return "–" if rough is None else f"~{_number(rough)}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1_000 else f"{value:.1f}"


def _rates(conclusion: Conclusion) -> list[str]:
    part = conclusion.summary.steady.to_json()
    little = conclusion.summary.little
    rows = [
        _row("attainment (of offered)", _percent(part["attainment"]), _interval(part)),
        _row("goodput", _rate(part["goodput_rps"]), "requests/s that met every objective"),
        _row(
            "offered, achieved",
            _rate(part["offered_rate"]),
            f"{_rate(part['achieved_rate'])} sent/s",
        ),
        _row("output tokens", f"{part['output_tokens'] or 0:,}", _source(part)),
        _row("output tokens/s", _rate(part["output_tokens_ps"]), ""),
        _row("Little's law", little.status, little.note),
    ]
    seen = conclusion.seen
    rows += _transport(seen.carried)
    if seen.loop_lag is not None and seen.loop_lag.count:
        lag = 1e3 * (seen.loop_lag.percentile(99) or 0.0)
        cpu = "" if seen.cpu_share is None else f"at {100 * seen.cpu_share:.0f} % CPU"
        who = "worst of the workers, " if seen.workers else ""
        rows.append(_row("client's loop lag P99", f"{lag:.1f} ms", f"{who}{cpu}"))
    return rows


def _transport(carried: Carried | None) -> list[str]:
    if carried is None:
        return []
    proxy = [] if carried.proxy is None else [_row("proxy", carried.proxy, "its time counts too")]
    receive = carried.receive
    if receive is None or not receive.lag.count:
        return [_row("transport", carried.transport, "token times as read"), *proxy]
    lag = 1e3 * (receive.lag.percentile(99) or 0.0)
    how = f"kernel stamps to {1e6 * receive.offset_error:.1f} µs, read {lag:.1f} ms late at P99"
    return [_row("transport", carried.transport, how), *proxy]


def _cut(conclusion: Conclusion) -> list[str]:
    """What was cut and why; and where a start was found that nobody cut."""
    summary = conclusion.summary
    found = summary.detected
    if summary.automatic and found is not None:
        cut = f"{summary.warm_up:g} s"
        return [_row("warm-up cut", cut, ""), *_wrapped(f"{METHOD}: {found.because}")]
    rows = [_row("warm-up cut", f"{summary.warm_up:g} s", "as given")] if summary.warm_up else []
    if found is not None and found.cut is not None and found.cut > summary.warm_up:
        rows += _wrapped(f"{METHOD} would have {found.because}; --warm-up auto does")
    return rows


def _wrapped(text: str) -> list[str]:
    return [f"  {line}" for line in textwrap.wrap(text, _WIDTH - 2)]


def _tenants(conclusion: Conclusion) -> list[str]:
    tenants = conclusion.summary.tenants
    if len(tenants) < 2:
        return []
    rows = ["", f"{'tenant':<28}{'offered':>12}  attainment"]
    return rows + [
        _row(str(row["tenant"]), f"{row['offered']:,}", _percent(row["attainment"]))
        for row in (tenant.to_json() for tenant in tenants)
    ]


def _shadow(conclusion: Conclusion) -> list[str]:
    shadow, report = conclusion.scenario.shadow, conclusion.seen.shadow
    if shadow is None:
        return []
    said = sentences(report, over=True) if report else ["Nothing of it was written down."]
    lines = [line for text in said for line in textwrap.wrap(text, _WIDTH - 2)]
    return ["", f"Shadow {shadow.name}, never obeyed:", *(f"  {line}" for line in lines)]


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.2f} %"


def _interval(part: dict[str, Any]) -> str:
    low, high = part["attainment_low"], part["attainment_high"]
    return "" if low is None else f"95 %: {_percent(low)} to {_percent(high)}"


def _rate(value: float | None) -> str:
    return "–" if value is None else f"{value:,.2f}"


def _source(part: dict[str, Any]) -> str:
    return f"counted by {part['token_source']}" if part["token_source"] else ""
