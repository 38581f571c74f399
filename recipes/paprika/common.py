"""Shared by the experiments: a PAPRIKA pipeline per training seed, tests at two temperatures, paired statistics,
tables.

Every number is of held-out tasks (the `test` split) and of k samples per task. Differences are paired by task and
averaged over training seeds; their 95 % intervals resample seeds and tasks (`metrics.difference_over_seeds`).
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).parents[1]))
from rows import Cell, save_table

from sonde.core import AGENT, Env, Task, make
from sonde.core.types import EMPTY
from sonde.evaluation.evaluate import Evaluation, evaluate
from sonde.evaluation.metrics import Estimate, difference_over_seeds
from sonde.models.files.saving import hide_progress_bars
from sonde.runs.rollout import Plan, collect_trajectories
from sonde.train.paprika import TINY, Paprika, PipelineResult, run_pipeline

FOLDER = Path("runs/recipes/paprika")
STAGES = ("sft", "rpo")
SAMPLED, GREEDY = "temperature 1", "temperature 0"
"""Where every gain is shown: at 1 a model may gain by saying more often what it would say at 0 anyway."""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A model that ships with sonde, and the environment it plays: what it sees of the past, how many tokens an answer
    may have, the number format it plays in, whether it writes a space before an answer in tags, and what its trainings
    change in the presets `tiny_*`."""

    model: str
    env: Mapping[str, Any]
    context: str = "full"
    max_new_tokens: int = 8
    dtype: str = "auto"
    spaced: bool = False
    changes: Mapping[str, Mapping[str, Any]] = EMPTY

    def make_env(self, **options: Any) -> Env[Any]:
        config = {**self.env, **options}
        return make(str(config.pop("name")), **config)


MAZE = Subject(model="sonde-tiny-maze", env={"name": "maze", "preset": "pairs"})
BEST_ARM = Subject(model="sonde-tiny-best_arm", env={"name": "best_arm", "preset": "small"}, context="render")
MANY = Subject(
    model="sonde-tiny-many", env={"name": "maze", "preset": "pairs"}, max_new_tokens=64, dtype="float32",
    spaced=True,
    changes={
        "sft": {"lr": 5e-4, "epochs": 4.0, "batch_size": 8, "micro_batch": 8, "save_dtype": "float32"},
        "rpo": {"batch_size": 8, "micro_batch": 8, "save_dtype": "float32"},
        "grpo": {"save_dtype": "float32"},
    },
)  # fmt: skip
"""The model of many games. Its weights are stored as bfloat16, which would round away what training changes."""
GAMES: Mapping[str, Mapping[str, Any]] = {
    name: {"name": name, "preset": preset}
    for name, preset in (("maze", "pairs"), ("combination_lock", "psrl"), ("circuit_decoding", "mtp"))
}
"""Games that it sees whole and wins now and then."""


class Budget(NamedTuple):
    """Training tasks and samples of each, tasks and samples of an evaluation, training seeds."""

    tasks: int
    k: int
    tests: int
    test_k: int
    seeds: int


# --- command line ----------------------------------------------------------------------------------------------------


