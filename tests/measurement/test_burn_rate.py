"""Error budgets: what is left, how fast it burns, and which alert that raises."""

from __future__ import annotations

import pytest

from measurement.burn_rate import (
    DAY,
    HOUR,
    MINUTE,
    PAIRS,
    Alert,
    Counts,
    Standing,
    State,
    alerts,
    budget,
    burn,
    standing,
)
from measurement.proportion import Share
from measurement.run_budget import RunBudget

TARGET = 0.99
NOW = 30 * DAY


def traffic(*parts: tuple[float, float], per_minute: int = 600) -> list[Counts]:
    """Parts of (seconds before now, share of misses), each up to the next one."""
    found = []
    for (ago, share), (until, _) in zip(parts, [*parts[1:], (0.0, 0.0)], strict=True):
        minutes = round((ago - until) / MINUTE)
        found += [
            Counts(NOW - ago + n * MINUTE, MINUTE, per_minute, round(share * per_minute))
            for n in range(minutes)
        ]
    return found


def firing(found: tuple[Alert, ...]) -> list[float]:
    return [alert.pair.long for alert in found if alert.state is State.FIRING]


def test_the_factors_of_thirty_days_are_the_workbooks() -> None:
    assert [pair.factor(30 * DAY) for pair in PAIRS] == pytest.approx([14.4, 6, 3, 1])


def test_a_shorter_period_has_smaller_factors_and_no_pair_as_long_as_itself() -> None:
    assert PAIRS[0].factor(7 * DAY) == pytest.approx(14.4 * 7 / 30)
    pairs = [alert.pair.long for alert in alerts([], now=0.0, target=TARGET, period=DAY)]
    assert pairs == [HOUR, 6 * HOUR]


def test_a_burn_of_one_spends_the_budget_exactly() -> None:
    found = burn(traffic((DAY, 0.01)), now=NOW, seconds=HOUR, target=TARGET)
    assert found.rate == pytest.approx(1.0)
    assert (found.judged, found.missed) == (36_000, 360)


def test_an_outage_pages_within_its_first_hour_and_quiet_traffic_does_not() -> None:
    calm = traffic((DAY, 0.002))
    assert firing(alerts(calm, now=NOW, target=TARGET, period=30 * DAY)) == []
    outage = traffic((DAY, 0.002), (10 * MINUTE, 1.0))
    assert firing(alerts(outage, now=NOW, target=TARGET, period=30 * DAY))[0] == HOUR


def test_an_outage_that_is_over_pages_no_more_though_the_hour_remembers_it() -> None:
    over = traffic((DAY, 0.002), (30 * MINUTE, 1.0), (10 * MINUTE, 0.0))
    hour = alerts(over, now=NOW, target=TARGET, period=30 * DAY)[0]
    assert hour.long.rate is not None
    assert hour.long.rate > hour.factor
    assert hour.state is State.QUIET


def test_a_slow_burn_is_a_ticket_and_no_page() -> None:
    slow = traffic((4 * DAY, 0.035))
    found = alerts(slow, now=NOW, target=TARGET, period=30 * DAY)
    severities = {alert.pair.severity for alert in found if alert.state is State.FIRING}
    assert severities == {"ticket"}


def test_one_miss_of_little_traffic_is_insufficient() -> None:
    lonely = [Counts(NOW - MINUTE, MINUTE, judged=4, missed=4)]
    states = {a.state for a in alerts(lonely, now=NOW, target=TARGET, period=30 * DAY)}
    assert states == {State.INSUFFICIENT}
    silent = {a.state for a in alerts([], now=NOW, target=TARGET, period=30 * DAY)}
    assert silent == {State.INSUFFICIENT}


def test_time_that_nobody_reported_is_unknown_and_never_quiet() -> None:
    calm = traffic((4 * DAY, 0.0), (2 * HOUR, 0.0))
    silent = [one for one in calm if one.start < NOW - 10 * MINUTE]
    found = alerts(silent, now=NOW, target=TARGET, period=30 * DAY)
    assert [alert.state for alert in found] == [State.UNKNOWN, *[State.QUIET] * 3]
    assert found[0].long.heard == pytest.approx(5 / 6)
    assert found[0].short.heard == 0.0
    assert standing(found) == (Standing.UNKNOWN, found[0])


