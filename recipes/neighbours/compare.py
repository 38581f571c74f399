"""Ways to learn to ask, on one testbed: seven methods, one base model, equal numbers of replies.

    python recipes/neighbours/compare.py [--only ARM ...] [--seeds 3] [--quick] [--json] [--save]

The testbed is that of `recipes/delta_belief`: twenty questions among 64 things, 8 turns, a model of 0.35 M weights that
knows them, asks any of 24 questions and has beliefs; 40 things are secrets in training, the other 24 are held out.
Every arm plays games of training secrets: 1,600 per seed, or as many as need the same number of replies:

    starpo          outcome and penalties, one advantage for the whole game
    return_to_go    the same rewards, each once on its turn, unbiased credit per turn
    delta_belief    ΔBelief-RL, equations 3 and 4
    win             success alone, one advantage for the whole game: IGPO without gains and credit per turn
    igpo            IGPO as published: success and the gain in probability of the truth, `train.igpo`
    exact_gain      as return_to_go, with the gain in bits of the exact posterior
    gain_pairs      DPO on pairs of questions with high and low expected gain, one pair per turn, `train.gain_pairs`
    belief_pairs    the same by the change of the model's own belief
    best_of_n       SFT on the wins of such play: the best of 8 by expected gain
    igpo_separate   with `--only`: IGPO with gains and outcomes normalised separately, as in its training script

Pairs and best of n propose 8 replies on every turn, so they play an eighth of the games; `--games` adds them with the
same number of games as the others, which takes 8 times as many replies. Rows and models are in `runs/neighbours`, by
game version, base and settings; an interrupted script continues.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "delta_belief"))
import common
from common import ARMS as GIVEN
from common import Lab, Row, load_or_make_row, make_player, with_online
from rows import Cell, save_table

from sonde.core import AGENT, Env, Trajectory
from sonde.evaluation.metrics import Estimate, rate
from sonde.evaluation.per_turn import marked_turns
from sonde.runs.rollout import Plan, collect_trajectories
from sonde.train.by_name import learn, learn_online
from sonde.train.collect import Game
from sonde.train.conversations import Records
from sonde.train.gain_pairs import GainPairRule, GainPairs, collect_gain_pairs
from sonde.train.igpo import NormalisedReturn, ProbabilityGain
from sonde.train.presets import preset
from sonde.train.training import Training

FOLDER = Path("runs/neighbours")
STEPS, BATCH = 25, 64
"""Optimizer steps, and games of each."""
NOTHING = 1e-9
"""Bits below which a question is uninformative."""


def make_game() -> Env[Any]:
    """The game. Its posterior also learns from the questions that the rule user cannot answer, which is exact for that
    user."""
    return common.make_game(evidence="silences")


def make_igpo(**credit: Any) -> Training:
    """IGPO, with beliefs elicited by the sentence that the base model knows."""
    return with_online(
        preset("tiny_igpo"), rewarders=(ProbabilityGain(template="statement"),), credit=NormalisedReturn(**credit)
    )


ONLINE: Mapping[str, Callable[[], Training]] = {
    "starpo": GIVEN["starpo"],
    "return_to_go": GIVEN["outcome_to_go"],
    "delta_belief": GIVEN["delta_belief"],
    "win": GIVEN["win"],
    "igpo": make_igpo,
    "igpo_separate": partial(make_igpo, norm="separate"),
    "exact_gain": GIVEN["exact"],
}
RULES: Mapping[str, GainPairRule] = {
    "gain_pairs": GainPairRule(per_turn=1),
    "belief_pairs": GainPairRule(by="belief", per_turn=1),
    "best_of_n": GainPairRule(),
}
"""How the arms that learn from recorded play propose replies."""
ARMS = (*ONLINE, *RULES)
MAIN = tuple(arm for arm in ARMS if arm != "igpo_separate")


PAIRS_LR = 1e-4
"""The rate of DPO, chosen on training secrets with a seed of its own, where 3e-4 won less often. SFT has its
preset's."""


# --- training --------------------------------------------------------------------------------------------------------


def train_online(lab: Lab, arm: str, seed: int, to: Path) -> dict[str, Any]:
    """Train an arm that learns while it plays."""
    training = ONLINE[arm]()
    settings = replace(training.settings, folder=str(to), seed=seed, max_steps=lab.steps, lr=lab.lr, save_steps=None)
    ready = with_online(replace(training, settings=settings), max_new_tokens=common.LONGEST)
    result = learn_online(lab.base, ready, [Game(make_game(), make_game().tasks("train"), "game")])
    return {"model": str(result.model), "games": ready.n_episodes, "replies": sum(map(_count_replies, result.history))}


