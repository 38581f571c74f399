"""The tokens of a turn as they were sampled: ids, log-probabilities, and which of them training would learn from.

They are spelled where the model's tokenizer lies on this machine and can be read (the extra `hf`); nothing is fetched.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from sonde._util.escaping import plain
from sonde._util.folders import cache_root
from sonde.core import Completion, Turn, invalid
from sonde.models.files.fetch import KNOWN
from sonde.models.files.shipped import SHIPPED

from ..text import pieces
from .library import Library

SHOWN = 2000
"""Tokens of a call that are shown."""


@dataclass(frozen=True, kw_only=True)
class Token:
    """An id; its log-probability where it was sampled, None in a prompt."""

    id: int
    logprob: float | None = None
    spelling: str | None = None

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
    return TokensPage(turn=turn, calls=calls_of(t.turns[turn]))


def calls_of(turn: Turn) -> list[Call]:
    """The model calls of all seats in a turn."""
    return [_call(act.seat, c) for act in turn.acts for c in act.action.completions]


@lru_cache(8)
def _tokenizer(model: str) -> Any | None:
    """Of a model by name or folder, as its name is on record; None where there is none here."""
    folder = fetched(model)
    file = None if folder is None else folder / "tokenizer.json"
    if file is None or not file.is_file():
        return None
    try:
        from tokenizers import Tokenizer
    except ImportError:
        return None
    return Tokenizer.from_file(str(file))


def fetched(model: str) -> Path | None:
    """Where the files of a model are, without fetching any."""
    if model in SHIPPED:
        return SHIPPED[model].folder
    if model in KNOWN:
        return next(iter(sorted((cache_root() / "models").glob(f"{model}-*"))), None)
    return Path(model) if model and Path(model).is_dir() else None


def _spelled(model: str, ids: Sequence[int]) -> list[str | None]:
    tokenizer = _tokenizer(model)
    if tokenizer is None:
        return [None] * len(ids)
    return [plain(tokenizer.decode([i], skip_special_tokens=False)) for i in ids]


def _call(seat: str, c: Completion) -> Call:
    logprobs = [*c.logprobs, *[None] * (len(c.ids) - len(c.logprobs))]
    words = _spelled(c.model, c.ids)
    sampled = [Token(id=i, logprob=lp, spelling=w) for i, lp, w in zip(c.ids, logprobs, words, strict=True)]
    new = c.prompt_ids[:SHOWN]
    prompt = [Token(id=i, spelling=w) for i, w in zip(new, _spelled(c.model, new), strict=True)]
    return Call(
        seat=seat, name=plain(c.name), model=plain(c.model), weights=plain(c.weights), temperature=c.temperature,
        truncated=c.truncated, finish=c.finish, shared=c.shared, prompt=prompt, sampled=sampled[:SHOWN],
        left_out=max(0, len(c.prompt_ids) - SHOWN) + max(0, len(sampled) - SHOWN), text=pieces(c.text),
    )  # fmt: skip
