"""`sonde dataset`: datasets for offline learning, played by the papers' behaviour policies or read from their files."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from sonde.core import AGENT, UserError, unknown
from sonde.core.types import Json
from sonde.datasets import PARTS, TASKS, Dataset, Part, card, fill, held, load, parts, rows, save
from sonde.datasets import dataset as known
from sonde.runs.run import Prepared, RunConfig, begin_anew
from sonde.runs.store import Run

from . import tables
from .estimate import estimate
from .options import agent_config, in_role, model_seats
from .progress import progress
from .shared import (
    AgentOpt,
    BudgetOpt,
    CacheOpt,
    ConcurrencyOpt,
    FreshOpt,
    JsonOpt,
    ModelOpt,
    NewTokensOpt,
    TemperatureOpt,
    UrlOpt,
    UserOpt,
    UserUrlOpt,
)
from .terminal import out, stderr

app = typer.Typer(help="Datasets for offline learning.", no_args_is_help=True)


def _begun(incomplete: str) -> list[str]:
    return [name for name in TASKS if name.startswith(incomplete)]


@app.callback()
def main() -> None:
    """Datasets for offline learning."""


@app.command()
def lmrl(
    task: Annotated[str, typer.Argument(help=f"One of {', '.join(TASKS)}.", autocompletion=_begun)],
    n: Annotated[
        int | None,
        typer.Option("--n", "-n", help="Training episodes; for evaluation a tenth as many. By default the paper's."),
    ] = None,
    seed: Annotated[int, typer.Option(help="World seed.")] = 0,
    folder: Annotated[
        Path | None, typer.Option("--out", help="The folder to write or continue.", show_default="datasets/lmrl-TASK")
    ] = None,
    agent: AgentOpt = None,
    model: ModelOpt = None,
    base_url: UrlOpt = None,
    user: UserOpt = None,
    user_url: UserUrlOpt = None,
    cache: CacheOpt = None,
    temperature: TemperatureOpt = None,
    max_new_tokens: NewTokensOpt = None,
    concurrency: ConcurrencyOpt = None,
    budget: BudgetOpt = None,
    processes: Annotated[
        int | None, typer.Option(min=1, help="Processor cores to play on.", show_default="all")
    ] = None,
    file: Annotated[Path | None, typer.Option("--from", help="Read LMRL-Gym's own JSON instead of playing.")] = None,
    part: Annotated[str, typer.Option(help="What --from is read into: train or eval.")] = "train",
    fresh: FreshOpt = False,
    dry_run: Annotated[bool, typer.Option(help="Only say how many episodes, and how long they take.")] = False,
    as_json: JsonOpt = False,
) -> None:
    """Make a dataset of LMRL-Gym, as runs for training and for evaluation with a card of statistics. The same command
    continues an interrupted one; a larger --n extends it."""
    chosen, folder = known(task), folder or Path("datasets") / f"lmrl-{task}"
    if part not in PARTS:
        raise unknown("--part", part, PARTS)
    if file is not None:
        _read(task, chosen, file, folder, part, fresh=fresh, as_json=as_json)
        return
    seats: dict[str, Mapping[str, Json]] = dict(model_seats(user, None, user_url, base_url, cache))
    if agent is None and model is None and (temperature is not None or max_new_tokens is not None):
        raise UserError("--temperature, --max-new-tokens: allowed: together with --agent or --model")
    if agent is not None or model is not None:
        acting = in_role(agent, chosen.env["name"], chosen.env["preset"])
        seats[AGENT] = agent_config(
            acting, model, base_url, cache, temperature=temperature, max_new_tokens=max_new_tokens
        )
    found = parts(chosen, n=n, seed=seed, seats=seats, concurrency=concurrency or RunConfig.concurrency, budget=budget)
    if dry_run:
        _foretell(found, folder, as_json)
        return
    runs: dict[str, Run] = {}
    for each in found:
        to = folder / each.name
        if fresh:
            begin_anew(to)
        with progress(f"{task} {each.name}", each.episodes, min(each.episodes, held(each, to))) as on_done:
            runs[each.name] = fill(each, to, processes=processes, on_done=on_done)
    _finish(task, chosen, runs, folder, as_json)


def _read(task: str, chosen: Dataset, file: Path, folder: Path, part: str, *, fresh: bool, as_json: bool) -> None:
    """A file of LMRL-Gym into one part; the card is about all parts that are there."""
    to = folder / part
    if fresh:
        begin_anew(to)
    read = load(task, file, to)
    if read.first:
        n = sum(read.left_out.values())
        stderr.print(f"{n} episodes left out, of which the first: {read.first}", markup=False, soft_wrap=True)
    runs = {name: Run.load(folder / name) for name in PARTS if (folder / name / "config.json").is_file()}
    _finish(task, chosen, runs, folder, as_json)


def _foretell(found: list[Part], folder: Path, as_json: bool) -> None:
    """What there is to play and how long that takes; of models the calls and tokens."""
    told = [
        {
            "part": part.name,
            "episodes": part.episodes,
            "held": (before := held(part, folder / part.name)),
            "core_seconds": None if part.speaks else max(0, part.episodes - before) * part.cost / 1000,
        }
        for part in found
    ]
    if as_json:
        out.print_json(json.dumps(told))
        return
    for row in told:
        seconds = "" if row["core_seconds"] is None else f", about {row['core_seconds']:,.0f} s of one core"
        out.print(f"{row['part']}: {row['episodes']:,} episodes, {row['held']:,} there{seconds}", highlight=False)
    if found[0].speaks:
        estimate([_at_most(part) for part in found], out, as_json)


def _at_most(part: Part) -> Prepared:
    """The run with whole samples of its tasks, at least as many as there will be."""
    tasks = part.run.tasks[: part.episodes]
    k = math.ceil(part.episodes / len(tasks))
    return replace(part.run, tasks=tasks, config=replace(part.run.config, k=k))


def _finish(task: str, chosen: Dataset, runs: Mapping[str, Run], folder: Path, as_json: bool) -> None:
    """Write the card and show it."""
    found = card(task, chosen, runs)
    save(found, folder)
    if as_json:
        out.print_json(json.dumps(found))
        return
    out.print(tables.dataset(found["dataset"], list(runs), rows(found)))
    out.print(f"written: {folder}", highlight=False, soft_wrap=True)
