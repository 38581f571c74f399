"""Log-probabilities of given tokens: the probes of all waiting requests form one prefix tree, computed block by block.

Equal beginnings (turns of one conversation, candidates of one turn, episodes that share a prompt) are computed once:
`prefix_tree.py` cuts the radix tree of all rows into blocks, and a block is one forward pass of one row without
padding. Its context is its cache, the keys and values of its ancestors; inside it a mask lets every token see the
tokens on its own path only, and positions count along the path. So every log-probability is that of a plain pass over
its probe, and every distinct token is computed once.

If a model takes no such mask (`attention.py`), every run of the tree is a pass of its own, plain and causal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, cast

import torch
from torch import Tensor
from transformers.cache_utils import Cache, DynamicLayer

from sonde.core.errors import WorldError

from .attention import attention_windows, build_masks
from .batching import EngineStats, ScoreRequest, Ticket
from .prefix_tree import Block, PrefixTree, TokenRun, cut_blocks

TOKENS = {"cpu": 512}
"""Tokens per pass, by type of device. Attention is computed for all pairs, masked or not, and a few tokens already keep
a CPU busy: with SmolLM2 on one core, passes of 128, 256, 512 and 1,024 tokens are 8.7, 10, 10.7 and 9 times as fast as
turn by turn (`benchmarks/elicit.py --tokens`)."""
MOST_TOKENS = 2048
"""Tokens per pass on other devices."""
LEAST_TOKENS = 32
"""The smallest pass that is tried when memory runs out."""
LOGITS = 1 << 26
"""Most logits of one pass (256 MiB in float32)."""

Steer = Callable[[Tensor, Tensor], Tensor]
"""From the last hidden states (rows, hidden size) and logits (rows, vocabulary) to the logits to sample from."""


@dataclass(frozen=True, slots=True)
class _Target:
    """The `place`-th score of a row of a request is the one of `token`."""

    ticket: int
    row: int
    place: int
    token: int


@dataclass(slots=True, eq=False)
class _Past:
    """Keys and values of a block, and of those before it. `columns`: the first column of each run."""

    kv: list[Tensor]
    columns: dict[TokenRun, int]
    before: _Path | None


@dataclass(frozen=True, slots=True, eq=False)
class _Path:
    """The context of a block: the columns of `past` that lead to its base."""

    past: _Past
    columns: Tensor


class Scorer:
    """Serves `ScoreRequest` requests with `model`, whose cache has `n_layers` layers. `steer` maps the hidden states
    before the head of `valuer`, and the logits, to numbers that replace the log-probabilities."""

    def __init__(
        self, model: Any, *, n_layers: int, stats: EngineStats, steer: Steer | None = None, valuer: Any | None = None
    ) -> None:
        self.model, self.n_layers, self.stats, self.steer = model, n_layers, stats, steer
        self.most = TOKENS.get(model.device.type, MOST_TOKENS)
        self.windows = attention_windows(model)
        self._tokens = self.most  # of a pass; reduced when memory runs out
        self._hidden: Tensor | None = None
        if steer is not None:
            assert valuer is not None
            valuer.get_output_embeddings().register_forward_pre_hook(self._catch_hidden)

    def serve(self, tickets: Sequence[Ticket[Any, Any]]) -> None:
        """Settle these tickets. When memory runs out, passes are halved; every call first tries twice the last
        length."""
        self._tokens = min(self.most, 2 * self._tokens)
        while waiting := [ticket for ticket in tickets if not ticket.settled]:
            try:
                self._settle_tickets(waiting)
            except RuntimeError as error:
                if not out_of_memory(error) or self._tokens <= LEAST_TOKENS:
                    raise
                self._tokens //= 2

    def _settle_tickets(self, tickets: Sequence[Ticket[Any, Any]]) -> None:
        scores = self._score_requests([ticket.request for ticket in tickets])
        for ticket, rows in zip(tickets, scores, strict=True):
            if not any(math.isnan(x) for row in rows for x in row):
                self.stats.scored += sum(map(len, rows))
                ticket.finish(rows)
            elif len(tickets) == 1:
                ticket.fail(WorldError("the model's probabilities are not finite"))
            else:  # a non-finite value spoils its whole pass, masked or not
                self._settle_tickets([ticket])

    def _score_requests(self, requests: Sequence[ScoreRequest]) -> list[list[list[float]]]:
        scores = [[[math.nan] * len(row.places) for row in request.rows] for request in requests]
        rows = [(t, r, row) for t, request in enumerate(requests) for r, row in enumerate(request.rows) if row.places]
        n_logits = max(1, LOGITS // self.model.config.get_text_config().vocab_size)
        tree = PrefixTree([row.ids[:-1] for _, _, row in rows], longest=min(self._tokens, n_logits))
        targets: dict[TokenRun, dict[int, list[_Target]]] = {}
        for i, (t, r, row) in enumerate(rows):
            for place, at in enumerate(row.places):
                run = tree.find_run(i, at - 1)
                targets.setdefault(run, {}).setdefault(at - 1, []).append(_Target(t, r, place, row.ids[at]))
        for run, positions in targets.items():
            run.wanted = len(positions)
        first = cut_blocks(tree, tokens=self._tokens, wanted=n_logits, alone=self.windows is None)
        for target, logprob in self._compute_blocks(first, targets):
            scores[target.ticket][target.row][target.place] = logprob
        return scores

    def _compute_blocks(
        self, first: Sequence[Block], targets: dict[TokenRun, dict[int, list[_Target]]]
    ) -> Iterator[tuple[_Target, float]]:
        """Compute these blocks and all that follow, depth first, so that little has to be kept in memory."""
        stack: list[tuple[Block, _Past | None]] = [(block, None) for block in first]
        while stack:
            block, past = stack.pop()
            starts = dict(zip(block.runs, accumulate((len(run.ids) for run in block.runs), initial=0), strict=False))
            wanted = [(starts[run] + at - run.start, found) for run in block.runs
                      for at, found in targets.get(run, {}).items()]  # fmt: skip
            before = _context_path(past, block.base) if past and block.base else None
            logits_TV, kv = self._forward_block(block, before, [column for column, _ in wanted])
            yield from _gather_targets(*self._token_values(logits_TV), [found for _, found in wanted])
            if block.after:
                past = _Past(kv, starts, before)
                stack += [(child, past) for child in block.after]

    def _forward_block(self, block: Block, before: _Path | None, wanted: Sequence[int]) -> tuple[Tensor, list[Tensor]]:
        """Logits at the `wanted` columns, and keys and values of all columns if other blocks need them."""
        device = self.model.device
        ids = torch.tensor([i for run in block.runs for i in run.ids], device=device)
        positions_T = torch.cat([torch.arange(run.start, run.end, device=device) for run in block.runs])
        n_before = block.runs[0].start
        cache = self._build_cache(before) if before or block.after or self.steer is not None else None
        self.stats.fed += len(ids)
        self.stats.passes += 1
        out = self.model(
            input_ids=ids[None],
            position_ids=positions_T[None],
            attention_mask=self._block_masks(block, positions_T, n_before),
            past_key_values=cache,
            use_cache=cache is not None,
            logits_to_keep=torch.tensor(wanted or [0], device=device),
        )
        logits_TV = out.logits[0, : len(wanted)]
        if cache is None or not block.after:
            return logits_TV, []
        layers = cast("list[DynamicLayer]", cache.layers)
        kept = [cast("Tensor", t) for layer in layers for t in (layer.keys, layer.values)]
        return logits_TV, [t[..., n_before:, :].clone() if n_before else t for t in kept]

    def _token_values(self, logits_TV: Tensor) -> tuple[Tensor, Tensor]:
        """A number for each token, and what to subtract from all numbers of a position."""
        if self.steer is None:
            logits_TV = logits_TV.float()
            return logits_TV, logits_TV.logsumexp(-1)
        assert self._hidden is not None
        return self.steer(self._hidden[: len(logits_TV)], logits_TV), torch.zeros_like(logits_TV[:, 0])

    def _catch_hidden(self, module: Any, args: tuple[Tensor, ...]) -> None:
        self._hidden = args[0][0]

    def _build_cache(self, before: _Path | None) -> Cache:
        """A cache that holds the whole context of a block."""
        paths: list[_Path] = []
        while before:
            paths.append(before)
            before = before.past.before
        layers = [DynamicLayer() for _ in range(self.n_layers)]
        for i, layer in enumerate(layers if paths else ()):
            keys, values = (
                torch.cat([p.past.kv[k].index_select(-2, p.columns) for p in reversed(paths)], -2)
                for k in (2 * i, 2 * i + 1)
            )
            layer.update(keys, values)
        return Cache(layers=[*layers])

    def _block_masks(self, block: Block, positions_T: Tensor, n_before: int) -> Any:
        """What each column sees, per layer type; None if the block is one plain sequence."""
        if self.windows is None or all(a is b.parent for a, b in zip(block.runs, block.runs[1:], strict=False)):
            return None
        reach_S = torch.cat([torch.arange(n_before, device=positions_T.device), positions_T])
        back_TS = positions_T[:, None] - reach_S
        seen_TS = back_TS >= 0
        seen_TS[:, n_before:] &= _ancestor_mask(block).to(seen_TS.device)
        return build_masks(self.model, self.windows, seen_TS[None], back_TS)


def _ancestor_mask(block: Block) -> Tensor:
    """Which columns are in the same run or in one that leads to it."""
    index = {run: i for i, run in enumerate(block.runs)}
    leads = torch.eye(len(block.runs), dtype=torch.bool)
    for run, i in index.items():
        if run.parent in index:
            leads[i] |= leads[index[run.parent]]
    holder = torch.tensor([i for run, i in index.items() for _ in run.ids])
    return leads[holder][:, holder]


def _context_path(past: _Past, base: TokenRun) -> _Path:
    """The columns from the start of a block to the end of this run."""
    runs: list[TokenRun] = []
    run: TokenRun | None = base
    while run in past.columns:
        assert run is not None
        runs.append(run)
        run = run.parent
    device = past.kv[0].device
    columns = [
        torch.arange(past.columns[run], past.columns[run] + len(run.ids), device=device) for run in reversed(runs)
    ]
    return _Path(past, torch.cat(columns))


def _gather_targets(
    values_TV: Tensor, offset_T: Tensor, targets: Sequence[Sequence[_Target]]
) -> Iterator[tuple[_Target, float]]:
    """The numbers of the targets at each row, minus what is to be subtracted there."""
    if not targets:
        return
    pairs = [(i, target) for i, found in enumerate(targets) for target in found]
    at = torch.tensor([i for i, _ in pairs], device=values_TV.device)
    tokens = torch.tensor([target.token for _, target in pairs], device=values_TV.device)
    yield from zip((target for _, target in pairs), (values_TV[at, tokens] - offset_T[at]).tolist(), strict=True)


def out_of_memory(error: RuntimeError) -> bool:
    """Whether memory ran out, on any device."""
    return isinstance(error, torch.OutOfMemoryError) or "allocate memory" in str(error)
