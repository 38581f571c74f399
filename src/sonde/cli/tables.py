"""Results as tables for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from sonde.core import find
from sonde.core.registry import check_recorded
from sonde.evaluation.audit import Audit
from sonde.evaluation.evaluate import Comparison, Evaluation, mean_over_environments
from sonde.evaluation.leaderboard import Board, describe_agent
from sonde.evaluation.metrics import Estimate
from sonde.evaluation.per_turn import MANY, pass_curve
from sonde.evaluation.published import TITLE as PUBLISHED
from sonde.evaluation.published import PublishedTable
from sonde.evaluation.results import PROFILE, Headline, SuiteResult, agent_profile
from sonde.evaluation.roles import RoleScores
from sonde.evaluation.sampler_draws import DrawScores
from sonde.evaluation.scale import explain_range
from sonde.evaluation.suites import mean_paper_score, paper_score
from sonde.train.paprika import PipelineResult

from .result_table import ResultTable

NOT_AVAILABLE = "n/a"
_PARTNERS = (
    "with: players of other seats that replaced the environments' own; such results are ranked among",
    "themselves, and their score is of the environments without one (their number).",
)
_AGENT = ("environment", "agent")


def format_mean(value: Estimate | None, digits: int) -> str:
    """A mean."""
    return NOT_AVAILABLE if value is None else f"{value.mean:z.{digits}f}"


def format_interval(value: Estimate | None, digits: int = 0, percent: bool = False) -> str:
    """A mean and half the width of its interval."""
    if value is None:
        return NOT_AVAILABLE
    scale = 100.0 if percent else 1.0
    mean = round(scale * value.mean, digits) + 0.0  # no "-0"
    half = scale * (value.high - value.low) / 2
    return f"{mean:.{digits}f}±{half:.{digits}f}"


def evaluation_table(rows: Sequence[Evaluation]) -> Group:
    """One row per evaluation, and notes on the columns."""
    names = ["tasks", "success %", "pass@k", "score", "turns", "bits"]
    table = _evaluation_columns(names, rows, agent=True)
    notes = _table_notes(rows, "bits: information gained per turn.")
    return Group(table, *_defect_tables(rows, agent=True), *_sample_tables(rows, agent=True), *notes)


def audit_table(found: Audit) -> Group:
    """The shares with their intervals, and the counts."""
    table = ResultTable(("",), ("share %", "95 % interval"), f"{found.env}, {found.n} episodes")
    for name, value in found.rates.items():
        low_high = NOT_AVAILABLE if value is None else f"{100 * value.low:.1f} to {100 * value.high:.1f}"
        share = NOT_AVAILABLE if value is None else f"{100 * value.mean:.1f}"
        table.add_row(name.replace("_", " "), share, low_high)
    counts = ", ".join(f"{name.replace('_', ' ')} {n}" for name, n in found.counts.items())
    return Group(table, Text(counts, style="dim"))


def role_tables(title: str, found: RoleScores, draws: DrawScores | None = None) -> Group:
    """A row per measure of each role, and what they mean."""
    table = ResultTable(("role", "measure"), ("value", "95 % interval"), f"{title}, {found.episodes} episodes")
    for role in found.roles:
        unreadable = "" if role.unreadable is None else f", {100 * role.unreadable:.1f} % unreadable"
        table.add_row(role.role, f"{role.calls} calls{unreadable}", "", "")
        for name, value in role.measures.items():
            table.add_row("", name, *_format_measure(value))
        if role.role == "sampler" and draws is not None:
            table.add_row("", f"{draws.draws} repeated draws, {100 * draws.unreadable:.1f} % unreadable", "", "")
            table.add_row("", "gap to the exact decisions", *_format_measure(draws.gap))
            table.add_row("", "gap of as many exact draws", *_format_measure(draws.chance))
    notes = (
        "distance, own: from the exact posterior, from the exact update of what the call was handed; 0 to 1.",
        "forgotten, invented: evidence as a share of the steps so far. excess: bits too vague (+) or too sure (-).",
        "possible, consistent: samples that the beliefs allow, that all observations allow. spread: 1 right, 0 greedy.",
        "error: 0 where samples are drawn as believed, true error: as is exactly right.",
        "optimal, regret: in the world that the policy was given.",
    )
    return Group(table, *(Text(note, style="dim") for note in notes))


def _format_measure(value: Estimate | None) -> tuple[str, str]:
    if value is None:
        return NOT_AVAILABLE, ""
    return f"{value.mean:.3f}", f"{value.low:.3f} to {value.high:.3f}"


def suite_table(name: str, rows: Sequence[Evaluation], wanted: int | None = None) -> Group:
    """One row per environment of a suite that an agent has played, their mean, and notes on the columns; then the
    returns on the paper's scale, where it has one. `wanted`: the number of tasks that was asked for."""
    informed = any(e.metrics["bits_per_turn"] is not None for e in rows)
    columns = ["tasks", "success %", "pass@k", "score", "turns", *(["bits", "asks"] if informed else [])]
    table = _evaluation_columns(columns, rows, agent=False)
    table.add_section()
    score, scored = mean_over_environments(rows, "reference_score")
    cells = {
        "success %": format_interval(mean_over_environments(rows, "success")[0], percent=True),
        "score": format_interval(score) + (f" ({scored})" if 0 < scored < len(rows) else ""),
    }
    table.add_row("mean", *(cells.get(name, "") for name in table.numbers))
    few = [f"{_environment_title(e, True)} {e.n_tasks}" for e in rows if wanted is not None and e.n_tasks < wanted]
    notes = _table_notes(
        rows,
        *(["bits: information gained per turn. asks: expected bits as a share of the best question's."] * informed),
        f"mean: over the environments{', of the score over those that have one' if scored < len(rows) else ''}.",
        *([f"All tasks that there are, fewer than {wanted}: {', '.join(few)}."] if few else []),
    )
    more = (*_defect_tables(rows, agent=False), *_sample_tables(rows, agent=False), *notes, *_paper_tables(name, rows))
    return Group(Text(f"{name}, {rows[0].label}", style="italic"), table, *more)


