"""Training figures: the logged numbers by step, a small figure for each quantity.

Related numbers share an axis; unknown ones get a figure under their own name. Constant numbers are listed instead of
drawn. A long history is thinned to the least and the greatest value of equal stretches, with a moving mean. Own design.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from sonde._util.escaping import make_visible

from ..training_history import Series, TrainingHistory, describe_training
from .axes import WIDTH, figure_axes, spread_labels, widen_margins
from .svg import FLOOR, INK, MUTED, PALETTE, Drawing

SMOOTH_FROM = 60
"""A curve with more points than this is drawn with a moving mean."""
THIN_TO = 400
"""Maximum number of points of a drawn curve."""
MARKED_TO = 40
_WINDOWS = 30
"""The moving mean is over a thirtieth of the points."""
_COLUMNS = 8
_ALIKE = 1e-6
_EXACT = ("loss", "grad_norm", "learning_rate")
"""Numbers that may be tiny and still change."""
_ALWAYS = {"held_out", "success", "reward"}
"""Numbers that are drawn also where they never change: that nothing was learned is a result."""
_STEPS = [1, 2, 5, 10]
_DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1.5)))

_ON_POLICY = "Near 0 whatever is learned, where every update has fresh episodes."

Axis = Literal["free", "from zero", "percent", "share"]
"""`percent` and `share` draw in %, the first from 0 up, the second from 0 to 100."""


class Panel(NamedTuple):
    """A figure: its axis, and its logged numbers with the labels of their lines."""

    title: str
    caption: str
    label: str
    axis: Axis
    lines: Mapping[str, str]
    small: bool = False


PANELS = (
    Panel("Success", "Won among held-out tasks, and among the step's own episodes; step 0 is before training.",
          "episodes won (%)", "share", {"held_out": "held out", "success": "own play"}),
    Panel("Reward", "Per episode: the training reward, and the environment's return.", "per episode", "free",
          {"reward": "reward", "score": "return", "held_out_score": "return, held out"}),
    Panel("Loss", "Minimised by the optimizer.", "loss", "free", {"loss": "loss"}),
    Panel("Change of belief", "ΔBelief per episode: the model's own belief in the truth, as shaped.",
          "per episode", "free", {"belief": "belief"}),
    Panel("Information", "Information gain per episode, by the exact posterior, without winning turns.",
          "bits per episode", "free", {"truth_gain": "of the truth", "exact_gain": "of entropy"}),
    Panel("Turns", "Mean per episode.", "turns", "from zero", {"turns": "turns"}),
    Panel("Unreadable answers", "Episodes that ended because no answer could be read.", "episodes (%)",
          "share", {"unreadable": "unreadable"}),
    Panel("Cut replies", "Replies that reached the limit of tokens.", "replies (%)", "share", {"cut": "cut"}),
    Panel("Groups without a signal", "Groups whose episodes all have the same reward: their advantages are 0.",
          "groups (%)", "share", {"flat_groups": "flat"}),
    Panel("Pairwise accuracy", "The chosen episode has the greater implied reward.", "pairs (%)", "share",
          {"accuracy": "accuracy"}),
    Panel("Reward margin", "Implied reward of the chosen episode, minus that of the rejected one.", "margin", "free",
          {"reward_margin": "margin"}),
    Panel("Log ratios", "Log-probability minus that of the reference, of chosen and rejected episodes.", "nats", "free",
          {"log_ratio_chosen": "chosen", "log_ratio_rejected": "rejected"}),
    Panel("Implied rewards", "Of good and of bad episodes.", "reward", "free",
          {"reward_good": "good", "reward_bad": "bad"}),
    Panel("Sample weights", "Mean per sample.", "weight", "from zero", {"weight": "weight"}),
    Panel("Negative log-likelihood", "Per token that is trained on; of pairs, in the chosen episode.",
          "nats per token", "free", {"nll": "nll"}),
    Panel("Importance ratio", "Mean probability of a token, divided by that at sampling time.", "ratio", "free",
          {"ratio": "ratio"}),
    Panel("Clipped tokens", "Tokens without a gradient, because their ratio left the clipping range.", "tokens (%)",
          "percent", {"clipped_low": "low", "clipped_high": "high", "clipped_dual": "dual"}),
    Panel("KL divergence", "From the policy that sampled, and from the reference.", "nats per token", "from zero",
          {"kl_sampled": "sampled", "kl_reference": "reference"}),
    Panel("Learning rate", "", "rate", "from zero", {"learning_rate": "rate"}, small=True),
    Panel("Gradient norm", "Before clipping.", "norm", "from zero", {"grad_norm": "norm"}, small=True),
    Panel("Seconds", "Per rollout, measurement, update and evaluation on held-out tasks.", "seconds", "from zero",
          {"seconds_playing": "playing", "seconds_measuring": "measuring", "seconds_training": "training",
           "seconds_held_out": "held out"}, small=True),
    Panel("Tokens", "Per episode: all rows, and the agent's.", "tokens", "from zero",
          {"tokens": "all", "agent_tokens": "agent"}, small=True),
    Panel("Failures", "Episodes that ended with an error.", "episodes (%)", "percent",
          {"errors": "errors"}, small=True),
    Panel("Rows per episode", "New rows after a rewritten context; rows left out as too long.", "rows", "from zero",
          {"forked": "forked", "too_long": "too long"}, small=True),
    Panel("KTO reference point", "Log ratios are compared with it.", "nats", "free",
          {"reference_point": "point"}, small=True),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A drawn panel."""

    title: str
    caption: str
    svg: str


