"""The table at the top: numbers as text, as intervals on a common scale, and, where there is none, the reason why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sonde.evaluation import scale as reference
from sonde.evaluation.evaluate import KINDS, Evaluation
from sonde.evaluation.metrics import Estimate

from .loading import Loaded

KIND_MEANINGS = {
    "win": "won",
    "loss": "lost: a mine, or a wrong final choice",
    "format": "no answer could be read, which ends the episode",
    "timeout": "the turns, or the room for them in the model's context, ran out",
    "error": "the outside world failed: network, endpoint, malformed reply, a host's refusal",
    "missing": "was to be played, but is not in the run folder",
}


@dataclass(frozen=True)
class Bar:
    """An interval on a track from 0 to 100 (%); values outside are drawn at the edge."""

    low: float
    mean: float
    high: float

    @property
    def width(self) -> float:
        return max(0.8, self.high - self.low)


@dataclass(frozen=True)
class Cell:
    """One value of the table. `title` is the tool tip: the interval, or why there is no value."""

    column: str
    text: str
    title: str
    detail: str = ""
    bar: Bar | None = None
    missing: bool = False


@dataclass(frozen=True)
class Share:
    """A piece of the outcome bar, in % of all episodes that were to be played."""

    kind: str
    count: int
    percent: float


FAULTS = {
    "unreadable": "format_failure", "invalid turns": "invalid", "refused": "refused", "truncated": "cut",
    "reasoning only": "reasoning_only",
}  # fmt: skip
"""Columns of what was wrong with replies, with their metrics."""


def faults(runs: Sequence[Loaded]) -> Sequence[str]:
    """Those columns that any of these runs has something to tell in."""
    found = ({n for n, name in FAULTS.items() if (m := run.evaluation.metrics.get(name)) and m.mean} for run in runs)
    told = set[str]().union(*found)
    return [name for name in FAULTS if name in told]


def cells(run: Loaded, faults: Sequence[str] = ()) -> list[Cell]:
    """The numbers of one run, in the order of the columns; of what was wrong with replies these columns."""
    e, m = run.evaluation, run.evaluation.metrics
    no_bits = why_no_bits(run)
    return [
        _percent("success", m["success"], bar=True),
        _percent(f"pass@{e.k}", m[f"pass@{e.k}"]),
        _scaled(run),
        _number("turns", m["turns"], 1, "", detail=_to_win(m["turns_to_win"])),
        _number("bits/turn", m["bits_per_turn"], 2, no_bits),
        _number("efficiency", m["efficiency"], 2, no_bits or "no turn had anything left to learn"),
        *(_percent(name, m.get(FAULTS[name])) for name in faults),
        _number("tokens", m["tokens"], 0, "no episode was played"),
    ]


def why_no_bits(run: Loaded) -> str:
    """Why a run has no information per turn; empty if it has."""
    if any(row.gains is not None for row in run.rows):
        return ""
    if not run.rows:
        return "no episode was played"
    if not run.has_filter:
        return "this environment has no exact filter, so bits cannot be computed"
    return "the run was evaluated without gains"


def shares(e: Evaluation) -> Sequence[Share]:
    """The outcome kinds that occurred."""
    total = max(1, sum(e.kinds.values()))
    return [Share(kind, e.kinds[kind], 100 * e.kinds[kind] / total) for kind in KINDS if e.kinds.get(kind)]


def scale(run: Loaded) -> tuple[Estimate, Estimate] | None:
    """Floor and ceiling of the mean return, if they were measured for this environment and split."""
    return reference.bounds(run.env, run.evaluation.split)


def _percent(column: str, value: Estimate | None, *, bar: bool = False) -> Cell:
    if value is None:
        return _missing(column, "no episode was played")
    low, mean, high = (100 * v for v in (value.low, value.mean, value.high))
    return Cell(column, f"{mean:.0f} %", _interval(low, high, 1, value.n), "", Bar(low, mean, high) if bar else None)


def _number(column: str, value: Estimate | None, digits: int, why: str, detail: str = "") -> Cell:
    if value is None:
        return _missing(column, why or "no episode has it")
    return Cell(column, f"{value.mean:,.{digits}f}", _interval(value.low, value.high, digits, value.n), detail)


def _to_win(value: Estimate | None) -> str:
    return "" if value is None else f"{value.mean:.1f} to win"


def _scaled(run: Loaded) -> Cell:
    column, value, found = "score 0–100", run.evaluation.metrics["reference_score"], scale(run)
    if value is None:
        return _missing(column, _why_no_scale(run, found))
    bar = Bar(*(min(100.0, max(0.0, v)) for v in (value.low, value.mean, value.high)))
    title = _interval(value.low, value.high, 0, value.n)
    if found is not None:
        title += f"; 0 is a return of {found[0].mean:.3f}, 100 one of {found[1].mean:.3f}"
    return Cell(column, f"{round(value.mean) + 0:.0f}".replace("-", "−"), title, "", bar)


def _why_no_scale(run: Loaded, found: tuple[Estimate, Estimate] | None) -> str:
    if run.evaluation.split != "test":
        return "floor and ceiling are measured on the test split only"
    if run.evaluation.others:
        return "floor and ceiling were measured against the environment's own user"
    if found is None:
        return "floor and ceiling were not measured for this configuration"
    if found[0].overlaps(found[1]):
        return "the intervals of floor and ceiling overlap, so there is no scale"
    return "the run was evaluated before floor and ceiling were measured; `sonde rescore` adds it"


def _missing(column: str, why: str) -> Cell:
    return Cell(column, "n/a", why, missing=True)


def _interval(low: float, high: float, digits: int, n: int) -> str:
    return f"95 % interval {low:,.{digits}f} to {high:,.{digits}f}, clustered by task, n = {n} tasks"
