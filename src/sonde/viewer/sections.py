"""The runs of one environment as a part of a page: figures, bits lost, beliefs and the corresponding numbers.

A run page has a section of its one run, a report a section for each environment.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from sonde.evaluation import scale
from sonde.evaluation.by_tag import TagGroup
from sonde.evaluation.evaluate import Evaluation, compare
from sonde.evaluation.failure_kinds import LABELLED, PickFilter, label_run, summarise_failures
from sonde.evaluation.metrics import Estimate

from .evaluated_runs import EvaluatedRun, Section
from .figures import runs as figures
from .figures.axes import AgentStyle
from .figures.beliefs import RunBeliefs, TableRow, distinguish_settings, draw_beliefs, read_beliefs, tabulate_beliefs
from .figures.regret import compute_regret_curves, draw_regret
from .figures.roles import draw_roles, grade_episodes
from .figures.svg import Drawing
from .information_losses import Losses, compute_losses
from .templating import render_template
from .training_history import TrainingHistory, model_path

MANY_VALUES = 40
"""Values of a tag up to which a page has a line for each."""
_STAGE = re.compile(r"base|round-\d+(-.+)?")
"""Labels of the stages of `sonde paprika`."""


@dataclass(frozen=True, kw_only=True)
class RunNumbers:
    """A run in a section; `no_bits` and `no_score` say why it has no information per turn and no score."""

    run: EvaluatedRun
    losses: Losses | None
    no_bits: str
    no_score: str


class TagLine(NamedTuple):
    """One value of a tag: the most tasks of a run, and per run the success in percent with its interval, "" without
    such tasks."""

    value: str
    n_tasks: int
    cells: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class SectionPage:
    """`ends` are floor and reference with their mean returns, `beliefs` the beliefs of each run with their table,
    `failures` its kinds of failure (`evaluation/failure_kinds.py`) in its first `LABELLED` episodes, `tags` the tags of
    the tasks with their values."""

    section: Section
    runs: Sequence[RunNumbers]
    figures: Mapping[str, str | None]
    losses_by_turn: Sequence[tuple[AgentStyle, str]] = ()
    stage_gains: Sequence[str] = ()
    nothing_to_learn: bool = False
    beliefs: Sequence[tuple[RunBeliefs, Sequence[TableRow]]] = ()
    failures: Sequence[tuple[AgentStyle, Mapping[str, Estimate | None]]] = ()
    ends: Sequence[tuple[str, Estimate]] = ()
    tags: Sequence[tuple[str, Sequence[TagLine]]] = ()


def draw_section(section: Section) -> dict[str, Drawing]:
    """The figures of a section by name, those that its runs have the numbers for; `losses_N` is that of run N by
    turn."""
    losses = [(run.style, found) for run in section.runs if (found := _compute_losses(run)) and found.best_bits > 0]
    beliefs = distinguish_settings([found for run in section.runs if (found := read_beliefs(run)) is not None])
    drawn = _draw_figures(section, losses, find_stages(section, ()), beliefs)
    by_turn = {f"losses_{i}": drawing for i, (_, drawing) in enumerate(_draw_losses_by_turn(losses), 1)}
    return {name: drawing for name, drawing in {**drawn, **by_turn}.items() if drawing is not None}


def describe_section(section: Section, trainings: Sequence[TrainingHistory] = ()) -> SectionPage:
    """Draw all figures of a section; `trainings` are those of the page, whose stages are compared."""
    beliefs = distinguish_settings([found for run in section.runs if (found := read_beliefs(run)) is not None])
    runs = [_describe_run(run) for run in section.runs]
    known = [(r.run.style, r.losses) for r in runs if r.losses is not None]
    drawn = known if any(found.best_bits > 0 for _, found in known) else []
    stages = find_stages(section, trainings)
    return SectionPage(
        section=section,
        runs=runs,
        figures=_render_figures(section, _draw_figures(section, drawn, stages, beliefs)),
        losses_by_turn=[
            (style, drawing.to_svg(f"{section.anchor}-losses-{i}"))
            for i, (style, drawing) in enumerate(_draw_losses_by_turn(drawn))
        ],
        stage_gains=describe_gains(stages) if stages else (),
        nothing_to_learn=bool(known) and not drawn,
        beliefs=[(found, tabulate_beliefs(found)) for found in beliefs],
        failures=_count_failures(section),
        ends=_find_ends(section.runs[0]),
        tags=describe_tags([run.evaluation for run in section.runs]),
    )


def _count_failures(section: Section) -> list[tuple[AgentStyle, Mapping[str, Estimate | None]]]:
    """The kinds of failure of each run, in environments of questions and a pick."""
    shown = [run for run in section.runs if can_replay(run) and run.has_filter and run.rows]
    labelled = ((run.style, label_run(run.env, islice(run.episodes, LABELLED))) for run in shown if _picks(run))
    return [(style, summarise_failures(rows)) for style, rows in labelled if rows]


def _picks(run: EvaluatedRun) -> bool:
    first = next(iter(run.episodes), None)
    return first is not None and isinstance(run.env.filter(first.task.public), PickFilter)


def can_replay(run: EvaluatedRun) -> bool:
    """Whether the environment is the version that was played."""
    return run.version == run.env.spec.version


def describe_tags(evaluations: Sequence[Evaluation]) -> list[tuple[str, list[TagLine]]]:
    """Success of each evaluation by every tag of the tasks that has few values."""
    found: list[tuple[str, list[TagLine]]] = []
    for tag in dict.fromkeys(tag for e in evaluations for tag in e.by_tag):
        by_run = [e.by_tag.get(tag, {}) for e in evaluations]
        values = list(dict.fromkeys(value for groups in by_run for value in groups))
        if len(values) <= MANY_VALUES:
            found.append((tag, [_describe_value(value, by_run) for value in values]))
    return found


def _describe_value(value: str, by_run: Sequence[Mapping[str, TagGroup]]) -> TagLine:
    groups = [groups.get(value) for groups in by_run]
    cells = ["" if g is None else " ".join(_format_percent(g.success)) for g in groups]
    return TagLine(value, max(g.n_tasks for g in groups if g), cells)


def _format_percent(e: Estimate) -> tuple[str, str]:
    low, mean, high = (f"{100 * x:.0f}" for x in (e.low, e.mean, e.high))
    return mean, f"[{low}, {high}]"


def describe_summary(section: Section) -> SectionPage:
    """Draw only the figures that need no individual episodes, for runs that are too large for the others."""
    figures = _render_figures(section, _draw_summary(section))
    return SectionPage(section=section, runs=(), figures=defaultdict(lambda: None, figures))


def render_section(page: SectionPage) -> str:
    """The figures and tables as HTML."""
    return render_template("section.html.j2", s=page)


def _render_figures(section: Section, drawn: Mapping[str, Drawing | None]) -> dict[str, str | None]:
    return {name: drawing and drawing.to_svg(f"{section.anchor}-{name}") for name, drawing in drawn.items()}


def _draw_figures(
    section: Section,
    losses: Sequence[tuple[AgentStyle, Losses]],
    stages: Sequence[EvaluatedRun],
    beliefs: Sequence[RunBeliefs],
) -> dict[str, Drawing | None]:
    title = section.title
    won = [(run.style, e) for run in stages if (e := run.evaluation.metrics["success"]) is not None]
    curves = [(r.style, found) for r in section.runs if (found := compute_regret_curves(r.env, r.episodes)) is not None]
    graded = [(r.style, found) for r in section.runs if can_replay(r) and (found := grade_episodes(r.env, r.episodes))]
    return {
        "stages": figures.draw_stages(won, title) if won else None,
        **_draw_summary(section),
        "turns": figures.draw_turns(section),
        "efficiency": figures.draw_efficiency(section),
        "lost": figures.draw_total_losses(losses) if losses else None,
        "key": figures.draw_loss_key() if losses else None,
        **draw_beliefs(beliefs, title),
        **draw_regret(curves, title),
        **draw_roles(graded, title),
    }


def _draw_summary(section: Section) -> dict[str, Drawing | None]:
    return {
        "success": figures.draw_success(section),
        "passes": figures.draw_pass_at_k(section),
        "invalid": figures.draw_wasted_turns(section, "invalid"),
        "repeated": figures.draw_wasted_turns(section, "repeated"),
        "entropy": figures.draw_entropy(section),
    }


def _draw_losses_by_turn(losses: Sequence[tuple[AgentStyle, Losses]]) -> list[tuple[AgentStyle, Drawing]]:
    top = max([1e-9, *(found.highest_turn for _, found in losses)])
    return [(style, figures.draw_losses_by_turn(style, found, top)) for style, found in losses]


def _describe_run(run: EvaluatedRun) -> RunNumbers:
    return RunNumbers(
        run=run,
        losses=_compute_losses(run),
        no_bits=_explain_no_bits(run),
        no_score=_explain_no_score(run) if run.evaluation.metrics["reference_score"] is None else "",
    )


def _compute_losses(run: EvaluatedRun) -> Losses | None:
    return compute_losses(run.rows, run.results, run.evaluation.max_turns)


def _explain_no_bits(run: EvaluatedRun) -> str:
    """Why a run has no information per turn; empty if it has some."""
    if any(row.gains is not None for row in run.rows):
        return ""
    if not run.rows:
        return "no episode was played"
    if not run.has_filter:
        return "this environment has no exact filter, so bits cannot be computed"
    return "the run was evaluated without gains"


def _explain_no_score(run: EvaluatedRun) -> str:
    found = run.evaluation
    why = found.no_score or scale.explain_no_score(run.env, found.split, found.others, run.shelf.folder)
    return why or "the run was evaluated before floor and reference were measured; `sonde rescore` adds it"


def _find_ends(run: EvaluatedRun) -> list[tuple[str, Estimate]]:
    entry = scale.find_entry(run.env, run.shelf.folder) if run.evaluation.split == "test" else None
    return [] if entry is None else scale.entry_ends(entry)


# --- stages of a training ---------------------------------------------------------------------------------------------


def find_stages(section: Section, trainings: Sequence[TrainingHistory]) -> list[EvaluatedRun]:
    """The runs that are stages of a training, in the order given; none if there is only one.

    A stage has a label of `sonde paprika` (`base`, `round-1-sft`), or its model is the start or the result of one of
    these trainings. PAPRIKA (arXiv 2502.17543), section 4, compares the same stages.
    """
    models = {path for h in trainings for path in ({Path(h.start).resolve()} if h.start else set()) | h.model_folders}
    found = [
        run
        for run in section.runs
        if run.evaluation.metrics["success"] is not None
        and (_STAGE.fullmatch(run.evaluation.label) or model_path(run.evaluation.agent) in models)
    ]
    return found if len(found) > 1 else []


def describe_gains(runs: Sequence[EvaluatedRun]) -> list[str]:
    """The gain in success of each later stage over the first, in points, paired by task."""
    first = runs[0]
    gains: list[str] = []
    for run in runs[1:]:
        shared = {row.task for row in run.rows} & {row.task for row in first.rows}
        if run.evaluation.env != first.evaluation.env or not shared:
            gains.append(f"{run.style.name}: no tasks in common with {first.style.name}")
            continue
        gain = compare(run.evaluation, first.evaluation).success
        low, mean, high = (f"{100 * value:+.1f}".replace("-", "−") for value in (gain.low, gain.mean, gain.high))
        gains.append(f"{run.style.name} {mean} [{low}, {high}]")
    return gains
