"""Episodes as numbers: the rows that evaluations, reports and comparisons are computed from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sonde.core import AGENT, Gain, Trajectory, UserError
from sonde.runs.rollout import tokens

from . import per_turn as curves
from .information_gain import NOTHING, Information
from .reply_defects import Replies, Shared, count, shared

TRUNCATED: Mapping[str, str] = {
    "tokens": "cut at the token limit",
    "context": "the model's context was full",
    "filter": "the model's host refused the conversation",
}
"""What cut an episode short, in words; that turns ran out, its kind says."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One episode, reduced to numbers.

    `score` is the agent's return; `entropy` holds H(b_0), ..., H(b_T) in bits and `gains` one `Gain` per turn, both
    None where the environment has no filter or gains were not asked for.
    """

    task: str
    index: int
    sample: int
    trajectory: str
    kind: str
    score: float
    turns: int
    tokens: int = 0
    replies: Replies = field(default_factory=Replies)
    """What was wrong with the agent's replies."""
    shared: Shared = field(default_factory=Shared)
    """Who replied to the agent, where rules and a model share a seat."""
    truncated: str = ""
    error: str = ""
    entropy: tuple[float, ...] | None = None
    gains: tuple[Gain, ...] | None = None
    called: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """The turns, from 0, that the environment called `invalid` or `repeated`."""

    @property
    def win(self) -> bool:
        return self.kind == "win"

    @property
    def is_broken_off(self) -> bool:
        """Whether it ended before the world did (`Outcome.is_broken_off`)."""
        return self.kind in ("format", "error") or self.truncated in ("context", "filter")


def row(trajectory: Trajectory, known: Information = NOTHING) -> Row:
    """One finished trajectory as a row, with what is known of its information."""
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
        tokens=tokens(trajectory),
        replies=count(trajectory),
        shared=shared(trajectory),
        truncated=outcome.truncated,
        error=trajectory.error,
        entropy=known.entropy,
        gains=known.gains,
        called=curves.called(trajectory),
    )
