"""The decode loop: prefill what is not kept, draw one token per row and step, let rows leave and join in between.

Runs on one thread. Every row is a contiguous sequence, right-aligned in the deck (`slots.py`). Rows that are prefilled
together must be fed the same number of columns: one with fewer new tokens is fed its last kept tokens again (computed
anyway, as padding would be), and only a row that is shorter than that gets real padding. Prefixes that several waiting
rows share and nobody keeps yet are computed first, once.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, cast

import torch
from torch import Tensor

from sonde.core.errors import WorldError
from sonde.core.model import Sampling

from .batching import Batcher, Ticket
from .chat import common
from .draw import draw
from .slots import Deck, Slots

SHARED_MIN = 32
"""A prefix is worth a pass of its own if at least this many tokens of it are shared and not kept."""

PREFILL_TOKENS = 4096
"""Most tokens in one prefill pass."""

SCORED_LOGITS = 1 << 26
"""Most logits kept in one scoring pass (256 MiB in float32)."""

Steer = Callable[[Tensor, Tensor], Tensor]
"""From the last hidden states (rows, hidden size) and logits (rows, vocabulary) to the logits that are drawn from."""


@dataclass(slots=True)
class Stats:
    """Counts since the model was loaded, in tokens unless said otherwise.

    `needed` is what prompts held beyond the tokens that an earlier call of the same conversation had computed;
    `prefilled` is how many prompt tokens were in fact computed because they were not kept. Columns that were computed
    only to make rows equally long are in `padding`. `rewritten` counts prompts whose template changed history.
    """

    requests: int = 0
    needed: int = 0
    prefilled: int = 0
    padding: int = 0
    decoded: int = 0
    steps: int = 0
    scored: int = 0
    rewritten: int = 0
    evicted: int = 0
    kept_bytes: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Generate:
    """Continue `ids`. `known` of them were computed by an earlier call of the conversation (for `Stats.needed`)."""

    ids: array[int]
    sampling: Sampling
    known: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Score:
    """Log-probabilities of every token of each continuation after `ids`."""

    ids: array[int]
    continuations: tuple[array[int], ...]


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


@dataclass(slots=True, eq=False)
class _Job:
    """Tokens to bring into the deck. `most` of them may come from kept ones; `path` and `kept` say which do."""

    ids: array[int]
    most: int
    kept: int = 0
    path: list[Any] = field(default_factory=list[Any])


@dataclass(slots=True, eq=False)
class _Row:
    """One completion under way."""

    ticket: Ticket[Any, Any]
    request: Generate
    room: int
    """Tokens that may still be sampled."""
    out: Generated


class Engine:
    """A loaded model that serves `Generate` and `Score` requests from a `Batcher`.

    `context` is the most tokens the model can hold; `ends` are the ids that end a message; `decode` gives their text.
    """

    def __init__(
        self,
        model: Any,
        *,
        n_layers: int,
        context: int,
        ends: frozenset[int],
        decode: Callable[[Sequence[int]], str],
        max_batch: int,
        kv_bytes: int,
        steer: Steer | None = None,
    ) -> None:
        self.model = model
        self.context, self.ends, self.decode, self.max_batch = context, ends, decode, max_batch
        self.stats = Stats()
        self.steer = steer
        self.slots = Slots(kv_bytes)
        self.deck = Deck(n_layers)
        self.rows: list[_Row] = []
        self._hidden: Tensor | None = None
        if steer is not None:
            model.get_output_embeddings().register_forward_pre_hook(self._catch_hidden)

    def serve(self, feed: Feed) -> None:
        """Serve until nothing is under way and nothing waits."""
        with torch.inference_mode():
            while True:
                new = feed.take(self.max_batch - len(self.rows))
                try:
                    self._join(new)
                    if not self.rows:
                        return
                    self._step()
                except (torch.OutOfMemoryError, RuntimeError) as error:
                    self._give_up(new, error)

    def _give_up(self, new: Sequence[Ticket[Any, Any]], error: RuntimeError) -> None:
        """Fail everything under way if memory ran out; anything else is a defect and raises."""
        if not (isinstance(error, torch.OutOfMemoryError) or "allocate memory" in str(error)):
            raise error
        for ticket in {row.ticket for row in self.rows} | set(new):
            ticket.fail(WorldError(f"out of memory with {len(self.rows)} rows and {self.slots.nbytes} bytes of slots"))
        self.rows = []
        self.deck.clear()

    # --- joining -------------------------------------------------------------------------------------------------------

    def _join(self, tickets: Sequence[Ticket[Any, Any]]) -> None:
        scores = [t for t in tickets if isinstance(t.request, Score)]
        if scores:
            self._score(scores)
        rows = [row for t in tickets if isinstance(t.request, Generate) and (row := self._row(t, t.request))]
        jobs = {id(job): row for row in rows if (job := _Job(row.request.ids, len(row.request.ids) - 1))}
        self._begin(rows)
        del jobs

    def _row(self, ticket: Ticket[Any, Any], request: Generate) -> _Row | None:
        room = self.context - len(request.ids)
        if room < 1:
            ticket.fail(WorldError(f"the prompt has {len(request.ids)} tokens, the context holds {self.context}"))
            return None
        out = Generated(array("i"), array("f"))
        return _Row(ticket, request, min(room, request.sampling.max_new_tokens), out)
