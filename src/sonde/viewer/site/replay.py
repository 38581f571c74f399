"""What the replay of an episode shows: boards, the exact posterior beside the elicited beliefs, and best questions.

None of this is recorded, so the episode is replayed through the exact filter (`Episode.stages`). An episode of another
version of its environment cannot be replayed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sonde.beliefs.calibration import normalise_logprobs
from sonde.beliefs.elicitation import Elicited
from sonde.core import AGENT, Episode, Filter, ReplayError, Trajectory, UserError, invalid, rule_reply
from sonde.evaluation.information_gain import has_assumed_policies

from ..boards import draw_board
from ..templating import to_compact_json
from .library import Library, Shelf

ROWS = 12
"""Hypotheses that have a bar."""
TOP = 6
"""The number of most likely hypotheses at each moment that are candidates for a bar."""
WORDY = 18
"""A hypothesis name longer than this gets its own line."""


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A hypothesis: its exact probability and the believed one at every moment, moment 0 before the first turn."""

    name: str
    exact: Sequence[float]
    believed: Sequence[float]
    true: bool


@dataclass(frozen=True, kw_only=True)
class ReplayPart:
    """`boards` has a picture per moment or is empty; likewise `entropy` and `left` (hypotheses still possible).

    `why` says what is missing and why. `believed` is the number of candidates whose belief was elicited, 0 for none.
    """

    template = "replay.html.j2"

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
    def has_long_names(self) -> bool:
        """Whether each name needs its own line."""
        return has_long_names(self.bars)


def _format_hypothesis(hypothesis: Any) -> str:
    """Format a hypothesis that has no text; cells without their brackets.

    >>> _format_hypothesis(((0, 0), (4, 1)))
    '0 0, 4 1'
    """
    if isinstance(hypothesis, tuple) and all(isinstance(part, tuple) for part in hypothesis):
        return ", ".join(" ".join(map(str, part)) for part in hypothesis) or "none"
    return str(hypothesis)


def has_long_names(bars: Sequence[Bar]) -> bool:
    return any(len(bar.name) > WORDY for bar in bars)


def make_replay_part(library: Library, run: str, identity: str) -> ReplayPart:
    """The part of one episode."""
    shelf = library.run(run)
    return replay_episode(shelf, shelf.read_trajectory(identity), shelf.beliefs.beliefs.get(identity, ()))


def replay_episode(shelf: Shelf, t: Trajectory, beliefs: Sequence[Elicited]) -> ReplayPart:
    """Replay an episode, with the beliefs elicited in it beside the posterior."""
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
        return ReplayPart(
            n=0, boards=(), believed=0, why=f"It cannot be played again: {to_compact_json(str(e))}", **nothing
        )
    boards = [svg for i, ep in enumerate(stages) if (svg := draw_board(ep, name=f"b{i}")) is not None]
    filters = _update_filters(shelf, t, stages)
    if not filters:
        return ReplayPart(n=len(stages), boards=boards, believed=0, why=_explain_no_posterior(shelf, t), **nothing)
    return ReplayPart(**{**nothing, **describe_posterior(filters, stages[-1], beliefs), "boards": boards, "why": ""})


def _explain_no_posterior(shelf: Shelf, t: Trajectory) -> str:
    if not has_assumed_policies(shelf.env.spec, t):
        return "The exact posterior assumes another policy than the one that played."
    return "This environment has no exact posterior."


def _update_filters(shelf: Shelf, t: Trajectory, stages: Sequence[Episode]) -> list[Filter]:
    prior = shelf.env.filter(t.task.public) if has_assumed_policies(shelf.env.spec, t) else None
    if prior is None:
        return []
    found = [prior]
    for turn in stages[-1].turns[: len(stages) - 1]:  # as replayed: a record may hold anything
        found.append(found[-1].observe(rule_reply(turn)))
    return found


_SECRET = object()
"""Equal to no hypothesis."""


def describe_posterior(
    filters: Sequence[Filter], now: Episode, beliefs: Sequence[Elicited], *, blind: bool = False
) -> dict[str, Any]:
    """The posterior at every moment over the most likely hypotheses and the true one; with `blind` the true one gets no
    special treatment, for a player who has yet to find it."""
    env = now.env
    truth: Any = _SECRET if blind else env.hypothesis(now.state)
    weights: dict[Any, float] = {} if blind else {truth: float("inf")}
    sizes: list[int] = []
    for i, f in enumerate(filters):
        belief = f.belief()
        sizes.append(len(belief))
        for h, p in belief.top(TOP):  # later moments get more weight, because the prior is often uniform
            weights[h] = max(weights.get(h, 0.0), p * (1 + i))
    picked = sorted(weights, key=lambda h: -weights[h])[:ROWS]
    asked, table = _normalise_beliefs(beliefs)
    bars: list[Bar] = []
    for h in picked:
        words = env.in_words(h)
        column = asked.index(words) if words in asked else -1
        bars.append(
            Bar(
                name=to_compact_json(words if words is not None else _format_hypothesis(h), 160),
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
        "searchable": filters[0].has_questions,
    }


def _normalise_beliefs(beliefs: Sequence[Elicited]) -> tuple[list[str], Any]:
    """The candidates, and their beliefs at every moment, normalised."""
    rows = [b.candidates for b in beliefs if b.candidates]
    if not rows:
        return [], ()
    return list(rows[0]), np.exp(normalise_logprobs(np.array([list(row.values()) for row in rows])))


@dataclass(frozen=True, kw_only=True)
class BestQuestion:
    """The best question at a moment, and its expected gain in bits."""

    template = "best.html.j2"

    answer: str
    bits: float | None
    said: str


def find_best(library: Library, run: str, identity: str, turn: int) -> BestQuestion:
    """The best question in turn `turn`, counted from 0, by a search over all answers."""
    shelf = library.run(run)
    t = shelf.read_trajectory(identity)
    if not 0 <= turn < len(t.turns):
        raise invalid("turn", turn, f"0 to {len(t.turns) - 1}")
    f = shelf.env.filter(t.task.public) if has_assumed_policies(shelf.env.spec, t) else None
    if f is None:
        raise UserError(f"best: {_explain_no_posterior(shelf, t)}")
    for done in t.turns[:turn]:
        f = f.observe(rule_reply(done))
    return search_best(f, shelf.env.say)


def find_all_best(shelf: Shelf, t: Trajectory) -> list[BestQuestion]:
    """The best question of every turn; empty without an exact posterior or a list of answers."""
    f = shelf.env.filter(t.task.public) if has_assumed_policies(shelf.env.spec, t) else None
    found: list[BestQuestion] = []
    for turn in t.turns:
        if f is None or not f.has_questions:
            return []
        found.append(search_best(f, shelf.env.say))
        f = f.observe(rule_reply(turn))
    return found


def search_best(f: Filter, say: Any) -> BestQuestion:
    """The best question of a filter."""
    if not f.has_questions:
        return BestQuestion(answer="", bits=None, said="this environment does not list its answers")
    answer, bits = f.best_question()
    return BestQuestion(answer=to_compact_json(answer), bits=float(bits), said=to_compact_json(say(answer)))
