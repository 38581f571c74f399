"""Evaluate an agent in an environment, following PAPRIKA, with intervals, exact information gain and a scale.

Source: PAPRIKA (arXiv 2502.17543), section 4 and appendix E: k = 4 samples per task at temperature 0.7 and min-p 0.3,
average success over samples, pass@k. An unreadable answer, an endpoint failure and a missing record all count as
failures.
Beyond the paper: unbiased pass@1..k, intervals clustered by task, success within n turns, gains in bits, efficiency,
and `reference_score` (0 = random play, 100 = the reference solver).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, Protocol

from sonde._util.argument_checks import check_call
from sonde._util.by_name import call_by_name
from sonde._util.json_types import read_as
from sonde.core import AGENT, EMPTY, Env, Spec, Trajectory, UserError, build_recorded, identity, invalid
from sonde.core.types import Json, join_surrogates
from sonde.runs import display_names
from sonde.runs.rollout import OnDone, count_tokens
from sonde.runs.store import Run

from . import metrics, per_turn, reply_defects, scale
from .by_tag import TagGroup, Tags, group_tags
from .information_gain import NOTHING, Information, score_trajectories
from .metrics import Estimate, MeanAt
from .regret import total_regret
from .rows import Row

SCHEMA = 3
KINDS = ("win", "loss", "unreadable", "out_of_turns", "error", "missing")
CUT_SHORT: Mapping[str, str] = {"context_full": "context", "filtered": "filter"}
"""Metrics of episodes that the agent could not continue, with the value of `Outcome.truncated` that they count."""

METRICS = (
    "success", "score", "reference_score", "turns", "turns_to_win", "unreadable", "bits", "bits_per_turn",
    "efficiency", *per_turn.CALLED, *per_turn.UNANSWERED, *reply_defects.SHARES, "context_full", "filtered", "by_model",
    "tokens", "regret",
)  # fmt: skip
"""The metrics of every evaluation, besides pass@1 to pass@k."""
MEANS = ("success", "reference_score")
"""The metrics that have a mean over environments: those that mean the same in each (returns do not)."""


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The results of one agent in one environment. `metrics` maps a name to an estimate, or to None for n/a; `others`
    are the display names of policies in other seats that differ from the environment's defaults."""

    env: Mapping[str, Json]
    env_name: str
    preset: str
    max_turns: int
    source: str
    agent: Mapping[str, Json]
    label: str
    split: str
    seed: int
    k: int
    n_tasks: int
    privileged: bool
    rows: tuple[Row, ...]
    metrics: Mapping[str, Estimate | None]
    kinds: Mapping[str, int]
    within: tuple[Estimate, ...]
    """The share of episodes won within 1, 2, ..., max_turns turns."""
    entropy: tuple[float, ...] | None
    """Mean posterior entropy after 0, 1, ..., max_turns turns; finished episodes keep their last value."""
    turns_played: Mapping[str, float] = field(default_factory=dict)
    """Mean, median and 90th percentile of the turns of all episodes, won or not."""
    wasted: Mapping[str, tuple[Estimate, ...]] = field(default_factory=dict)
    """`invalid`, `repeated`: of the episodes that reached turn 1, 2, ..., the share in which that turn had this mark.
    """
    by_tag: Mapping[str, Mapping[str, TagGroup]] = field(default_factory=dict)
    """Success, pass@k and turns by tag of the tasks and its value."""
    mean_at: MeanAt | None = None
    """mean@k with two deviations; None for one sample per task."""
    others: Mapping[str, str] = field(default_factory=dict)
    no_score: str = ""
    """Why there is no `reference_score`; empty if there is one."""
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    schema: int = field(default=SCHEMA)

    @property
    def players(self) -> str:
        """The agent, and the policies that replace the environment's own in other seats.

        It names the rows of a table that compares several users for one agent (ΔBelief-RL, table 2).
        """
        return " ".join([self.label, *(f"{seat}={name}" for seat, name in sorted(self.others.items()))])

    def __repr__(self) -> str:
        shown = ("success", "turns", "bits", "efficiency", "regret", "reference_score")
        found = [f"{name} {value}" for name in shown if (value := self.metrics.get(name)) is not None]
        played = f"{self.n_tasks} tasks of {self.split}, {self.k} samples each"
        return f"<Evaluation of {self.players} in {self.env_name} ({self.preset}), {played}:\n {', '.join(found)}>"

    def _repr_html_(self) -> str:
        """For notebooks: the metrics with their intervals."""
        return call_by_name("viewer.notebook:show_evaluation", self)

    def to_frame(self, of: Literal["episodes", "turns"] = "episodes", *, library: str = "") -> Any:
        """The numbers of every episode, or of every turn, as a data frame of pandas, or else of polars; `library` names
        one of them. `sonde.export.columns` has the columns; those that need the record of an episode (rewards, tokens
        per turn, elicited beliefs) are empty here: see `Run.to_frame`."""
        return call_by_name("export.frames:evaluation_to_frame", self, of, library)

    def to_json(self) -> dict[str, Json]:
        """Everything, as JSON."""
        return asdict(self)

    def summary_json(self) -> dict[str, Json]:
        """The numbers, without the rows of single episodes."""
        return asdict(replace(self, rows=()))

    @classmethod
    def from_json(cls, data: Any) -> Evaluation:
        """Read an evaluation from JSON. Raises `UserError` naming a field that is missing, unknown or ill-typed."""
        schema = data.get("schema", 0) if isinstance(data, Mapping) else type(data).__name__
        if schema != SCHEMA:
            raise UserError(f"evaluation: got schema {schema}, allowed: {SCHEMA}; `sonde rescore` after removing it")
        found = read_as(cls, data, "evaluation")
        measured = (*METRICS, *(f"pass@{j}" for j in per_turn.pass_sizes(found.k)))
        for name, known, wanted in (("metrics", found.metrics, measured), ("kinds", found.kinds, KINDS)):
            if missing := [one for one in wanted if one not in known]:
                raise UserError(f"evaluation.{name}: missing {', '.join(missing)}")
        for name, config in (("env", found.env), *([("agent", found.agent)] if found.agent else [])):
            if not isinstance(config.get("name"), str):
                raise invalid(f"evaluation.{name}.name", config.get("name"), "text")
        return found


