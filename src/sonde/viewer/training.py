"""The curves of trainings: what was logged by step, as small figures of one quantity each.

Numbers that belong together share an axis; those this page has no words for get a figure under their own name. What
never changed is said in a sentence instead of drawn. A long history is drawn thin, by the least and the greatest value
of every stretch, with a moving mean over it. Source: ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from sonde._util.escaping import plain

from . import plots
from .histories import History, Series
from .svg import FLOOR, INK, MUTED, PALETTE, inline
from .wording import facts

SMOOTH_FROM = 60
"""Above so many points a moving mean is drawn over them."""
THIN_TO = 400
"""Points of a curve on the page, at most."""
MARKED_TO = 40
_WINDOWS = 30
"""The moving mean is over a thirtieth of the points."""
_COLUMNS = 8
_ALIKE = 1e-6
_EXACT = ("loss", "grad_norm", "learning_rate")
"""Numbers that may be tiny and still mean something."""
_STEPS = [1, 2, 5, 10]
_DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1.5)))

_ON_POLICY = "Its value says little: where every update has fresh episodes it is near 0, whatever is learned."

Axis = Literal["free", "from zero", "percent", "share"]
"""`percent` and `share` draw in %, the first from 0 up, the second from 0 to 100."""


class Panel(NamedTuple):
    """A figure: its axis, and which logged numbers are on it, by the names at the ends of their lines."""

    title: str
    caption: str
    label: str
    axis: Axis
    lines: Mapping[str, str]
    small: bool = False


PANELS = (
    Panel("Loss", "What the optimizer lowers.", "loss", "free", {"loss": "loss"}),
    Panel("Success", "Episodes of this step that were won.", "episodes won (%)", "share", {"success": "success"}),
    Panel("Reward", "Per episode: what is learned from, and the score of the environment.", "per episode", "free",
          {"reward": "reward", "score": "score"}),
    Panel("Change of belief", "What the turns of an episode changed in the model's own belief in the truth, as shaped.",
          "per episode", "free", {"belief": "belief"}),
    Panel("Information", "What the turns of an episode told, by the exact posterior, those that won left out.",
          "bits per episode", "free", {"truth_gain": "of the truth", "exact_gain": "of entropy"}),
    Panel("Turns", "Of an episode, on average.", "turns", "from zero", {"turns": "turns"}),
    Panel("Unreadable answers", "Episodes that ended for want of an answer that could be read.", "episodes (%)",
          "share", {"unreadable": "unreadable"}),
    Panel("Groups that teach nothing", "Groups whose episodes all got the same reward: their advantages are 0.",
          "groups (%)", "share", {"flat_groups": "flat"}),
    Panel("Pairs in the right order", "The chosen episode has the greater implied reward.", "pairs (%)", "share",
          {"accuracy": "accuracy"}),
    Panel("Reward margin", "Implied reward of the chosen episode, less that of the rejected.", "margin", "free",
          {"reward_margin": "margin"}),
    Panel("Log ratios", "Log-probability less that of the reference, of chosen and rejected episodes.", "nats", "free",
          {"log_ratio_chosen": "chosen", "log_ratio_rejected": "rejected"}),
    Panel("Implied rewards", "Of good and of bad episodes.", "reward", "free",
          {"reward_good": "good", "reward_bad": "bad"}),
    Panel("Weights", "Of samples, on average.", "weight", "from zero", {"weight": "weight"}),
    Panel("Negative log-likelihood", "Of the tokens that were learned from; in pairs, those of the chosen episode.",
          "nats per token", "free", {"nll": "nll"}),
    Panel("Importance ratio", "Probability of a token, divided by what it was when sampled; mean.", "ratio", "free",
          {"ratio": "ratio"}),
    Panel("Clipped tokens", "Tokens that no gradient came from, as their ratio had moved too far.", "tokens (%)",
          "percent", {"clipped_low": "low", "clipped_high": "high", "clipped_dual": "dual"}),
    Panel("Divergence", "From the policy that sampled, and from the reference.", "nats per token", "from zero",
          {"kl_sampled": "sampled", "kl_reference": "reference"}),
    Panel("Learning rate", "", "rate", "from zero", {"learning_rate": "rate"}, small=True),
    Panel("Gradient norm", "Before clipping.", "norm", "from zero", {"grad_norm": "norm"}, small=True),
    Panel("Seconds", "Of a rollout and of an update.", "seconds", "from zero",
          {"seconds_playing": "playing", "seconds_measuring": "measuring", "seconds_training": "training"}, small=True),
    Panel("Tokens", "Of an episode: all rows, and those the agent said.", "tokens", "from zero",
          {"tokens": "all", "agent_tokens": "agent"}, small=True),
    Panel("Failures", "Episodes that the outside world broke off.", "episodes (%)", "percent",
          {"errors": "errors"}, small=True),
    Panel("Rows of an episode", "Begun anew as the context was rewritten; left out as too long.", "rows", "from zero",
          {"forked": "forked", "too_long": "too long"}, small=True),
    Panel("Reference point", "What the log ratios of KTO are compared with.", "nats", "free",
          {"reference_point": "point"}, small=True),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A drawn panel."""

    title: str
    caption: str
    svg: str


