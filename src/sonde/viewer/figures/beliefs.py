"""Belief figures: elicited beliefs of a run by turn and outcome, and compared with the exact posterior.

The first figure is ΔBelief-RL's figure 2; the others need the exact posterior. Only for runs with annotations of
`sonde elicit`. Bands and bars are 95 % intervals, clustered by task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from sonde.beliefs import records as belief_records
from sonde.beliefs.calibration import BeliefSummary, split_by_outcome
from sonde.beliefs.elicitation import Elicited
from sonde.evaluation.metrics import Estimate

from ..evaluated_runs import EvaluatedRun
from ..templating import to_compact_json
from .axes import AgentStyle, Line, draw_lines, figure_axes, label_ends, plot_estimates, plot_line, set_turn_ticks
from .svg import GRID, MUTED, Drawing

_FADED = 0.45
_FEW = 3
"""The smallest number of episodes for a point of a curve, unless fewer were played at all."""


@dataclass(frozen=True, kw_only=True)
class RunBeliefs:
    """The beliefs of a run: by trajectory, and summarised over all episodes, wins and losses."""

    style: AgentStyle
    setting: Mapping[str, Any]
    beliefs: Mapping[str, tuple[Elicited, ...]]
    parts: Mapping[str, BeliefSummary]

    @property
    def about(self) -> str:
        """Whose beliefs these are, and how they were elicited."""
        given = self.setting["candidates"]
        over = {"target": "the truth alone", "all": "all hypotheses"}.get(given if isinstance(given, str) else "")
        n = given if isinstance(given, int) else len(given)
        model, template = _format_setting(self.setting, "model"), _format_setting(self.setting, "template")
        return f"{model}, template {template}, {over or f'{n} candidates'}, {self.setting['aggregate']} over tokens"


class TableRow(NamedTuple):
    """A row of the table: its name, and its value for all episodes, wins and losses."""

    name: str
    cells: Sequence[str]


def read_beliefs(run: EvaluatedRun) -> RunBeliefs | None:
    """The beliefs of a run. None if none were elicited, or if the environment has another version, so that nothing can
    be replayed."""
    notes = run.shelf.beliefs
    if run.version != run.env.spec.version:
        return None
    courses = belief_records.belief_courses(run.env, run.episodes, notes.beliefs)
    if not courses:
        return None
    return RunBeliefs(style=run.style, setting=notes.setting, beliefs=notes.beliefs, parts=split_by_outcome(courses))


def distinguish_settings(runs: Sequence[RunBeliefs]) -> list[RunBeliefs]:
    """Give each set of beliefs of one agent its own style, named by the elicitation settings that differ."""
    settings = [run.setting for run in runs]
    keys = [key for key in (settings[0] if runs else ()) if len({_format_setting(s, key) for s in settings}) > 1]
    if len({run.style.number for run in runs}) == len(runs) or not keys:
        return list(runs)
    several = len({run.style.number for run in runs}) > 1
    found: list[RunBeliefs] = []
    for i, run in enumerate(runs):
        name = " ".join([run.style.short[:6]] * several + [_format_setting(run.setting, key) for key in keys])
        look = AgentStyle.from_number(run.style.number, name, i)
        found.append(replace(run, style=replace(look, dash="-")))
    return found


def _format_setting(setting: Mapping[str, Any], key: str) -> str:
    value = setting[key]
    if key == "model":
        value = value.get("model", str(value["name"]).removeprefix("models:"))
    return to_compact_json(value, 60)


def draw_beliefs(runs: Sequence[RunBeliefs], title: str) -> dict[str, Drawing | None]:
    """The figures of a section by name, None if no run has the numbers."""
    compared = [run for run in runs if run.parts["all"].divergence]
    return {
        "belief": _draw_by_outcome(runs, title) if runs else None,
        "believed": _draw_believed_and_exact(compared, title) if compared else None,
        "divergence": _draw_divergence(compared, title) if compared else None,
        "reliability": _draw_reliability(compared, title) if compared else None,
        "updating": _draw_updating_factors(compared, title) if _list_factors(compared) else None,
    }


def _draw_by_outcome(runs: Sequence[RunBeliefs], title: str) -> Drawing:
    with figure_axes(left=0.15, right=0.76) as ax:
        ends: list[tuple[float, AgentStyle]] = []
        for run in runs:
            for part, alpha in (("lost", _FADED), ("won", 1.0)):
                curve, reached = run.parts[part].target, run.parts[part].reached
                if curve := curve[: _count_enough(reached)]:
                    plot_estimates(ax, run.style, curve, alpha=alpha)
                    if len(runs) == 1 or part == "won":
                        ends.append((curve[-1].mean, _style_of_part(run.style, part, len(runs))))
        ax.set(xlabel="turns", ylabel="ln b of the truth (nats)")
        set_turn_ticks(ax, 0, _last_turn(runs))
        label_ends(ax, ends)
        return Drawing(ax.figure, f"Elicited log-probability of the truth by turn and outcome in {title}")


def _count_enough(reached: Sequence[int]) -> int:
    return sum(n >= min(_FEW, reached[0]) for n in reached)


def _style_of_part(style: AgentStyle, part: str, n: int) -> AgentStyle:
    """The style, with the line's own name if all lines belong to one agent."""
    return replace(style, name=part) if n == 1 else style