def _paper_tables(name: str, rows: Sequence[Evaluation]) -> list[ResultTable | Text]:
    """The returns on the paper's own scale, for the environments that play the paper's game."""
    found = [(e, value) for e in rows if (value := paper_score(name, e)) is not None]
    if not found:
        return []
    table = ResultTable(("environment",), ("return", "paper 0-100"), "on the paper's own scale")
    for e, value in found:
        table.add_row(_environment_title(e, agent=False), format_interval(e.metrics["score"], 2), f"{value:.0f}")
    table.add_section()
    table.add_row("mean", "", f"{mean_paper_score(name, rows)[0]:.0f}")
    left_out = [_environment_title(e, agent=False) for e in rows if e not in [e for e, _ in found]]
    note = f"{_PAPER_MEANS.get(name, '')} Not the paper's games as played here: {', '.join(left_out)}."
    return [Text(), table, Text(note if left_out else _PAPER_MEANS.get(name, ""), style="dim")]


def leaderboard_tables(board: Board) -> Group:
    """A table for each suite and environment with results, what the papers print below it, then one over all."""
    parts: list[RenderableType] = []
    for name, results in board.suites.items():
        parts += [_board_table(name, results), *map(_published_table, board.find_published(name)), Text()]
    table = ResultTable(("agent",), ("environments", "asks", "decides", "follows"), "all agents")
    for agent, results in board.agents.items():
        found = [value for value, _ in agent_profile(results).values()]
        n = sum(len(one.environments) for one in results)
        rest = (format_interval(value, percent=True) for value in found[1:])
        table.add_row(agent, str(n), format_interval(found[0], 2), *rest)
    abouts = {one.agent: describe_agent(one) for one in board.results}
    scores = [one.headline.score for one in board.results]
    notes = (
        "±: half a 95 % interval, by task. score: 0 is random play, 100 the reference.",
        *(f"score {line}" for line in explain_range(scores)),
        "played: share of the suite in environments, tasks and samples; partial results come last, unranked.",
        "asks: expected bits as a share of the best question's. decides: share won of the episodes that knew enough.",
        "follows: turns with an answer that was readable and allowed.",
        *(_PARTNERS if any(one.partners for one in board.results) else ()),
        *(["*: this policy sees what is hidden."] if any(r.privileged for r in board.results) else []),
        *(f"{agent}: {about}" for agent, about in sorted(abouts.items())),
    )
    return Group(*parts, table, *(Text(line, style="dim") for line in notes))