def test_what_was_heard_pages_though_the_rest_is_missing() -> None:
    outage = [*traffic((2 * HOUR, 0.0), (20 * MINUTE, 1.0))]
    torn = [one for one in outage if one.start % (5 * MINUTE) in (0.0, MINUTE)]
    found = alerts(torn, now=NOW, target=TARGET, period=30 * DAY)
    assert standing(found)[0] is Standing.PAGE


def test_a_stretch_that_was_half_heard_counts_half() -> None:
    half = [Counts(NOW - HOUR + n * MINUTE, MINUTE, 600, 0, heard=30.0) for n in range(60)]
    assert burn(half, now=NOW, seconds=HOUR, target=TARGET).heard == pytest.approx(0.5)


def test_the_time_before_the_first_stretch_is_not_missing() -> None:
    young = traffic((10 * MINUTE, 0.0))
    found = alerts(young, now=NOW, target=TARGET, period=30 * DAY)
    assert standing(found)[0] is Standing.OK
    assert budget(young, now=NOW, target=TARGET, period=30 * DAY).since == NOW - 10 * MINUTE


def test_the_worst_alert_speaks_for_all_and_none_cannot_be_ok() -> None:
    slow = alerts(traffic((4 * DAY, 0.035)), now=NOW, target=TARGET, period=30 * DAY)
    named, alert = standing(slow)
    assert named is Standing.TICKET
    assert alert is not None
    assert alert.pair.long == 3 * DAY
    assert standing([]) == (Standing.UNKNOWN, None)


def test_nobody_asking_is_idle_and_a_pause_after_good_traffic_is_ok() -> None:
    recent = [Counts(NOW - n * MINUTE, MINUTE, 0, 0) for n in range(1, 121)]
    heard = [Counts(NOW - n * HOUR, HOUR, 0, 0) for n in range(3, 97)]
    quiet = alerts([*heard, *recent], now=NOW, target=TARGET, period=30 * DAY)
    assert standing(quiet) == (Standing.IDLE, quiet[-1])
    calm = [one for one in traffic((4 * DAY, 0.0)) if one.start < NOW - 2 * HOUR]
    paused = alerts([*calm, *recent], now=NOW, target=TARGET, period=30 * DAY)
    assert standing(paused)[0] is Standing.OK


def test_few_misses_that_burn_fast_are_unknown_and_not_ok() -> None:
    lonely = [Counts(NOW - MINUTE, MINUTE, judged=4, missed=4)]
    found = alerts(lonely, now=NOW, target=TARGET, period=30 * DAY)
    assert standing(found)[0] is Standing.UNKNOWN


def test_the_budget_says_what_is_left_and_for_how_long() -> None:
    found = budget(
        traffic((10 * DAY, 0.005), (HOUR, 0.05)), now=NOW, target=TARGET, period=30 * DAY
    )
    assert found.left == pytest.approx(1 - (239 * 0.5 + 5) / 240, rel=1e-6)
    assert found.spent_in == pytest.approx(found.left * 30 * DAY / 5)
    assert found.allowed == pytest.approx(0.01 * found.judged)


def test_a_spent_budget_and_one_that_lasts() -> None:
    spent = budget(traffic((DAY, 0.5)), now=NOW, target=TARGET, period=30 * DAY)
    assert spent.left == pytest.approx(-49)
    assert spent.spent_in == 0
    assert budget(traffic((DAY, 0.0)), now=NOW, target=TARGET, period=30 * DAY).spent_in is None
    assert budget([], now=NOW, target=TARGET, period=30 * DAY).left is None


def test_a_run_may_miss_its_share_over_its_whole_length() -> None:
    half = RunBudget.of(Share(990, 1_000, 1_000), 0.98, elapsed=0.5)
    assert half.allowed == pytest.approx(40)
    assert half.spent == pytest.approx(0.25)
    assert half.burn == pytest.approx(0.5)
    whole = RunBudget.of(Share(990, 1_000, 1_000), 0.98)
    assert whole.spent == whole.burn == pytest.approx(0.5)


def test_a_run_that_has_not_begun_has_spent_nothing_known() -> None:
    found = RunBudget.of(Share(0, 0, 0), 0.99, elapsed=-1)
    assert (found.allowed, found.spent, found.burn) == (None, None, None)
