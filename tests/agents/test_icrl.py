"""In-context RL: which sub-episodes are shown, at every step anew."""

from __future__ import annotations

import asyncio
import json
import re

import pytest

import sonde
from sonde.core import Episode

from .test_calls import Scripted

ENV = sonde.make("combination_lock")


def count_records(keep: float, n_acts: int, sample: int = 0) -> list[list[int]]:
    """Per act, the numbers of entries in each of the records in the prompt."""
    model = Scripted(replies=tuple(f"Action: {i % 3 + 1}" for i in range(n_acts)))
    agent = sonde.make("agents:icrl", model=model, keep=keep)
    ep = Episode.begin(ENV, ENV.task("987"), sample=sample)
    for _ in range(n_acts):
        ep = ep.step(asyncio.run(agent.act(ep.view())))
    return [_records(messages[1].content.partition("The current observation")[0]) for messages, _ in model.asked]


def _records(text: str) -> list[int]:
    blocks = [json.loads(b) for b in re.findall(r"```json\n(.*?)\n```", text, re.DOTALL)]
    return [len(b["experience"]) for b in blocks if "experience" in b]


def test_everything_at_keep_1() -> None:
    """Past sub-episodes whole, and what has happened in this one."""
    assert count_records(1.0, 8) == [[], [1], [2], [3], [3, 1], [3, 2], [3, 3], [3, 3, 1]]


def test_only_the_present_at_keep_0() -> None:
    assert count_records(0.0, 7) == [[], [1], [2], [], [1], [2], []]


def test_each_sub_episode_is_kept_with_its_probability_at_every_step() -> None:
    rows = [count_records(0.5, 10, sample)[9] for sample in range(60)]
    assert {len(row) for row in rows} == {0, 1, 2, 3}
    assert sum(map(len, rows)) / 180 == pytest.approx(0.5, abs=0.12)
    three = count_records(0.5, 21)[18:]  # the steps of the seventh sub-episode; what has happened in it is shown too
    assert len({len(row) - i.bit_count() for i, row in zip((0, 1, 1), three, strict=True)}) > 1


def test_an_unreadable_action_is_drawn_and_counted() -> None:
    agent = sonde.make("agents:icrl", model=Scripted(replies=("hm", "hm")), retries=1)
    action = asyncio.run(agent.act(Episode.begin(ENV, ENV.task("987")).view()))
    assert action.text in {ENV.say(d) for d in "0123456789"}
    assert action.memory == {"calls": {"policy:malformed": 1, "policy:fallback": 1}}
