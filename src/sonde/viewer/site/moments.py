"""What a replay tells of an episode: what could be known at every moment, beside what was believed, and the board.

Nothing of it is on record, so the episode is played again through the exact filter (`Episode.stages`); an episode of
another version of its environment has none of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sonde.beliefs.calibration import normalised
from sonde.beliefs.elicitation import Elicited
from sonde.core import AGENT, Episode, Filter, ReplayError, Trajectory, UserError, by_rules, invalid
from sonde.evaluation.information_gain import as_assumed

from ..boards import draw
from ..text import compact
from .library import Library, Shelf

ROWS = 12
"""Hypotheses that have a bar."""
TOP = 6
"""Of each moment so many are candidates for a bar."""
WORDY = 18
"""Characters beyond which the name of a hypothesis takes a line of its own."""


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A hypothesis: its exact probability and the believed one at every moment, moment 0 before the first turn."""

    name: str
    exact: Sequence[float]
    believed: Sequence[float]
    true: bool


@dataclass(frozen=True, kw_only=True)
class Moments:
    """`boards` has a picture per moment or is empty; `entropy` and `left` (hypotheses still possible) likewise.

    `why` says what is missing and why. `believed` by how many candidates beliefs were asked about, 0 for none.
    """

    template = "moments.html.j2"

    n: int
    boards: Sequence[str]
    bars: Sequence[Bar]
    entropy: Sequence[float]
    left: Sequence[int]
    believed: int
    searchable: bool
    why: str
    run: str
    id: str

    @property
    def wordy(self) -> bool:
        """Whether names take a line of their own."""
        return wordy(self.bars)


def _told(hypothesis: Any) -> str:
    """A hypothesis without words of its own; of cells, without the brackets.

    >>> _told(((0, 0), (4, 1)))
    '0 0, 4 1'
    """
    if isinstance(hypothesis, tuple) and all(isinstance(part, tuple) for part in hypothesis):
        return ", ".join(" ".join(map(str, part)) for part in hypothesis) or "none"
    return str(hypothesis)


def wordy(bars: Sequence[Bar]) -> bool:
    return any(len(bar.name) > WORDY for bar in bars)


def page(library: Library, run: str, identity: str) -> Moments:
    """Of one episode."""
    shelf = library.run(run)
    return moments(shelf, shelf.trajectory(identity), shelf.beliefs.beliefs.get(identity, ()))


def moments(shelf: Shelf, t: Trajectory, beliefs: Sequence[Elicited]) -> Moments:
    """Of an episode, with the beliefs that were elicited in it."""
    nothing: dict[str, Any] = {
        "bars": (),
        "entropy": (),
        "left": (),
        "searchable": False,
        "run": shelf.name,
        "id": t.id,
    }
    try:
        stages = [ep for ep in Episode.stages(shelf.env, t) if ep.to_act in (AGENT, None)]
    except ReplayError as e:
        return Moments(n=0, boards=(), believed=0, why=f"It cannot be played again: {compact(str(e))}", **nothing)
    boards = [svg for i, ep in enumerate(stages) if (svg := draw(ep, name=f"b{i}")) is not None]
    filters = _filters(shelf, t, stages)
    if not filters:
        return Moments(n=len(stages), boards=boards, believed=0, why=_why(shelf, t), **nothing)
    return Moments(**{**nothing, **known(filters, stages[-1], beliefs), "boards": boards, "why": ""})


def _why(shelf: Shelf, t: Trajectory) -> str:
    if not as_assumed(shelf.env.spec, t):
        return "The exact posterior takes another policy for granted than the one that spoke."
    return "This environment has no exact posterior."


def _filters(shelf: Shelf, t: Trajectory, stages: Sequence[Episode]) -> list[Filter]:
    prior = shelf.env.filter(t.task.public) if as_assumed(shelf.env.spec, t) else None
    if prior is None:
        return []
    found = [prior]
    for turn in stages[-1].turns[: len(stages) - 1]:  # as played again: what the record says of them may be anything
        found.append(found[-1].observe(by_rules(turn)))
    return found


_SECRET = object()
"""Equal to no hypothesis."""


def known(
    filters: Sequence[Filter], now: Episode, beliefs: Sequence[Elicited], *, blind: bool = False
) -> dict[str, Any]:
    """What the filters say at every moment of the hypotheses that matter most, the true one among them; `blind`, to who
    is still to find it out, it is one of many."""
    env = now.env
    truth: Any = _SECRET if blind else env.hypothesis(now.state)
    weights: dict[Any, float] = {} if blind else {truth: float("inf")}
    sizes: list[int] = []
    for i, f in enumerate(filters):
        belief = f.belief()
        sizes.append(len(belief))
        for h, p in belief.top(TOP):  # late moments weigh more, since at first all are alike
            weights[h] = max(weights.get(h, 0.0), p * (1 + i))
    picked = sorted(weights, key=lambda h: -weights[h])[:ROWS]
    asked, table = _asked(beliefs)
    bars: list[Bar] = []
    for h in picked:
        words = env.in_words(h)
        column = asked.index(words) if words in asked else -1
        bars.append(
            Bar(
                name=compact(words if words is not None else _told(h), 160),
                exact=[round(f.prob(h), 6) for f in filters],
                believed=[round(float(row[column]), 6) for row in table] if column >= 0 else (),
                true=h == truth,
            )
        )
    return {
        "n": len(filters),
        "bars": bars,
        "entropy": [round(float(f.entropy), 4) for f in filters],
        "left": sizes,
        "believed": len(asked),
        "searchable": filters[0].searchable,
    }


def _asked(beliefs: Sequence[Elicited]) -> tuple[list[str], Any]:
    """The candidates, and what was believed of them at every moment, divided by its sum."""
    rows = [b.candidates for b in beliefs if b.candidates]
    if not rows:
        return [], ()
    return list(rows[0]), np.exp(normalised(np.array([list(row.values()) for row in rows])))


@dataclass(frozen=True, kw_only=True)
class Best:
    """The best question at a moment and the bits it would have given on average."""

    template = "best.html.j2"

    answer: str
    bits: float | None
    said: str


def best(library: Library, run: str, identity: str, turn: int) -> Best:
    """What would have been best to ask in turn `turn`, counted from 0: a search over all answers."""
    shelf = library.run(run)
    t = shelf.trajectory(identity)
    if not 0 <= turn < len(t.turns):
        raise invalid("turn", turn, f"0 to {len(t.turns) - 1}")
    f = shelf.env.filter(t.task.public) if as_assumed(shelf.env.spec, t) else None
    if f is None:
        raise UserError(f"best: {_why(shelf, t)}")
    for done in t.turns[:turn]:
        f = f.observe(by_rules(done))
    return best_of(f, shelf.env.say)


def bests(shelf: Shelf, t: Trajectory) -> list[Best]:
    """The same of every turn; none where there is no exact posterior, or nothing to choose from."""
    f = shelf.env.filter(t.task.public) if as_assumed(shelf.env.spec, t) else None
    found: list[Best] = []
    for turn in t.turns:
        if f is None or not f.searchable:
            return []
        found.append(best_of(f, shelf.env.say))
        f = f.observe(by_rules(turn))
    return found


def best_of(f: Filter, say: Any) -> Best:
    """Of a filter."""
    if not f.searchable:
        return Best(answer="", bits=None, said="this environment lists no answers to choose from")
    answer, bits = f.best_question()
    return Best(answer=compact(answer), bits=float(bits), said=compact(say(answer)))
