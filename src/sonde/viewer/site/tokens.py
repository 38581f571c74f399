"""The tokens of a turn as they were sampled: ids, log-probabilities, and which of them training would learn from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sonde.core import Completion, invalid
from sonde.core.plain import plain

from ..text import pieces
from .library import Library

SHOWN = 2000
"""Tokens of a call that are shown."""


@dataclass(frozen=True, kw_only=True)
class Token:
    """An id; its log-probability where it was sampled, None in a prompt."""

    id: int
    logprob: float | None = None

    @property
    def p(self) -> float:
        return math.exp(self.logprob) if self.logprob is not None else 0.0

    @property
    def shade(self) -> int:
        """0 for a token that had to come, to 4 for one that was unlikely."""
        return sum(self.p < limit for limit in (0.9, 0.5, 0.1, 0.01))


@dataclass(frozen=True, kw_only=True)
class Call:
    """A model call. `prompt` are the tokens that are new against the call before, which shares the first `shared`; the
    mask of training is 0 on them and 1 on `sampled`."""

    seat: str
    name: str
    model: str
    weights: str
    temperature: float | None
    truncated: bool
    finish: str
    shared: int
    prompt: Sequence[Token]
    sampled: Sequence[Token]
    left_out: int
    text: Sequence[object]

    @property
    def total(self) -> float:
        """Log-probability of all that was sampled."""
        return math.fsum(t.logprob or 0.0 for t in self.sampled)


@dataclass(frozen=True, kw_only=True)
class TokensPage:
    """The calls of a turn."""

    template = "tokens.html.j2"

    turn: int
    calls: Sequence[Call]


def page(library: Library, run: str, identity: str, turn: int) -> TokensPage:
    """Of a turn, counted from 0."""
    t = library.run(run).trajectory(identity)
    if not 0 <= turn < len(t.turns):
        raise invalid("turn", turn, f"0 to {len(t.turns) - 1}")
    calls = [_call(act.seat, c) for act in t.turns[turn].acts for c in act.action.completions]
    return TokensPage(turn=turn, calls=calls)


def _call(seat: str, c: Completion) -> Call:
    logprobs = [*c.logprobs, *[None] * (len(c.ids) - len(c.logprobs))]
    sampled = [Token(id=i, logprob=lp) for i, lp in zip(c.ids, logprobs, strict=True)]
    prompt = [Token(id=i) for i in c.prompt_ids]
    return Call(
        seat=seat, name=plain(c.name), model=plain(c.model), weights=plain(c.weights), temperature=c.temperature,
        truncated=c.truncated, finish=c.finish, shared=c.shared, prompt=prompt[:SHOWN], sampled=sampled[:SHOWN],
        left_out=max(0, len(prompt) - SHOWN) + max(0, len(sampled) - SHOWN), text=pieces(c.text),
    )  # fmt: skip
