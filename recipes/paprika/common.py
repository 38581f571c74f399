"""What the experiments of this folder share: playing, training and evaluating a small model, and the statistics.

Every number is of held-out tasks (the `test` split) and of k samples per task. Differences are paired by task and
averaged over training seeds; their 95 % intervals resample seeds and tasks (`metrics.difference_over_seeds`).
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import sonde
from sonde.core import AGENT, Task, Trajectory, UserError, content_hash, make
from sonde.evaluate import Evaluation, evaluate
from sonde.metrics import Estimate, difference_over_seeds
from sonde.models.weights import weights_of
from sonde.rollout import Plan, collect
from sonde.train.collect import Game
from sonde.train.learn import learn, learn_online
from sonde.train.presets import preset

if TYPE_CHECKING:
    from sonde.train.trainer import TrainResult

FOLDER = Path("runs/recipes/paprika")
MADE_FROM = "made_from.json"
"""Written into the folder of a finished training: what it was made from."""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A model that ships with sonde, the environment it plays and how it is shown the game. `max_turns` None is the
    preset's."""

    model: str
    env: str
    preset: str
    context: str = "full"
    max_turns: int | None = None

    @property
    def game(self) -> sonde.Env[Any]:
        return make(self.env, preset=self.preset, max_turns=self.max_turns)


MAZE = Subject(model="sonde-tiny-maze", env="maze", preset="pairs")
BEST_ARM = Subject(model="sonde-tiny-best_arm", env="best_arm", preset="small", context="render")
SUBJECTS = {subject.env: subject for subject in (MAZE, BEST_ARM)}


class Budget(NamedTuple):
    """How much is played: training tasks and samples of each, tasks and samples of an evaluation, seeds."""

    tasks: int
    k: int
    tests: int
    test_k: int
    seeds: int


FULL = Budget(tasks=1200, k=3, tests=250, test_k=2, seeds=3)
QUICK = Budget(tasks=24, k=8, tests=32, test_k=2, seeds=1)


class Parser(argparse.ArgumentParser):
    """Quick runs have a folder of their own, so that no other run takes their models for its own."""

    def parse_args(self, *args: Any, **kwargs: Any) -> Any:
        found = super().parse_args(*args, **kwargs)
        if found.quick:
            found.out = found.out / "quick"
        return found


def arguments(doc: str | None) -> argparse.ArgumentParser:
    """The options of every experiment here."""
    parser = Parser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a first look: one seed, few episodes, wide intervals")
    parser.add_argument("--seeds", type=int, help="training seeds (default 3)")
    parser.add_argument("--tests", type=int, help="held-out tasks of an evaluation (default 250)")
    parser.add_argument("--out", type=Path, default=FOLDER, help=f"folder of models and plots (default {FOLDER})")
    parser.add_argument("--workers", type=int, default=min(2, os.cpu_count() or 1), help="seeds at a time")
    parser.add_argument("--model", help="another model than the one that ships, by folder or name")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    return parser


def budget(args: argparse.Namespace, full: Budget = FULL, quick: Budget = QUICK) -> Budget:
    """What was asked for."""
    found = quick if args.quick else full
    changes = {"seeds": args.seeds, "tests": args.tests}
    return found._replace(**{name: n for name, n in changes.items() if n is not None})


def subject_of(args: argparse.Namespace, subject: Subject) -> Subject:
    """The subject, with the model that was asked for."""
    return subject if args.model is None else replace(subject, model=args.model)


# --- playing and training --------------------------------------------------------------------------------------------


def player(subject: Subject, model: str, *, temperature: float = 1.0) -> Any:
    """The model in the agent's seat, drawing from its whole distribution."""
    backend = make("models:hf", model=model, max_batch=256)
    return make(
        "agents:llm", model=backend, context=subject.context, temperature=temperature, min_p=0.0, max_new_tokens=8
    )


def play(subject: Subject, model: str, tasks: Sequence[Task], k: int, seed: int) -> list[Trajectory]:
    """Episodes to learn from."""
    return collect(subject.game, {AGENT: player(subject, model)}, tasks, Plan(k=k, seed=seed))


def train_tasks(subject: Subject, n: int, seed: int, groups: Sequence[str] | None = None) -> list[Task]:
    """The `seed`-th block of n training tasks, of some groups only if they are named."""
    tasks = [t for t in subject.game.tasks("train") if groups is None or t.tags["group"] in groups]
    begin = seed * n % max(1, len(tasks) - n + 1)
    return tasks[begin : begin + n]


