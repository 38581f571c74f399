"""The `info` keys and the clock shared by environments with several sub-episodes.

The clock is the number of agent acts: sub-episode and step follow from it and the horizon alone, so an unreadable
answer uses up its step like any other.
"""

from __future__ import annotations

from typing import Any

from sonde.core import Frozen, invalid

LONGEST = 10_000
"""Maximum number of acts in one episode."""


def step_facts(
    result: str, turn: int, horizon: int, state: str, action: str | None, reward: float, after: str
) -> Frozen[Any]:
    """The `info` keys common to all such environments.

    `state` is the state of the action and `next` its successor, before any return to the start; `action` is canonical,
    None if it could not be parsed. `sub_episode` and `step` count from 0.

    >>> step_facts("step", 7, 6, "1", "A", 0.0, "2")["sub_episode"]
    1
    """
    sub_episode, step = divmod(turn, horizon)
    return Frozen(
        {
            "result": result,
            "sub_episode": sub_episode,
            "step": step,
            "state": state,
            "action": action,
            "reward": reward,
            "next": after,
        }
    )


def check_turn_count(env: str, max_turns: int | None, horizon: int, sub_episodes: int) -> int:
    """The number of acts of one episode: all sub-episodes, or `max_turns` if set, which may cut the last one short."""
    if horizon < 1:
        raise invalid(f"{env}: horizon", horizon, "1 or more")
    if sub_episodes < 1 or horizon * sub_episodes > LONGEST:
        raise invalid(f"{env}: sub_episodes", sub_episodes, f"1 or more, with at most {LONGEST:,} steps in all")
    if max_turns is None:
        return horizon * sub_episodes
    if not 1 <= max_turns <= horizon * sub_episodes:
        raise invalid(f"{env}: max_turns", max_turns, f"1 to horizon * sub_episodes = {horizon * sub_episodes}")
    return max_turns
