"""What the trainings of this folder share: credit assignment, one training with its evaluation, and stored rows.

A row is one training of the base model under one arm and seed, or a measurement of its result. Rows are appended to
`results.jsonl` and never made twice, so an interrupted script continues, and scripts that need the same training share
it. The trained models are in `models/`, 1.4 MB each.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))
from rows import Cell, Row, load_or_make_row, save_table

import sonde
from sonde.core import AGENT, EMPTY, Policy, Task, Trajectory
from sonde.evaluation.metrics import Estimate, difference_over_seeds, rate
from sonde.evaluation.per_turn import CALLED, marked_turns
from sonde.models.files.weights import model_fingerprint
from sonde.runs.rollout import Plan, collect_trajectories
from sonde.train.by_name import learn_online
from sonde.train.collect import Game
from sonde.train.credit import ReturnToGo, TurnWise
from sonde.train.presets import preset
from sonde.train.rewarders import BeliefGain, ExactGain
from sonde.train.rewards import RewardMix
from sonde.train.training import Training
from sonde.train.training_folder import MODEL

FOLDER = Path("runs/delta_belief")
BASE = "sonde-tiny-twenty_questions"
"""Made by recipes/tiny; comes with sonde."""
LONGEST = 12
"""Maximum tokens of a reply: those of the longest question, and a few more."""
END = {"success": 2.0, "extra_turns": -0.05}
PENALTIES = {"invalid": -5.0, "repeated": -1.0}
"""ΔBelief-RL, appendix A.1 and its code."""
HISTORY = ("step", "success", "reward", "turns", "invalid", "repeated", "belief", "truth_gain", "grad_norm")


def make_game(**changes: Any) -> sonde.Env[Any]:
    """The game."""
    return sonde.make("twenty_questions", **{"preset": "small", **changes})


# --- arms ------------------------------------------------------------------------------------------------------------

BELIEF = BeliefGain(template="statement")


def with_online(training: Training, **changes: Any) -> Training:
    return replace(training, online=replace(training.online, **changes))


def delta_belief(**changes: Any) -> Training:
    """ΔBelief-RL, equations 3 and 4; `changes` are those of `BeliefGain`."""
    return with_online(preset("tiny_delta_belief"), rewarders=(replace(BELIEF, **changes),))


def weigh_beliefs(weight: float) -> Training:
    """Equation 3 with another weight of ΔBelief; at weight 0 without beliefs."""
    mix = RewardMix({**PENALTIES, **({"belief": weight} if weight else {})}, every=END)
    training = with_online(delta_belief(), rewards=mix)
    return training if weight else with_online(training, rewarders=())


def exact_turnwise() -> Training:
    """Equations 3 and 4 with the exact gain (bits of the truth, nothing clipped) in ΔBelief's place."""
    mix = RewardMix({**PENALTIES, "truth_gain": 0.1}, every=END)
    return with_online(delta_belief(), rewarders=(ExactGain(),), rewards=mix)


def win_turnwise(weight: float = 0.0) -> Training:
    """Equation 4 for the win on every turn, without penalties, and ΔBelief with this weight."""
    mix = RewardMix({"belief": weight} if weight else {}, every={"success": 2.0})
    training = with_online(delta_belief(), rewards=mix)
    return training if weight else with_online(training, rewarders=())


def to_go(weight: float = 0.1, **changes: Any) -> Training:
    """The same rewards, each once on its turn, under `ReturnToGo`."""
    mix = RewardMix({**END, **PENALTIES, **({"belief": weight} if weight else {})})
    rewarders = (replace(BELIEF, **changes),) if weight else ()
    return with_online(preset("tiny_delta_belief"), rewarders=rewarders, rewards=mix, credit=ReturnToGo())


