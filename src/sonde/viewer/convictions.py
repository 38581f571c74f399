"""What the model believed: elicited beliefs of a run by turn and outcome, and against the exact posterior.

The first figure is the paper's (ΔBelief-RL, figure 2); the others exist because the posterior does. Only for runs with
notes of `sonde elicit`. Bands and bars are 95 % intervals, clustered by task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from sonde.beliefs import records as believed
from sonde.beliefs.calibration import Summary, split
from sonde.beliefs.elicitation import Elicited
from sonde.evaluation.metrics import Estimate

from . import plots
from .loading import DASHES, MARKERS, Agent, Loaded
from .svg import GRID, MUTED, PALETTE, inline
from .text import compact

_FADED = 0.45
_FEW = 3
"""Episodes below which a point of a curve says nothing: it is left out where there are longer ones to draw."""


@dataclass(frozen=True, kw_only=True)
class Held:
    """The beliefs of a run: by trajectory, and summed up for all episodes, wins and losses."""

    agent: Agent
    setting: Mapping[str, Any]
    beliefs: Mapping[str, tuple[Elicited, ...]]
    parts: Mapping[str, Summary]

    @property
    def about(self) -> str:
        """Whose beliefs, and how they were elicited."""
        given = self.setting["candidates"]
        over = {"target": "the truth alone", "all": "all hypotheses"}.get(given if isinstance(given, str) else "")
        n = given if isinstance(given, int) else len(given)
        told = (_told(self.setting, "model"), f"template {_told(self.setting, 'template')}", over or f"{n} candidates")
        return f"{', '.join(told)}, {self.setting['aggregate']} over tokens"


class Line(NamedTuple):
    """A line of the table: what it is, and its value for all episodes, wins and losses."""

    name: str
    cells: Sequence[str]


def held(run: Loaded) -> Held | None:
    """None where nobody elicited any, and where the environment has changed since, so nothing can be played again."""
    notes = believed.read(run.source.folder)
    if run.version != run.env.spec.version:
        return None
    courses = believed.courses(run.env, run.episodes, notes.beliefs)
    if not courses:
        return None
    return Held(agent=run.agent, setting=notes.setting, beliefs=notes.beliefs, parts=split(courses))


def told_apart(runs: Sequence[Held]) -> list[Held]:
    """The same, where several are of one agent with a look and a name each, after the setting in which they differ."""
    keys = [key for key in (runs[0].setting if runs else ()) if len({_told(run.setting, key) for run in runs}) > 1]
    if len({run.agent.number for run in runs}) == len(runs) or not keys:
        return list(runs)
    several = len({run.agent.number for run in runs}) > 1
    found: list[Held] = []
    for i, run in enumerate(runs):
        name = " ".join([run.agent.short[:6]] * several + [_told(run.setting, key) for key in keys])
        look = {"colour": PALETTE[i % len(PALETTE)], "dash": DASHES[0], "marker": MARKERS[i % len(MARKERS)]}
        found.append(replace(run, agent=replace(run.agent, name=name, **look)))
    return found


def _told(setting: Mapping[str, Any], key: str) -> str:
    """A setting in few words."""
    value = setting[key]
    if key == "model":
        value = value.get("model", str(value["name"]).removeprefix("models:"))
    return compact(value, 60)


def figures(runs: Sequence[Held], anchor: str, title: str) -> dict[str, str | None]:
    """The figures of a section by name, None where no run has the numbers."""
    compared = [run for run in runs if run.parts["all"].divergence]
    return {
        "belief": _by_outcome(runs, f"{anchor}-bo", title) if runs else None,
        "believed": _beside(compared, f"{anchor}-bx", title) if compared else None,
        "divergence": _divergence(compared, f"{anchor}-bk", title) if compared else None,
        "reliability": _reliability(compared, f"{anchor}-br", title) if compared else None,
        "updating": _updating(compared, f"{anchor}-bu", title) if _factors(compared) else None,
    }


def _by_outcome(runs: Sequence[Held], name: str, title: str) -> str:
    with plots.axes(left=0.15, right=0.76) as ax:
        ends: list[tuple[float, Agent]] = []
        for run in runs:
            for part, alpha in (("lost", _FADED), ("won", 1.0)):
                curve, reached = run.parts[part].target, run.parts[part].reached
                if curve := curve[: _enough(reached)]:
                    plots.curve(ax, run.agent, curve, alpha=alpha)
                    if len(runs) == 1 or part == "won":
                        ends.append((curve[-1].mean, _called(run.agent, part, len(runs))))
        ax.set(xlabel="turns", ylabel="ln b of the truth (nats)")
        _turns(ax, runs)
        plots.label_ends(ax, ends)
        return inline(ax.figure, name, f"Elicited log-probability of the truth by turn and outcome in {title}")


def _enough(reached: Sequence[int]) -> int:
    return sum(n >= min(_FEW, reached[0]) for n in reached)


def _called(agent: Agent, part: str, n: int) -> Agent:
    """The agent as a line's end names it: what the line is where all are of one agent."""
    return replace(agent, name=part) if n == 1 else agent


