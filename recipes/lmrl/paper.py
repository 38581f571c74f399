"""The paper's own experiments: train and test GPT-2 small, medium and xl on the datasets of LMRL-Gym, at its sizes;
tables 2, 6, 8, 9 and 10, next to the paper's numbers.

    python recipes/lmrl/paper.py --dry-run [--only NAME ...] [--json]    # resolved settings and cost; no model
    python recipes/lmrl/paper.py --only maze-bc maze-ilql --out runs/lmrl/paper [--opponent stockfish] [--save]
    python recipes/lmrl/paper.py --quick [--only NAME ...]               # every step, with tiny random models

A name is TASK-METHOD. The settings are those of table 5 (`sonde.train.presets.lmrl`), which prints no number of epochs:
one here. All methods but `bc` and `filtered_bc` start from the model that `TASK-bc` left in the same folder, as in the
paper; `ppo_offline` belongs to tables 8 and 9, `ppo_data`, `ppo_last50`, ... to table 10. Datasets are played there at
first use (`docs/datasets.md` says how long that takes). A tested cell is stored in `results.jsonl` and never made
again, so the same command continues. None has been run at the paper's scale, for lack of a GPU.

The tests are those of appendix F: 32 rollouts from each of the 25 places of a maze, 4,147 games of Wordle, 1,000 of
chess, 645 endgames; for other tasks the paper gives no number, and every test task is played four times. Sampling is at
temperature 1; values steer with the paper's strength (`BETA`), and MC's values in houses with that of ILQL, because the
paper prints none for them.

The cost is estimated from a few episodes of the behaviour policy: operations on all tokens, 6 per weight and token for
training and 2 for play, and on the agent's tokens those of the value heads, which are as large as GPT-2 small itself.
The estimate assumes a tenth of an H100's peak: GPT-2 is too small to keep it busy, and sampling is bound by memory.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import network
import published

sys.path.append(str(Path(__file__).parents[1]))
from rows import Row, load_or_make_row, save_table

from sonde import datasets, make
from sonde.core import AGENT, AnyPolicy, Env, Episode, Policy, Task, UserError, build
from sonde.core.types import Json
from sonde.evaluation.metrics import anchored_score
from sonde.evaluation.suites import PROTOCOLS
from sonde.models.local.heads import HeadSpec
from sonde.runs.rollout import Plan, collect_trajectories
from sonde.runs.store import Run
from sonde.train.by_name import learn, learn_online
from sonde.train.collect import Game
from sonde.train.objectives import make_objective
from sonde.train.presets import preset
from sonde.train.presets.lmrl import BETA, MODELS
from sonde.train.selection import ShareRule
from sonde.train.training import Training

METHODS = published.METHODS
COLUMNS: Mapping[str, str] = {
    "maze": "maze", "maze_partial": "maze", "text_nav": "text_nav", "text_nav_partial": "text_nav",
    "wordle": "wordle", "chess": "chess", "endgames": "endgames", "twenty_questions": "dialogue",
    "guess_my_city": "dialogue", "car_dealer": "dialogue",
}  # fmt: skip
"""Of table 5, by dataset."""
CONTEXTS = {"maze": "told", "maze_partial": "last:20", "chess": "told", "endgames": "told"}
"""Positions and observed places are shown alone; a place to be guessed with the last 40 messages."""
ROUNDS: Mapping[str, int | None] = {"ppo_data": None, "ppo_last50": 50, "ppo_last25": 25, "ppo_last10": 10}
"""Of table 10: which rounds of PPO's play are learned from, None for all."""
SPACED = frozenset({"wordle", "chess", "endgames"})
"""Their texts are letters with spaces between, so a token is two characters and not some four."""
WEIGHTS = {"gpt2": 1.24e8, "gpt2-medium": 3.55e8, "gpt2-xl": 1.56e9}
WIDTHS = {"gpt2": 768, "gpt2-medium": 1024, "gpt2-xl": 1600}
VOCABULARY = 50_257
TRIED = 8
TERA_PER_SECOND = 100.0
"""Of an H100 in training such small models with bfloat16: a tenth of its peak, assumed."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """One cell: a training and its test."""

    task: str
    method: str

    @property
    def name(self) -> str:
        return f"{self.task}-{self.method}"

    @property
    def model(self) -> str:
        """The hub name of the model from which the first training starts."""
        return "gpt2-xl" if self.task == "car_dealer" else MODELS[COLUMNS[self.task]]

    @property
    def training(self) -> Training:
        found = preset(f"lmrl_{COLUMNS[self.task]}_{'bc' if self.method in ROUNDS else self.method}")
        context = CONTEXTS.get(self.task, "full")
        if self.method in ROUNDS:
            rule = ShareRule(last_rounds=ROUNDS[self.method])
            return replace(found, learning=replace(found.learning, context=context, share=rule))
        if found.is_online:
            keeps = self.name == "endgames-ppo"  # table 10 learns from its episodes
            return replace(found, online=replace(found.online, context=context, save_episodes=keeps))
        return replace(found, learning=replace(found.learning, context=context))

    @property
    def beta(self) -> float | None:
        """The strength of its values in play."""
        known = BETA.get(self.method, {})
        return known.get(COLUMNS[self.task], BETA["ilql"][COLUMNS[self.task]]) if known else None


CONFIGS: Mapping[str, Config] = {
    config.name: config
    for config in (
        *(Config(task=task, method=method) for task in COLUMNS for method in METHODS),
        *(Config(task=task, method="ppo_offline") for task in ("chess", "endgames")),
        *(Config(task="endgames", method=method) for method in ROUNDS),
    )
}


# --- what it would cost ----------------------------------------------------------------------------------------------


@cache
def _tokens(task: str) -> tuple[float, float]:
    """The tokens of an episode of the behaviour policy: those that the model reads, and those that the agent says."""
    part = datasets.make_parts(datasets.find_dataset(task), n=TRIED)[0]
    characters = 2 if task in SPACED else 4
    read = said = 0
    for t in collect_trajectories(part.run.env, part.run.policies, part.run.tasks, Plan(k=1, span=(0, TRIED))):
        messages = list(Episode.stages(part.run.env, t))[-1].view(AGENT).messages
        said += sum(len(m.content) for m in messages if m.role == "assistant")
        read += sum(len(m.content) for m in messages)
    return read / TRIED / characters, said / TRIED / characters


def _head_weights(spec: HeadSpec | None, model: str) -> float:
    """The number of weights of all value heads, without target copies."""
    if spec is None:
        return 0.0
    width = WIDTHS[model]
    middle = spec.width * width
    return spec.q * (width * middle + middle * VOCABULARY) + spec.v * (
        width if spec.linear else width * middle + middle
    )


def estimate_cost(config: Config) -> dict[str, Json]:
    """Estimate the cost of a training; see the module."""
    training, size = config.training, datasets.find_dataset(config.task).size
    read, said = _tokens(config.task)
    if config.method in ROUNDS:
        ppo = CONFIGS["endgames-ppo"].training
        rounds = ROUNDS[config.method]
        per_round = ppo.settings.batch_size * ppo.online.updates_per_rollout
        size = ppo.n_episodes if rounds is None else min(ppo.n_episodes, rounds * per_round)
    episodes = training.n_episodes if training.is_online else round(size * training.settings.epochs)
    spec = getattr(make_objective(training.objective, **training.options), "heads", None)
    operations = episodes * (
        read * WEIGHTS[config.model] * (8 if training.is_online else 6) + 6 * said * _head_weights(spec, config.model)
    )
    return {
        "episodes": episodes,
        "tokens_read": round(read * episodes),
        "tokens_said": round(said * episodes),
        "petaflop": round(operations / 1e15),
        "gpu_minutes": round(operations / (TERA_PER_SECOND * 1e12) / 60, 1),
        "tested_episodes": len(test_tasks(config.task)) * samples_per_task(config.task),
    }


def resolve_config(name: str) -> dict[str, Json]:
    """A training's resolved settings and its cost."""
    config = CONFIGS[name]
    return {
        "config": name, "model": config.model, "env": datasets.find_dataset(config.task).env, "beta": config.beta,
        "training": config.training.to_json(), "cost": estimate_cost(config),
    }  # fmt: skip


