"""A second environment, and transfer between both (ΔBelief-RL, figure 9): cities beside twenty questions.

    python recipes/delta_belief/cities.py [--steps 20] [--seeds 3] [--tests 96] [--quick] [--json] [--save]

`sonde-tiny-many` plays both games. Each arm trains it in one of them and tests it in both: on held-out tasks,
`--samples` games of each at temperature 1 and one at 0. The arms are StarPO (the outcome, for the whole game) and
ΔBelief-RL (equations 3 and 4), with the presets `tiny_starpo` and `tiny_delta_belief`, 64 games a step.

Departures: the paper trains on twenty questions alone, and tests its models on cities without training on them. Its
belief is elicited by a question of its own; this model was taught no such statement, so its belief in a secret is the
probability that its next message proposes it (template `answer`).
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import common
from common import Row, estimate_gain, estimate_success, format_estimate, tabulate_wins

import sonde
from sonde.core import AGENT
from sonde.evaluation.metrics import pass_at
from sonde.models.files.weights import model_fingerprint
from sonde.runs.rollout import Plan, collect_trajectories
from sonde.train.by_name import learn_online
from sonde.train.collect import Game
from sonde.train.presets import preset

BASE = "sonde-tiny-many"
ENVS: Mapping[str, tuple[str, str]] = {"things": ("twenty_questions", "small"), "cities": ("guess_my_city", "paprika")}
"""The games: their names in the tables, and what they are."""
ARMS = {"starpo": "tiny_starpo", "delta_belief": "tiny_delta_belief"}
LONGEST = 32
"""Maximum tokens of a reply."""


def make_game(name: str) -> sonde.Env[Any]:
    """One of both games."""
    env, of = ENVS[name]
    return sonde.make(env, preset=of)


def train_arm(folder: Path, model: str, arm: str, game: str, steps: int, seed: int) -> Row:
    """Train the base model on one game under an arm; the row holds where the result is."""
    training = preset(ARMS[arm])
    to = folder / "models" / f"{model_fingerprint(model)}-{arm}-{game}-{steps}-{seed}"
    shutil.rmtree(to, ignore_errors=True)
    settings = replace(training.settings, folder=str(to), seed=seed, max_steps=steps, save_steps=None,
                       save_dtype="float32")  # fmt: skip
    ready = replace(training, settings=settings, online=replace(training.online, max_new_tokens=LONGEST))
    env, begun = make_game(game), time.process_time()
    result = learn_online(model, ready, [Game(env, env.tasks("train"), game)])
    return {"model": str(result.model), "cpu_seconds": round(time.process_time() - begun)}


def play_tests(model: str, game: str, tests: int, k: int, temperature: float, seed: int) -> dict[str, Any]:
    """The winning turn of every game (None if lost), by held-out task."""
    backend = sonde.make("models:hf", model=model, max_batch=256, dtype="float32")
    agent = sonde.make("agents:llm", model=backend, temperature=temperature, min_p=0.0, max_new_tokens=LONGEST)
    env = make_game(game)
    played = collect_trajectories(env, {AGENT: agent}, env.tasks("test")[:tests], Plan(k=k, seed=seed))
    won = [len(t.turns) if t.outcome is not None and t.outcome.success else None for t in played]
    return {"won": [won[i : i + k] for i in range(0, len(won), k)]}


def measure_arm(folder: Path, sizes: Mapping[str, Any], arm: str, game: str, seed: int) -> Row:
    """The row of an arm, a game of training and a seed: tests in both games."""
    known = {name: sonde.make(env).spec.version for name, (env, _) in ENVS.items()}
    base = model_fingerprint(sizes["model"])
    key = {"measure": "cities", "arm": arm, "trained_on": game, "seed": seed, "base": base, **sizes, **known}
    return common.load_or_make_row(folder, key, partial(_make_row, folder, sizes, arm, game, seed))


def _make_row(folder: Path, sizes: Mapping[str, Any], arm: str, game: str, seed: int) -> dict[str, Any]:
    made: Row = {"model": sizes["model"], "cpu_seconds": 0}
    if arm != "base":
        made = train_arm(folder, sizes["model"], arm, game, sizes["steps"], seed)
    tests = {
        f"{name}-{how}": play_tests(made["model"], name, sizes["tests"], k, temperature, seed)
        for name in ENVS
        for how, k, temperature in (("drawn", sizes["samples"], 1.0), ("greedy", 1, 0.0))
    }
    return {"cpu_seconds": made["cpu_seconds"], **tests}


def tabulate_arms(found: Mapping[tuple[str, str], Sequence[Row]], k: int) -> tuple[list[str], list[list[Any]]]:
    """What the arms win in both games: pass@1 and pass@k at temperature 1, and success at 0."""
    columns = ["trained, tested", "pass@1", "more than base", f"pass@{k}", "success at T=0", "more than base at T=0"]
    base, rows = found["base", ""], list[list[Any]]()
    for name in ENVS:
        for (arm, game), mine in found.items():
            won = [games for row in mine for games in tabulate_wins(row, f"{name}-drawn")]
            passed = sum(pass_at(len(games), int(sum(games)), k) for games in won) / len(won)
            drawn, greedy = (
                [estimate_success(mine, how), None if arm == "base" else estimate_gain(mine, base, how)]
                for how in (f"{name}-drawn", f"{name}-greedy")
            )
            label = f"{arm} on {game}, {name}" if game else f"{arm}, {name}"
            rows.append([label, *map(format_estimate, drawn), round(passed, 3), *map(format_estimate, greedy)])
    return columns, rows


def main() -> None:
    parser = common.make_parser(__doc__, base=BASE, steps=20, seeds=3)
    parser.add_argument("--tests", type=int, default=96, help="held-out tasks of each game, at most (default 96)")
    parser.add_argument("--samples", type=int, default=4, help="games of every task at temperature 1 (default 4)")
    args = parser.parse_args()
    folder, sizes = args.out, {name: getattr(args, name) for name in ("model", "steps", "tests", "samples")}
    if args.quick:
        folder, sizes, args.seeds = folder / "quick", {**sizes, "steps": 1, "tests": 4, "samples": 2}, 2
    arms = [("base", ""), *((arm, game) for game in ENVS for arm in ARMS)]
    found: dict[tuple[str, str], list[Row]] = {arm: [] for arm in arms}
    for seed in range(args.seeds):
        for arm, game in arms:
            found[arm, game].append(measure_arm(folder, sizes, arm, game, seed))
    common.print_rows(args, "figure9_cities", *tabulate_arms(found, sizes["samples"]))


if __name__ == "__main__":
    main()
