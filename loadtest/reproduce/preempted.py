"""Where memory is short: computed again, or moved to the host and back, by link and by length.

A batch of equal prompts before an engine that has memory for half of it at its end, so that whoever
came last gives way again and again. A link moves a token's keys and values out and in; computing
them again takes steps that others wait for. Which is cheaper depends on both.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from loadtest.reproduce.plan import Plan, cell, law, measure
from loadtest.reproduce.series import Series, below
from loadtest.reproduce.table import Finding, Row
from schedulers.decision import DecisionPoint
from schedulers.preemption.base import Mode, Running
from schedulers.request import Request
from simulator.core.config import EngineConfig
from simulator.core.hooks import Hooks, View
from simulator.profile import DEFAULT, Profile, load
from simulator.virtual import Arrival, replay

LINKS = (1.0, 10.0, 50.0)
"""GB/s to the host's memory, of all cards together."""
PROMPTS = (250, 1000, 4000)
BATCH, OUTPUT, SIGMA = 48, 1000.0, 0.3
MEMORY = 0.5
"""Of what the batch takes at its end."""


@dataclass(slots=True)
class _Asked:
    """A preemption law inside the engine; who was chosen last is moved or computed again."""

    law: Any
    mode: Mode = Mode.RECOMPUTE

    def victim(self, views: Sequence[View], now: float) -> int:
        chosen = self.law.choose([_running(view) for view in views], now)
        self.mode = chosen.mode
        return int(chosen.index)

    def swaps(self, name: str) -> bool:  # noqa: ARG002 - asked of the one that was chosen
        return self.mode is Mode.SWAP


def _running(view: View) -> Running:
    return Running(
        request=Request(
            serial=int(view.id) + 1,
            arrived_at=view.arrived_at,
            prompt_tokens=view.prompt_tokens,
            expected_output=OUTPUT,
        ),
        scheduled_at=view.arrived_at if view.admitted_at is None else view.admitted_at,
        kv_tokens=view.computed,
        output_tokens=view.emitted,
        preemptions=view.preemptions,
    )


def _engine(profile: Profile, prompt: int, link: float) -> EngineConfig:
    blocks = int(MEMORY * BATCH * (prompt + OUTPUT) / profile.block_size)
    moved = 1e3 * profile.kv_bytes_per_token / (link * 1e9)
    longest = prompt + int(4 * OUTPUT)
    return profile.config(blocks=blocks, max_model_len=longest, swap=True, swap_ms_per_token=moved)


def tested(mode: str, profile: Profile, link: float) -> Any:
    """The last to come gives way, in a mode; told what both ways cost this engine."""
    full = profile.token_budget
    return law(
        DecisionPoint.PREEMPTION,
        "lifo",
        mode=mode,
        prefill_rate=full / profile.cost.seconds(full, 0, 1, 0.0),
        kv_bytes=float(profile.kv_bytes_per_token),
        bandwidth_gb_s=link,
        fixed_ms=0.0,
    )


def _played(mode: str, prompt: int, link: float, seed: int) -> dict[str, float]:
    """All at once, until the last is done."""
    profile = load(DEFAULT)
    rng = np.random.default_rng([seed, 23])
    drawn = rng.lognormal(np.log(OUTPUT) - SIGMA**2 / 2, SIGMA, BATCH)
    arrivals = [Arrival(0.0, prompt, max(2, int(n))) for n in drawn]
    asked = _Asked(tested(mode, profile, link))
    hooks = Hooks(victim=asked.victim, swaps=asked.swaps)
    served = replay(arrivals, _engine(profile, prompt, link), seed=seed, hooks=hooks)
    end = max(one.last_token_at or 0.0 for one in served)
    return {
        "output": sum(one.output_tokens for one in served) / end,
        "preempted": sum(one.preemptions for one in served) / BATCH,
    }


def _crossing(prompt: int, seed: int) -> dict[str, float]:
    """GB/s from which moving makes as many tokens a second as computing again, by bisection."""
    wanted = _played("recompute", prompt, LINKS[0], seed)["output"]
    low, high = 1.0, 1000.0
    while high / low > 1.02:
        middle = math.sqrt(low * high)
        enough = _played("swap", prompt, middle, seed)["output"] >= wanted
        low, high = (low, middle) if enough else (middle, high)
    return {"gb_s": high}


def assumed_gb_s() -> float:
    """Where moving a token out and in takes as long as computing it in a full step."""
    profile = load(DEFAULT)
    full = profile.token_budget
    each = profile.cost.seconds(full, 0, 1, 0.0) / full
    return 2.0 * profile.kv_bytes_per_token / each / 1e9


Seen = Mapping[str, Series]


def play(plan: Plan) -> tuple[list[Row], list[Finding]]:
    """Each length over each link three ways, and where the two ways cross."""
    prompts = PROMPTS[1:2] if plan.reduced else PROMPTS
    links = LINKS[::2] if plan.reduced else LINKS
    again = {one: measure(plan, partial(_played, "recompute", one, LINKS[0])) for one in prompts}
    moved, chosen = (
        {
            (prompt, link): measure(plan, partial(_played, mode, prompt, link))
            for prompt in prompts
            for link in links
        }
        for mode in ("swap", "auto")
    )
    crossings = {one: measure(plan, partial(_crossing, one)) for one in prompts}
    rows = []
    for prompt in prompts:
        case = f"memory for half, prompts of {prompt:,}"
        rows += [
            Row(
                case=case,
                measure=f"output, {link:g} GB/s to the host",
                unit="tok/s",
                reference=cell(again[prompt]["output"], "computed again"),
                corrected=cell(chosen[prompt, link]["output"], "by cost"),
                best_fixed=cell(moved[prompt, link]["output"], "always moved"),
            )
            for link in links
        ]
        rows.append(
            Row(
                case=case,
                measure="moving pays from",
                unit="GB/s",
                corrected=cell(assumed_gb_s(), "as it assumes"),
                optimum=cell(crossings[prompt]["gb_s"], "measured"),
            )
        )
    middle = prompts[len(prompts) // 2]
    ends = {link: (moved[middle, link], chosen[middle, link]) for link in (links[0], links[-1])}
    return rows, [_explained(middle, again[middle], ends, crossings[middle]["gb_s"])]


def _explained(
    prompt: int, again: Seen, ends: Mapping[float, tuple[Seen, Seen]], at: Series
) -> Finding:
    slow, fast = min(ends), max(ends)
    (under, _), (over, _) = ends[slow], ends[fast]
    sentence = (
        f"Whether a victim is better moved to the host or computed again is a matter of the link: "
        f"with prompts of {prompt:,} tokens moving makes {under['output'].mean:,.0f} tokens a "
        f"second at {slow:g} GB/s and {over['output'].mean:,.0f} at {fast:g}, computing again "
        f"{again['output'].mean:,.0f}. They cross at {at.mean:.0f} GB/s, above the "
        f"{assumed_gb_s():.0f} of a full step, as who comes back still finds some of its blocks in "
        "the prefix cache. Who compares the costs has the better one at both ends."
    )
    held = (
        below(under["output"], again["output"])
        and below(again["output"], over["output"])
        and below(at, fast)
        and below(Series(tuple(assumed_gb_s() for _ in at.values)), at)
        and all(
            chosen["output"].mean >= 0.99 * max(again["output"].mean, swapped["output"].mean)
            for swapped, chosen in ends.values()
        )
    )
    return Finding(sentence, held)
