"""Episodes through each host, as `sonde.testing.check_interop` takes them."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable
from typing import Any

from sonde.core import Env
from sonde.interop.session import Session
from sonde.testing import Played

Reply = Callable[[str], Awaitable[str]]

SOME = ("wordle", "mastermind", "twenty_questions", "car_dealer", "best_arm")
"""Environments that between them have a filter and none, one seat and two, drawn worlds and given ones."""


async def own(env: Env[Any], *, seed: int, index: int, reply: Reply) -> Played:
    """The shape itself, with the other seats waited for."""
    session = Session(env, gains=env.name == "wordle")
    heard = await session.areset(seed, index=index)
    told, rewards, crossed = [heard.text], list[float](), [dataclasses.asdict(heard)]
    while not heard.done:
        heard = await session.asay(await reply(heard.text))
        told.append(heard.text)
        rewards.append(heard.reward)
        crossed.append(dataclasses.asdict(heard))
    return Played(
        told=told, rewards=rewards, outcome=heard.outcome, terminated=heard.terminated, truncated=heard.truncated,
        crossed=[crossed, session.messages],
    )  # fmt: skip


async def gymnasium(env: Env[Any], *, seed: int, index: int, reply: Reply) -> Played:
    """What Gymnasium's user gets from `reset` and `step`."""
    from sonde.interop.gymnasium import make

    host = make(env, gains=env.name == "wordle")
    text, info = host.reset(seed=seed, options={"index": index})
    told, rewards, crossed = [text], list[float](), [info]
    terminated = truncated = False
    while not (terminated or truncated):
        text, reward, terminated, truncated, info = host.step(await reply(text))
        told.append(text)
        rewards.append(reward)
        crossed.append(info)
    return Played(
        told=told, rewards=rewards, outcome=info["outcome"], terminated=terminated, truncated=truncated, crossed=crossed
    )


async def trl(env: Env[Any], *, seed: int, index: int, reply: Reply) -> Played:
    """What TRL's tool loop gets of an environment factory: texts alone, the last of them too long to be read; a reward
    for the whole. Turns' rewards and the outcome are the session's."""
    from sonde.interop.trl import environment
    from sonde.train.rewards import RewardMix

    seat = environment(env, rewards=RewardMix({"env": 1.0}), max_completion_length=3)()
    told = [seat.reset(seed=seed, index=index)]
    over = "The episode is over. 0 1 2"
    while not told[-1].endswith(over):
        told.append(seat.say(await reply(told[-1])))
    told[-1] = told[-1].removesuffix(over).removesuffix("\n\n")
    ep = seat._session.episode
    rewards = [float(turn.rewards.get("agent", 0.0)) for turn in ep.turns]
    assert abs(seat.get_reward() - sum(rewards)) < 1e-9 and ep.outcome is not None
    cut = ep.outcome.truncated == "turns"
    return Played(
        told=told, rewards=rewards, outcome=ep.outcome._asdict(), terminated=not cut, truncated=cut, crossed=told
    )


async def inspect(env: Env[Any], *, seed: int, index: int, reply: Reply) -> Played:
    """What Inspect's solver makes of a sample, with a model that says what it is told to."""
    from inspect_ai.model import ModelName, ModelOutput
    from inspect_ai.solver import TaskState

    from sonde.interop.inspect import outcome, task_of

    task = task_of(env, split="train", indices=[index], seed=seed)
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
    return Played(
        told=told, rewards=[turn["reward"] for turn in found["turns"]], outcome=found["outcome"],
        terminated=not score.value["cut"], truncated=bool(score.value["cut"]),
        crossed=[[m.model_dump() for m in state.messages], found, task.dataset[0].model_dump()],
    )  # fmt: skip


async def skyrl_gym(env: Env[Any], *, seed: int, index: int, reply: Reply) -> Played:
    """What SkyRL's generator gets of `init` and `step`."""
    import skyrl_gym as host

    config = {key: value for key, value in env.config.items() if key != "name"}
    made = host.make(f"sonde_{env.name}", env_config={}, extras={"seed": seed, "index": index, "config": config})
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
    return Played(
        told=told, rewards=rewards, outcome=out["metadata"]["outcome"], terminated=not cut, truncated=cut,
        crossed=[crossed, made.get_metrics()],
    )  # fmt: skip