@dataclass(frozen=True, kw_only=True)
class TrainingFigures:
    """A training on a page. `headline` are its most important numbers, at first and last; `constant` lists others that
    never changed; `table` has steps, then a row per number."""

    history: TrainingHistory
    anchor: str
    facts: Sequence[tuple[str, str]]
    headline: Sequence[tuple[str, str]]
    large: Sequence[Figure]
    small: Sequence[Figure]
    constant: Sequence[str]
    loss_is_nll: bool
    smoothed: int
    table: Sequence[tuple[str, Sequence[str]]] = field(default=())


def prepare_trainings(found: Sequence[TrainingHistory], *, alone: bool) -> list[TrainingFigures]:
    """Draw these trainings; `alone` on a page without evaluations, whose colours belong to agents."""
    looks = [PALETTE[i % len(PALETTE)] if alone else INK for i in range(len(found))]
    return [
        _prepare_training(h, found, i, h.style.colour if h.style else look)
        for i, (h, look) in enumerate(zip(found, looks, strict=True))
    ]


def _prepare_training(
    history: TrainingHistory, others: Sequence[TrainingHistory], number: int, colour: str
) -> TrainingFigures:
    anchor = f"training-{number}"
    constant, same = _find_constants(history), _is_loss_nll(history)
    drawn = _select_drawn(history)
    figures = [(p, _make_figure(p, history, colour, f"{anchor}-{i}")) for i, p in enumerate(drawn)]
    return TrainingFigures(
        history=history,
        anchor=anchor,
        facts=describe_training(history, others),
        headline=_list_headline(history),
        large=[figure for panel, figure in figures if not panel.small],
        small=[figure for panel, figure in figures if panel.small],
        constant=[]
        if history.entries == 1
        else _list_constants(history, constant - {k for p in drawn for k in p.lines}),
        loss_is_nll=same and bool(drawn),
        smoothed=smoothing_window(history.entries) if drawn else 0,
        table=_tabulate_steps(history),
    )


def draw_training(history: TrainingHistory) -> dict[str, Drawing]:
    """The figures of a training, by the titles of their panels in lower case."""
    colour = history.style.colour if history.style else INK
    return {
        panel.title.lower().replace(" ", "_"): _draw_panel(panel, history, colour) for panel in _select_drawn(history)
    }


def _find_constants(history: TrainingHistory) -> set[str]:
    return {name for name, series in history.series.items() if is_constant(name, series)}


def _is_loss_nll(history: TrainingHistory) -> bool:
    return "nll" in history.series and _is_close(history.series["nll"], history.series.get("loss"))


def _select_drawn(history: TrainingHistory) -> list[Panel]:
    """The panels that are drawn: those in which something changes, the loss only once."""
    left_out = _find_constants(history) | ({"nll"} if _is_loss_nll(history) else set())
    return [p for p in _select_panels(history) if history.entries > 1 and not set(p.lines) <= left_out - _ALWAYS]


def _select_panels(history: TrainingHistory) -> list[Panel]:
    """The panels that this history has numbers for, each with only those lines."""
    known = [p._replace(lines={k: v for k, v in p.lines.items() if k in history.series}) for p in PANELS]
    named = {name for panel in PANELS for name in panel.lines}
    others = [name for name in history.series if name not in named]
    own = [Panel(_readable_name(n).capitalize(), "", _readable_name(n), "free", {n: _readable_name(n)}) for n in others]
    return [panel for panel in (*known, *own) if panel.lines]


