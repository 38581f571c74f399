"""The split-probe agent: its choices on a filter made by hand, and its accuracy beside random play."""

from __future__ import annotations

import numpy as np

from sonde.agents.random import Random
from sonde.core import Episode, ProgramPolicy
from sonde.envs.circuit_decoding.env import CircuitDecoding
from sonde.envs.circuit_decoding.solver import CircuitDecodingSolver

ENV = CircuitDecoding()


def play_tasks(policy: ProgramPolicy, n: int, env: CircuitDecoding = ENV) -> list[Episode]:
    played: list[Episode] = []
    for task in env.tasks("test")[:n]:
        ep = Episode.begin(env, task)
        while ep.to_act is not None:
            ep = ep.step(policy.act_now(ep.view()))
        played.append(ep)
    return played


def scores(played: list[Episode]) -> list[float]:
    return [ep.outcome.score for ep in played if ep.outcome is not None]


def test_the_first_probe_is_nearest_to_a_fair_coin() -> None:
    ep = Episode.begin(ENV, ENV.tasks("test")[0])
    known = ENV.filter(ep.task.public)
    ones_CX = known.table_CT @ known.game.output_TX
    said = CircuitDecodingSolver().act_now(ep.view()).text
    c, x = divmod(int(np.abs(ones_CX - 0.5).round(12).argmin()), 8)
    assert said == f"<Answer>probe {c + 1} {x:03b}</Answer>"


def test_never_probes_twice_and_ends_with_tables() -> None:
    for ep in play_tasks(CircuitDecodingSolver(), 40):
        probes = [(t.info["circuit"], t.info["input"]) for t in ep.turns[:-1]]
        assert len(set(probes)) == len(probes) == 18
        assert "correct" in ep.turns[-1].info


def test_few_probes_still_beat_random_play() -> None:
    short = CircuitDecoding(max_turns=7)
    assert (
        np.mean(scores(play_tasks(CircuitDecodingSolver(), 60, short)))
        > np.mean(scores(play_tasks(Random(), 60, short))) + 0.1
    )