@dataclass(frozen=True, kw_only=True)
class ShownTraining:
    """A training on the page. `constant` names what never changed, `table` has steps, then a row per number."""

    history: History
    anchor: str
    facts: Sequence[tuple[str, str]]
    large: Sequence[Figure]
    small: Sequence[Figure]
    constant: Sequence[str]
    loss_is_nll: bool
    smoothed: int
    table: Sequence[tuple[str, Sequence[str]]] = field(default=())


def shown(found: Sequence[History], *, alone: bool) -> list[ShownTraining]:
    """The trainings as the page shows them; `alone` where it shows no evaluations, whose colours are agents'."""
    looks = [PALETTE[i % len(PALETTE)] if alone else INK for i in range(len(found))]
    return [
        _shown(h, found, i, h.agent.colour if h.agent else look)
        for i, (h, look) in enumerate(zip(found, looks, strict=True))
    ]


def _shown(history: History, others: Sequence[History], number: int, colour: str) -> ShownTraining:
    anchor = f"training-{number}"
    constant = {name for name, series in history.series.items() if unchanging(name, series)}
    same = "nll" in history.series and _close(history.series["nll"], history.series.get("loss"))
    left_out = constant | ({"nll"} if same else set())
    drawn = [p for p in _panels(history) if history.entries > 1 and not set(p.lines) <= left_out]
    figures = [(p, _figure(p, history, colour, f"{anchor}-{i}")) for i, p in enumerate(drawn)]
    return ShownTraining(
        history=history,
        anchor=anchor,
        facts=facts(history, others),
        large=[figure for panel, figure in figures if not panel.small],
        small=[figure for panel, figure in figures if panel.small],
        constant=[] if history.entries == 1 else _told(history, constant - {k for p in drawn for k in p.lines}),
        loss_is_nll=same and bool(drawn),
        smoothed=window(history.entries) if drawn else 0,
        table=_table(history),
    )


def _panels(history: History) -> list[Panel]:
    """The panels that this history has numbers for; each only with the lines it has."""
    known = [p._replace(lines={k: v for k, v in p.lines.items() if k in history.series}) for p in PANELS]
    named = {name for panel in PANELS for name in panel.lines}
    others = [name for name in history.series if name not in named]
    own = [Panel(_words(n).capitalize(), "", _words(n), "free", {n: _words(n)}) for n in others]
    return [panel for panel in (*known, *own) if panel.lines]


def unchanging(name: str, series: Series) -> bool:
    """Whether a number is the same at every step, apart from rounding.

    >>> unchanging("ratio", Series((1, 2), (1.0, 1.0 + 1e-9))), unchanging("learning_rate", Series((1, 2), (0, 1e-9)))
    (True, False)
    """
    low, high = min(series.values), max(series.values)
    return high - low <= (1e-9 * max(abs(low), abs(high)) if name in _EXACT else _ALIKE)


def _close(a: Series, b: Series | None) -> bool:
    """Whether two numbers were the same throughout, apart from rounding."""
    return b is not None and a.steps == b.steps and bool(np.allclose(a.values, b.values, rtol=1e-5, atol=1e-7))


def _told(history: History, constant: set[str]) -> list[str]:
    last = {name: series.values[-1] for name, series in history.series.items() if name in constant}
    exact = {name: value if name in _EXACT else round(value, 6) for name, value in last.items()}
    return [f"{_words(name)} {number(value)}" for name, value in exact.items()]


def _words(name: str) -> str:
    return plain(name.replace("_", " "))


def number(value: float) -> str:
    """Four digits, with a minus as printed.

    >>> number(-0.000012345), number(3.0)
    ('−1.234e−05', '3')
    """
    return f"{value + 0.0:.4g}".replace("-", "−")


def _table(history: History) -> list[tuple[str, Sequence[str]]]:
    """What was logged at a few steps, the first and the last among them."""
    steps = history.series["loss"].steps if "loss" in history.series else next(iter(history.series.values())).steps
    at = [steps[i] for i in sorted({round(i * (len(steps) - 1) / (_COLUMNS - 1)) for i in range(_COLUMNS)})]
    rows: list[tuple[str, Sequence[str]]] = [("step", [f"{step:,}" for step in at])]
    for name, series in history.series.items():
        known = dict(zip(*series, strict=True))
        rows.append((_words(name), [number(known[step]) if step in known else "" for step in at]))
    return rows