# --- training --------------------------------------------------------------------------------------------------------

QUICK: Mapping[str, Any] = {"max_steps": 2, "batch_size": 4, "micro_batch": 4, "save_steps": None, "bf16": False}
FEW = 20
"""Recorded episodes of `--quick`."""


def make_env(task: str, quick: bool = False) -> Env[Any]:
    """The environment of a dataset; quickly, with games of at most six turns."""
    config = datasets.find_dataset(task).env
    return build({**config, "max_turns": 6} if quick else config)


def first_model(config: Config, out: Path, quick: str | None) -> str:
    """The model from which a training starts: the paper's, or the clone in the same folder. With `quick`, the given
    model, or if that is empty a random one that knows the words of some episodes."""
    if config.method not in ("bc", "filtered_bc"):
        start = out / f"{config.task}-bc" / "model"
        if not (start / "config.json").is_file():
            raise UserError(f"{start} is missing; run --only {config.task}-bc first, with the same --out")
        return str(start)
    if quick is None:
        return config.model
    return quick or str(write_random_model(config.task, out))


def write_random_model(task: str, out: Path) -> Path:
    """A Llama of two layers for the words of a task, for `--quick`."""
    folder = out / f"{task}-start"
    if not (folder / "config.json").is_file():
        part = datasets.make_parts(datasets.find_dataset(task), n=FEW)[0]
        env = make_env(task, quick=True)
        chats = [list(Episode.stages(part.run.env, t))[-1].view(AGENT).messages for t in load_data(task, out, FEW)]
        chats += [Episode.begin(env, t).view().messages for t in test_tasks(task)[:QUICK_TASKS]]
        network.write_network(folder, chats, width=16, layers=2, window=4096, often=1, seed=0)
    return folder


