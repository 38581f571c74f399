"""The inference engine: a multi-turn KV cache with a decode loop in which rows join and leave.

What it is for: conversations that come back. Every turn computes only what is new in it, because keys and values of the
earlier turns stay in `kv_cache.py` between calls; transformers' `generate` computes the whole history again at every
turn. Also: a random number per (seed, position) for every token, so a completion does not depend on what else is in the
batch, and exact scores of given tokens (`scoring.py`).

Measured (`benchmarks/hf_generate.py --turns`; CPU seconds, float32, one thread; 8 conversations at once, every turn 30
words and 16 sampled tokens), beside `generate` on the whole history:

    SmolLM2-135M       1 turn   3.9 / 3.9      5 turns  18.2 / 36.4
    sonde-tiny-maze    1 turn   0.1 / 0.1      5 turns   0.4 / 0.4     10 turns  0.7 / 1.5

For one batch of fresh prompts there is no gain: with sonde-tiny-maze, 64 rows and 24 new tokens, 5,794 tokens per CPU
second, `generate` 6,273, transformers' continuous batching 1,661 (`benchmarks/gpu.py --device cpu`).

The engine runs on one thread. Every row is a contiguous sequence, right-aligned in the decoding batch (`kv_cache.py`).
Rows that are prefilled together must be fed the same number of columns: a row with fewer new tokens is fed its last
cached tokens again (computed anyway, as padding would be), and only a row that is shorter than that gets real padding.
Prefixes that several waiting rows share and that are not cached yet are computed first, once.
"""

from __future__ import annotations

import math
import sys
import warnings
from array import array
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

import torch
from torch import Tensor

from sonde.core.errors import ContextFull, WorldError

from ..chat.chat import common_prefix_length
from .attention import attention_windows, build_masks
from .batching import EngineStats, Feed, GeneratedTokens, GenerateRequest, ScoreRequest, Ticket, completion_hash
from .kv_cache import DecodingBatch, PolicyWithValueModel, PrefixCache, count_layers
from .sampler import sample_tokens, to_device
from .scoring import Scorer, Steer, out_of_memory

SHARED_MIN = 32
"""A prefix gets a pass of its own if at least this many of its tokens are shared and not cached."""

PREFILL_TOKENS = 4096
"""Most tokens of one prefill pass."""

WASTE = 1 << 16
"""Recomputed tokens from which on the cache may be called too small."""


class CacheWarning(UserWarning):
    """The cache is too small for the conversations that are played at once."""


@dataclass(slots=True, eq=False)
class _Job:
    """Tokens to bring into the decoding batch, of which at most `most` may come from the cache; `tag` is the ticket
    that they are for."""

    ids: array[int]
    most: int
    tag: Any = None
    kept: int = 0

    @property
    def n_missing(self) -> int:
        return len(self.ids) - self.kept


@dataclass(slots=True, eq=False)
class _Row:
    """A completion in progress."""

    ticket: Ticket[Any, Any]
    request: GenerateRequest
    room: int
    """Tokens that may still be sampled."""
    out: GeneratedTokens