def is_constant(name: str, series: Series) -> bool:
    """Whether a number is the same at every step, up to rounding.

    >>> is_constant("ratio", Series((1, 2), (1.0, 1.0 + 1e-9))), is_constant("learning_rate", Series((1, 2), (0, 1e-9)))
    (True, False)
    """
    low, high = min(series.values), max(series.values)
    return high - low <= (1e-9 * max(abs(low), abs(high)) if name in _EXACT else _ALIKE)


def _is_close(a: Series, b: Series | None) -> bool:
    """Whether two series are equal up to rounding."""
    return b is not None and a.steps == b.steps and bool(np.allclose(a.values, b.values, rtol=1e-5, atol=1e-7))


HEADLINE = {
    "held_out": "held-out tasks won", "success": "own episodes won", "accuracy": "pairs ranked right",
    "reward": "reward", "nll": "nats per token", "unreadable": "unreadable answers", "cut": "cut replies",
    "flat_groups": "groups without a signal",
}  # fmt: skip
"""The numbers at the top of a training, with their names; faults only where there are any."""
_FAULTS = ("unreadable", "cut", "flat_groups")


def _list_headline(history: TrainingHistory) -> list[tuple[str, str]]:
    shares = {name for panel in PANELS if panel.axis in ("share", "percent") for name in panel.lines}
    found: list[tuple[str, str]] = []
    for name, words in HEADLINE.items():
        values = history.series[name].values if name in history.series else ()
        if not values or (name in _FAULTS and not any(values)):
            continue
        ends = [f"{100 * x:.0f} %" if name in shares else f"{x:.3g}".replace("-", "−") for x in (values[0], values[-1])]
        found.append((words, " → ".join(dict.fromkeys(ends))))
    return found


def _list_constants(history: TrainingHistory, constant: set[str]) -> list[str]:
    last = {name: series.values[-1] for name, series in history.series.items() if name in constant}
    exact = {name: value if name in _EXACT else round(value, 6) for name, value in last.items()}
    return [f"{_readable_name(name)} {format_number(value)}" for name, value in exact.items()]


def _readable_name(name: str) -> str:
    return make_visible(name.replace("_", " "))


def format_number(value: float) -> str:
    """A number with four digits and a typographic minus sign.

    >>> format_number(-0.000012345), format_number(3.0)
    ('−1.234e−05', '3')
    """
    return f"{value + 0.0:.4g}".replace("-", "−")


def format_tick(value: float, ticks: Sequence[float]) -> str:
    """A number on an axis, with as many digits as tell its ticks apart.

    >>> format_tick(0.69315, [0.69310, 0.69315, 0.6932]), format_tick(2e-9, [0, 2e-9]), format_tick(5.0, [0, 5.0])
    ('0.69315', '2e−09', '5')
    """
    digits = next((n for n in range(4, 15) if len({f"{t:.{n}g}" for t in ticks}) == len({*ticks})), 15)
    return f"{value + 0.0:.{digits}g}".replace("-", "−")


def _tabulate_steps(history: TrainingHistory) -> list[tuple[str, Sequence[str]]]:
    """The numbers at a few steps, including the first and the last."""
    steps = history.series["loss"].steps if "loss" in history.series else next(iter(history.series.values())).steps
    at = [steps[i] for i in sorted({round(i * (len(steps) - 1) / (_COLUMNS - 1)) for i in range(_COLUMNS)})]
    rows: list[tuple[str, Sequence[str]]] = [("step", [f"{step:,}" for step in at])]
    for name, series in history.series.items():
        known = dict(zip(*series, strict=True))
        rows.append((_readable_name(name), [format_number(known[step]) if step in known else "" for step in at]))
    return rows


# --- drawing ----------------------------------------------------------------------------------------------------------