ARMS: Mapping[str, Callable[[], Training]] = {
    "starpo": lambda: preset("tiny_starpo"),
    "delta_belief": delta_belief,
    "to_go": to_go,
    "exact": lambda: preset("tiny_exact_gain"),
    "published": lambda: with_online(delta_belief(), credit=TurnWise(rules="code")),
    "among": lambda: delta_belief(among=8),
    "outcome_turnwise": lambda: weigh_beliefs(0.0),
    "exact_turnwise": exact_turnwise,
    "outcome_to_go": lambda: to_go(0.0),
    "win": lambda: with_online(preset("tiny_starpo"), rewards=RewardMix({"success": 2.0})),
    "win_turnwise": win_turnwise,
    "win_belief": lambda: win_turnwise(0.1),
}
"""The arms of `compare.py`; other scripts have more."""


# --- settings --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Lab:
    """The settings of a script: the base model, optimizer steps of 64 games, training seeds, the learning rate, samples
    per test task, and the folder of the rows."""

    base: str
    out: Path
    steps: int = 50
    seeds: int = 5
    lr: float = 1e-3
    samples: int = 4

    @cached_property
    def base_identity(self) -> dict[str, Any]:
        """What determines the base model's own play: its weights, under any name, and the game's version."""
        return {"base": model_fingerprint(self.base) or self.base, "game": make_game().spec.version}

    @property
    def training_identity(self) -> dict[str, Any]:
        """What determines a training."""
        return {**self.base_identity, "steps": self.steps, "lr": self.lr}

    def folder(self, arm: str, seed: int) -> Path:
        """The folder of a training."""
        told = [str(value).replace("/", "-") for value in self.training_identity.values()]
        return self.out / "models" / "-".join([arm, *told, str(seed)])

    def model(self, arm: str, seed: int) -> Path:
        """The folder of its model."""
        return self.folder(arm, seed) / MODEL


