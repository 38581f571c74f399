"""`sonde dataset`: datasets for offline learning, played by the papers' behaviour policies or read from their files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from sonde.core import AGENT, UserError, unknown
from sonde.core.types import Json
from sonde.datasets import (
    PARTS,
    TASKS,
    Dataset,
    Part,
    count_held,
    fill_part,
    find_dataset,
    import_file,
    make_card,
    make_parts,
    save_card,
    table_rows,
)
from sonde.evaluation.run_evaluation import remove_run
from sonde.runs.games import add_judge_seat
from sonde.runs.run import RunConfig
from sonde.runs.store import Run

from . import options as opt
from . import tables
from .estimate import PlannedPlay, print_estimate
from .games import check_tasks_files, tasks_file_of
from .overrides import apply_overrides
from .players import agent_config, agent_in_role, model_seats
from .progress import episode_progress
from .terminal import out, print_result, stderr


def _complete_tasks(incomplete: str) -> list[str]:
    return [name for name in TASKS if name.startswith(incomplete)]


@dataclass(frozen=True, kw_only=True)
class LmrlDatasetCommand:
    """Make a dataset of LMRL-Gym: runs for training and for evaluation, and a card of statistics.

    The same command continues an interrupted one; a larger --n extends it.
    """

    task: Annotated[str, Argument(help=f"One of {', '.join(TASKS)}.", autocompletion=_complete_tasks)]
    n: Annotated[
        int | None,
        Option(
            "--n", "-n", help="Training episodes; evaluation has a tenth as many.", show_default="the paper's number"
        ),
    ] = None
    seed: Annotated[int, Option(help="World seed.")] = 0
    to: Annotated[
        Path | None, Option("--out", help="The folder to write or continue.", show_default="datasets/lmrl-TASK")
    ] = None
    agent: opt.AgentOpt = None
    model: opt.ModelOpt = None
    base_url: opt.UrlOpt = None
    user: opt.UserOpt = None
    judge: opt.JudgeOpt = None
    user_url: opt.UserUrlOpt = None
    max_turns: opt.TurnsOpt = None
    tasks_files: opt.FilesOpt = None
    overrides: opt.OverrideOpt = None
    cache: opt.CacheOpt = None
    temperature: opt.TemperatureOpt = None
    max_new_tokens: opt.NewTokensOpt = None
    concurrency: opt.ConcurrencyOpt = None
    budget: opt.BudgetOpt = None
    processes: Annotated[int | None, Option(min=1, help="Processor cores to play on.", show_default="all")] = None
    file: Annotated[Path | None, Option("--from", help="Read LMRL-Gym's own JSON instead of playing.")] = None
    part: Annotated[str, Option(help="The part that --from is read into: train or eval.")] = "train"
    fresh: opt.FreshOpt = False
    dry_run: Annotated[bool, Option("--dry-run", help="Only estimate the number of episodes and the time.")] = False
    as_json: opt.JsonOpt = False

    def run(self) -> None:
        chosen, folder = find_dataset(self.task), self.to or Path("datasets") / f"lmrl-{self.task}"
        if self.part not in PARTS:
            raise unknown("--part", self.part, PARTS)
        if self.file is not None:
            _import_file(self.task, chosen, self.file, folder, self.part, fresh=self.fresh, as_json=self.as_json)
            return
        env, seats = self._configure_game(chosen)
        check_tasks_files(self.tasks_files, [env])
        found = make_parts(
            chosen, n=self.n, seed=self.seed, seats=seats, env=env, tasks_file=tasks_file_of(self.tasks_files, env),
            concurrency=self.concurrency or RunConfig.concurrency, budget=self.budget,
        )  # fmt: skip
        if self.dry_run:
            _print_estimate(found, folder, self.as_json)
            return
        runs = {each.name: self._play_part(each, folder / each.name) for each in found}
        _write_card(self.task, chosen, runs, folder, self.as_json)

    def _configure_game(self, chosen: Dataset) -> tuple[Mapping[str, Json], Mapping[str, Mapping[str, Json]]]:
        """The environment and the players, with `-o env.KEY=VALUE` and `-o seats.NAME...`."""
        seats = {AGENT: dict(chosen.agent), **self._configure_seats(chosen)}
        turns = {} if self.max_turns is None else {"max_turns": self.max_turns}
        values: dict[str, Json] = {"env": {**add_judge_seat(chosen.env, seats), **turns}, "seats": seats}
        values = apply_overrides(values, self.overrides, names=("env", "seats"))
        return values["env"], values["seats"]

    def _configure_seats(self, chosen: Dataset) -> dict[str, Mapping[str, Json]]:
        """The players that replace the paper's."""
        seats: dict[str, Mapping[str, Json]] = dict(
            model_seats(self.user, self.judge, self.user_url, self.base_url, self.cache)
        )
        if self.agent is not None or self.model is not None:
            acting = agent_in_role(self.agent, chosen.env["name"], chosen.env["preset"])
            seats[AGENT] = agent_config(
                acting, self.model, self.base_url, self.cache,
                temperature=self.temperature, max_new_tokens=self.max_new_tokens,
            )  # fmt: skip
        elif self.temperature is not None or self.max_new_tokens is not None:
            raise UserError("--temperature, --max-new-tokens: allowed: only with --agent or --model")
        return seats

    def _play_part(self, part: Part, to: Path) -> Run:
        if self.fresh:
            remove_run(to)
        with episode_progress(
            f"{self.task} {part.name}", part.episodes, min(part.episodes, count_held(part, to))
        ) as on_done:
            return fill_part(part, to, processes=self.processes, on_done=on_done)


def _import_file(
    task: str, chosen: Dataset, file: Path, folder: Path, part: str, *, fresh: bool, as_json: bool
) -> None:
    """Read a file of LMRL-Gym into one part; the card covers all existing parts."""
    to = folder / part
    if fresh:
        remove_run(to)
    read = import_file(task, file, to)
    if read.first:
        n = sum(read.left_out.values())
        stderr.print(f"{n} episodes left out, of which the first: {read.first}", markup=False, soft_wrap=True)
    runs = {name: Run.load(folder / name) for name in PARTS if (folder / name / "config.json").is_file()}
    _write_card(task, chosen, runs, folder, as_json)


def _print_estimate(found: list[Part], folder: Path, as_json: bool) -> None:
    """Print how many episodes remain and how long they take; for models, the calls and tokens."""
    rows = [
        {
            "part": part.name,
            "episodes": part.episodes,
            "held": (before := count_held(part, folder / part.name)),
            "core_seconds": None if part.has_model else max(0, part.episodes - before) * part.cost / 1000,
        }
        for part in found
    ]
    if as_json:
        out.print_json(json.dumps(rows))
        return
    for row in rows:
        seconds = "" if row["core_seconds"] is None else f", about {row['core_seconds']:,.0f} s of one core"
        out.print(f"{row['part']}: {row['episodes']:,} episodes, {row['held']:,} there{seconds}", highlight=False)
    if found[0].has_model:
        print_estimate([_planned_play(part) for part in found], out, as_json)


def _planned_play(part: Part) -> PlannedPlay:
    run = part.run
    return PlannedPlay(run.env, run.policies, run.tasks[0], part.episodes, run.config.seed, part.name)


def _write_card(task: str, chosen: Dataset, runs: Mapping[str, Run], folder: Path, as_json: bool) -> None:
    """Write the card and show it."""
    found = make_card(task, chosen, runs)
    save_card(found, folder)
    print_result(found, tables.dataset_table(found["dataset"], list(runs), table_rows(found)), as_json, folder)