def _board_table(name: str, results: Sequence[SuiteResult]) -> ResultTable:
    partners = ("with",) if any(one.partners for one in results) else ()
    columns = ("played", "score", "won %", "asks", "decides", "follows", "tokens")
    table = ResultTable(("agent", *partners), columns, name)
    for one in results:
        headline = one.headline
        success, asks, decides, follows = (one.mean_metric(name)[0] for name in ("success", *PROFILE.values()))
        table.add_row(
            one.agent + (" *" if one.privileged else ""), *([one.partners] if partners else []),
            _format_played(headline), format_interval(headline.score) + _count_scored(headline),
            format_interval(success, percent=True), format_mean(asks, 2), format_interval(decides, percent=True),
            format_interval(follows, percent=True), f"{one.tokens:,}", style="" if headline.whole else "dim",
        )  # fmt: skip
    return table


def _format_played(headline: Headline) -> str:
    """How much of a suite was played; never 100 % where something is lacking."""
    return "all" if headline.whole else "<1 %" if headline.share < 0.01 else f"{min(99, int(100 * headline.share))} %"


def _published_table(found: PublishedTable) -> Group:
    """The numbers of a paper, its models in rows, or its environments where these are more."""
    turned = len(found.environments) > len(found.rows)
    table = ResultTable(("",), [model for model, _ in found.rows] if turned else found.environments)
    for i, environment in enumerate(found.environments if turned else ()):
        table.add_row(environment, *(_format_published(values[i]) for _, values in found.rows))
    for model, values in () if turned else found.rows:
        table.add_row(model, *map(_format_published, values))
    title = Text(f"{PUBLISHED}: {found.metric}", style="italic")
    return Group(Text(), title, table, Text(f"{found.source}: {found.differs}.", style="dim"))


