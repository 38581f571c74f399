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