class Parser(argparse.ArgumentParser):
    """The options of every experiment. Quick runs get a folder of their own."""

    def __init__(self, doc: str | None) -> None:
        super().__init__(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
        self.add_argument("--quick", action="store_true", help="a first look: one seed, few episodes, wide intervals")
        self.add_argument("--seeds", type=int, help="training seeds (default 3)")
        self.add_argument("--tasks", type=int, help="training tasks, of every group where there are groups")
        self.add_argument("--tests", type=int, help="held-out tasks of an evaluation")
        self.add_argument("--out", type=Path, default=FOLDER, help=f"folder of runs and numbers (default {FOLDER})")
        self.add_argument("--workers", type=int, default=min(2, os.cpu_count() or 1), help="seeds at a time")
        self.add_argument("--model", help="a folder or the name of a model, in place of the one that ships")
        self.add_argument("--json", action="store_true", help="print JSON instead of tables")
        self.add_argument("--save", action="store_true", help="write the tables of the paper's page (docs/papers)")

    def parse_args(self, *args: Any, **kwargs: Any) -> Any:
        parsed = super().parse_args(*args, **kwargs)
        if parsed.quick:
            parsed.out = parsed.out / "quick"
        return parsed


def choose_budget(args: argparse.Namespace, full: Budget, quick: Budget) -> Budget:
    changes = {"seeds": args.seeds, "tasks": args.tasks, "tests": args.tests}
    return (quick if args.quick else full)._replace(**{name: n for name, n in changes.items() if n is not None})


def choose_subject(args: argparse.Namespace, subject: Subject) -> Subject:
    return subject if args.model is None else replace(subject, model=args.model)


def map_seeds(job: Callable[..., Any], n: int, workers: int, *args: Any) -> list[Any]:
    """`job(seed, *args)` for every seed, in processes of one thread each."""
    os.environ["OMP_NUM_THREADS"] = "1"
    if workers == 1 or n == 1:
        return [job(seed, *args) for seed in range(n)]
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        return [future.result() for future in [pool.submit(job, seed, *args) for seed in range(n)]]


# --- playing and training --------------------------------------------------------------------------------------------


def configure(subject: Subject, b: Budget, seed: int, **changes: Any) -> Paprika:
    """SFT, then RPO from there, on the model's own episodes; everything is played at temperature 1, untruncated."""
    given = {
        "model": subject.model, "envs": (subject.env,), "presets": TINY, "n_tasks": b.tasks,
        "k": b.k, "temperature": 1.0, "min_p": 0.0, "tests": b.tests, "test_k": b.test_k, "test_temperature": 1.0,
        "test_min_p": 0.0, "agent": {"context": subject.context, "max_new_tokens": subject.max_new_tokens},
        "hf": {"max_batch": 256, "dtype": subject.dtype}, "seed": seed,
        "changes": {stage: found for stage, found in subject.changes.items() if stage in changes.get("stages", STAGES)},
    }  # fmt: skip
    return Paprika(**{**given, **changes})


def resume_pipeline(config: Paprika, folder: Path, shared: Path | None = None) -> PipelineResult:
    """All stages, or those that an interrupted run left; what pipelines have in common is made once, in `shared`."""
    with hide_progress_bars():
        return run_pipeline(config, folder, shared=shared)


def play_test(
    subject: Subject, model: str, env: Env[Any], tasks: Sequence[Task], k: int, label: str, temperature: float = 1.0
) -> Evaluation:
    """A test outside a pipeline: the same tasks, worlds and sampling seeds for every model."""
    agent = make(
        "agents:llm", model=make("models:hf", model=model, max_batch=256, dtype=subject.dtype),
        context=subject.context, temperature=temperature, min_p=0.0, max_new_tokens=subject.max_new_tokens,
    )  # fmt: skip
    return evaluate(
        collect_trajectories(env, {AGENT: agent}, tasks, Plan(k=k)), tasks=[t.id for t in tasks], k=k, label=label
    )


def play_greedily(subject: Subject, model: str, env: Env[Any], n: int, label: str) -> Evaluation:
    """The first test tasks at temperature 0, where one sample of each is all there is."""
    return play_test(subject, model, env, env.tasks("test")[:n], 1, label, temperature=0.0)


def name_models(outcome: PipelineResult) -> dict[str, str]:
    """The models of a pipeline of one round, by what made them."""
    return {TITLES[stage.name]: stage.model for stage in outcome.stages}


TITLES = {"base": "base", "round-1-sft": "SFT", "round-1-rpo": "SFT + RPO"}


# --- statistics ------------------------------------------------------------------------------------------------------


def tabulate_wins(e: Evaluation) -> list[list[float]]:
    """1 where an episode was won, by task (in the order of their numbers) and sample."""
    table: dict[str, list[float]] = {}
    for row in sorted(e.rows, key=lambda r: (r.index, r.task, r.sample)):
        table.setdefault(row.task, []).append(float(row.win))
    return list(table.values())


def estimate_gain(after: Sequence[Evaluation], before: Sequence[Evaluation]) -> Estimate:
    """The mean difference in success over training seeds."""
    return difference_over_seeds([tabulate_wins(e) for e in after], [tabulate_wins(e) for e in before])


def estimate_success(tests: Sequence[Evaluation]) -> Estimate:
    """The mean success over training seeds."""
    tables = [tabulate_wins(e) for e in tests]
    return difference_over_seeds(tables, [[[0.0] for _ in table] for table in tables])


def mean_metric(tests: Sequence[Evaluation], name: str) -> float | None:
    """The mean over seeds of a metric; None where it is n/a."""
    values = [e.metrics.get(name) for e in tests]
    return None if any(v is None for v in values) else sum(v.mean for v in values if v) / len(values)


def share_legal(e: Evaluation) -> float:
    """The share of episodes without an illegal reply."""
    return sum(map(is_legal, e.rows)) / len(e.rows)


def success_if_legal(e: Evaluation) -> float:
    """Success among these: what learning the format alone could bring."""
    wins = [row.win for row in e.rows if is_legal(row)]
    return sum(wins) / len(wins) if wins else float("nan")


def is_legal(row: Any) -> bool:
    return row.kind != "unreadable" and not row.called.get("invalid")


# --- reports ---------------------------------------------------------------------------------------------------------


class Table(NamedTuple):
    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Any]]