def _last_turn(runs: Sequence[RunBeliefs]) -> int:
    return max(1, *(len(run.parts["all"].target) - 1 for run in runs))


def _draw_believed_and_exact(runs: Sequence[RunBeliefs], title: str) -> Drawing:
    with figure_axes(right=0.76) as ax:
        ends: list[tuple[float, AgentStyle]] = []
        for run in runs:
            every = run.parts["all"]
            ax.plot(
                range(len(every.exact)), [e.mean for e in every.exact], color=run.style.colour, linewidth=1.4,
                linestyle=(0, (3, 2)), gid=f"agent-{run.style.number}",
            )  # fmt: skip
            plot_estimates(ax, run.style, every.believed)
            ends.append((every.believed[-1].mean, _style_of_part(run.style, "believed", len(runs))))
            if len(runs) == 1:
                ends.append((every.exact[-1].mean, replace(run.style, name="exact")))
        ax.set(xlabel="turns", ylabel="probability of the truth", ylim=(0, 1.02))
        set_turn_ticks(ax, 0, _last_turn(runs))
        label_ends(ax, ends)
        return Drawing(ax.figure, f"Probability of the truth by turn, as believed and exact, in {title}")


def _draw_divergence(runs: Sequence[RunBeliefs], title: str) -> Drawing:
    lines = [Line(run.style, run.parts["all"].divergence) for run in runs]
    about = f"Divergence of the belief from the exact posterior by turn in {title}"
    labels = {"xlabel": "turns", "ylabel": "KL(exact || believed) (bits)"}
    return draw_lines(lines, about, labels, turns=(0, _last_turn(runs)), from_zero=True)


def _draw_reliability(runs: Sequence[RunBeliefs], title: str) -> Drawing:
    with figure_axes(right=0.76) as ax:
        ends: list[tuple[float, AgentStyle]] = []
        top = 0.05
        for run in runs:
            found = run.parts["all"].reliability
            if found is None:
                continue
            x, y = [b.believed for b in found.bins], [b.true.mean for b in found.bins]
            low = [b.true.mean - b.true.low for b in found.bins]
            high = [b.true.high - b.true.mean for b in found.bins]
            ax.errorbar(x, y, [low, high], fmt="none", ecolor=run.style.colour, elinewidth=1.2, alpha=_FADED)
            plot_line(ax, run.style, x, y)
            exact = [b.exact for b in found.bins]
            ax.plot(x, exact, color=MUTED, linestyle="", marker="_", markersize=9, gid=f"agent-{run.style.number}")
            ends.append((y[-1], run.style))
            top = max([top, *x, *(b.true.high for b in found.bins)])
        top = min(1.0, 1.05 * top)
        ax.plot([0, top], [0, top], color=GRID, linewidth=1.4, zorder=0)
        ax.set(xlabel="believed", ylabel="share true", xlim=(-0.02 * top, top), ylim=(-0.02 * top, top))
        label_ends(ax, ends)
        return Drawing(ax.figure, f"Reliability of beliefs about candidates in {title}")