def load_data(task: str, out: Path, n: int | None = None) -> Run:
    """The dataset, played at first use."""
    part = datasets.make_parts(datasets.find_dataset(task), n=n)[0]
    return datasets.fill_part(part, out / f"{task}-data", processes=1 if n else None)


def ready_training(config: Config, out: Path, quick: str | None) -> Training:
    """The training with its folder; with `quick`, two steps of four episodes."""
    training = config.training
    settings = replace(training.settings, folder=str(out / config.name), **(QUICK if quick is not None else {}))
    if quick is None:
        return replace(training, settings=settings)
    online = replace(training.online, updates_per_rollout=1, max_new_tokens=8)
    learning = training.learning
    if learning.share is not None:  # a random model's few games may all be lost
        learning = replace(learning, share=replace(learning.share, success=False))
    return replace(training, settings=settings, online=online, learning=learning)


def train_config(name: str, out: Path, quick: str | None = None) -> None:
    """Train; with `quick`, a few steps of another model, as a check that it runs."""
    config = CONFIGS[name]
    start, ready = first_model(config, out, quick), ready_training(CONFIGS[name], out, quick)
    data = FEW if quick is not None else None
    if ready.is_online:
        env = make_env(config.task, quick is not None)
        tasks = env.tasks(datasets.find_dataset(config.task).splits["train"])
        shown = list(load_data(config.task, out, data)) if ready.options.get("bc") else []
        learn_online(start, ready, [Game(env, tasks, config.task)], shown=shown, resume=True)
    elif config.method in ROUNDS:
        learn(start, ready, Run.load(out / "endgames-ppo" / "episodes" / "endgames"), resume=True)
    else:
        learn(start, ready, load_data(config.task, out, data), resume=True)


# --- testing ---------------------------------------------------------------------------------------------------------

QUICK_TASKS = 2


@cache
def test_tasks(task: str) -> Sequence[Task]:
    """The test tasks of the suite."""
    return make_env(task).tasks("test")


def samples_per_task(task: str) -> int:
    return PROTOCOLS["lmrl"].samples_per_task(str(datasets.find_dataset(task).env["name"]))


def make_player(config: Config, out: Path, quick: bool) -> Policy:
    """The trained model in the agent's seat; values steer the clone from which they were learned."""
    model = out / (config.name if config.beta is None else f"{config.task}-bc") / "model"
    steer = {} if config.beta is None else {"heads": str(out / config.name / "model"), "beta": config.beta}
    backend = make("models:hf", model=str(model), **steer)
    more = {"max_new_tokens": 8} if quick else {}
    return make(
        "agents:llm", model=backend, context=CONTEXTS.get(config.task, "full"), temperature=1.0, min_p=0.0, **more
    )


def test_config(config: Config, out: Path, opponent: str | None, quick: bool) -> dict[str, float]:
    """Mean return, rates and lengths over the games of appendix F."""
    env, k = make_env(config.task, quick), 1 if quick else samples_per_task(config.task)
    tasks = env.tasks("test")[:QUICK_TASKS] if quick else test_tasks(config.task)
    others: dict[str, AnyPolicy] = {}
    if opponent is not None and "opponent" in env.spec.seats:
        others = {"opponent": make(f"users:{opponent}")}
    played = collect_trajectories(env, {AGENT: make_player(config, out, quick), **others}, tasks, Plan(k=k))
    turns = [turn for t in played for turn in t.turns]
    return {
        "episodes": len(played),
        "reward": sum(turn.rewards.get(AGENT, 0.0) for turn in turns) / len(played),
        "victories %": 100 * sum(t.outcome is not None and t.outcome.success for t in played) / len(played),
        "illegal %": 100
        * sum(turn.info.get("result") in ("invalid", "unreadable") for turn in turns)
        / max(1, len(turns)),
        "length": len(turns) / len(played),
    }


def run_config(name: str, out: Path, opponent: str | None, quick: str | None) -> Row:
    """Train and test a cell, once."""

    def make_row() -> dict[str, float]:
        train_config(name, out, quick)
        return test_config(CONFIGS[name], out, opponent, quick is not None)

    return load_or_make_row(out, {"config": name, "opponent": opponent or "own"}, make_row)