def _count_replies(entry: Mapping[str, Any]) -> int:
    return round(entry["turns"] * BATCH)


def train_offline(lab: Lab, arm: str, seed: int, to: Path, games: int) -> dict[str, Any]:
    """Train on the play of the best of n."""
    found = play_best(lab, RULES[arm], seed, games)
    if arm == "best_of_n":
        known = preset("tiny_sft", folder=str(to), seed=seed, save_steps=None)
        learned = replace(
            known, learning=replace(known.learning, sft=replace(known.learning.sft, distinct=False, within=None))
        )
        result = learn(lab.base, learned, found.played)
    else:
        known = preset("tiny_rpo", folder=str(to), seed=seed, lr=PAIRS_LR, save_steps=None)
        records = Records("pairs", [pair.to_json() for pair in found.pairs])
        result = learn(lab.base, known.for_objective("dpo"), [], records=[records])
    counts = found.to_json()
    return {"model": str(result.model), "games": games, "replies": found.replies, "proposed": counts}


def play_best(lab: Lab, rule: GainPairRule, seed: int, games: int) -> GainPairs:
    """Play this many games of the base model, with the best of n on every turn."""
    env = make_game()
    tasks = env.tasks("train")[: min(games, len(env.tasks("train")))]
    plan = Plan(k=math.ceil(games / len(tasks)), seed=seed)
    return collect_gain_pairs(env, make_player(lab.base), tasks, rule, plan)


def train_arm(lab: Lab, arm: str, seed: int, games: int) -> Row:
    """The row of an arm and a seed; if it is missing, train and test."""
    key = {"arm": arm, "seed": seed, "games": games, **lab.training_identity}
    return load_or_make_row(lab.out, key, partial(_train_and_test, lab, arm, seed, games))


def _train_and_test(lab: Lab, arm: str, seed: int, games: int) -> dict[str, Any]:
    to = lab.out / "models" / f"{arm}-{games}-{seed}"
    shutil.rmtree(to, ignore_errors=True)
    begun = time.process_time()
    done = train_online(lab, arm, seed, to) if arm in ONLINE else train_offline(lab, arm, seed, to, games)
    seconds = round(time.process_time() - begun, 1)
    return {**done, "cpu_seconds": seconds, **test_model(lab, done["model"], seed)}


def test_base(lab: Lab, seed: int) -> Row:
    """The base model's own play."""
    key = {"arm": "base", "seed": seed, "games": 0, **lab.base_identity}
    return load_or_make_row(lab.out, key, lambda: {"replies": 0, "cpu_seconds": 0.0, **test_model(lab, lab.base, seed)})


# --- testing ---------------------------------------------------------------------------------------------------------


def test_model(lab: Lab, model: str, seed: int) -> dict[str, Any]:
    """Play games of the held-out things, sampled and greedy, and of the training secrets."""
    return {
        "drawn": test_play(model, 1.0, lab.samples, seed),
        "greedy": test_play(model, 0.0, 1, seed),
        "met": test_play(model, 1.0, lab.samples, seed, split="train"),
    }


def test_play(model: str, temperature: float, k: int, seed: int, split: str = "test") -> dict[str, Any]:
    """Play k games of every thing: the wins, and over all games the turns, bits, repeated and wasted questions."""
    env = make_game()
    games = collect_trajectories(env, {AGENT: make_player(model, temperature)}, env.tasks(split), Plan(k=k, seed=seed))
    won = [float(t.outcome is not None and t.outcome.success) for t in games]
    counts = [_count_turns(env, t) for t in games]
    return {"won": [won[i : i + k] for i in range(0, len(won), k)], "games": len(games)} | {
        name: math.fsum(row[name] for row in counts) for name in counts[0]
    }


def _count_turns(env: Any, t: Trajectory) -> dict[str, float]:
    """The `bits` that the turns gained under the exact posterior, and the number of `wasted` turns: those that did not
    win and to which no reply could have been informative."""
    before = begun = env.filter(t.task.public)
    idle: list[bool] = []
    for turn in t.turns:
        idle.append(before.expected_gain(turn.text) < NOTHING)
        before = before.observe(turn)
    won = t.outcome is not None and t.outcome.success
    return {
        "turns": len(t.turns),
        "bits": begun.entropy - before.entropy,
        "repeated": len(marked_turns(t).get("repeated", ())),
        "wasted": sum(idle) - (won and idle[-1]),
    }