def summarise_trajectories(
    env: Env[Any],
    trajectories: Iterable[Trajectory],
    *,
    gains: bool = True,
    folder: Path | None = None,
    on_done: OnDone | None = None,
) -> list[Row]:
    """Summarise finished trajectories. With `gains`, the exact information gain of every question is computed on all
    cores; values stored in the run `folder` are reused."""
    pairs = score_trajectories(env, trajectories, folder=folder) if gains else ((t, NOTHING) for t in trajectories)
    found: list[Row] = []
    for trajectory, known in pairs:
        found.append(summarise_trajectory(trajectory, known, total_regret(env, trajectory)))
        if on_done is not None:
            on_done(trajectory)
    return found


def summarise_trajectory(trajectory: Trajectory, known: Information = NOTHING, regret: float | None = None) -> Row:
    """Summarise a finished trajectory as a row; `known` is its precomputed information gain, `regret` its regret."""
    outcome = trajectory.outcome
    if outcome is None:
        raise UserError(f"evaluate: trajectory {trajectory.id} is unfinished, allowed: an outcome or an error")
    return Row(
        task=trajectory.task.id,
        index=trajectory.task.index,
        sample=trajectory.sample,
        trajectory=trajectory.id,
        kind="loss" if outcome.kind == "win" and not outcome.success else outcome.kind,
        score=sum(turn.rewards.get(AGENT, 0.0) for turn in trajectory.turns),
        turns=len(trajectory.turns),
        tokens=count_tokens(trajectory),
        replies=reply_defects.count_defects(trajectory),
        shared=reply_defects.count_shared(trajectory),
        truncated=outcome.truncated,
        error=join_surrogates(trajectory.error),  # an evaluation is written as UTF-8
        entropy=known.entropy,
        gains=known.gains,
        called=per_turn.marked_turns(trajectory),
        tags=trajectory.task.tags,
        regret=regret,
    )