def test_tasks(subject: Subject, n: int, groups: Sequence[str] | None = None) -> list[Task]:
    return [t for t in subject.game.tasks("test") if groups is None or t.tags["group"] in groups][:n]


def offline(
    subject: Subject, model: str, objective: str, played: Sequence[Trajectory], folder: Path, seed: int, **changes: Any
) -> str:
    """Train on episodes with the `tiny_*` settings of the objective's family; the folder of the model."""
    name = "tiny_sft" if objective == "sft" else "tiny_rpo"
    known = preset(name, folder=str(folder), seed=seed, **changes).of(objective)
    training = replace(known, learning=replace(known.learning, context=subject.context, seed=seed))
    origin = {"model": weights_of(model), "episodes": content_hash([t.id for t in played]), **training.to_json()}
    return once(folder, origin, lambda: learn(model, training, played, fresh=True))


def online(
    subject: Subject, model: str, tasks: Sequence[Task], folder: Path, seed: int, steps: int, **more: Any
) -> str:
    """GRPO on these tasks; the folder of the model."""
    known = preset("tiny_grpo", folder=str(folder), seed=seed, max_steps=steps)
    training = replace(known, online=replace(known.online, context=subject.context, **more))
    games = [Game(subject.game, tasks, subject.env)]
    origin = {"model": weights_of(model), "tasks": content_hash([t.id for t in tasks]), **training.to_json()}
    return once(folder, origin, lambda: learn_online(model, training, games, fresh=True))


def once(folder: Path, origin: Mapping[str, Any], train: Callable[[], TrainResult]) -> str:
    """The folder of the model: what a finished training left, if it was made from just this, else of a new one."""
    settings = {name: value for name, value in origin["settings"].items() if name != "folder"}
    wanted, file = json.loads(json.dumps({**origin, "settings": settings})), folder / MADE_FROM
    if file.is_file() and json.loads(file.read_text("utf-8")) == wanted:
        return str(folder / "model")
    without_bars()
    file.unlink(missing_ok=True)
    done = train()
    file.write_text(json.dumps(wanted, indent=2), "utf-8")
    return str(done.model)


def without_bars() -> None:
    """No progress bar per file that is loaded: there are dozens."""
    from transformers.utils import logging

    logging.disable_progress_bar()


TRAINED = {"SFT": "sft", "SFT + RPO": "rpo", "GRPO": "grpo"}
"""What `objectives.py` trains, and where it puts it."""


def trained_models(out: Path, subject: Subject, seed: int) -> dict[str, str]:
    """The models that `objectives.py` left in a folder. Raises `UserError` where there are none."""
    here = out / "objectives" / subject.env / f"seed-{seed}"
    found = {name: here / part / "model" for name, part in TRAINED.items()}
    for path in found.values():
        if not (path / "config.json").is_file():
            raise UserError(
                f"{path} is missing; run objectives.py {subject.env} first, with the same --out, --seeds and --quick"
            )
    return {name: str(path) for name, path in found.items()}


# --- evaluating ------------------------------------------------------------------------------------------------------


class Tested(NamedTuple):
    """An evaluation, and per task and sample whether every reply was a legal move."""

    evaluation: Evaluation
    legal: list[list[float]]


def tested(
    subject: Subject, model: str, tasks: Sequence[Task], k: int, label: str, *, temperature: float = 1.0
) -> Tested:
    """The same tasks, worlds and sampling seeds for every model."""
    policy = player(subject, model, temperature=temperature)
    return judged(collect(subject.game, {AGENT: policy}, tasks, Plan(k=k)), tasks, k, label)


AT = {"temperature 1": 1.0, "temperature 0": 0.0}
"""What every gain is shown at: at 1 a model may gain by saying more often what it would have said at 0 anyway."""


def tested_at_both(subject: Subject, model: str, tasks: Sequence[Task], k: int, label: str) -> dict[str, Tested]:
    """By temperature; at 0 one sample of each task is all there is."""
    return {
        name: tested(subject, model, tasks, k if temperature else 1, label, temperature=temperature)
        for name, temperature in AT.items()
    }


def judged(played: Sequence[Trajectory], tasks: Sequence[Task], k: int, label: str) -> Tested:
    e = evaluate(played, tasks=[t.id for t in tasks], k=k, label=label)
    by_key = {(t.task.id, t.sample): float(_legal(t)) for t in played}
    return Tested(e, [[by_key[t.id, i] for i in range(k)] for t in tasks])