# --- drawing ----------------------------------------------------------------------------------------------------------


def window(n: int) -> int:
    """The points that a moving mean is over, an odd number; 0 for a curve that needs none.

    >>> window(60), window(61), window(1000)
    (0, 3, 33)
    """
    return 0 if n <= SMOOTH_FROM else max(3, n // _WINDOWS | 1)


def smooth(values: Any) -> Any:
    """Moving mean, at both ends over what there is."""
    half = window(len(values)) // 2
    sums = np.concatenate([[0.0], np.cumsum(values)])
    at = np.arange(len(values))
    first, last = np.maximum(at - half, 0), np.minimum(at + half + 1, len(values))
    return (sums[last] - sums[first]) / (last - first)


def thin(values: Any, most: int = THIN_TO) -> list[int]:
    """Which points to draw: the first, the last, and the least and greatest of equal stretches between them.

    >>> thin([0, 5, 1, 1, -3, 1, 1, 2], most=4)
    [0, 1, 4, 7]
    """
    n = len(values)
    if n <= most:
        return list(range(n))
    parts = np.array_split(np.arange(1, n - 1), max(1, most // 2 - 1))
    found = {int(part[find(np.asarray(values)[part])]) for part in parts for find in (np.argmin, np.argmax)}
    return [0, *sorted(found), n - 1]


def _figure(panel: Panel, history: History, colour: str, name: str) -> Figure:
    lines = _merged(panel.lines, history.series)
    size = (2.9, 1.9) if panel.small else (plots.WIDTH, 2.5)
    named = len(panel.lines) > 1
    right = (0.73 if panel.small else 0.8) if named else 0.96
    with plots.axes(size[1], left=0.23 if panel.small else 0.15, right=right, width=size[0]) as ax:
        scale = 100.0 if panel.axis in ("percent", "share") else 1.0
        ends: list[tuple[float, str, str]] = []
        for (label, series), look, dash in zip(lines.items(), (colour, MUTED, FLOOR), _DASHES, strict=False):
            ends.append((_curve(ax, series, scale, look, dash), label, look))
        _scaled(ax, panel)
        if named:
            _ends(ax, ends)
        return Figure(
            title=panel.title,
            caption=_ON_POLICY if "loss" in panel.lines and "ratio" in history.series else panel.caption,
            svg=inline(ax.figure, name, _about(panel, history)),
        )


def _merged(lines: Mapping[str, str], series: Mapping[str, Series]) -> dict[str, Series]:
    """The lines by label; those that are the same everywhere are one."""
    labels: dict[Series, list[str]] = {}
    for name, label in lines.items():
        labels.setdefault(series[name], []).append(label)
    return {" = ".join(found): line for line, found in labels.items()}


def _curve(ax: Any, series: Series, scale: float, colour: str, dash: Any) -> float:
    """Draws a line and returns where it ends."""
    steps, values = np.asarray(series.steps), scale * np.asarray(series.values)
    look = {"color": colour, "clip_on": False}
    if window(len(values)):
        at = thin(values)
        ax.plot(steps[at], values[at], linewidth=0.7, alpha=0.3, **look)
        values = smooth(values)
    at = thin(values)
    marker = "o" if len(values) <= MARKED_TO else ""
    ax.plot(steps[at], values[at], linewidth=1.8, linestyle=dash, marker=marker, markersize=3.0, **look)
    return float(values[-1])


def _scaled(ax: Any, panel: Panel) -> None:
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
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    ax.set(xlabel="step", ylabel=panel.label)
    ax.grid(axis="y")


def _ends(ax: Any, ends: Sequence[tuple[float, str, str]]) -> None:
    low, high = ax.get_ylim()
    places = plots.apart([end for end, _, _ in ends], low, high)
    for place, (_, label, colour) in zip(places, ends, strict=True):
        at = 1.02, (place - low) / (high - low)
        ax.text(*at, label, transform=ax.transAxes, va="center", fontsize=8.5, color=colour)


def _about(panel: Panel, history: History) -> str:
    """The figure for who cannot see it: what it shows, and every line's first and last value."""
    ends = [
        f"{_words(n)} from {number(history.series[n].values[0])} to {number(history.series[n].values[-1])}"
        for n in panel.lines
    ]
    return f"{panel.title} by step of the training {history.name}: {', '.join(ends)}"
