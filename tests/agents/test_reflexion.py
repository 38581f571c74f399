"""Reflexion: one note per finished sub-episode, all of them before the actor's eyes."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import sonde
from sonde.core import Episode
from sonde.models._shared.json_beliefs import read_blocks
from sonde.runs.rollout import collect_trajectories

from .test_calls import Scripted

ENV = sonde.make("river_swim", sub_episodes=3, horizon=2)


def play_episode(model: Scripted, n_acts: int, **config: Any) -> Episode:
    agent = sonde.make("agents:reflexion", model=model, **config)
    ep = Episode.begin(ENV, ENV.tasks("train")[0])
    for _ in range(n_acts):
        ep = ep.step(asyncio.run(agent.act(ep.view())))
    return ep


def test_notes_are_written_after_sub_episodes_and_read_before_acts() -> None:
    model = Scripted(
        replies=("Action: A", "Action: B", "Note: swim B", "Action: A", "Action: A", "Note: stay", "Action: B")
    )
    ep = play_episode(model, 5)
    assert ep.view().memory["notes"] == ("swim B", "stay")
    assert [t.info["action"] for t in ep.turns] == ["A", "B", "A", "A", "B"]
    assert "(none yet)" in model.asked[0][0][1].content
    assert "1. swim B\n2. stay" in model.asked[6][0][1].content
    seen = read_blocks(model.asked[2][0])["experience"]
    assert [(e["action"], e["step"]) for e in seen] == [("A", 0), ("B", 1)]
    assert Counter(c.name for t in ep.turns for c in t.acts[0].action.completions) == {"policy": 5, "reflection": 2}


def test_calls_in_all() -> None:
    """K H + K - 1: nobody reads a note after the last sub-episode."""
    model = sonde.make("models:fake", pattern=("Note: try {A|B}. Action: {A|B}",))
    collect_trajectories(ENV, {"agent": sonde.make("agents:reflexion", model=model)}, ENV.tasks("train")[:1])
    assert model.stats.calls == 3 * 2 + 2


def test_an_unreadable_note_is_left_out_and_counted() -> None:
    ep = play_episode(Scripted(replies=("A", "A", "nothing to say", "B")), 3, retries=0)
    memory = ep.view().memory
    assert memory["notes"] == () and memory["calls"] == {"reflection:fallback": 1}


def test_long_notes_are_cut() -> None:
    ep = play_episode(Scripted(replies=("A", "A", "Note: " + "ab" * 50, "B")), 3, note_limit=7)
    assert ep.view().memory["notes"] == ("abababa",)


def test_the_cache_asks_once_per_state() -> None:
    model = sonde.make("models:fake", pattern=("Note: x. Action: A",))
    agent = sonde.make("agents:reflexion", model=model, cache=True)
    (t,) = collect_trajectories(ENV, {"agent": agent}, ENV.tasks("train")[:1])
    states = [{turn.info["state"] for turn in t.turns if turn.info["sub_episode"] == k} for k in range(3)]
    assert model.stats.calls == 2 + sum(map(len, states))


def test_notes_that_would_not_fit_are_dropped_and_counted() -> None:
    """Notes in a script that JSON escapes, 6 bytes per character, over a hundred sub-episodes: the reply is cut at
    2,048 tokens, so that a note takes 4,080 bytes."""
    env = sonde.make("bernoulli_bandit")
    model = sonde.make("models:fake", pattern=("Note: " + "海" * 900,))
    (t,) = collect_trajectories(
        env, {"agent": sonde.make("agents:reflexion", model=model, retries=0)}, env.tasks("train")[:1]
    )
    memory = t.turns[-1].acts[0].action.memory
    assert not t.error and len(memory["notes"]) + memory["dropped"] == 99 and len(memory["notes"]) == 11