# --- the table -------------------------------------------------------------------------------------------------------

COLUMNS = (
    "method", "seeds", "games", "replies", "held out, T=1", "held out, T=0", "bits per turn", "repeated per game",
    "wasted per game", "turns", "things met, T=1", "CPU s",
)  # fmt: skip


def tabulate_arm(name: str, found: Sequence[Row]) -> list[Cell]:
    """The row of an arm: success with 95 % intervals clustered by thing, and means over the held-out games at
    temperature 1."""
    drawn = [row["drawn"] for row in found]
    games, turns = (sum(part[key] for part in drawn) for key in ("games", "turns"))
    success = [format_estimate(estimate_success(found, how)) for how in ("drawn", "greedy", "met")]
    means = [sum(part[key] for part in drawn) / n for key, n in (("bits", turns), ("repeated", games))]
    wasted = sum(part["wasted"] for part in drawn) / games
    replies = round(sum(row["replies"] for row in found) / len(found))
    seconds = f"{sum(row['cpu_seconds'] for row in found) / len(found):.0f}"
    counts = [f"{value:.2f}" for value in (*means, wasted, turns / games)]
    return [name, len(found), found[0]["games"], replies, *success[:2], *counts, success[2], seconds]


def estimate_success(found: Sequence[Row], how: str) -> Estimate:
    """The success of all seeds together."""
    tables = [row[how]["won"] for row in found]
    return rate([[value for table in tables for value in table[i]] for i in range(len(tables[0]))])


def format_estimate(found: Estimate) -> str:
    return f"{found.mean:.2f} [{found.low:.2f}, {found.high:.2f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=ARMS, default=MAIN, help="these arms")
    parser.add_argument("--games", action="store_true", help="also the last three at as many games")
    parser.add_argument("--model", default=common.BASE, help=f"the base model (default {common.BASE})")
    parser.add_argument("--steps", type=int, default=STEPS, help=f"steps of {BATCH} games (default {STEPS})")
    parser.add_argument("--seeds", type=int, default=3, help="training seeds (default 3)")
    parser.add_argument("--quick", action="store_true", help="two steps, one seed: to see that it runs")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--save", action="store_true", help="keep the table for the page, in results/papers")
    parser.add_argument("--out", type=Path, default=FOLDER, help=f"where rows and models are kept (default {FOLDER})")
    args = parser.parse_args()
    if args.quick and args.save:
        raise SystemExit("--save: got --quick, allowed: a full run; leave --quick out")
    lab = Lab(base=args.model, out=args.out, steps=args.steps, seeds=args.seeds)
    if args.quick:
        lab = replace(lab, out=args.out / "quick", steps=2, seeds=1, samples=1)
    table = [tabulate_arm(name, rows) for name, rows in run_arms(lab, args.only, args.games).items()]
    if args.save:
        save_table("neighbours", "compare", spell_command(), COLUMNS, table, range(lab.seeds))
    if args.json:
        print(json.dumps([dict(zip(COLUMNS, row, strict=True)) for row in table]))
        return
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    for row in table:
        print(f"| {' | '.join(map(str, row))} |")


def spell_command() -> str:
    """The given command, without the folder of its rows."""
    given = list(sys.argv[1:])
    for name, values in (("--save", 1), ("--json", 1), ("--out", 2)):
        if name in given:
            del given[given.index(name) : given.index(name) + values]
    return " ".join(["python recipes/neighbours/compare.py", *given])


def run_arms(lab: Lab, arms: Sequence[str], games: bool) -> dict[str, list[Row]]:
    """The rows of every arm, seed by seed, so that the finished part of an interrupted run can be compared."""
    whole = lab.steps * BATCH
    plan = [("base", "base", 0), *((arm, arm, whole // RULES[arm].n if arm in RULES else whole) for arm in arms)]
    if games:
        plan += [(f"{arm}, as many games", arm, whole) for arm in arms if arm in RULES]
    found: dict[str, list[Row]] = {name: [] for name, _, _ in plan}
    for seed in range(lab.seeds):
        for name, arm, n in plan:
            found[name].append(test_base(lab, seed) if arm == "base" else train_arm(lab, arm, seed, n))
    return found


if __name__ == "__main__":
    main()
