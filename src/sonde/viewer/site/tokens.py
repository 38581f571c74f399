"""The tokens of a turn as sampled: ids, log-probabilities, and the loss mask.

Their text is shown if the model's tokenizer is on this machine and the extra `hf` is installed; nothing is downloaded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from sonde._util.escaping import make_visible
from sonde._util.folders import cache_root
from sonde.core import Completion, Turn, invalid
from sonde.models.files.fetch import KNOWN
from sonde.models.files.shipped import SHIPPED

from ..templating import split_pieces
from .library import Library

SHOWN = 2000
"""Maximum number of tokens shown per call."""


@dataclass(frozen=True, kw_only=True)
class Token:
    """An id, with its log-probability if it was sampled, None in a prompt."""

    id: int
    logprob: float | None = None
    spelling: str | None = None

    @property
    def p(self) -> float:
        return math.exp(self.logprob) if self.logprob is not None else 0.0

    @property
    def shade(self) -> int:
        """From 0 for a likely token to 4 for an unlikely one."""
        return sum(self.p < limit for limit in (0.9, 0.5, 0.1, 0.01))


@dataclass(frozen=True, kw_only=True)
class Call:
    """A model call. `prompt` holds its new prompt tokens, after the first `shared` of the previous call; the loss mask
    is 0 on them and 1 on `sampled`."""

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
        """Log-probability of the whole sampled reply."""
        return math.fsum(t.logprob or 0.0 for t in self.sampled)


@dataclass(frozen=True, kw_only=True)
class TokensPart:
    """The model calls of a turn."""

    template = "tokens.html.j2"

    turn: int
    calls: Sequence[Call]


def make_tokens_part(library: Library, run: str, identity: str, turn: int) -> TokensPart:
    """The part of a turn, counted from 0."""
    t = library.run(run).read_trajectory(identity)
    if not 0 <= turn < len(t.turns):
        raise invalid("turn", turn, f"0 to {len(t.turns) - 1}")
    return TokensPart(turn=turn, calls=list_calls(t.turns[turn]))


def list_calls(turn: Turn) -> list[Call]:
    """The model calls of all seats in a turn."""
    return [_describe_call(act.seat, c) for act in turn.acts for c in act.action.completions]


@lru_cache(8)
def _load_tokenizer(model: str) -> Any | None:
    """The tokenizer of a model by its recorded name or folder; None if it is not on this machine."""
    folder = find_model_files(model)
    file = None if folder is None else folder / "tokenizer.json"
    if file is None or not file.is_file():
        return None
    try:
        from tokenizers import Tokenizer
    except ImportError:
        return None
    return Tokenizer.from_file(str(file))


def find_model_files(model: str) -> Path | None:
    """The folder of a model on this machine; nothing is downloaded."""
    if model in SHIPPED:
        return SHIPPED[model].folder
    if model in KNOWN:
        return next(iter(sorted((cache_root() / "models").glob(f"{model}-*"))), None)
    return Path(model) if model and Path(model).is_dir() else None


def _spell_tokens(model: str, ids: Sequence[int]) -> list[str | None]:
    tokenizer = _load_tokenizer(model)
    if tokenizer is None:
        return [None] * len(ids)
    return [make_visible(tokenizer.decode([i], skip_special_tokens=False)) for i in ids]


def _describe_call(seat: str, c: Completion) -> Call:
    logprobs = [*c.logprobs, *[None] * (len(c.ids) - len(c.logprobs))]
    words = _spell_tokens(c.model, c.ids)
    sampled = [Token(id=i, logprob=lp, spelling=w) for i, lp, w in zip(c.ids, logprobs, words, strict=True)]
    new = c.prompt_ids[:SHOWN]
    prompt = [Token(id=i, spelling=w) for i, w in zip(new, _spell_tokens(c.model, new), strict=True)]
    return Call(
        seat=seat,
        name=make_visible(c.name),
        model=make_visible(c.model),
        weights=make_visible(c.weights),
        temperature=c.temperature,
        truncated=c.truncated,
        finish=c.finish,
        shared=c.shared,
        prompt=prompt,
        sampled=sampled[:SHOWN],
        left_out=max(0, len(c.prompt_ids) - SHOWN) + max(0, len(sampled) - SHOWN),
        text=split_pieces(c.text),
    )
