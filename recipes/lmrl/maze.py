"""LMRL-Gym's maze, table 7: minimum, dataset average and maximum of the return, ours and the paper's.

    python recipes/lmrl/maze.py [--rollouts 32] [--json]

As in appendix F.1, every one of the 25 starts of `double_t` is played, 32 times by the random walker, and the returns
are averaged. Three walkers, with the replies and the extra call of the paper's code (`rules="code"`):

    wall      walks into a wall until the end: the paper's minimum
    random    any of the four moves; compare the paper's dataset, in which 85 % of the moves are random (appendix D.1)
    shortest  `agents:maze`: the paper's maximum

`score_maze` is `metrics.anchored_score` with the paper's three points at 0, 50 and 100.

Fully observed, minimum and maximum must equal the paper's (-101 and -6.84). Partially observed, the maximum does not:
our walker knows the map and keeps the set of cells that it may be in, and no policy that does so is better.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import dataclass

import sonde
from sonde.evaluation import metrics
from sonde.runs.rollout import Plan, collect_trajectories

PUBLISHED = {
    "lmrl": {"wall": -101.0, "random": -83.0, "shortest": -6.84},
    "lmrl_partial": {"wall": -101.0, "random": -83.0, "shortest": -25.75},
}
PUBLISHED_NAMES = {"wall": "minimum", "random": "dataset", "shortest": "maximum"}


@dataclass(frozen=True, kw_only=True)
class Stuck(sonde.ProgramPolicy):
    """Walks up until it meets a wall, and then into that wall. The goal is the lowest cell, so this never reaches
    it."""

    def act_now(self, view: sonde.View) -> sonde.Action:
        return sonde.Action(view.say("move up"))


def maze_returns(env: sonde.Env, policy: sonde.Policy, k: int) -> metrics.Estimate:
    """The mean return over the starts, k episodes each; the interval resamples starts."""
    rows: dict[str, list[float]] = {}
    for t in collect_trajectories(env, {"agent": policy}, env.tasks("test"), Plan(k=k)):
        rows.setdefault(t.task.id, []).append(sum(turn.rewards["agent"] for turn in t.turns))
    return metrics.mean(list(rows.values()))


def measure_preset(preset: str, rollouts: int) -> Mapping[str, metrics.Estimate]:
    """Measure the three walkers on one preset."""
    env = sonde.make("maze", preset=preset, rules="code")
    return {
        "wall": maze_returns(env, Stuck(), 1),
        "random": maze_returns(env, sonde.make("agents:random"), rollouts),
        "shortest": maze_returns(env, sonde.make("agents:maze"), 1),
    }


def score_maze(preset: str, raw: float) -> float:
    """The paper's normalised score."""
    points = PUBLISHED[preset]
    return metrics.anchored_score(raw, low=points["wall"], average=points["random"], high=points["shortest"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rollouts", type=int, default=32, help="episodes per start of the random walker")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    found = {preset: measure_preset(preset, args.rollouts) for preset in PUBLISHED}
    if args.json:
        print(json.dumps({p: {k: vars(v) for k, v in rows.items()} for p, rows in found.items()}, indent=1))
        return
    print(f"{'preset':14}{'walker':10}{'in the paper':>22}{'score':>8}  ours")
    for preset, rows in found.items():
        for walker, estimate in rows.items():
            paper = f"{PUBLISHED_NAMES[walker]} {PUBLISHED[preset][walker]:.2f}"
            print(f"{preset:14}{walker:10}{paper:>22}{score_maze(preset, estimate.mean):8.1f}  {estimate}")


if __name__ == "__main__":
    main()