def make_parser(
    doc: str | None, *, base: str = BASE, steps: int = Lab.steps, seeds: int = Lab.seeds
) -> argparse.ArgumentParser:
    """The options of every script, with its defaults."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=base, help=f"the base model, by folder or name (default {base})")
    parser.add_argument("--quick", action="store_true", help="two steps, two seeds, two samples, to test that it runs")
    parser.add_argument("--steps", type=int, default=steps, help=f"steps of 64 games each (default {steps})")
    parser.add_argument("--seeds", type=int, default=seeds, help=f"training seeds (default {seeds})")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--save", action="store_true", help="store the table for the paper's page, in results/papers")
    parser.add_argument("--out", type=Path, default=FOLDER, help=f"the folder of rows and models (default {FOLDER})")
    return parser


def make_lab(args: argparse.Namespace) -> Lab:
    """The settings of these arguments. Quick runs have a folder of their own, so that no full run uses their rows."""
    if args.quick:
        return Lab(base=args.model, out=args.out / "quick", steps=2, seeds=2, samples=2)
    return Lab(base=args.model, out=args.out, steps=args.steps, seeds=args.seeds)


# --- rows ------------------------------------------------------------------------------------------------------------


def train_model(lab: Lab, arm: str, training: Training, seed: int, tasks: Sequence[Task] | None = None) -> Row:
    """Train under an arm (on these tasks, or the train split) and test the model."""
    key = {"measure": "training", "arm": arm, "seed": seed, **lab.training_identity}
    return load_or_make_row(lab.out, key, lambda: _train_in_process(lab, training, seed, lab.folder(arm, seed), tasks))


def _train_in_process(
    lab: Lab, training: Training, seed: int, to: Path, tasks: Sequence[Task] | None
) -> dict[str, Any]:
    shutil.rmtree(to, ignore_errors=True)
    settings = replace(training.settings, folder=str(to), seed=seed, max_steps=lab.steps, lr=lab.lr, save_steps=None)
    ready = with_online(replace(training, settings=settings), max_new_tokens=LONGEST)
    begun = time.process_time()
    result = learn_online(lab.base, ready, [Game(make_game(), tasks or make_game().tasks("train"), "game")])
    seconds = time.process_time() - begun
    history = [{name: round(entry[name], 4) for name in HISTORY if name in entry} for entry in result.history]
    kept = {"cpu_seconds": round(seconds, 1), "episodes": ready.n_episodes, "history": history}
    return {**kept, **test_model(lab, str(result.model), seed)}


def test_base(lab: Lab) -> list[Row]:
    """The base model, played once for every seed."""
    key = {"measure": "training", "arm": "base", **lab.base_identity}
    return [
        load_or_make_row(lab.out, {**key, "seed": seed}, partial(_test_base_model, lab, seed))
        for seed in range(lab.seeds)
    ]


def _test_base_model(lab: Lab, seed: int) -> dict[str, Any]:
    return {"cpu_seconds": 0.0, **test_model(lab, lab.base, seed)}


def run_arms(lab: Lab, arms: Mapping[str, Callable[[], Training]]) -> dict[str, list[Row]]:
    """The rows of these arms, seed by seed, so that the finished part of an interrupted run can be compared."""
    found: dict[str, list[Row]] = {name: [] for name in arms}
    for seed in range(lab.seeds):
        for name, training in arms.items():
            found[name].append(train_model(lab, name, training(), seed))
    return found


# --- playing ---------------------------------------------------------------------------------------------------------


def test_model(lab: Lab, model: str, seed: int) -> dict[str, Any]:
    """Play new games of the training secrets (`met`, temperature 1) and of the held-out ones: one greedy game each, and
    games at temperature 1 (`drawn`)."""
    played = {"greedy": play_games(model, 0.0, 1, seed), "drawn": play_games(model, 1.0, lab.samples, seed)}
    return {**played, "met": play_games(model, 1.0, lab.samples, seed, split="train")}


def make_player(model: str, temperature: float = 1.0) -> Policy:
    """The agent with these weights."""
    backend = sonde.make("models:hf", model=model, max_batch=256)
    return sonde.make("agents:llm", model=backend, temperature=temperature, min_p=0.0, max_new_tokens=LONGEST)


def play_games(
    model: str, temperature: float, k: int, seed: int, *, split: str = "test", tasks: Sequence[Task] | None = None,
    user: Policy | None = None, best: Mapping[str, Any] | None = None, **changes: Any,
) -> dict[str, Any]:  # fmt: skip
    """Play k games of every task of a split, or of these tasks: the winning turn of each (None if lost), by task, and
    means over games. `user` replies instead of the rules; `best` are settings of `agents:best_of_n`, which picks among
    the model's proposals; `changes` change the game."""
    env = make_game(**changes)
    agent = make_player(model, temperature)
    agent = agent if best is None else sonde.make("agents:best_of_n", player=agent, **best)
    seats: dict[str, Policy] = {AGENT: agent, **({"user": user} if user is not None else {})}
    games = collect_trajectories(env, seats, tasks or env.tasks(split), Plan(k=k, seed=seed))
    won = [_winning_turn(t) for t in games]
    means = {name: sum(len(marked_turns(t).get(name, ())) for t in games) / len(games) for name in CALLED}
    turns = sum(len(t.turns) for t in games) / len(games)
    return {"won": [won[i : i + k] for i in range(0, len(won), k)], "turns": turns, **means}


def _winning_turn(t: Trajectory) -> int | None:
    return len(t.turns) if t.outcome is not None and t.outcome.success else None


# --- tables ----------------------------------------------------------------------------------------------------------


def tabulate_wins(row: Row, how: str) -> list[list[float]]:
    """1 for every game won and 0 for the others, by task."""
    return [[float(turn is not None) for turn in games] for games in row[how]["won"]]


def estimate_success(found: Sequence[Row], how: str) -> Estimate:
    """The success of all seeds together; the 95 % interval is clustered by task."""
    tables = [tabulate_wins(row, how) for row in found]
    return rate([[value for table in tables for value in table[i]] for i in range(len(tables[0]))])


