"""The recipe of an environment of one's own: its page of code keeps the contract, and its beliefs are Bayes' rule."""

from __future__ import annotations

import runpy
from math import log2

import pytest

import sonde
from sonde.testing import check_env

from .loading import RECIPES, count_lines, load

recipe = load("own_environment")


def test_it_keeps_the_contract_of_environments() -> None:
    check_env(recipe.NoisySearch(), episodes=20)
    assert count_lines("own_environment") <= 120


def test_the_posterior_by_hand() -> None:
    """After "higher" than 16: 16 itself is out (it would have won), numbers above it weigh .9, those below .1."""
    env = recipe.NoisySearch()
    ep = sonde.Episode.begin(env, env.task(23), seed=0).step("<Answer>16</Answer>")
    above, below = (0.9, 0.1) if ep.turns[0].info["result"] == "higher" else (0.1, 0.9)
    total = 16 * above + 15 * below
    posterior = ep.posterior()
    assert posterior is not None
    assert dict(posterior.top(40)) == pytest.approx(
        {n: (above if n > 16 else below) / total for n in range(1, 33) if n != 16}
    )
    entropy = -sum(n * p / total * log2(p / total) for n, p in ((16, above), (15, below)))
    assert ep.information_gain() == pytest.approx((5 - entropy,))


def test_generic_agents_play_it() -> None:
    env = recipe.NoisySearch()
    tasks = env.tasks("test")
    won = {
        name: [t.outcome.success for t in sonde_play(env, f"agents:{name}", tasks)] for name in ("entropy", "random")
    }
    assert sum(won["entropy"]) > 0.9 * len(won["entropy"]) > sum(won["random"])


def sonde_play(env: sonde.Env, agent: str, tasks: object) -> list[sonde.Trajectory]:
    from sonde.runs.rollout import Plan, collect_trajectories

    return collect_trajectories(env, {sonde.AGENT: sonde.make(agent)}, tasks, Plan(k=4))  # type: ignore[arg-type]


def test_it_runs_as_a_script(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(RECIPES / "own_environment.py"), run_name="__main__")
    first, *rest = capsys.readouterr().out.splitlines()
    assert first == "the environment satisfies the contract"
    assert rest[-2].endswith("23 is my number.") and rest[-1].startswith("bits per turn: 0.56 ")
