"""Episodes through each host, as `sonde.testing.check_interop` takes them: those that play within a process. That
of verifiers, which calls an endpoint, is in `endpointed.py`."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable
from itertools import pairwise
from typing import Any

import pytest

from sonde.core import Env, Episode, advance_to_agent
from sonde.interop.session import Session
from sonde.runs.rollout import fill_seats
from sonde.testing import HostEpisode

Reply = Callable[[str], Awaitable[str]]

SOME = ("wordle", "mastermind", "twenty_questions", "car_dealer", "best_arm")
"""Environments that between them have a filter and none, one seat and two, drawn worlds and given ones."""


async def own(env: Env[Any], *, seed: int, index: int, reply: Reply) -> HostEpisode:
    """The shape itself, with the other seats waited for."""
    session = Session(env, gains=env.name == "wordle")
    heard = await session.reset_async(seed, index=index)
    told, rewards, crossed = [heard.text], list[float](), [dataclasses.asdict(heard)]
    while not heard.done:
        heard = await session.say_async(await reply(heard.text))
        told.append(heard.text)
        rewards.append(heard.reward)
        crossed.append(dataclasses.asdict(heard))
    return HostEpisode(
        told=told, rewards=rewards, outcome=heard.outcome, terminated=heard.terminated, truncated=heard.truncated,
        crossed=[crossed, session.messages],
    )  # fmt: skip


async def gymnasium(env: Env[Any], *, seed: int, index: int, reply: Reply) -> HostEpisode:
    """What Gymnasium's user gets from `reset` and `step`."""
    from sonde.interop.outward.gymnasium import make

    host = make(env, gains=env.name == "wordle")
    text, info = host.reset(seed=seed, options={"index": index})
    told, rewards, crossed = [text], list[float](), [info]
    terminated = truncated = False
    while not (terminated or truncated):
        text, reward, terminated, truncated, info = host.step(await reply(text))
        told.append(text)
        rewards.append(reward)
        crossed.append(info)
    return HostEpisode(
        told=told, rewards=rewards, outcome=info["outcome"], terminated=terminated, truncated=truncated, crossed=crossed
    )


async def inspect(env: Env[Any], *, seed: int, index: int, reply: Reply) -> HostEpisode:
    """What Inspect's solver makes of a sample, with a model that says what it is told to."""
    from inspect_ai.model import ModelName, ModelOutput
    from inspect_ai.solver import TaskState

    from sonde.interop.outward.inspect import make_task, outcome

    task = make_task(env, split="train", indices=[index], seed=seed)
    state = TaskState(ModelName("mockllm/model"), index, 1, "", [], metadata={"seed": seed, "index": index})
    told: list[str] = []

    async def generate(state: Any, **_: Any) -> Any:
        told.append(state.messages[-1].text)
        state.output = ModelOutput.from_content("mockllm/model", await reply(told[-1]))
        state.messages.append(state.output.message)
        return state

    state = await task.solver(state, generate)
    last = state.messages[-1]
    told.append(last.text if last.role == "user" else "")
    found = state.store.get("sonde")
    score = await outcome()(state, None)  # type: ignore[arg-type]
    return HostEpisode(
        told=told, rewards=[turn["reward"] for turn in found["turns"]], outcome=found["outcome"],
        terminated=not score.value["cut"], truncated=bool(score.value["cut"]),
        crossed=[[m.model_dump() for m in state.messages], found, task.dataset[0].model_dump()],
    )  # fmt: skip


async def skyrl_gym(env: Env[Any], *, seed: int, index: int, reply: Reply) -> HostEpisode:
    """What SkyRL's generator gets of `init` and `step`, from a row of its data set."""
    import skyrl_gym as host

    from sonde.interop.outward.skyrl_gym import make_rows

    row = next(make_rows(env, 1, seed=max(0, seed)))
    made = host.make(row["env_class"], env_config={}, extras={**row, "seed": seed, "index": index})
    prompt, info = made.init([])
    told, rewards, crossed = [prompt[-1]["content"]], list[float](), [info, prompt]
    done = False
    while not done:
        out = made.step(await reply(told[-1]))
        done = out["done"]
        told.append("".join(message["content"] for message in out["observations"]))
        rewards.append(out["reward"])
        crossed.append(out)
    cut = out["metadata"]["truncated"]
    return HostEpisode(
        told=told, rewards=rewards, outcome=out["metadata"]["outcome"], terminated=not cut, truncated=cut,
        crossed=[crossed, made.get_metrics()],
    )  # fmt: skip