def estimate_gain(found: Sequence[Row], than: Sequence[Row], how: str) -> Estimate:
    """The difference in success, paired by seed and task; the 95 % interval resamples both."""
    return difference_over_seeds([tabulate_wins(row, how) for row in found], [tabulate_wins(row, how) for row in than])


PLAYED = {"met": "things met", "drawn": "held out", "greedy": "held out, T=0"}
"""The titles of what was played; at temperature 1 where nothing is said."""


def compare_models(found: Mapping[str, Sequence[Row]], than: str) -> list[dict[str, Any]]:
    """The table's numbers for each arm; differences are to the arm `than`."""
    out: list[dict[str, Any]] = []
    for name, mine in found.items():
        row: dict[str, Any] = {"arm": name, "seeds": len(mine)}
        for how in PLAYED:
            if all(how in r for r in mine):
                row[how] = estimate_success(mine, how)
                row[f"{how}_more"] = None if name == than else estimate_gain(mine, found[than][: len(mine)], how)
        counted = [r["met"] if "met" in r else r["drawn"] for r in mine]
        row |= {name: sum(r[name] for r in counted) / len(mine) for name in ("turns", *CALLED)}
        out.append({**row, "cpu_seconds": sum(r["cpu_seconds"] for r in mine) / len(mine)})
    return out


def show_table(
    table: Sequence[Mapping[str, Any]], than: str, args: argparse.Namespace, name: str,
    about: Mapping[str, Sequence[str]] = EMPTY,
) -> None:  # fmt: skip
    """Print a table as Markdown or JSON; `--save` also stores it as `name`. `about` are further columns by arm, with
    their titles under `arm`."""
    titles: dict[str, str] = {}
    for how, head in PLAYED.items():
        titles[how] = head
        if how != "greedy":  # the table has no room for more
            titles[f"{how}_more"] = f"{head}, more than {than}"
    shown = {key: title for key, title in titles.items() if key in table[0]}
    told = about.get("arm", ())
    columns = ["arm", *told, *shown.values(), "turns", *CALLED, "CPU s"]
    rows: list[list[Cell]] = []
    for row in table:
        described = about.get(row["arm"], [""] * len(told))
        estimates = [format_estimate(row[key]) for key in shown]
        counts = [round(row[key], 2) for key in ("turns", *CALLED)]
        rows.append([row["arm"], *described, *estimates, *counts, round(row["cpu_seconds"])])
    plain = [{k: asdict(v) if isinstance(v, Estimate) else v for k, v in row.items()} for row in table]
    print_rows(args, name, columns, rows, plain, range(max(row["seeds"] for row in table)))


def print_rows(
    args: argparse.Namespace, name: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]], plain: Any = None,
    seeds: Sequence[int] | None = None,
) -> None:  # fmt: skip
    """Print a table as Markdown or, with `--json`, `plain` (or its rows); `--save` also stores it. `seeds` are its own,
    by default those of `--seeds`."""
    if args.save and args.quick:
        raise SystemExit("--save: got --quick, allowed: a full run; leave --quick out")
    if args.save:
        save_table(
            "delta_belief", name, spell_command(args), columns, rows, range(args.seeds) if seeds is None else seeds
        )
    if args.json:
        print(json.dumps([dict(zip(columns, row, strict=True)) for row in rows] if plain is None else plain))
        return
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for row in rows:
        print(f"| {' | '.join(f'{cell:.3f}' if isinstance(cell, float) else str(cell) for cell in row)} |")


def spell_command(args: argparse.Namespace) -> str:
    """The given command, without the folder of its rows."""
    given = list(sys.argv[1:])
    for name, values in (("--save", 1), ("--json", 1), ("--out", 2)):
        if name in given:
            del given[given.index(name) : given.index(name) + values]
    return " ".join(["python", f"recipes/delta_belief/{Path(sys.argv[0]).name}", *given])


def format_estimate(found: Estimate | None) -> str:
    return "" if found is None else f"{found.mean:z.2f} [{found.low:z.2f}, {found.high:z.2f}]"
