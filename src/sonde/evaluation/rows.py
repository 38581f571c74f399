"""One row of numbers per episode; evaluations, reports and comparisons are computed from these rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sonde.core import Gain

TRUNCATED: Mapping[str, str] = {
    "tokens": "cut at the token limit",
    "context": "the model's context was full",
    "filter": "the model's host refused the conversation",
}
"""Reasons why an episode was truncated, in words. Running out of turns is an outcome of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyCounts:
    """Counts over one episode. `malformed`: replies to sub-calls that could not be parsed and were requested again;
    `fallbacks`: sub-calls that were given up; `cut`: replies truncated by the token limit; `thoughts`: replies with
    reasoning and no answer; `refused`: replies that decline to play, by the host's flag or by their wording
    (`envs/_shared/refusals.py`); `shrunk`: calls whose prompt, by the endpoint's count, had no more tokens than the
    one before although the conversation had grown; `unsent`: sampling fields that an endpoint rejected, prefixed with
    the seat unless it is the agent's; `bad_calls`: replies of an agent that acts by tools without a usable call
    (`core.tools`)."""

    malformed: int = 0
    fallbacks: int = 0
    cut: int = 0
    thoughts: int = 0
    refused: int = 0
    shrunk: int = 0
    unsent: tuple[str, ...] = ()
    bad_calls: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedReplies:
    """Who wrote the last reply of each turn, if rules and a model share a seat (`users/hybrid.py`). `denied`: replies
    of the model that the rules knew to be false and replaced."""

    rules: int = 0
    model: int = 0
    denied: int = 0

    @property
    def by_model(self) -> float | None:
        """The share of replies that the model wrote; None if no seat is shared."""
        total = self.rules + self.model + self.denied
        return self.model / total if total else None


@dataclass(frozen=True, kw_only=True)
class Row:
    """One episode, reduced to numbers.

    `score` is the agent's return; `entropy` holds H(b_0), ..., H(b_T) in bits and `gains` one `Gain` per turn, both
    None if the environment has no filter or gains were not requested.
    """

    task: str
    index: int
    sample: int
    trajectory: str
    kind: str
    score: float
    turns: int
    tokens: int = 0
    replies: ReplyCounts = field(default_factory=ReplyCounts)
    """Defects of the agent's replies."""
    shared: SharedReplies = field(default_factory=SharedReplies)
    """Who replied to the agent, if rules and a model share a seat."""
    truncated: str = ""
    error: str = ""
    entropy: tuple[float, ...] | None = None
    gains: tuple[Gain, ...] | None = None
    called: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """The turns, from 0, that the environment marked `invalid`, `repeated`, `not_understood` or `not_known`."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """The tags of its task."""
    regret: float | None = None
    """Expected regret of the whole episode (`regret.total_regret`); None where the environment has no finite model."""

    @property
    def win(self) -> bool:
        return self.kind == "win"

    @property
    def is_broken_off(self) -> bool:
        """Whether the episode ended before the game did (`Outcome.is_broken_off`)."""
        return self.kind in ("unreadable", "error") or self.truncated in ("context", "filter")