class Engine:
    """A loaded model that serves `GenerateRequest` and `ScoreRequest` requests from a `Batcher`.

    `context` is the most tokens that the model can hold; `ends` are the ids that end a message; `decode` returns their
    text; `tokens` are the valid ids: a model may have more, which are never sampled. `lock_step`: requests that wait
    when serving begins are served together, and nobody joins in between. `beside`: a model with the same tokens that
    reads along; `steer` then gets its hidden states. `rank`, like `steer`: applied to `ScoreRequest` requests that are
    `valued`.
    """

    def __init__(
        self,
        model: Any,
        *,
        n_layers: int,
        context: int,
        ends: frozenset[int],
        decode: Callable[[Sequence[int]], str],
        tokens: Collection[int],
        max_batch: int,
        kv_bytes: int,
        steer: Steer | None = None,
        rank: Steer | None = None,
        beside: Any | None = None,
        lock_step: bool = False,
    ) -> None:
        self.model, self.lock_step = model if beside is None else PolicyWithValueModel(model, beside), lock_step
        self.context, self.ends, self.decode, self.max_batch = context, ends, decode, max_batch
        self.tokens = tokens
        self.stats = EngineStats()
        self.steer = steer
        self.slots = PrefixCache(kv_bytes)
        every = n_layers if beside is None else n_layers + count_layers(beside)
        self.batch = DecodingBatch(every)
        self.windows = attention_windows(self.model)
        self.scorer = self.ranker = Scorer(model, n_layers=n_layers, stats=self.stats)
        valuer = model if beside is None else beside
        if rank is not None:
            self.ranker = Scorer(self.model, n_layers=every, stats=self.stats, steer=rank, valuer=valuer)
        self.rows: list[_Row] = []
        self._most = max_batch  # rows at once; reduced when memory runs out
        self._again: list[Ticket[Any, Any]] = []  # tickets that did not fit
        self._wave: list[Ticket[Any, Any]] = []  # in lock-step: waiting tickets of this call, without a row yet
        self._absent_V: Tensor | None = None
        self._all_tokens = False
        self._hidden: Tensor | None = None
        self._warned = False
        if steer is not None:
            valuer.get_output_embeddings().register_forward_pre_hook(self._catch_hidden)

    def serve(self, feed: Feed) -> None:
        """Serve until no request is in progress. Requests that arrive then are served by the next call.

        When memory runs out, half as many rows start again (what they sample depends on seed and position alone); a row
        that does not fit alone fails. Every call first tries twice the last number of rows.
        """
        self._most, self._again = min(self.max_batch, 2 * self._most), []
        self._wave = sorted(feed.take_waiting(sys.maxsize), key=_seed_rank) if self.lock_step else []
        with torch.inference_mode():
            while True:
                new = self._take_newcomers(feed)
                try:
                    self._add_rows(new)
                    if self.rows:
                        self._decode_step()
                    if not self.rows and not self._wave and not self._again:
                        return
                except RuntimeError as error:
                    if not out_of_memory(error):
                        self._drop_rows()
                        raise
                    self._retry_with_fewer_rows(new, error)
                except BaseException:
                    self._drop_rows()
                    raise

    def _retry_with_fewer_rows(self, new: Sequence[Ticket[Any, Any]], error: RuntimeError) -> None:
        """Memory ran out for the current rows and these newcomers: put them back, for half as many at once. A last row
        is tried once more with an empty cache."""
        held = list(dict.fromkeys([*(row.ticket for row in self.rows), *new]))
        n_rows, alone = max(len(held), len(self.batch.lengths)), self._most == 1
        self._drop_rows()
        self._most = max(1, min(self._most, n_rows) // 2)
        if self._most == 1:
            self.slots = PrefixCache(self.slots.budget)
        if alone:
            for ticket in held:
                ticket.fail(WorldError(f"out of memory with one row: {error}"))
        else:
            self._again = [ticket for ticket in held if not (ticket.settled or ticket.dropped)] + self._again

    def _take_newcomers(self, feed: Feed) -> list[Ticket[Any, Any]]:
        """The tickets for which there is room. In lock-step nobody joins after serving began: the time of arrival
        depends on threads, and the shape of a batch decides how its numbers are rounded."""
        room = max(0, self._most - len(self.rows))
        again, self._again = self._again[:room], self._again[room:]
        room -= len(again)
        if not self.lock_step:
            return again + feed.take_waiting(room)
        new, self._wave = self._wave[:room], self._wave[room:]
        return again + new

    def forget_cache(self) -> None:
        """Drop all cached keys and values and free their memory. Not while rows are in progress."""
        self._drop_rows()
        self.slots = PrefixCache(self.slots.budget)
        self.stats.kept_bytes = 0

    def _drop_rows(self) -> None:
        """Drop all rows, whatever their state."""
        self.rows = []
        self.batch.clear_rows()
        if self.model.device.type == "cuda":
            torch.cuda.empty_cache()

    # --- rows join ---------------------------------------------------------------------------------------------------

    def _add_rows(self, tickets: Sequence[Ticket[Any, Any]]) -> None:
        self.slots.count_requests(len(tickets))
        if scores := [t for t in tickets if isinstance(t.request, ScoreRequest)]:
            self._serve_scores(scores)
        jobs: list[_Job] = []
        for ticket in tickets:
            request = ticket.request
            if isinstance(request, GenerateRequest) and self._fits_context(ticket, request.ids):
                jobs.append(_Job(request.ids, len(request.ids) - 1, ticket))
                if request.follows is not None:
                    self.slots.mark_returned(request.follows)
        self._compute_shared_prefixes(jobs)
        for chunk in self._group_jobs(jobs):
            first = len(self.rows)
            logits_BTV = self._prefill_chunk(chunk)
            self.rows += [self._make_row(job) for job in chunk]
            for row, job in enumerate(chunk, first):
                self._cache_row(job.ids, row)  # now: requests with the same opening may come before it leaves
            self._sample_next(first, logits_BTV[:, -1])

    def _serve_scores(self, tickets: Sequence[Ticket[Any, Any]]) -> None:
        longest = (max((row.ids for row in t.request.rows), key=len, default=()) for t in tickets)
        fitting = [t for t, ids in zip(tickets, longest, strict=True) if self._fits_context(t, ids)]
        for scorer, valued in ((self.scorer, False), (self.ranker, True)):
            scorer.serve([t for t in fitting if t.request.valued == valued])

    def _fits_context(self, ticket: Ticket[Any, Any], ids: Sequence[int]) -> bool:
        fits = len(ids) < self.context
        if not fits:
            ticket.fail(ContextFull(f"the prompt has {len(ids)} tokens, the model's context holds {self.context}"))
        return fits

    def _make_row(self, job: _Job) -> _Row:
        request: GenerateRequest = job.tag.request
        self._count_recomputed(request.known - job.kept)
        room = min(self.context - len(request.ids), request.sampling.max_new_tokens)
        return _Row(job.tag, request, room, GeneratedTokens(array("i"), array("f"), cached=job.kept))

    def _count_recomputed(self, tokens: int) -> None:
        """Count tokens of past turns that had to be computed again, and warn once if they outnumber the new ones."""
        stats = self.stats
        stats.recomputed += max(0, tokens)
        if stats.recomputed > max(stats.needed, WASTE) and self.slots.budget and not self._warned:
            self._warned = True
            warnings.warn(
                f"models:hf: {stats.recomputed:,} tokens of past turns were computed again, {stats.needed:,} were new: "
                f"the cache (kv_bytes, {self.slots.budget / 2**30:.1f} GiB) cannot hold all conversations played at "
                "once; play fewer at once (--concurrency), or enlarge it",
                CacheWarning,
                stacklevel=2,
            )

    def _compute_shared_prefixes(self, jobs: Sequence[_Job]) -> None:
        """Compute, once each, the prefixes that several jobs share and that are not cached; shorter ones first."""
        while prefixes := self._prefixes_with_room(self._find_shared_prefixes(jobs)):
            for chunk in self._group_jobs([_Job(ids, len(ids) - 1) for ids in prefixes]):
                self._prefill_chunk(chunk)
                self._keep_and_drop([job.ids for job in chunk])
            if any(self.slots.match_prefix(ids)[0] < len(ids) for ids in prefixes):
                return  # the budget cannot hold them

    def _prefixes_with_room(self, prefixes: Sequence[array[int]]) -> list[array[int]]:
        """The prefixes for which the cache has room."""
        room = self.slots.free_tokens()
        fitting: list[array[int]] = []
        for ids in prefixes:
            missing = len(ids) - self.slots.match_prefix(ids)[0]
            if missing <= room:
                fitting.append(ids)
                room -= missing
        return fitting

    def _find_shared_prefixes(self, jobs: Sequence[_Job]) -> list[array[int]]:
        runs = sorted((job.ids[: job.most] for job in jobs), key=array.tobytes)  # shared prefixes become neighbours
        prefixes: list[array[int]] = []
        for a, b in pairwise(runs):
            prefix = a[: common_prefix_length(a, b)]
            if len(prefix) - self.slots.match_prefix(prefix)[0] >= SHARED_MIN:
                prefixes.append(prefix)
        shortest: list[array[int]] = []
        for ids in sorted(prefixes, key=len):
            if not any(common_prefix_length(ids, other) == len(other) for other in shortest):
                shortest.append(ids)
        return shortest if self.slots.budget else []

    def _keep_and_drop(self, kept: Sequence[array[int]]) -> None:
        """Cache these first tokens of the last rows of the decoding batch, and drop the rows."""
        first = len(self.batch.lengths) - len(kept)
        for row, ids in enumerate(kept, first):
            self._cache_row(ids, row)
        del self.batch.lengths[first:]

    def _cache_row(self, ids: array[int], row: int) -> None:
        self.slots.insert_ids(ids, lambda a, b: self.batch.copy_tokens(row, a, b))
        self.stats.evicted, self.stats.kept_bytes = self.slots.evicted, self.slots.nbytes

    # --- decoding ----------------------------------------------------------------------------------------------------

    def _decode_step(self) -> None:
        """Decode one more token for every row."""
        batch, n = self.batch, len(self.rows)
        batch.make_room(n, max(batch.lengths) + 1, 1)
        batch.end += 1
        batch.lengths = [length + 1 for length in batch.lengths]
        self.stats.steps += 1
        self.stats.decoded += n
        self._sample_next(0, self._forward_rows([[row.out.ids[-1]] for row in self.rows], 0)[:, -1])

    def _sample_next(self, first: int, logits_BV: Tensor) -> None:
        """Sample a token for the rows from `first` on; finished rows leave."""
        rows = self.rows[first:]
        if self.steer is not None:
            logits_BV = self.steer(cast("Tensor", self._hidden), logits_BV)
        samplings, positions = [r.request.sampling for r in rows], [len(r.out.ids) for r in rows]
        tokens, logprobs = sample_tokens(logits_BV, samplings, positions, absent_V=self._absent_ids(logits_BV))
        for row, token, logprob in zip(rows, tokens, logprobs, strict=True):
            row.out.ids.append(token)
            row.out.logprobs.append(logprob)
        for i in reversed(range(first, len(self.rows))):
            if self._check_ended(self.rows[i]):
                self._finish_row(i)

    def _absent_ids(self, logits_BV: Tensor) -> Tensor | None:
        """Which ids are no tokens; None if all are."""
        if self._absent_V is None:
            self._absent_V = torch.ones(logits_BV.shape[-1], dtype=torch.bool)
            self._absent_V[[i for i in self.tokens if i < len(self._absent_V)]] = False
            self._absent_V = self._absent_V.to(logits_BV.device)
            self._all_tokens = not self._absent_V.any()
        return None if self._all_tokens else self._absent_V

    def _check_ended(self, row: _Row) -> bool:
        """Whether a row is finished; if so, its text and finish reason are set."""
        out, sampling = row.out, row.request.sampling
        if not math.isfinite(out.logprobs[-1]):
            self._fail_spoiled(row.ticket)
            return True
        ended = out.ids[-1] in self.ends
        full = len(out.ids) == row.room
        if not (ended or full or sampling.stop or row.ticket.dropped):
            return False
        text = self.decode(out.ids[:-1] if ended else out.ids)
        cut = sampling.cut_at_stop(text)
        out.text = text if cut is None else cut
        out.finish = "length" if full and not ended and cut is None else "stop"
        return ended or full or cut is not None or row.ticket.dropped

    def _fail_spoiled(self, ticket: Ticket[Any, Any]) -> None:
        """Fail a request whose probabilities are not finite. Masked columns must be finite, so all caches are
        cleaned."""
        ticket.fail(WorldError("the model's probabilities are not finite"))
        self.batch.zero_non_finite()
        self.slots = PrefixCache(self.slots.budget)

    def _finish_row(self, i: int) -> None:
        row, last = self.rows[i], self.rows.pop()
        self.stats.requests += 1
        self.stats.needed += len(row.request.ids) - row.request.known
        self.stats.rewritten += row.request.rewritten
        row.ticket.finish(row.out)
        if math.isfinite(row.out.logprobs[-1]):
            self._cache_row((row.request.ids + row.out.ids)[: self.batch.lengths[i]], i)
            self.slots.mark_gone(completion_hash(row.out.ids, row.out.logprobs))
        self.batch.remove_row(i)
        if last is not row:
            self.rows[i] = last

    # --- forward passes ----------------------------------------------------------------------------------------------

    def _group_jobs(self, jobs: Sequence[_Job]) -> Iterator[list[_Job]]:
        """Group jobs with a similar number of missing tokens, within the limits of one pass."""
        for job in jobs:
            job.kept = min(job.most, self.slots.match_prefix(job.ids)[0])
        most_rows = max(1, self._most - len(self.rows))
        chunk: list[_Job] = []
        for job in sorted(jobs, key=lambda job: job.n_missing, reverse=True):
            if chunk:
                fed = chunk[0].n_missing
                full = (len(chunk) + 1) * fed > PREFILL_TOKENS or len(chunk) == most_rows
                if full or 4 * job.n_missing < 3 * fed - 32:
                    yield chunk
                    chunk = []
            chunk.append(job)
        if chunk:
            yield chunk

    def _prefill_chunk(self, chunk: Sequence[_Job]) -> Tensor:
        """Add these jobs to the decoding batch as its last rows; returns the logits of their last token, (B, 1, V)."""
        paths = [self.slots.match_prefix(job.ids[: job.most]) for job in chunk]
        for job, (kept, _) in zip(chunk, paths, strict=True):
            job.kept = kept
        fed = max(job.n_missing for job in chunk)
        first, lengths = len(self.batch.lengths), [len(job.ids) for job in chunk]
        self.batch.make_room(first + len(chunk), max(lengths) + 1, 1)
        self.batch.lengths += lengths
        for row, (job, (_, path)) in enumerate(zip(chunk, paths, strict=True), first):
            self.batch.load_row(row, path, len(job.ids), fed)
        missing = sum(job.n_missing for job in chunk)
        self.stats.prefilled += missing
        self.stats.padding += fed * len(chunk) - missing
        tokens = [[0] * (fed - len(job.ids)) + job.ids[-fed:].tolist() for job in chunk]
        return self._forward_rows(tokens, first)

    def _forward_rows(self, tokens: Sequence[Sequence[int]], first: int) -> Tensor:
        """Feed `tokens` to the decoding rows from `first` on; returns the logits of the last column, (B, 1, V)."""
        fed, device = len(tokens[0]), self.model.device
        lengths = self.batch.lengths[first : first + len(tokens)]
        lengths_B1, width = to_device(lengths, device, torch.int64)[:, None], max(fed, *lengths)
        if fed == 1:  # a masked column: without any mask, single queries are 5 times slower in bfloat16
            width += 1
        back_S = torch.arange(width - 1, -1, -1, device=device)
        mask: Any = back_S < lengths_B1
        if fed == 1 and self.windows is not None:
            mask = build_masks(self.model, self.windows, mask[:, None], back_S)
        out = self.model(
            input_ids=to_device(tokens, device, torch.int64),
            attention_mask=mask,
            position_ids=(torch.arange(-fed, 0, device=device) + lengths_B1).clamp_(min=0),
            past_key_values=self.batch.open_window(first, first + len(tokens), width, fed),
            use_cache=True,
            logits_to_keep=1,
        )
        return out.logits

    def _catch_hidden(self, module: Any, args: tuple[Tensor, ...]) -> None:
        self._hidden = args[0][:, -1]


def _seed_rank(ticket: Ticket[Any, Any]) -> int:
    """Sort key that does not depend on the order of arrival: the seed of the call."""
    return ticket.request.sampling.seed if isinstance(ticket.request, GenerateRequest) else -1