def make_evaluation(
    env: Env[Any],
    rows: Iterable[Row],
    *,
    agent: Mapping[str, Json],
    label: str,
    split: str,
    seed: int,
    k: int,
    tasks: Sequence[str],
    tags: Tags = EMPTY,
    others: Mapping[str, Mapping[str, Json]] = EMPTY,
    privileged: bool = False,
    seconds: float = 0.0,
    folder: Path | None = None,
) -> Evaluation:
    """Compute an evaluation from rows, over the `tasks` (ids) that were to be played `k` times; missing ones count as
    failures. `tags` are those of tasks that may have no row.

    `others` holds the configurations of the policies in the other seats, each with its fingerprint; the default is the
    environment's own. `folder`: a run, or a folder of runs, in which `sonde scale` may have measured the environment.
    """
    spec, fingerprints = env.spec, {seat: str(p["fingerprint"]) for seat, p in others.items()}
    rows = tuple(sorted(rows, key=lambda r: (r.index, r.task, r.sample)))
    by_task: dict[str, list[Row]] = {task: [] for task in tasks}
    for r in rows:
        by_task.setdefault(r.task, []).append(r)
    kinds = Counter(r.kind for r in rows)
    kinds["missing"] = _count_missing(by_task, k)
    return Evaluation(
        env=env.config,
        env_name=spec.name,
        preset=spec.preset,
        max_turns=spec.max_turns,
        source=spec.source,
        agent=agent,
        label=label,
        split=split,
        seed=seed,
        k=k,
        n_tasks=len(by_task),
        privileged=privileged,
        rows=rows,
        metrics=_compute_metrics(env, by_task, k, split, fingerprints, folder),
        kinds={kind: kinds[kind] for kind in KINDS},
        within=per_turn.success_within(by_task, k, spec.max_turns),
        entropy=per_turn.mean_entropy(rows, spec.max_turns),
        turns_played=per_turn.turns_played([r.turns for r in rows]),
        wasted=per_turn.wasted_turns(by_task),
        by_tag=_evaluate_tags(by_task, {**tags, **_row_tags(rows)}, k, spec.max_turns),
        mean_at=metrics.mean_at([row[:k] for row in _win_table(by_task, k)]) if k > 1 else None,
        others=display_names.replaced_policies(env, others),
        no_score=scale.explain_no_score(env, split, fingerprints, folder),
        seconds=seconds,
        notes=reply_defects.defect_notes(rows),
    )


def _row_tags(rows: Iterable[Row]) -> Tags:
    return {row.task: row.tags for row in rows}


def _evaluate_tags(
    by_task: Mapping[str, list[Row]], tags: Tags, k: int, max_turns: int
) -> dict[str, dict[str, TagGroup]]:
    """Every tag by its values."""

    def evaluate_group(tasks: Sequence[str]) -> TagGroup:
        chosen = {task: by_task[task] for task in tasks}
        wins, turns = _win_table(chosen, k), _turn_table(chosen, k, max_turns)
        return TagGroup(
            n_tasks=len(tasks),
            success=metrics.rate(wins),
            pass_k=_pass_rate(wins, k, k),
            turns=metrics.mean(turns, bounds=(0.0, float(max_turns))),
        )

    known = {task: tags[task] for task in by_task if task in tags}
    return {
        tag: {value: evaluate_group(tasks) for value, tasks in groups.items()}
        for tag, groups in group_tags(known).items()
    }