def _turns(ax: Any, runs: Sequence[Held]) -> None:
    plots.whole_turns(ax, 0, max(1, *(len(run.parts["all"].target) - 1 for run in runs)))


def _beside(runs: Sequence[Held], name: str, title: str) -> str:
    with plots.axes(right=0.76) as ax:
        ends: list[tuple[float, Agent]] = []
        for run in runs:
            every = run.parts["all"]
            ax.plot(
                range(len(every.exact)), [e.mean for e in every.exact], color=run.agent.colour, linewidth=1.4,
                linestyle=(0, (3, 2)), gid=f"agent-{run.agent.number}",
            )  # fmt: skip
            plots.curve(ax, run.agent, every.believed)
            ends.append((every.believed[-1].mean, _called(run.agent, "believed", len(runs))))
            if len(runs) == 1:
                ends.append((every.exact[-1].mean, replace(run.agent, name="exact")))
        ax.set(xlabel="turns", ylabel="probability of the truth", ylim=(0, 1.02))
        _turns(ax, runs)
        plots.label_ends(ax, ends)
        return inline(ax.figure, name, f"Probability of the truth by turn, as believed and exact, in {title}")


def _divergence(runs: Sequence[Held], name: str, title: str) -> str:
    with plots.axes(right=0.76) as ax:
        ends: list[tuple[float, Agent]] = []
        for run in runs:
            curve = run.parts["all"].divergence
            plots.curve(ax, run.agent, curve)
            ends.append((curve[-1].mean, run.agent))
        ax.set(xlabel="turns", ylabel="KL(exact || believed) (bits)")
        ax.set_ylim(bottom=0)
        _turns(ax, runs)
        plots.label_ends(ax, ends)
        return inline(ax.figure, name, f"Divergence of the belief from the exact posterior by turn in {title}")


def _reliability(runs: Sequence[Held], name: str, title: str) -> str:
    with plots.axes(right=0.76) as ax:
        ends: list[tuple[float, Agent]] = []
        top = 0.05
        for run in runs:
            found = run.parts["all"].reliability
            if found is None:
                continue
            x, y = [b.believed for b in found.bins], [b.true.mean for b in found.bins]
            low = [b.true.mean - b.true.low for b in found.bins]
            high = [b.true.high - b.true.mean for b in found.bins]
            ax.errorbar(x, y, [low, high], fmt="none", ecolor=run.agent.colour, elinewidth=1.2, alpha=_FADED)
            plots.line(ax, run.agent, x, y)
            exact = [b.exact for b in found.bins]
            ax.plot(x, exact, color=MUTED, linestyle="", marker="_", markersize=9, gid=f"agent-{run.agent.number}")
            ends.append((y[-1], run.agent))
            top = max([top, *x, *(b.true.high for b in found.bins)])
        top = min(1.0, 1.05 * top)
        ax.plot([0, top], [0, top], color=GRID, linewidth=1.4, zorder=0)
        ax.set(xlabel="believed", ylabel="share that was true", xlim=(-0.02 * top, top), ylim=(-0.02 * top, top))
        plots.label_ends(ax, ends)
        return inline(ax.figure, name, f"Reliability of beliefs about candidates in {title}")


