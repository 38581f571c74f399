"""Teachers of best-arm identification: `random`, `noisy` and `strong`, and `greedy`, which teaches a model that must
count by itself which machine is the best so far. Teachers see only what the agent sees."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from sonde.core import AGENT, Env, Frozen, Rng
from sonde.envs.best_arm.filter import Counts, counts_posterior, quadrature_nodes

SKILLS: Mapping[str, float] = Frozen(random=0.25, noisy=0.45, strong=0.30)
HABITS: Mapping[str, float] = Frozen(gambler=0.65, noisy=0.05, strong=0.3)
"""Most teachers try the machines well, and then name the one that has won least: the gambler's fallacy, by which its
luck is due to turn."""
SLIP: Mapping[str, float] = Frozen(random=1.0, noisy=0.6, strong=0.05, greedy=0.5, gambler=0.05)
"""How often a teacher of this skill names a machine at random instead."""


def make_teacher(env: Env[Any], skill: str, rng: Rng) -> Callable[[Any, Rng], str]:
    """A teacher that pulls the machine it has tried least, and decides for the one most likely to be the best; a greedy
    teacher also pulls that one."""
    slip, pulls = SLIP[skill], int(env.spec.max_turns) - 1

    def say(state: Any, rng: Rng) -> str:
        if rng.random() < slip:
            return env.say(state.arms[rng.randrange(len(state.arms))])
        due = state.turn == pulls or skill == "greedy"
        if due and skill == "gambler":
            won = [wins for _, wins in state.counts]
            return env.say(state.arms[won.index(min(won))])
        wanted = best_guesses(state.counts, pulls) if due else least_tried_machines(state.counts)
        return env.say(state.arms[wanted[rng.randrange(len(wanted))]])

    return say


@lru_cache(maxsize=100_000)
def best_guesses(counts: Counts, pulls: int) -> tuple[int, ...]:
    """The machines most likely to be the best."""
    best = counts_posterior(counts, quadrature_nodes(pulls)).best.round(9)
    return tuple(i for i, p in enumerate(best) if p == best.max())


@lru_cache(maxsize=100_000)
def least_tried_machines(counts: Counts) -> tuple[int, ...]:
    """The machines tried least, of those with at least a tenth of the probability of the likeliest best machine."""
    best = counts_posterior(counts, quadrature_nodes(20)).best
    alive = [i for i, p in enumerate(best) if p >= 0.1 * best.max()]
    least = min(counts[i][0] for i in alive)
    return tuple(i for i in alive if counts[i][0] == least)


def phrases(env: Env[Any]) -> tuple[str, ...]:
    """The recurring phrases in the stories of preset `paprika`: rules, answers, rewards, and requests for the next
    answer."""
    last = int(env.spec.max_turns) - 2
    found = dict.fromkeys(f"Tries left: {n}" for n in range(last + 1))
    for task in (*env.tasks("train"), env.tasks("test")[0]):
        state = env.reset(task, Rng(0))
        parts = env.intro(state, AGENT).split("\n\n")
        said = ["\n".join((*parts[:1], *parts[2:])), *map(env.say, state.arms)]
        for arm in state.arms:  # whose chance is one half, so that it may pay or not
            for now in (state._replace(means=(0.5,) * len(state.arms), turn=turn) for turn in (0, last)):
                said += [step.told[AGENT] for _, step in env.outcomes(now, env.say(arm))]
        lines = [re.sub(r"^Tries left: \d+", "", line).strip() for text in said for line in text.split("\n")]
        found |= dict.fromkeys(filter(None, lines))
    return tuple(found)