def _list_factors(runs: Sequence[RunBeliefs]) -> list[tuple[AgentStyle, str, Estimate]]:
    rows: list[tuple[AgentStyle, str, Estimate]] = []
    for run in runs:
        every = run.parts["all"]
        found = (("truth", every.updating_truth), ("all pairs", every.updating_pairs))
        rows += [(run.style, what, value) for what, value in found if value is not None]
    return rows


def _draw_updating_factors(runs: Sequence[RunBeliefs], title: str) -> Drawing:
    rows = _list_factors(runs)
    height = 0.62 + max(0.8, 0.34 * len(rows))
    several = len({style.name for style, _, _ in rows}) > 1
    with figure_axes(height, left=0.47 if several else 0.27, right=0.88) as ax:
        ax.axvline(1.0, color=MUTED, linewidth=0.9, linestyle=(0, (3, 2)), zorder=0)
        for y, (style, what, e) in enumerate(rows):
            look = {"color": style.colour, "gid": f"agent-{style.number}"}
            ax.plot([e.low, e.high], [y, y], linewidth=2.4, alpha=_FADED, **look)
            ax.plot([e.mean], [y], marker=style.marker, markersize=6, **look)
            ax.text(
                1.02, y, _print_minus(f"{e.mean:.2f}"), transform=ax.get_yaxis_transform(), va="center", fontsize=8.5
            )
            ax.text(
                -0.02, y, f"{style.short}, {what}" if several else what, transform=ax.get_yaxis_transform(), ha="right",
                va="center", fontsize=8.5, color=style.colour, gid=f"agent-{style.number}",
            )  # fmt: skip
        ax.set_yticks([])
        low, high = min(0.0, *(e.low for _, _, e in rows)), max(1.0, *(e.high for _, _, e in rows))
        edge = 0.05 * (high - low)
        ax.set(
            xlabel="change of log-odds believed / exact", ylim=(len(rows) - 0.5, -0.5), xlim=(low - edge, high + edge)
        )
        ax.spines.left.set_visible(False)
        ax.grid(axis="x")
        return Drawing(ax.figure, f"Updating factors with 95 % intervals in {title}")


def tabulate_beliefs(found: RunBeliefs) -> list[TableRow]:
    """The scalar numbers of a run."""
    rows = {
        "calibration error (ECE), against outcomes": lambda s: s.reliability and s.reliability.ece,
        "calibration error (ECE), against the exact posterior": lambda s: s.reliability and s.reliability.ece_exact,
        "correlation of ΔBelief with truth gain": lambda s: s.correlation_truth,
        "correlation of ΔBelief among candidates with truth gain": lambda s: s.correlation_among,
        "correlation of ΔBelief with realised gain": lambda s: s.correlation_realised,
        "updating factor, odds of the truth": lambda s: s.updating_truth,
        "updating factor, all pairs of candidates": lambda s: s.updating_pairs,
    }
    lines = [
        TableRow(name, [_format_estimate(value(found.parts[p])) for p in ("all", "won", "lost")])
        for name, value in rows.items()
    ]
    return [line for line in lines if any(line.cells)]


def _format_estimate(value: Estimate | None) -> str:
    return "" if value is None else _print_minus(f"{value.mean:.2f} [{value.low:.2f}, {value.high:.2f}]")


def _print_minus(text: str) -> str:
    """With the minus sign of the axes of figures."""
    return text.replace("-", "−")


def belief_change(beliefs: Sequence[Elicited] | None, turn: int) -> tuple[float, float] | None:
    """ln b of the truth before and after a turn; None if one of them is missing."""
    if beliefs is None or turn + 1 >= len(beliefs):
        return None
    return beliefs[turn].target, beliefs[turn + 1].target