def publish(
    args: argparse.Namespace, name: str, tables: Sequence[Table], numbers: Mapping[str, Any],
    saved: Mapping[str, Table] | None = None, seeds: int = 1, seconds: float | None = None,
) -> None:  # fmt: skip
    """Write the numbers of an experiment as JSON, and print its tables, or with `--json` the numbers. With `--save`
    write the tables of `saved`, of so many training `seeds`, by their names for the paper's page. `seconds` of CPU
    time: those of this process, unless earlier ones made a part of it."""
    seconds = round(cpu_seconds() if seconds is None else seconds, 1)
    numbers = {**numbers, "quick": args.quick, "cpu_seconds": seconds}
    path = args.out / name / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(numbers, indent=2, default=vars), "utf-8")
    for title, table in (saved or {}).items() if args.save else ():
        heads, rows = ["of", *table.heads[1:]], [[as_cell(value) for value in row] for row in table.rows]
        save_table("paprika", title, made_by(), heads, rows, range(seeds), seconds)
    if args.json:
        print(path.read_text("utf-8"))
        return
    for table in tables:
        print_table(table)
    print(f"CPU seconds in all: {seconds:.0f}; written: {path}")


def made_by() -> str:
    """The command that runs this script, without where it writes."""
    script, *words = sys.argv
    kept = [w for i, w in enumerate(words) if w != "--save" and w != "--out" and words[i - 1 : i] != ["--out"]]
    return shlex.join(["python", f"recipes/paprika/{Path(script).name}", *kept])


def as_cell(value: Any) -> Cell:
    """A number or a text; estimates with their intervals."""
    return value if value is None or isinstance(value, str | int | float) else str(value)


def print_table(content: Table) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table as Grid

    grid = Grid(title=content.title, box=box.SIMPLE_HEAD, title_justify="left")
    for i, head in enumerate(content.heads):
        grid.add_column(head, justify="right" if i else "left")
    for row in content.rows:
        grid.add_row(*(format_cell(value) for value in row))
    Console(width=140).print(grid)


def format_cell(value: Any) -> str:
    return "n/a" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)


def cpu_seconds() -> float:
    """Of this process and of those it started and waited for."""
    return sum(os.times()[:4])
