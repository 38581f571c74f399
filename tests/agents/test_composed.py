"""What holds for every agent made of several model calls: counted calls, records, forks, resuming, batches."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

import sonde
from sonde.agents._shared.calls import ComposedAgent
from sonde.core import Completion, Episode, Message, Model, Rng, Sampling
from sonde.models._shared.json_beliefs import read_blocks
from sonde.models.local.batching import Batcher
from sonde.models.oracle import Asked, Oracle, answer_call
from sonde.runs.rollout import Plan, collect_trajectories, record_plan
from tests.cases import each

ENV = sonde.make("combination_lock", sub_episodes=3)
NEVER_OPENS = (
    "Note: try {0|1}.\nBeliefs: about {0|1}.\nHypothesis: {010|101}\nNext: place 2\nReward: 0.{1|2|3}\n"
    "Expected value: 0.{1|2}\nInformation gain: 0.{1|2|3}\nAction: {0|1}",
)
"""Answers every sub-call; two digits open no lock of three distinct ones."""
AGENTS: list[tuple[str, dict[str, Any]]] = [
    ("llm_psrl", {}), ("llm_psrl", {"updates": "step"}), ("llm_psrl", {"prior": "model"}), ("llm_ids", {}),
    ("reflexion", {}), ("icrl", {"keep": 0.5}), ("icpi", {"examples": 4}),
]  # fmt: skip
EVERY = pytest.mark.parametrize(("name", "config"), AGENTS, ids=[f"{n} {c}" for n, c in AGENTS])


def make_agent(name: str, config: dict[str, Any]) -> ComposedAgent:
    return sonde.make(f"agents:{name}", model=sonde.make("models:fake", pattern=NEVER_OPENS), **config)


def play_episode(agent: ComposedAgent, n_acts: int) -> Episode:
    ep = Episode.begin(ENV, ENV.tasks("train")[0], seed=2)
    for _ in range(n_acts):
        ep = ep.step(asyncio.run(agent.act(ep.view())))
    return ep


@EVERY
def test_calls_of_an_episode_are_as_many_as_it_says(name: str, config: dict[str, Any]) -> None:
    agent = make_agent(name, config)
    (t,) = collect_trajectories(ENV, {"agent": agent}, ENV.tasks("train")[:1])
    assert len(t.turns) == 9
    assert agent.model.stats.calls == sum(agent.most_calls(Episode.begin(ENV, t.task).view()).values())  # type: ignore[attr-defined]


@EVERY
def test_records_replay_and_resume(name: str, config: dict[str, Any], tmp_path: Path) -> None:
    agent, tasks = make_agent(name, config), ENV.tasks("test")[:3]
    whole = collect_trajectories(ENV, {"agent": agent}, tasks, Plan(concurrency=1))
    for t in whole:
        assert Episode.replay(ENV, t).outcome == t.outcome
    assert len(record_plan(ENV, {"agent": agent}, tasks[:1], Plan(), tmp_path)) == 1
    assert {t.id for t in record_plan(ENV, {"agent": agent}, tasks, Plan(), tmp_path)} == {t.id for t in whole}


@EVERY
def test_an_episode_taken_up_from_its_record_goes_on_as_it_did(name: str, config: dict[str, Any]) -> None:
    agent = make_agent(name, config)
    ep = play_episode(agent, 4)
    again = Episode.replay(ENV, ep.to_trajectory(error="cut"))
    for _ in range(4):
        ep, again = (e.step(asyncio.run(agent.act(e.view()))) for e in (ep, again))
    assert ep.id == again.id and ep.view().memory == again.view().memory


@EVERY
def test_forks_share_the_past_and_differ_afterwards(name: str, config: dict[str, Any]) -> None:
    agent = make_agent(name, config)
    ep = play_episode(agent, 3)
    found = [asyncio.run(agent.act(ep.fork(sample=i).view())) for i in range(12)]
    again = [asyncio.run(agent.act(ep.fork(sample=i).view())) for i in range(12)]
    assert [a.text for a in found] == [a.text for a in again]
    assert len({tuple(c.text for c in a.completions) for a in found}) > 6


@EVERY
def test_an_agent_can_take_over_in_the_middle(name: str, config: dict[str, Any]) -> None:
    """Somebody else played the first four steps; it goes on, and beliefs rest on those steps as well."""
    ep = Episode.begin(ENV, ENV.tasks("train")[0])
    for digit in "0123":
        ep = ep.step(ENV.say(digit))
    agent = make_agent(name, config)
    ep = ep.step(asyncio.run(agent.act(ep.view())))
    memory = ep.view().memory or {}
    assert ep.turns[-1].info["action"] in ENV.allowed_symbols
    assert memory.get("absorbed", 4) == 4


@each("name", ["llm_psrl", "reflexion", "icrl"])
def test_in_a_conversation_anything_may_be_said(name: str) -> None:
    """Every message is a sub-episode, and none is refused for not being on a list."""
    env = sonde.make("customer_service_bandit", max_turns=3)
    pattern = ("Hypothesis: the battery is flat\nBeliefs: less sure now\nNote: n\nAction: Do you hear {a|no} click?",)
    model = sonde.make("models:fake", pattern=pattern)
    task = env.tasks("test")[0]
    (t,) = collect_trajectories(env, {"agent": sonde.make(f"agents:{name}", model=model)}, [task])
    assert len(t.turns) == 3 and all("click?" in turn.text for turn in t.turns)
    assert not any(c.unread for turn in t.turns for c in turn.acts[0].action.completions)


@each("task", range(4))
def test_the_prior_of_a_case_names_its_cause(task: int) -> None:
    from sonde.agents._shared.priors import well_specified_prior
    from sonde.envs.customer_service.products import load_products

    env = sonde.make("customer_service_bandit")
    ep = Episode.begin(env, env.tasks("test")[task])
    product = load_products()[ep.task.hidden["product"]]
    truth = product.causes[product.cause_index(ep.task.hidden["cause"])]
    text = well_specified_prior(ep.view())
    assert truth.what in text and truth.fix_what in text
    chances = [float(line[2:6]) for line in text.splitlines() if line.startswith("- ")]
    assert sum(chances) == pytest.approx(1, abs=0.005 * len(chances))


@dataclass(frozen=True, kw_only=True)
class Pooled(Model):
    """The oracle behind the queue that local models have; remembers how large its batches were."""

    batches: list[int] = field(default_factory=list[int], init=False, compare=False)

    @cached_property
    def _batcher(self) -> Batcher[tuple[Sequence[Message], Sampling], Completion]:
        return Batcher(self._serve, full=1_000)

    def _serve(self, batcher: Batcher[tuple[Sequence[Message], Sampling], Completion]) -> None:
        while tickets := batcher.take_waiting(1_000):
            self.batches.append(len(tickets))
            for ticket in tickets:
                messages, sampling = ticket.request
                ticket.finish(
                    Completion(
                        text=answer_call(Asked(read_blocks(messages), Rng(sampling.seed, "oracle"), 1.0, Oracle()))
                    )
                )

    async def generate(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        return await self._batcher.submit((messages, sampling))

    async def close(self) -> None:
        self._batcher.close()


def test_forty_trials_share_the_batches_of_one_model() -> None:
    model, env = Pooled(), sonde.make("combination_lock")
    agent = sonde.make("agents:llm_psrl", model=model)
    together = collect_trajectories(env, {"agent": agent}, env.tasks("train")[:40], Plan(concurrency=40))
    assert all(t.outcome is not None and t.outcome.success for t in together)
    # All 40 ask together first; later a batch may begin before the last of them is back.
    assert model.batches[0] == 40
    assert len(model.batches) < sum(model.batches) / 5
    alone = collect_trajectories(env, {"agent": sonde.make("agents:llm_psrl", model=Pooled())}, env.tasks("train")[:3])
    assert [t.id for t in alone] == [t.id for t in together[:3]]


def test_calls_of_one_act_are_made_together() -> None:
    """The 2 |A| estimates of LLM-IDS do not wait for each other."""
    model, env = Pooled(), sonde.make("combination_lock")
    agent = sonde.make("agents:llm_ids", model=model)
    asyncio.run(agent.act(Episode.begin(env, env.task("427")).view()))
    assert model.batches == [20]


@each("name", ["combination_lock", "letter_wordle"])
def test_a_prior_that_lists_every_code(name: str) -> None:
    """The oracle, which reads blocks and no prose, plays letter Wordle with it."""
    env = sonde.make(name)
    agent = sonde.make("agents:llm_psrl", model=sonde.make("models:oracle"), prior="worlds")
    task = env.tasks("test")[0]
    action = asyncio.run(agent.act(Episode.begin(env, task).view()))
    listed = read_blocks([Message("user", action.memory["beliefs"])])["belief"]["candidates"]
    assert sorted(listed) == sorted(env.all_codes()) and len(action.memory["beliefs"]) < 24_000
    (t,) = collect_trajectories(env, {"agent": agent}, [task])
    assert not t.error and t.outcome is not None


def test_the_parameter_of_the_dirichlet_prior() -> None:
    env = sonde.make("river_swim")
    agent = sonde.make("agents:llm_psrl", model=sonde.make("models:oracle"), alpha=0.1)
    action = asyncio.run(agent.act(Episode.begin(env, env.tasks("train")[0]).view()))
    belief = read_blocks([Message("user", action.memory["beliefs"])])["belief"]
    assert {a for rows in belief["transitions"].values() for row in rows.values() for a in row.values()} == {0.1}
    with pytest.raises(sonde.core.UserError, match="agents:llm_psrl: alpha: got 0"):
        sonde.make("agents:llm_psrl", model=sonde.make("models:oracle"), alpha=0.0)
