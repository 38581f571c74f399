"""LMRL-Gym's Wordle, table 7: minimum, dataset average and maximum of the return, ours and the paper's.

    python recipes/lmrl/wordle.py [--episodes 20000] [--json]

The paper normalises Wordle scores between -6 (six misses), the mean return of its dataset and the return of its best
policy. A mixture played the dataset: it draws any word of the list with probability 0.66, and otherwise a word that is
consistent with all marks so far (appendix D.3). We play the same mixture and our greedy-information solver on our 400
words, once with the standard rule for repeated letters and once with the paper's (`rules="code"`). The word lists
differ, so the numbers should be close but not equal. `score_wordle` is `metrics.anchored_score` with the paper's
points.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass

import sonde
from sonde.evaluation import metrics
from sonde.runs.rollout import Plan, collect_trajectories

PUBLISHED = {"minimum": -6.0, "dataset": -4.12, "maximum": -1.94}


@dataclass(frozen=True, kw_only=True)
class Mixture(sonde.ProgramPolicy):
    """Says a word that is still possible with probability `smart`, otherwise any word of the list."""

    smart: float = 0.34

    def act_now(self, view: sonde.View) -> sonde.Action:
        rng = sonde.Rng(view.seed)
        words: Sequence[str] = view.legal or ()
        if rng.random() < self.smart and view.filter is not None:
            words = view.filter.belief().hypotheses
        return sonde.Action(view.say(words[rng.randrange(len(words))]))


def wordle_returns(env: sonde.Env, policy: sonde.Policy, k: int) -> metrics.Estimate:
    """Mean return over all words of the list, k episodes each, resampling words for the interval."""
    tasks = [*env.tasks("train"), *env.tasks("test")]
    rows: dict[str, list[float]] = {task.id: [] for task in tasks}
    for t in collect_trajectories(env, {"agent": policy}, tasks, Plan(k=k)):
        rows[t.task.id].append(sum(turn.rewards["agent"] for turn in t.turns))
    return metrics.mean(list(rows.values()))


def score_wordle(raw: float) -> float:
    """The paper's normalised score."""
    return metrics.anchored_score(
        raw, low=PUBLISHED["minimum"], average=PUBLISHED["dataset"], high=PUBLISHED["maximum"]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=20_000, help="episodes of the mixture")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    found: dict[str, dict[str, metrics.Estimate]] = {}
    for rule, rules in (("standard rule", "paper"), ("as published", "code")):
        env = sonde.make("wordle", preset="lmrl", rules=rules)
        found[rule] = {
            "dataset": wordle_returns(env, Mixture(), max(1, args.episodes // 400)),
            "maximum": wordle_returns(env, sonde.make("agents:entropy"), 1),
        }
    if args.json:
        print(json.dumps({r: {k: vars(v) for k, v in e.items()} for r, e in found.items()}, indent=1))
        return
    print(f"{'':10}{'paper':>8}" + "".join(f"{f'{rule}, score':>38}" for rule in found))
    for name in ("dataset", "maximum"):
        cells = [f"{e[name]!s} {score_wordle(e[name].mean):5.1f}" for e in found.values()]
        print(f"{name:10}{PUBLISHED[name]:8.2f}" + "".join(f"{cell:>38}" for cell in cells))


if __name__ == "__main__":
    main()