async def openenv(env: Env[Any], *, seed: int, index: int, reply: Reply) -> HostEpisode:
    """What OpenEnv's server calls, as it calls it; what it sends, sent as JSON."""
    from sonde.interop.outward.openenv import SayAction, SondeEnvironment, SondeObservation

    def sent(told: SondeObservation) -> SondeObservation:
        return SondeObservation.model_validate_json(told.model_dump_json())

    host = SondeEnvironment(env, {}, "train", gains=env.name == "wordle")
    seen = sent(await host.reset_async(seed=seed, index=index))
    told, rewards, crossed = [seen.text], list[float](), [seen.model_dump()]
    while not seen.done:
        seen = sent(await host.step_async(SayAction(text=await reply(seen.text))))
        told.append(seen.text)
        assert isinstance(seen.reward, float)
        rewards.append(seen.reward)
        crossed.append(seen.model_dump())
    return HostEpisode(
        told=told, rewards=rewards, outcome=seen.outcome, terminated=not seen.truncated, truncated=seen.truncated,
        crossed=[crossed, host.state.model_dump()],
    )  # fmt: skip


async def verl(env: Env[Any], *, seed: int, index: int, reply: Reply) -> HostEpisode:
    """What verl's worker gets of its agent loop, from a row of the data set. Texts and outcome are read from the
    tokens."""
    from . import verl_host

    row = next(verl_host.require().make_rows(env, 1, seed=max(0, seed)))
    told: list[str] = []

    async def noted(text: str) -> str:
        told.append(text)
        return await reply(text)

    loop = verl_host.make_loop(noted)
    out = await loop.run({"temperature": 1.0}, extra_info={**row["extra_info"], "seed": seed, "index": index})
    ids, mask, ends = out.response_ids, out.response_mask, out.extra_fields["turn_ends"]
    rewards = out.extra_fields["turn_scores"]
    spoken = [[i for i, sampled in zip(ids[a:b], mask[a:b], strict=True) if sampled] for a, b in pairwise([0, *ends])]
    end = loop.tokenizer.eos_token_id
    assert [turn.pop() for turn in spoken] == [end] * len(rewards), "one end of a turn for each reward"
    assert out.reward_score == sum(rewards) and len(out.response_logprobs) == len(mask) == len(ids)
    ep = Episode.begin(env, env.tasks("train")[index], seed=seed)
    others = fill_seats(env, {}, but="agent")
    ep = await advance_to_agent(ep, others)
    for turn in spoken:
        ep = await advance_to_agent(ep.step(loop.tokenizer.decode(turn, skip_special_tokens=True)), others)
    assert ep.outcome is not None and out.extra_fields["outcome"] == ep.outcome.kind
    cut = ep.outcome.truncated == "turns"
    return HostEpisode(
        told=[*told, ep.turns[-1].told], rewards=rewards, outcome=ep.outcome._asdict(), terminated=not cut,
        truncated=cut, crossed=[row, told, out.extra_fields],
    )  # fmt: skip


NEEDS = {
    **{"own": "", "gymnasium": "gymnasium", "inspect": "inspect_ai", "skyrl_gym": "skyrl_gym", "openenv": "openenv"},
    "verl": "",  # skips by itself
}
"""All of these, and what each of them imports."""


def find_adapter(name: str) -> Callable[..., Awaitable[HostEpisode]]:
    """One of them, or a skip where what it needs is not here."""
    if NEEDS[name]:
        pytest.importorskip(NEEDS[name], reason=f"needs the extra: pip install 'sonde-rl[{name}]'")
    return globals()[name]
