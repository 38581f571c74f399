"""What the local engine is asked, what it answers, and what it counts."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Literal

from sonde.core.model import Sampling

from .batching import Batcher
from .chat import Scored


@dataclass(slots=True)
class Stats:
    """Counts since the model was loaded, in tokens unless said otherwise.

    `needed` is what prompts held beyond the tokens that an earlier call of the same conversation had computed;
    `prefilled` is how many prompt tokens were in fact computed because they were not kept. Columns that were computed
    only to make rows equally long are in `padding`. `scored` tokens got a log-probability from `Model.score`, for which
    `fed` tokens were computed in `passes` forward passes. `rewritten` counts prompts whose template changed history.
    """

    requests: int = 0
    needed: int = 0
    prefilled: int = 0
    padding: int = 0
    decoded: int = 0
    steps: int = 0
    scored: int = 0
    fed: int = 0
    passes: int = 0
    rewritten: int = 0
    evicted: int = 0
    kept_bytes: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Generate:
    """Continue `ids`. `known` of them were computed by an earlier call of the conversation; `rewritten` as in `Prompt`.
    Both are for `Stats` only. `follows` is the `mark` of the conversation's last completion."""

    ids: array[int]
    sampling: Sampling
    known: int = 0
    rewritten: bool = False
    follows: int | None = None


def mark(ids: array[int], logprobs: array[float]) -> int:
    """What tells a completion from others."""
    return hash((ids.tobytes(), logprobs.tobytes()))


@dataclass(frozen=True, slots=True, eq=False)
class Score:
    """Log-probabilities of the tokens at the places of every row; `valued`: with what values add to them."""

    rows: tuple[Scored, ...]
    valued: bool = False


@dataclass(slots=True, eq=False)
class Generated:
    """Sampled ids with log-probabilities, why it ended, the text, and how many prompt tokens were kept ones."""

    ids: array[int]
    logprobs: array[float]
    finish: Literal["stop", "length"] = "stop"
    text: str = ""
    cached: int = 0


Answer = Generated | list[list[float]]
Feed = Batcher[Generate | Score, Answer]