def _pass_rate(wins: Sequence[Sequence[float]], n: int, k: int) -> Estimate:
    """pass@n from k samples per task; so many draws share no sample."""
    chances = [metrics.pass_at(len(w), round(sum(w)), n) for w in wins]
    return metrics.rate([[chance] * (k // n) for chance in chances])


def _count_missing(by_task: Mapping[str, list[Row]], k: int) -> int:
    return sum(max(0, k - len(rows)) for rows in by_task.values())


def _compute_metrics(
    env: Env[Any],
    by_task: Mapping[str, list[Row]],
    k: int,
    split: str,
    others: Mapping[str, str],
    folder: Path | None,
) -> dict[str, Estimate | None]:
    spec = env.spec
    wins = _win_table(by_task, k)
    found: dict[str, Estimate | None] = {"success": metrics.rate(wins)}
    for n in range(1, k + 1):
        found[f"pass@{n}"] = _pass_rate(wins, n, k)
    score = metrics.estimate(_score_table(by_task, k, _worst_score(spec)), bounds=scale.return_bounds(spec))
    found["score"] = score
    found["reference_score"] = scale.reference_score(env, split, score, others, folder)
    turns, bits = (0.0, float(spec.max_turns)), (0.0, _most_bits(by_task))
    found["turns"] = metrics.mean(_turn_table(by_task, k, spec.max_turns), bounds=turns)
    found["turns_to_win"] = _mean_of(by_task, lambda r: float(r.turns) if r.win else None, turns)
    found["unreadable"] = metrics.rate(_make_table(by_task, k, lambda r: float(r.kind == "unreadable"), 0.0))
    found["bits"] = _mean_of(by_task, lambda r: None if r.gains is None else sum(g.realised for g in r.gains), bits)
    found["bits_per_turn"] = _mean_of(
        by_task, lambda r: sum(g.realised for g in r.gains) / len(r.gains) if r.gains else None, bits
    )
    found["efficiency"] = _mean_of(by_task, per_turn.mean_efficiency, (0.0, 1.0))
    for name in (*per_turn.CALLED, *per_turn.UNANSWERED):
        found[name] = _mean_of(by_task, partial(per_turn.marked_share, name=name), (0.0, 1.0))
    for name, by in CUT_SHORT.items():
        found[name] = metrics.rate(_make_table(by_task, k, partial(_cut_by, by=by), 0.0))
    for name, table in reply_defects.defect_tables(by_task).items():
        found[name] = metrics.rate(table) if table else None
    found["by_model"] = _mean_of(by_task, lambda r: r.shared.by_model, (0.0, 1.0))
    found["tokens"] = _mean_of(by_task, lambda r: float(r.tokens), (0.0, math.inf))
    found["regret"] = _mean_of(by_task, lambda r: r.regret, (0.0, math.inf))
    return found


def _most_bits(by_task: Mapping[str, list[Row]]) -> float:
    """The largest prior entropy; the mean gain of an exact posterior lies between 0 and this."""
    return max((r.entropy[0] for rows in by_task.values() for r in rows if r.entropy), default=0.0)


def _cut_by(row: Row, by: str) -> float:
    return float(row.truncated == by)


def _worst_score(spec: Spec) -> float:
    """The score of an unfinished episode: the lowest reward of a turn, in every turn."""
    return scale.return_bounds(spec)[0]


def _win_table(by_task: Mapping[str, list[Row]], k: int) -> list[list[float]]:
    return _make_table(by_task, k, lambda r: float(r.win), 0.0)


def _score_table(by_task: Mapping[str, list[Row]], k: int, worst: float) -> list[list[float]]:
    """Returns; unfinished and missing episodes get the worst score."""
    return _make_table(by_task, k, lambda r: worst if r.is_broken_off else r.score, worst)


def _turn_table(by_task: Mapping[str, list[Row]], k: int, limit: int) -> list[list[float]]:
    """Turns until the win; episodes that were not won count as the limit."""
    return _make_table(by_task, k, lambda r: float(r.turns if r.win else limit), float(limit))


def _make_table(by_task: Mapping[str, list[Row]], k: int, value: Any, missing: float) -> list[list[float]]:
    """One row per task with k values or more; missing episodes get `missing`."""
    return [[value(r) for r in rows] + [missing] * (k - len(rows)) for rows in by_task.values()]


def _mean_of(by_task: Mapping[str, list[Row]], value: Any, bounds: metrics.Bounds) -> Estimate | None:
    """The mean over the episodes that have the value; None if there are none."""
    table = [[v for r in rows if (v := value(r)) is not None] for rows in by_task.values()]
    table = [values for values in table if values]
    return metrics.mean(table, bounds=bounds) if table else None


@check_call
def evaluate(
    trajectories: Iterable[Trajectory],
    *,
    tasks: Sequence[str] = (),
    k: int | None = None,
    label: str = "",
    gains: bool = True,
    seconds: float = 0.0,
    folder: Path | None = None,
) -> Evaluation:
    """Evaluate recorded trajectories of one environment and one agent.

    `tasks` are the ids of all tasks that were to be played and `k` the samples of each; by default those in the record.
    `folder`: a folder of runs with the `scale.json` of `sonde scale`, for an environment whose scale does not come with
    sonde; by default that of a `Run`. The information gain of a `Run` is computed once and stored in its folder.
    """
    own = trajectories.folder if isinstance(trajectories, Run) else None
    found = list(trajectories)
    if not found:
        raise UserError("evaluate: got no trajectories, allowed: at least one")
    _check_comparable(found)
    first = found[0]
    env: Env[Any] = build_recorded(first.env)
    per_task = Counter(t.task.id for t in found)
    return make_evaluation(
        env,
        summarise_trajectories(env, found, gains=gains, folder=own),
        agent=first.policies.get(AGENT, {}),
        label=label or (display_names.policy_label(first.policies[AGENT]) if AGENT in first.policies else AGENT),
        split=first.task.split,
        seed=first.seed,
        k=k or max(per_task.values()),
        tasks=tasks or sorted({t.task.id for t in found}),
        others={seat: policy for seat, policy in first.policies.items() if seat != AGENT},
        privileged=any(t.privileged for t in found),
        seconds=seconds,
        folder=folder or own,
    )


def _check_comparable(found: Sequence[Trajectory]) -> None:
    """Raise `UserError` for episodes that no single evaluation can cover: of several environments, agents, splits or
    seeds, or one twice."""
    first = found[0]
    for t in found:
        if not isinstance(t, Trajectory):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise invalid("evaluate: trajectories", t, "trajectories, such as Run.load(folder)")
        if (t.env, t.version, identity(t.policies)) != (first.env, first.version, identity(first.policies)):
            raise UserError("evaluate: got several environments or agents, allowed: the same one in every seat")
        if t.task.split != first.task.split:
            raise UserError(f"evaluate: got splits {first.task.split} and {t.task.split}, allowed: tasks of one split")
        if t.seed != first.seed:
            raise UserError(f"evaluate: got seeds {first.seed} and {t.seed}, allowed: trajectories of one world seed")
    twice = [key for key, n in Counter((t.task.id, t.sample) for t in found).items() if n > 1]
    if twice:
        raise UserError(f"evaluate: got sample {twice[0][1]} of task {twice[0][0]} more than once, allowed: once")


class Measured(Protocol):
    """The metrics of an agent in one environment."""

    @property
    def metrics(self) -> Mapping[str, Estimate | None]: ...


def mean_over_environments(evaluations: Iterable[Measured], name: str) -> tuple[Estimate | None, int]:
    """The mean of a metric over the environments that have it, with equal weights, and their number. Those without a
    `reference_score` have no scale: their floor is not below their reference by play (`Evaluation.no_score`)."""
    values = [value for e in evaluations if (value := e.metrics[name]) is not None]
    return (metrics.mean_of_estimates(values) if values else None), len(values)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Differences of two evaluations on the same tasks: the mean of A - B, paired by task."""

    env_name: str
    a: str
    b: str
    n_tasks: int
    success: Estimate
    score: Estimate
    turns: Estimate
    by_tag: Mapping[str, Mapping[str, Estimate]] = field(default_factory=dict)
    """The difference in success by tag of the tasks and its value."""

    @property
    def differences(self) -> Mapping[str, Estimate]:
        """The differences over all tasks, by the names that tables use."""
        return {"success": self.success, "return": self.score, "turns": self.turns}

    def __repr__(self) -> str:
        found = [f"{name} {d.mean:+.3f} [{d.low:+.3f}, {d.high:+.3f}]" for name, d in self.differences.items()]
        compared = f"{self.env_name}, {self.n_tasks} tasks of both, {self.a} minus {self.b}"
        return f"<Comparison in {compared}:\n {', '.join(found)}>"

    def _repr_html_(self) -> str:
        """For notebooks: the differences with their intervals."""
        return call_by_name("viewer.notebook:show_comparison", self)


@check_call
def compare(a: Evaluation, b: Evaluation) -> Comparison:
    """Compare two evaluations, A - B, paired by the tasks of both; a missing sample counts as in an evaluation."""
    _check_same_environment(a, b)
    shared = sorted({r.task for r in a.rows} & {r.task for r in b.rows})
    if not shared:
        raise UserError("compare: the evaluations share no task; allowed: runs on the same tasks")
    rows_a, rows_b = (_rows_by_task(e, shared) for e in (a, b))
    limit, scores = a.max_turns, scale.return_bounds(build_recorded(a.env).spec)
    share = (0.0, 1.0)

    def difference(make_table: Callable[..., Any], bounds: metrics.Bounds, tasks: Sequence[str] = shared) -> Estimate:
        table_a, table_b = (
            make_table({task: rows[task] for task in tasks}, e.k) for rows, e in ((rows_a, a), (rows_b, b))
        )
        return metrics.paired_difference(table_a, table_b, bounds=bounds)

    tags = {task: row for task, row in _row_tags(a.rows).items() if task in rows_a}
    return Comparison(
        env_name=a.env_name,
        a=a.label if a.others == b.others else a.players,
        b=b.label if a.others == b.others else b.players,
        n_tasks=len(shared),
        success=difference(_win_table, share),
        score=difference(partial(_score_table, worst=scores[0]), scores),
        turns=difference(partial(_turn_table, limit=limit), (0.0, float(limit))),
        by_tag={
            tag: {value: difference(_win_table, share, tasks) for value, tasks in groups.items()}
            for tag, groups in group_tags(tags).items()
        },
    )


def _check_same_environment(a: Evaluation, b: Evaluation) -> None:
    """Raise `UserError` naming the settings in which the environments of two evaluations differ."""
    if a.env != b.env:
        apart = [key for key in {**a.env, **b.env} if a.env.get(key) != b.env.get(key)]
        got = " and ".join(", ".join(f"{key} {e.env.get(key)}" for key in apart) for e in (a, b))
        raise UserError(f"compare: env: got {got}, allowed: the same environment in both")


def _rows_by_task(e: Evaluation, tasks: Sequence[str]) -> dict[str, list[Row]]:
    """The rows of these tasks."""
    found: dict[str, list[Row]] = {task: [] for task in tasks}
    for row in e.rows:
        if row.task in found:
            found[row.task].append(row)
    return found