def _legal(t: Trajectory) -> bool:
    kind = t.outcome.kind if t.outcome else "error"
    return kind != "format" and all(turn.info.get("result") != "invalid" for turn in t.turns)


def wins(e: Evaluation) -> list[list[float]]:
    """1 where an episode was won, by task (in the order of their numbers) and sample."""
    table: dict[str, list[float]] = {}
    for row in sorted(e.rows, key=lambda r: (r.index, r.task, r.sample)):
        table.setdefault(row.task, []).append(float(row.win))
    return list(table.values())


def gain(after: Sequence[Tested], before: Sequence[Tested]) -> Estimate:
    """The mean difference in success over training seeds."""
    return difference_over_seeds([wins(t.evaluation) for t in after], [wins(t.evaluation) for t in before])


def success_over_seeds(tests: Sequence[Tested]) -> Estimate:
    """The mean success over training seeds; its interval resamples seeds and tasks."""
    tables = [wins(t.evaluation) for t in tests]
    return difference_over_seeds(tables, [[[0.0] for _ in table] for table in tables])


def pass_over_seeds(tests: Sequence[Tested]) -> Estimate:
    """The share of tasks that any of the samples won, likewise."""
    tables = [[[max(row)] for row in wins(t.evaluation)] for t in tests]
    return difference_over_seeds(tables, [[[0.0] for _ in table] for table in tables])


def win_rate(played: Sequence[Trajectory]) -> float:
    """The share of episodes that were won."""
    return sum(t.outcome is not None and t.outcome.success for t in played) / len(played)


def among_legal(t: Tested) -> float:
    """Success among the episodes without an illegal reply: what format alone could bring."""
    both = [
        (w, ok) for row, oks in zip(wins(t.evaluation), t.legal, strict=True) for w, ok in zip(row, oks, strict=True)
    ]
    kept = [w for w, ok in both if ok]
    return sum(kept) / len(kept) if kept else float("nan")


def share_legal(t: Tested) -> float:
    """The share of episodes without an illegal reply."""
    flags = [ok for row in t.legal for ok in row]
    return sum(flags) / len(flags)


# --- several seeds, tables -------------------------------------------------------------------------------------------


def over_seeds(job: Callable[..., Any], n: int, workers: int, *args: Any) -> list[Any]:
    """`job(seed, *args)` for every seed, in processes of one thread each."""
    os.environ["OMP_NUM_THREADS"] = "1"
    if workers == 1 or n == 1:
        return [job(seed, *args) for seed in range(n)]
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        return [f.result() for f in [pool.submit(job, seed, *args) for seed in range(n)]]


@dataclass(frozen=True)
class Clock:
    """CPU and wall seconds since it was made."""

    wall: float
    cpu: float

    @classmethod
    def start(cls) -> Clock:
        return cls(time.perf_counter(), time.process_time())

    def read(self) -> tuple[float, float]:
        return time.perf_counter() - self.wall, time.process_time() - self.cpu


def show(title: str, heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """A table on standard output."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left")
    for i, head in enumerate(heads):
        table.add_column(head, justify="right" if i else "left")
    for row in rows:
        table.add_row(*(f"{v:.3f}" if isinstance(v, float) else str(v) for v in row))
    Console(width=140).print(table)


def mean_of(tests: Sequence[Tested], name: str) -> float | None:
    """The mean over seeds of a metric; None where it is n/a."""
    found = [t.evaluation.metrics.get(name) for t in tests]
    return None if any(f is None for f in found) else sum(f.mean for f in found if f) / len(found)


def save(folder: Path, name: str, found: Mapping[str, Any]) -> Path:
    """The numbers of an experiment as JSON beside its plots."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps(found, indent=2, default=_plain), "utf-8")
    return path


class Part(NamedTuple):
    """A table of a report."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Any]]


def publish(args: argparse.Namespace, name: str, parts: Sequence[Part], found: Mapping[str, Any], plot: Path) -> None:
    """Save the numbers of an experiment beside its plot, and print its tables, or with `--json` the numbers."""
    numbers = {**found, "quick": args.quick, "cpu_seconds": round(cpu_seconds(), 1)}
    path = save(plot.parent, name, numbers)
    if args.json:
        print(json.dumps(numbers, indent=2, default=_plain))
        return
    for part in parts:
        show(*part)
    print(f"CPU seconds in all: {cpu_seconds():.0f}; written: {path}, {plot}")


def cpu_seconds() -> float:
    """Of this process and of those it started and waited for."""
    return sum(os.times()[:4])


def _plain(value: Any) -> Any:
    """Of an estimate, its fields."""
    return vars(value)
