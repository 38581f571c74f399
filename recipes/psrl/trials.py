"""Measure trials of an agent: cumulative regret, problems solved, costs of calls, exploration of a bandit.

The paper shows its results as curves without numbers, so our tables accompany its words. They are printed, as text or
JSON, and saved for the page of the paper (`docs/build_papers.py`).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import sonde
from sonde.core import Trajectory
from sonde.evaluation import regret
from sonde.evaluation.regret import MeanCurve
from sonde.runs.rollout import Plan, collect_trajectories

sys.path.append(str(Path(__file__).parents[1]))
from rows import Cell, save_table

PAPER = "Toward Efficient Exploration by LLM Agents"
SOLVED = ("combination_lock", "letter_wordle", "customer_service_bandit")
"""The problems that end when they are solved."""


class Row(NamedTuple):
    """An agent's trials: cumulative regret after every sub-episode, and other numbers by name."""

    agent: str
    trials: int
    regret: MeanCurve
    more: Mapping[str, float | None]
    bandit: regret.BanditReport | None
    failed: str = ""


class Table(NamedTuple):
    """A table of a figure: its name in `results/papers/psrl`, and for each column a function from a row to its cell."""

    name: str
    columns: Mapping[str, Callable[[Row], Cell]]


def play_trials(
    env: sonde.Env[Any], agent: Any, trials: int, seed: int, others: Mapping[str, Any] = {}
) -> list[Trajectory]:
    """Play this many trials in worlds of the prior: tasks of both splits, with several samples of each if there are too
    few tasks. `others` are policies in other seats, in the place of the environment's own."""
    tasks = [*env.tasks("train"), *env.tasks("test")]
    k = -(-trials // len(tasks))
    plan = Plan(k=k, seed=seed)
    return list(collect_trajectories(env, {"agent": agent, **others}, tasks[: -(-trials // k)], plan, keep_open=True))[
        :trials
    ]


def measure_agent(
    env: sonde.Env[Any], label: str, agent: Any, trials: int, seed: int, others: Mapping[str, Any] = {}
) -> Row:
    """Play and measure. Trials that failed for outside reasons are left out and reported."""
    played = play_trials(env, agent, trials, seed, others)
    failed = [t.error for t in played if t.error]
    good = [t for t in played if not t.error]
    if not good:
        raise SystemExit(f"{label}: all {len(played)} trials failed: {failed[0]}")
    table = regret.regret_table(env, good)
    ends: dict[str, float | None] = {"last 5": float(table[:, -5:].mean())}
    if env.name in SOLVED:
        took = regret.solve_rate([regret.episodes_to_solve(t) for t in good])
        ends = {"solved": took.rate, "in": took.sub_episodes if took.rate else None}
    whole = env.name == "bernoulli_bandit" and all(len(t.turns) == table.shape[1] for t in good)
    bandit = regret.bandit_report(env, good) if whole else None
    told = f"{len(failed)} trials failed: {failed[0][:60]}" if failed else ""
    return Row(label, len(good), regret.cumulative_regret(table), {**ends, **count_calls(good)}, bandit, told)


def count_calls(played: Sequence[Trajectory]) -> dict[str, float | None]:
    """Model calls and thousands of tokens per trial, and the share of calls that ended in a fallback."""
    spent = [cost for t in played for cost in regret.cost_by_call(t).items()]
    calls = sum(cost.calls for _, cost in spent)
    if not calls:
        return {"calls": None, "k tokens": None, "fallback": None}
    return {
        "calls": calls / len(played),
        "k tokens": sum(cost.tokens for _, cost in spent) / len(played) / 1000,
        "fallback": sum(cost.calls for name, cost in spent if name.endswith(":fallback")) / calls,
    }


# --- tables ----------------------------------------------------------------------------------------------------------


def format_point(curve: MeanCurve, k: int) -> str:
    """A point of a curve after `k` sub-episodes: mean ± standard error."""
    return f"{curve.mean[k - 1]:.3f} ± {curve.error[k - 1]:.3f}"


def regret_table(name: str, points: Sequence[int], more: Sequence[str]) -> Table:
    """The table of cumulative regret after some sub-episodes, and of other numbers of the rows."""

    def after(k: int) -> Callable[[Row], Cell]:
        return lambda row: format_point(row.regret, k)

    def other(column: str) -> Callable[[Row], Cell]:
        return lambda row: row.more[column]

    columns = {f"after {k}": after(k) for k in points} | {column: other(column) for column in more}
    return Table(name, {"agent": lambda row: row.agent, "trials": lambda row: row.trials, **columns})


def bandit_table(name: str, columns: Mapping[str, tuple[str, int]]) -> Table:
    """Points of the curves of a `BanditReport`: (curve, period) by column."""

    def point(curve: str, k: int) -> Callable[[Row], Cell]:
        return lambda row: None if row.bandit is None else format_point(getattr(row.bandit, curve), k)

    cells = {column: point(*of) for column, of in columns.items()}
    return Table(name, {"agent": lambda row: row.agent, "trials": lambda row: row.trials, **cells})


def show_tables(title: str, tables: Sequence[Table], rows: Sequence[Row], args: argparse.Namespace) -> None:
    """Print the tables, or JSON; --save also stores them."""
    made = [(t, [[cell(row) for cell in t.columns.values()] for row in rows]) for t in tables]
    if args.json:
        data = {t.name: [dict(zip(t.columns, row, strict=True)) for row in cells] for t, cells in made}
        print(json.dumps({"title": title, "tables": data}, indent=1, ensure_ascii=False))
    else:
        print(title)
        for table, cells in made:
            print_cells([[*table.columns], *cells])
        print("Cumulative regret and shares: mean ± standard error over trials.")
        print("\n".join(f"{row.agent}: {row.failed}" for row in rows if row.failed))
    if args.save:
        for table, cells in made:
            save_cells(table.name, [*table.columns], cells, args.seed)


def save_cells(name: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]], seed: int) -> None:
    """Save a table with the command that made it."""
    options = (word for word in sys.argv[1:] if word != "--save")
    command = " ".join(["python", f"recipes/psrl/{Path(sys.argv[0]).name}", *options])
    save_table("psrl", name, command, columns, rows, [seed], time.process_time())


def print_cells(lines: Sequence[Sequence[Cell]]) -> None:
    """Print lines in columns as wide as their longest cell."""
    texts = [["" if c is None else f"{c:.3f}" if isinstance(c, float) else str(c) for c in line] for line in lines]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    for first, *rest in texts:
        cells = "".join(f"  {text:>{width}}" for text, width in zip(rest, widths[1:], strict=True))
        print(f"{first:{widths[0]}}{cells}".rstrip())
    print()
