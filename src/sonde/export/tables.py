"""Compute the rows of both tables (`columns.py`) from an evaluation and, if there is one, the records of its run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sonde.beliefs.elicitation import Elicited
from sonde.beliefs.records import load_beliefs
from sonde.core import AGENT, Env, Rng, Trajectory, Turn, UserError, build_recorded, unknown
from sonde.evaluation.evaluate import Evaluation, evaluate
from sonde.evaluation.per_turn import CALLED, UNANSWERED, mean_efficiency
from sonde.evaluation.ratings import mean_rating, read_ratings
from sonde.evaluation.regret import turn_regrets
from sonde.evaluation.rows import Row
from sonde.evaluation.run_evaluation import EVALUATION, load_evaluation
from sonde.runs.store import Run

from .columns import TABLES, TAG, Column, Table

_MARKS = (*CALLED, *UNANSWERED)
Cells = Mapping[str, Any]
"""One row; a missing value is None."""


@dataclass(frozen=True)
class Source:
    """An evaluation and, if available, the run that it is of."""

    evaluation: Evaluation
    run: Run | None = None

    @classmethod
    def from_folder(cls, folder: Path | str) -> Source:
        return cls.from_run(Run.load(folder))

    @classmethod
    def from_run(cls, run: Run) -> Source:
        """A run with its saved evaluation, or one computed now."""
        return cls(find_evaluation(run), run)


def find_evaluation(run: Run) -> Evaluation:
    """The saved evaluation of a run; without one, that of the episodes it holds."""
    if (run.folder / EVALUATION).is_file():
        return load_evaluation(run.folder)
    if not len(run):
        raise UserError(f"{run.folder}: holds no episodes yet; allowed: a run with episodes")
    return evaluate(run)


def table_columns(table: Table, sources: Sequence[Source]) -> dict[str, Column]:
    """The columns of a table, with those of the tags that the tasks have."""
    if table not in TABLES:
        raise unknown("table", table, TABLES)
    tags = sorted({tag for source in sources for row in source.evaluation.rows for tag in row.tags})
    extra = {f"{TAG}{tag}": Column("text", "", f"tag {tag} of the task") for tag in tags if table == "episodes"}
    return {**TABLES[table], **extra}


def tabulate(table: Table, sources: Sequence[Source]) -> Iterator[Cells]:
    """The rows of a table, source by source, in the order of tasks and samples."""
    rows = _episode_rows if table == "episodes" else _turn_rows
    return (row for source in sources for row in rows(source))


def _key_cells(e: Evaluation, row: Row) -> dict[str, Any]:
    return {
        "env": e.env_name, "preset": e.preset, "agent": e.players, "split": e.split, "seed": e.seed,
        "index": row.index, "task": row.task, "sample": row.sample, "trajectory": row.trajectory,
    }  # fmt: skip


# --- episodes ---------------------------------------------------------------------------------------------------------


def _episode_rows(source: Source) -> Iterator[Cells]:
    beliefs = load_beliefs(source.run.folder).beliefs if source.run else {}
    rated = read_ratings(source.run.folder) if source.run else {}
    for row in source.evaluation.rows:
        known = beliefs.get(row.trajectory, ())
        yield {
            **_key_cells(source.evaluation, row),
            "success": row.win,
            "outcome": row.kind,
            "truncated": row.truncated,
            "error": row.error,
            "return": row.score,
            "turns": row.turns,
            "tokens": row.tokens,
            "prior_entropy": row.entropy and row.entropy[0],
            "final_entropy": row.entropy and row.entropy[-1],
            "bits": None if row.gains is None else sum(gain.realised for gain in row.gains),
            "truth_bits": None if row.gains is None else sum(gain.truth for gain in row.gains),
            "efficiency": mean_efficiency(row),
            **{name: len(row.called.get(name, ())) for name in _MARKS},
            "regret": row.regret,
            "first_belief": known[0].target if known else None,
            "last_belief": known[-1].target if known else None,
            "naturalness": mean_rating(rated.get(row.trajectory, {})),
            **{f"{TAG}{tag}": value for tag, value in row.tags.items()},
        }


# --- turns ------------------------------------------------------------------------------------------------------------


def _turn_rows(source: Source) -> Iterator[Cells]:
    if source.run is None:
        for row in source.evaluation.rows:
            yield from _cells_of_turns(source.evaluation, row)
        return
    env = build_recorded(source.evaluation.env)
    beliefs = load_beliefs(source.run.folder).beliefs
    rows = {row.trajectory: row for row in source.evaluation.rows}
    for trajectory in source.run.trajectories.select_where(order="task_index, task, sample"):
        if row := rows.get(trajectory.id):
            record = _read_record(env, trajectory, row)
            known = beliefs.get(trajectory.id, ())
            for cells, more in zip(_cells_of_turns(source.evaluation, row, known), record, strict=True):
                yield {**cells, **more}


def _cells_of_turns(e: Evaluation, row: Row, beliefs: Sequence[Elicited] = ()) -> Iterator[dict[str, Any]]:
    """What the evaluation and elicited beliefs say about every turn."""
    for t in range(row.turns):
        gain = row.gains[t] if row.gains is not None else None
        yield {
            **_key_cells(e, row),
            "turn": t + 1,
            **{name: t in row.called.get(name, ()) for name in _MARKS},
            "entropy_before": row.entropy and row.entropy[t],
            "entropy_after": row.entropy and row.entropy[t + 1],
            "bits": gain and gain.realised,
            "truth_bits": gain and gain.truth,
            "expected_bits": gain and gain.expected,
            "best_bits": gain and gain.best,
            "efficiency": gain and gain.efficiency,
            "belief_before": beliefs[t].target if t < len(beliefs) else None,
            "belief_after": beliefs[t + 1].target if t + 1 < len(beliefs) else None,
        }


def _read_record(env: Env[Any], trajectory: Trajectory, row: Row) -> Iterator[dict[str, Any]]:
    """What the record says about every turn."""
    exact = _exact_course(env, trajectory, row)
    current = trajectory.version == env.spec.version  # another one cannot be replayed
    regrets = turn_regrets(env, trajectory) if current else None
    for turn in trajectory.turns:
        t = turn.index
        yield {
            "result": str(turn.info.get("result", "")),
            "reward": float(turn.rewards.get(AGENT, 0.0)),
            "tokens": _count_tokens(turn),
            "exact_before": exact and exact[t],
            "exact_after": exact and exact[t + 1],
            "regret": regrets and regrets[t],
        }


def _count_tokens(turn: Turn) -> int:
    usages = [c.usage for act in turn.acts for c in act.action.completions]
    return sum(usage.prompt + usage.completion for usage in usages)


def _exact_course(env: Env[Any], trajectory: Trajectory, row: Row) -> list[float] | None:
    """The exact probability of the truth before and after every turn, from that of the prior and the gains."""
    task = trajectory.task
    if row.gains is None or trajectory.version != env.spec.version or (prior := env.filter(task.public)) is None:
        return None
    hypothesis = env.hypothesis(env.reset(task, Rng(trajectory.seed, "reset", task.id)))
    course = [float(prior.prob(hypothesis))]
    for gain in row.gains:
        course.append(min(1.0, course[-1] * 2.0**gain.truth))
    return course