def _factors(runs: Sequence[Held]) -> list[tuple[Agent, str, Estimate]]:
    rows: list[tuple[Agent, str, Estimate]] = []
    for run in runs:
        every = run.parts["all"]
        found = (("truth", every.updating_truth), ("all pairs", every.updating_pairs))
        rows += [(run.agent, what, value) for what, value in found if value is not None]
    return rows


def _updating(runs: Sequence[Held], name: str, title: str) -> str:
    rows = _factors(runs)
    height = 0.62 + max(0.8, 0.34 * len(rows))
    several = len({agent.name for agent, _, _ in rows}) > 1
    with plots.axes(height, left=0.47 if several else 0.27, right=0.88) as ax:
        ax.axvline(1.0, color=MUTED, linewidth=0.9, linestyle=(0, (3, 2)), zorder=0)
        for y, (agent, what, e) in enumerate(rows):
            look = {"color": agent.colour, "gid": f"agent-{agent.number}"}
            ax.plot([e.low, e.high], [y, y], linewidth=2.4, alpha=_FADED, **look)
            ax.plot([e.mean], [y], marker=agent.marker, markersize=6, **look)
            ax.text(1.02, y, _minus(f"{e.mean:.2f}"), transform=ax.get_yaxis_transform(), va="center", fontsize=8.5)
            ax.text(
                -0.02, y, f"{agent.short}, {what}" if several else what, transform=ax.get_yaxis_transform(), ha="right",
                va="center", fontsize=8.5, color=agent.colour, gid=f"agent-{agent.number}",
            )  # fmt: skip
        ax.set_yticks([])
        low, high = min(0.0, *(e.low for _, _, e in rows)), max(1.0, *(e.high for _, _, e in rows))
        edge = 0.05 * (high - low)
        ax.set(
            xlabel="change of log-odds believed / exact", ylim=(len(rows) - 0.5, -0.5), xlim=(low - edge, high + edge)
        )
        ax.spines.left.set_visible(False)
        ax.grid(axis="x")
        return inline(ax.figure, name, f"Updating factors with 95 % intervals in {title}")


def table(found: Held) -> list[Line]:
    """The numbers of a run that are no curves."""
    rows = {
        "calibration error (ECE), of what was true": lambda s: s.reliability and s.reliability.ece,
        "calibration error (ECE), of the exact posterior": lambda s: s.reliability and s.reliability.ece_exact,
        "correlation of ΔBelief with truth gain": lambda s: s.correlation_truth,
        "the same, of ΔBelief among the candidates": lambda s: s.correlation_among,
        "correlation of ΔBelief with realised gain": lambda s: s.correlation_realised,
        "updating factor, odds of the truth": lambda s: s.updating_truth,
        "updating factor, all pairs of candidates": lambda s: s.updating_pairs,
    }
    lines = [Line(name, [_cell(value(found.parts[p])) for p in ("all", "won", "lost")]) for name, value in rows.items()]
    return [line for line in lines if any(line.cells)]


def _cell(value: Estimate | None) -> str:
    return "" if value is None else _minus(f"{value.mean:.2f} [{value.low:.2f}, {value.high:.2f}]")


def _minus(text: str) -> str:
    """With the sign that figures have on their axes."""
    return text.replace("-", "−")


def beside(beliefs: Sequence[Elicited] | None, turn: int) -> tuple[float, float] | None:
    """ln b of the truth before and after a turn; None where one of them is missing."""
    if beliefs is None or turn + 1 >= len(beliefs):
        return None
    return beliefs[turn].target, beliefs[turn + 1].target