def _format_published(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _count_scored(headline: Headline) -> str:
    """The number of environments behind a score, where it is not of all that were played."""
    return f" ({headline.scored})" if headline.score and headline.scored < headline.played else ""


def _evaluation_columns(names: Sequence[str], rows: Sequence[Evaluation], *, agent: bool) -> ResultTable:
    names = [name for name in names if name != "pass@k" or any(e.k > 1 for e in rows)]
    names += ["regret"] if any(e.metrics["regret"] for e in rows) else []
    names += [name for name in _IF_ANY if name not in _FAULTS and _has_any(rows, name)]
    return _fill_evaluations(names, rows, agent)


def _fill_evaluations(names: Sequence[str], rows: Sequence[Evaluation], agent: bool) -> ResultTable:
    table = ResultTable(_AGENT if agent else _AGENT[:1], names)
    for e in rows:
        table.add_row(*_name_cells(e, agent), *(_COLUMNS[name](e) for name in names))
    return table


def _name_cells(e: Evaluation, agent: bool) -> tuple[str, ...]:
    return (_environment_title(e, agent), *([e.label + _privileged_mark(e)] if agent else []))


def _defect_tables(rows: Sequence[Evaluation], *, agent: bool) -> list[ResultTable]:
    """Defects of replies, for the evaluations that have any."""
    names = [name for name in _FAULTS if _has_any(rows, name)]
    if not names:
        return []
    return [_fill_evaluations(names, [e for e in rows if any(_has_any([e], name) for name in names)], agent)]


def _sample_tables(rows: Sequence[Evaluation], *, agent: bool) -> list[ResultTable | Text]:
    """mean@k with both deviations, and pass@j, for evaluations with many samples."""
    found = [(e, e.mean_at) for e in rows if e.mean_at is not None and e.k >= MANY]
    if not found:
        return []
    at = sorted({j for e, _ in found for j in pass_curve(e.metrics, e.k)} - {1})
    table = ResultTable(_AGENT if agent else _AGENT[:1], ("mean@k", "sd", "se", *(f"@{j}" for j in at)))
    for e, mean in found:
        shares = (mean.mean, mean.over_samples, mean.over_tasks)
        cells = [NOT_AVAILABLE if value is None else f"{100 * value:.1f}" for value in shares]
        passed = pass_curve(e.metrics, e.k)
        cells += [f"{100 * passed[j].mean:.0f}" if j in passed else "" for j in at]
        table.add_row(*_name_cells(e, agent), *cells)
    note = "In %. sd: of k one-sample runs (as in ΔBelief-RL). se: over tasks. @j: pass@j."
    return [table, Text(note, style="dim")]


def _table_notes(rows: Sequence[Evaluation], *columns: str) -> list[Text]:
    notes = ["±: half a 95 % interval, by task. score: 0 is random play, 100 the reference.", *columns]
    notes += [f"score {line}" for line in explain_range([e.metrics["reference_score"] for e in rows])]
    for why in dict.fromkeys(e.no_score for e in rows if e.no_score):
        notes.append(f"no score in {', '.join(dict.fromkeys(e.env_name for e in rows if e.no_score == why))}: {why}")
    if any(e.metrics["regret"] for e in rows):
        notes.append("regret: expected return of the best policy minus that of the actions taken, over an episode.")
    notes += [f"{name}: {what}" for name, what in _IF_ANY_MEANS.items() if _has_any(rows, name)]
    if any(e.privileged for e in rows):
        notes.append("*: this policy sees what is hidden.")
    notes += [
        f"{e.env_name}, {e.label}: the {seat} is {name}, not the environment's own."
        for e in rows
        for seat, name in e.others.items()
    ]
    notes += [f"{e.env_name}, {e.label}: {note}" for e in rows for note in e.notes]
    failures = [Text(note, style="bold red") for e in rows if (note := _describe_failures(e))]
    return [*(Text(note, style="dim") for note in notes), *failures]


def _describe_failures(e: Evaluation) -> str:
    """The number of failed and missing episodes, with the first error; empty if there are none."""
    lost = [f"{n} {kind}" for kind in ("error", "missing") if (n := e.kinds[kind])]
    if not lost:
        return ""
    why = next((f"; the first: {r.error}" for r in e.rows if r.error), "")
    return f"{e.env_name}, {e.label}: {', '.join(lost)} of {sum(e.kinds.values())} episodes count as failures{why}"


def _environment_title(e: Evaluation, agent: bool) -> str:
    """The environment, with its preset if that is not the default."""
    check_recorded(e.env)
    cls: Any = find(e.env["name"])
    return (
        e.env_name + ("" if e.preset == cls.presets[0] else f" ({e.preset})") + ("" if agent else _privileged_mark(e))
    )


def _privileged_mark(e: Evaluation) -> str:
    return " *" if e.privileged else ""


def _format_share(e: Evaluation, name: str) -> str:
    if (found := e.metrics.get(name)) is None:
        return NOT_AVAILABLE
    return "<1" if 0.0 < found.mean < 0.005 else f"{100 * found.mean:.0f}"


_FAULTS = {
    "unreadable %": "unreadable",
    "invalid %": "invalid",
    "refused %": "refused",
    "truncated %": "cut",
    "reasoning only %": "reasoning_only",
    "context full %": "context_full",
    "filtered %": "filtered",
}
"""Columns of reply defects, with their metrics."""
_IF_ANY = {**_FAULTS, "unclear %": "not_understood", "unknown %": "not_known", "model %": "by_model"}
"""Columns that are shown only where a value is above 0, with their metrics."""
_IF_ANY_MEANS = {
    "unreadable %": "episodes that ended because no answer was readable: sonde read RUN --outcome unreadable.",
    "invalid %": "turns that the rules did not allow: sonde read RUN --reply invalid.",
    "unclear %": "turns whose message the user did not understand: sonde read RUN --reply not_understood.",
    "unknown %": "turns whose question the user could not answer: sonde read RUN --reply not_known.",
    "refused %": "episodes with a reply that looks like a refusal: sonde read RUN --reply refused.",
    "truncated %": "episodes with a reply cut by the token limit (--max-new-tokens): sonde read RUN --reply truncated.",
    "reasoning only %": "episodes with a reply of reasoning and no answer: sonde read RUN --reply reasoning_only.",
    "context full %": "episodes that ended because the conversation no longer fitted into the model's context "
    "(--context last:K or render shows it less).",
    "filtered %": "episodes that ended because the model's host refuses what they say (a safety filter).",
    "model %": "replies of the user that its model gave because no rule applied.",
}
_COLUMNS: Mapping[str, Callable[[Evaluation], str]] = {
    "tasks": lambda e: f"{e.n_tasks}x{e.k}" if e.k > 1 else str(e.n_tasks),
    "success %": lambda e: format_interval(e.metrics["success"], percent=True),
    "pass@k": lambda e: format_interval(e.metrics[f"pass@{e.k}"], percent=True),
    "score": lambda e: format_interval(e.metrics["reference_score"]),
    "turns": lambda e: format_mean(e.metrics["turns"], 1),
    "asks": lambda e: format_mean(e.metrics["efficiency"], 2),
    "bits": lambda e: format_mean(e.metrics["bits_per_turn"], 2),
    "regret": lambda e: format_interval(e.metrics["regret"], 1),
    **{name: partial(_format_share, name=metric) for name, metric in _IF_ANY.items()},
}
_PAPER_MEANS = {
    "lmrl": "0: the lowest return, 50: the mean of the paper's dataset, 100: the highest (table 7).",
    "mtp": "The paper's metric in percent. The tasks are of its kind, not its own.",
}
"""What the paper's own scale of a suite means."""


def _has_any(rows: Sequence[Evaluation], column: str) -> bool:
    return any((value := e.metrics.get(_IF_ANY[column])) and value.mean for e in rows)


def tag_table(tag: str, rows: Sequence[Evaluation]) -> ResultTable:
    """Success, pass@k and turns by the values of a tag, for the evaluations whose tasks have it."""
    table = ResultTable((*_AGENT, tag), ("tasks", "success %", "pass@k", "turns"), f"by {tag}")
    for e in rows:
        for value, group in e.by_tag.get(tag, {}).items():
            table.add_row(
                _environment_title(e, agent=True), e.label, value, str(group.n_tasks),
                format_interval(group.success, percent=True), format_interval(group.pass_k, percent=True),
                format_mean(group.turns, 1),
            )  # fmt: skip
    return table


def comparison_table(c: Comparison, by: Sequence[str] = ()) -> ResultTable:
    """The paired differences of two runs; those of success also by these tags of the tasks."""
    title = f"{c.env_name}: {c.a} minus {c.b}, paired over {c.n_tasks} tasks"
    table = ResultTable(("metric",), ("difference", "95 % interval"), title)
    for name, value in c.differences.items():
        table.add_row(name, *_format_difference(value))
    for tag in by:
        for value, success in c.by_tag[tag].items():
            table.add_row(f"success, {tag} {value} ({success.n})", *_format_difference(success))
    return table


def _format_difference(value: Estimate) -> tuple[str, str]:
    return f"{value.mean:+.3f}", f"[{value.low:+.3f}, {value.high:+.3f}]"


class NameTable:
    """Names with their descriptions: beside them, or below where the names leave too little room."""

    def __init__(self, title: str, rows: Iterable[tuple[str, str]]) -> None:
        self.title, self.rows = title, tuple(rows)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self.title:
            yield Text(self.title, style="italic")
        beside = max((cell_len(name) for name, _ in self.rows), default=0) <= options.max_width * _WIDEST_NAME
        if beside:
            table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
            table.add_column(no_wrap=True, style="bold")
            table.add_column()
            for row in self.rows:
                table.add_row(*map(Text, row))
            yield table
            return
        for name, summary in self.rows:
            yield Text(name, style="bold")
            yield Padding(Text(summary), (0, 0, 0, 4))


_WIDEST_NAME = 0.4
"""The share of the width beyond which a description stands below its name."""
_HISTORY_COLUMNS: Mapping[str, tuple[str, str]] = {
    "success": ("won %", "percent"),
    "held_out": ("held out %", "percent"),
    "reward": ("reward", ".3g"),
    "belief": ("ΔBelief", ".3g"),
    "probability_gain": ("Δp(truth)", ".3g"),
    "exact_gain": ("bits", ".3g"),
    "truth_gain": ("truth bits", ".3g"),
    "turns": ("turns", ".1f"),
    "unreadable": ("unreadable %", "percent"),
    "cut": ("cut %", "percent"),
    "context_full": ("context full %", "percent"),
    "flat_groups": ("flat %", "percent"),
    "accuracy": ("in order %", "percent"),
    "reward_margin": ("margin", ".3g"),
    "nll": ("nll", ".3f"),
    "kl_sampled": ("KL", ".2g"),
    "weight": ("weight", ".3g"),
    "loss": ("loss", ".3g"),
    "grad_norm": ("norm", ".2g"),
    "seconds_playing": ("s playing", ".1f"),
    "seconds_training": ("s training", ".1f"),
}
"""Metrics of a training that the terminal shows, most important first, with their titles and formats. The history file
and the report have all metrics."""
_HISTORY_LEGEND: Mapping[str, str] = {
    "won %": "episodes of this step won", "held out %": "held-out tasks won",
    "reward": "per episode, as it is trained on",
    "ΔBelief": "change of the model's log-belief in the truth per episode, as shaped, before its weight",
    "Δp(truth)": "change of the probability of the truth per episode, as shaped, before its weight",
    "bits": "information gained per episode, as shaped", "truth bits": "those about the truth",
    "unreadable %": "episodes ended by an unreadable answer",
    "cut %": "replies at the limit of tokens", "context full %": "episodes ended by a full context",
    "flat %": "tasks whose episodes all had the same reward, which teaches nothing",
    "in order %": "pairs whose better episode has the greater implied reward",
    "margin": "difference of the implied rewards of a pair",
    "nll": "negative log-likelihood per trained token, in nats", "KL": "from the policy that sampled, per token",
    "weight": "mean per sample", "loss": "what the optimizer minimises", "norm": "of the gradient, before clipping",
}  # fmt: skip
"""What the titles of the columns mean, where they do not say it."""
_HISTORY_IF_ANY = {"unreadable", "cut", "context_full"}
_MAX_COLUMNS = 7
"""Number of metrics in a table that fits 80 columns."""


def dataset_table(title: str, parts: Sequence[str], rows: Iterable[Sequence[str]]) -> ResultTable:
    """The statistics of a dataset beside the paper's."""
    table = ResultTable(("",), (*parts, "paper"), title)
    for row in rows:
        table.add_row(*row)
    return table


def format_history_entry(entry: Mapping[str, float]) -> dict[str, str]:
    """An entry of a training's history, formatted, most important metrics first. Shares of unreadable, cut and too long
    replies are left out where they are 0.

    >>> format_history_entry({"loss": 0.25, "nll": 0.3871, "epoch": 1.0, "success": 0.9375})
    {'won %': '94', 'nll': '0.387', 'loss': '0.25'}
    """
    left_out = {_HISTORY_COLUMNS[key][0] for key in _HISTORY_IF_ANY if not entry.get(key)}
    return {title: text for title, text in _format_columns(entry).items() if title not in left_out}


def _format_columns(entry: Mapping[str, float]) -> dict[str, str]:
    """Every metric of an entry that has a column."""
    return {title: _format_number(entry[key], form) for key, (title, form) in _HISTORY_COLUMNS.items() if key in entry}


def _format_number(value: float, form: str) -> str:
    return f"{100 * value:.0f}" if form == "percent" else f"{value:{form}}"


def training_table(history: Sequence[Mapping[str, float]], most: int = 10) -> ResultTable:
    """The most important metrics of a training at up to `most` steps."""
    at = sorted({round(i * (len(history) - 1) / (most - 1)) for i in range(most)}) if history else []
    rows = [_format_columns(history[i]) for i in at]
    names = _choose_columns(history)
    table = ResultTable((), ("step", *names))
    for i, row in zip(at, rows, strict=True):
        table.add_row(str(int(history[i]["step"])), *(row.get(name, "") for name in names))
    return table


def explain_training(history: Sequence[Mapping[str, float]]) -> str:
    """The meaning of the columns of `training_table`.

    >>> explain_training([{"step": 1.0, "nll": 0.4}])
    'nll: negative log-likelihood per trained token, in nats.'
    """
    titles = _choose_columns(history)
    return "; ".join(f"{title}: {_HISTORY_LEGEND[title]}" for title in titles if title in _HISTORY_LEGEND) + "."


def _choose_columns(history: Sequence[Mapping[str, float]]) -> list[str]:
    """The titles of the most important metrics that any entry shows."""
    shown = {title for entry in history for title in format_history_entry(entry)}
    return [title for title, _ in _HISTORY_COLUMNS.values() if title in shown][:_MAX_COLUMNS]


def stage_table(outcome: PipelineResult) -> Group:
    """Every stage of a pipeline in every environment, and the last stage compared with the base."""
    k = outcome.stages[0].evaluations[0].k
    table = ResultTable(("environment", "stage"), ("success %", f"pass@{k}", "turns", "unreadable %"))
    for rows in zip(*(stage.evaluations for stage in outcome.stages), strict=True):
        for i, e in enumerate(rows):
            name = f"{e.env_name} {e.preset}" if i == 0 else ""
            table.add_row(
                name, e.label, format_interval(e.metrics["success"], 1, True),
                format_mean(e.metrics.get(f"pass@{e.k}"), 2), format_interval(e.metrics.get("turns"), 1),
                _format_share(e, "unreadable"),
            )  # fmt: skip
    gains = [Text(f"{g.env_name}: {g.a} - {g.b}: success {g.success}, paired by task") for g in outcome.gains]
    return Group(table, *gains)
