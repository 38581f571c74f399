"""No environment is won by a message that says the same whatever is hidden: the best constant message beside the
reference solver.

Tried are the last messages of won games of other tasks, their first messages, and a sample of the listed answers, each
said in every turn of ten test tasks.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import sonde
from sonde.core import Env, Episode, Policy, ProgramPolicy, Task, default_policies
from sonde.core.episode import advance_to_agent_now

pytestmark = pytest.mark.thorough
TASKS, GAMES, LISTED = 10, 4, 6
"""Test tasks, games of the reference on other tasks, and listed answers to try."""


def play_episode(env: Env[Any], task: Task, seed: int, say: Callable[[Episode], Any]) -> Episode:
    policies: dict[str, Policy] = dict(default_policies(env))
    ep = advance_to_agent_now(Episode.begin(env, task, seed=seed), policies)
    while ep.to_act is not None:
        ep = advance_to_agent_now(ep.step(say(ep)), policies)
    return ep


def success_rate(env: Env[Any], tasks: Sequence[Task], say: Callable[[Episode], Any]) -> float:
    games = [play_episode(env, task, seed, say) for seed, task in enumerate(tasks)]
    return sum(ep.outcome is not None and ep.outcome.success for ep in games) / len(games)


def list_candidates(env: Env[Any], solver: ProgramPolicy, tasks: Sequence[Task]) -> list[str]:
    """Messages that might win anywhere."""
    games = [play_episode(env, task, seed, lambda ep: solver.act_now(ep.view())) for seed, task in enumerate(tasks)]
    won = [ep for ep in games if ep.outcome is not None and ep.outcome.success]
    legal = list(advance_to_agent_now(Episode.begin(env, tasks[0]), default_policies(env)).view().legal or ())
    listed = [env.say(answer) for answer in random.Random(0).sample(legal, min(LISTED, len(legal)))]
    return list(dict.fromkeys([ep.turns[at].text for ep in won for at in (-1, 0)] + listed))


@pytest.mark.parametrize("name", sonde.names())
def test_no_constant_message_comes_near_the_reference(name: str) -> None:
    if name == "chess":
        pytest.importorskip("chess")
    env = sonde.make(name)
    solver = sonde.make(f"agents:{env.spec.reference}")
    if not isinstance(solver, ProgramPolicy):
        pytest.skip("its reference is no program")
    train, test = env.tasks("train"), env.tasks("test")
    tasks = [test[i * len(test) // TASKS] for i in range(min(TASKS, len(test)))]
    best = success_rate(env, tasks, lambda ep: solver.act_now(ep.view()))
    candidates = list_candidates(env, solver, [train[i] for i in range(GAMES)])
    rates = {said: success_rate(env, tasks, lambda ep, said=said: said) for said in candidates}
    key = max(rates, key=lambda said: rates[said])
    assert rates[key] < best * 2 / 3, f"{key!r} wins {rates[key]:.2f}, the reference {best:.2f}"