def smoothing_window(n: int) -> int:
    """The number of points of the moving mean, an odd number; 0 for a short curve.

    >>> smoothing_window(60), smoothing_window(61), smoothing_window(1000)
    (0, 3, 33)
    """
    return 0 if n <= SMOOTH_FROM else max(3, n // _WINDOWS | 1)


def moving_mean(values: Any) -> Any:
    """Moving mean, over fewer points at both ends."""
    half = smoothing_window(len(values)) // 2
    sums = np.concatenate([[0.0], np.cumsum(values)])
    at = np.arange(len(values))
    first, last = np.maximum(at - half, 0), np.minimum(at + half + 1, len(values))
    return (sums[last] - sums[first]) / (last - first)


def thin_points(values: Any, most: int = THIN_TO) -> list[int]:
    """The indices to draw: the first, the last, and the least and greatest of equal stretches between them.

    >>> thin_points([0, 5, 1, 1, -3, 1, 1, 2], most=4)
    [0, 1, 4, 7]
    """
    n = len(values)
    if n <= most:
        return list(range(n))
    parts = np.array_split(np.arange(1, n - 1), max(1, most // 2 - 1))
    found = {int(part[find(np.asarray(values)[part])]) for part in parts for find in (np.argmin, np.argmax)}
    return [0, *sorted(found), n - 1]


def _make_figure(panel: Panel, history: TrainingHistory, colour: str, name: str) -> Figure:
    caption = _ON_POLICY if "loss" in panel.lines and "ratio" in history.series else panel.caption
    return Figure(title=panel.title, caption=caption, svg=_draw_panel(panel, history, colour).to_svg(name))


def _draw_panel(panel: Panel, history: TrainingHistory, colour: str) -> Drawing:
    lines = _merge_equal(panel.lines, history.series)
    size = (2.9, 1.9) if panel.small else (WIDTH, 2.5)
    named = len(panel.lines) > 1
    right = (0.73 if panel.small else 0.8) if named else 0.96
    with figure_axes(size[1], left=0.23 if panel.small else 0.15, right=right, width=size[0]) as ax:
        scale = 100.0 if panel.axis in ("percent", "share") else 1.0
        ends: list[tuple[float, str, str]] = []
        for (label, series), look, dash in zip(lines.items(), (colour, MUTED, FLOOR), _DASHES, strict=False):
            ends.append((_plot_series(ax, series, scale, look, dash), label, look))
        _scale_axes(ax, panel)
        if named:
            _label_ends(ax, ends)
        widen_margins(ax)
        return Drawing(ax.figure, _describe_panel(panel, history))


def _merge_equal(lines: Mapping[str, str], series: Mapping[str, Series]) -> dict[str, Series]:
    """The lines by label; equal ones are merged."""
    labels: dict[Series, list[str]] = {}
    for name, label in lines.items():
        labels.setdefault(series[name], []).append(label)
    return {" = ".join(found): line for line, found in labels.items()}


def _plot_series(ax: Any, series: Series, scale: float, colour: str, dash: Any) -> float:
    """Draw a line and return its last value."""
    steps, values = np.asarray(series.steps), scale * np.asarray(series.values)
    look = {"color": colour, "clip_on": False}
    if smoothing_window(len(values)):
        at = thin_points(values)
        ax.plot(steps[at], values[at], linewidth=0.7, alpha=0.3, **look)
        values = moving_mean(values)
    at = thin_points(values)
    marker = "o" if len(values) <= MARKED_TO else ""
    ax.plot(steps[at], values[at], linewidth=1.8, linestyle=dash, marker=marker, markersize=3.0, **look)
    return float(values[-1])


def _scale_axes(ax: Any, panel: Panel) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    low, high = ax.get_ylim()
    if panel.axis == "share":
        ax.set_ylim(-3, 103)
    elif panel.axis != "free":
        ax.set_ylim(min(low, -0.03 * high), high)
    elif low < 0 < high:
        ax.axhline(0, color=MUTED, linewidth=0.7, zorder=0)
    ax.xaxis.set_major_locator(MaxNLocator(4 if panel.small else 7, integer=True, steps=_STEPS))
    ax.yaxis.set_major_locator(MaxNLocator(4 if panel.small else 6, steps=_STEPS))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: format_tick(value, ax.get_yticks())))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    ax.set(xlabel="step", ylabel=panel.label)
    ax.grid(axis="y")


def _label_ends(ax: Any, ends: Sequence[tuple[float, str, str]]) -> None:
    low, high = ax.get_ylim()
    places = spread_labels([end for end, _, _ in ends], low, high)
    for place, (_, label, colour) in zip(places, ends, strict=True):
        at = 1.02, (place - low) / (high - low)
        ax.text(*at, label, transform=ax.transAxes, va="center", fontsize=8.5, color=colour)


def _describe_panel(panel: Panel, history: TrainingHistory) -> str:
    """The text alternative: title, and every line's first and last value."""
    values = {_readable_name(name): history.series[name].values for name in panel.lines}
    ends = [f"{name} from {format_number(of[0])} to {format_number(of[-1])}" for name, of in values.items()]
    return f"{panel.title} by step of the training {history.name}: {', '.join(ends)}"