# --- tables ----------------------------------------------------------------------------------------------------------

Cells = list[list[str | float | int | None]]


def normalise(task: str, reward: float) -> float | None:
    """The score of table 2, from the returns of table 7."""
    if task not in published.TABLE7:
        return None
    low, average, high = published.TABLE7[task]
    return anchored_score(reward, low=low, average=average, high=high)


def make_method_table(found: Mapping[str, Row], scores: bool) -> Cells:
    """Tables 2 (normalised scores) and 6 (returns): one row per task and method, with the paper's number."""
    paper, rows = published.TABLE2 if scores else published.TABLE6, Cells()
    for name, row in found.items():
        config = CONFIGS[name]
        if config.method in METHODS:
            mine = normalise(config.task, row["reward"]) if scores else row["reward"]
            rows.append([name, _round(mine, 1 if scores else 3), paper[config.task].get(config.method)])
    return rows


def make_chess_table(found: Mapping[str, Row], task: str, paper: Mapping[str, Mapping[str, float]]) -> Cells:
    """Tables 8, 9 and 10: one row per method, each column with the paper's number."""
    rows = Cells()
    for method, theirs in paper.items():
        if mine := found.get(f"{task}-{method}"):
            pairs = [(_round(mine[name], 3), theirs.get(name)) for name in CHESS]
            rows.append([method, *(cell for pair in pairs for cell in pair)])
    return rows


CHESS = ("reward", "victories %", "illegal %", "length")
CHESS_COLUMNS = ("method", *(cell for name in CHESS for cell in (name, f"{name}, paper")))


def make_tables(found: Mapping[str, Row]) -> dict[str, tuple[Sequence[str], Cells]]:
    """The paper's tables with a row that was run, by name."""
    every = {
        "table2": (("cell", "score", "paper"), make_method_table(found, scores=True)),
        "table6": (("cell", "return", "paper"), make_method_table(found, scores=False)),
        "table8": (CHESS_COLUMNS, make_chess_table(found, "chess", published.TABLE8)),
        "table9": (CHESS_COLUMNS, make_chess_table(found, "endgames", published.TABLE9)),
        "table10": (CHESS_COLUMNS, make_chess_table(found, "endgames", published.TABLE10)),
    }
    return {name: table for name, table in every.items() if table[1]}


def show_tables(tables: Mapping[str, tuple[Sequence[str], Cells]]) -> None:
    """As Markdown."""
    for name, (columns, rows) in tables.items():
        print(f"\n**{name}**\n\n| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
        for row in rows:
            print(f"| {' | '.join('' if cell is None else str(cell) for cell in row)} |")


def _round(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


def show_plan(names: Sequence[str], as_json: bool) -> None:
    """Print the trainings that would run, and their cost."""
    found = [resolve_config(name) for name in names]
    if as_json:
        print(json.dumps(found, default=dict))
        return
    for row in found:
        cost = ", ".join(f"{name} {value:,}" for name, value in row["cost"].items())  # type: ignore[union-attr]
        beta = "" if row["beta"] is None else f", beta {row['beta']:g}"
        print(f"{row['config']}: {row['model']}{beta}\n    {cost}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=CONFIGS, default=list(CONFIGS), metavar="NAME")
    parser.add_argument("--dry-run", action="store_true", help="print resolved settings and costs; load no model")
    parser.add_argument("--json", action="store_true", help="with --dry-run: everything resolved; else the rows")
    parser.add_argument(
        "--quick", nargs="?", const="", metavar="MODEL",
        help="every step at a small size, with this model or a random one for each task: to see that it runs",
    )  # fmt: skip
    parser.add_argument(
        "--opponent", help="who plays Black, such as stockfish, the paper's; default: the environment's"
    )
    parser.add_argument("--out", type=Path, default=Path("runs/lmrl/paper"), help="where datasets and trainings go")
    parser.add_argument("--save", action="store_true", help="keep the tables for the page of the paper")
    args = parser.parse_args()
    if args.dry_run:
        show_plan(args.only, args.json)
        return
    out = args.out if args.quick is None else args.out / "quick"
    try:
        found = {name: run_config(name, out, args.opponent, args.quick) for name in args.only}
    except UserError as e:
        parser.error(str(e))
    if args.json:
        print(json.dumps(found))
        return
    tables = make_tables(found)
    if args.quick is not None:
        print("Quick: games of six turns and trainings of two steps. These numbers show that every step runs, no more.")
    show_tables(tables)
    if args.save and args.quick is None:
        for name, (columns, rows) in tables.items():
            save_table("lmrl", f"paper_{name}", "python recipes/lmrl/paper.py", columns, rows)


if __name__ == "__main__":
    main()
