"""In-context policy iteration: rollouts to the horizon in a simulation by three models, greedy over their returns."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sonde
from sonde.core import Completion, Episode, Message, Model, Sampling
from sonde.models._shared.json_beliefs import read_blocks

ENV = sonde.make("river_swim", horizon=4, sub_episodes=3)


@dataclass(frozen=True, kw_only=True)
class Simulator(Model):
    """A river of caves 1, 2, 3 in which B always leads on and pays 1 in cave 3, and where whoever acts plays B."""

    asked: list[Mapping[str, Any]] = field(default_factory=list[Any], init=False)
    pays: float = 1.0
    noise: bool = False

    async def generate(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        blocks = read_blocks(messages)
        self.asked.append(blocks)
        return Completion(text="hm" if self.noise else self._reply(blocks["situation"]), model="simulator")

    def _reply(self, at: Mapping[str, Any]) -> str:
        here, onward = int(at["simulated"]), at["action"] == "B"
        if at["call"] == "transition":
            return f"Next: {min(here + 1, 3) if onward else max(here - 1, 1)}"
        if at["call"] == "reward":
            return f"Reward: {self.pays if onward and here == 3 else 0.0}"
        return "Action: B"


def begin_episode() -> Episode:
    return Episode.begin(ENV, ENV.task({"order": ["1", "2", "3"], "up": ["B", "B", "B"]}))


def test_the_action_with_the_best_simulated_return_is_played() -> None:
    """B B B B pays 2, A B B B pays 1."""
    model = Simulator()
    action = asyncio.run(sonde.make("agents:icpi", model=model).act(begin_episode().view()))
    assert action.text == ENV.say("B")
    assert Counter(c.name for c in action.completions) == {"reward": 8, "transition": 6, "rollout_policy": 6}
    assert len(model.asked) == 2 * (3 * 4 - 2)


def test_rollouts_end_with_the_sub_episode() -> None:
    agent, ep = sonde.make("agents:icpi", model=Simulator()), begin_episode()
    for step in range(6):
        action = asyncio.run(agent.act(ep.view()))
        assert len(action.completions) == 2 * (3 * (4 - step % 4) - 2)
        ep = ep.step(action)


def test_ties_are_drawn() -> None:
    agent = sonde.make("agents:icpi", model=Simulator(pays=0.0))
    assert len({asyncio.run(agent.act(begin_episode().fork(sample=i).view())).text for i in range(20)}) == 2


def test_models_are_shown_what_happened() -> None:
    """The dynamics see any steps, at most `examples`; the policy the latest ones."""
    model, ep = Simulator(), begin_episode()
    for arm in "AABBA":
        ep = ep.step(ENV.say(arm))
    asyncio.run(sonde.make("agents:icpi", model=model, examples=3).act(ep.view()))
    by_call = {
        call: [b for b in model.asked if b["situation"]["call"] == call] for call in ("reward", "rollout_policy")
    }
    assert {len(b["examples"]) for b in by_call["reward"]} == {3}
    assert len({str(b["examples"]) for b in by_call["reward"]}) > 1
    assert {tuple(e["action"] for e in b["examples"]) for b in by_call["rollout_policy"]} == {("B", "B", "A")}


def test_fallbacks_are_counted() -> None:
    action = asyncio.run(sonde.make("agents:icpi", model=Simulator(noise=True), retries=0).act(begin_episode().view()))
    counted = {"reward:fallback": 8, "transition:fallback": 6, "rollout_policy:fallback": 6}
    assert action.memory == {"calls": counted}
