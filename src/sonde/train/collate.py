"""Items to tensors: optimizer steps, forward passes, and padded or packed batches.

Padded: one row per line, left-aligned. That needs no attention mask, since a token sees only what is before it in its
line; without a mask, kernels leave out the pairs of tokens that nothing sees, and keep none per layer. Packed: as many
rows end to end in a line as fit beside the longest, with position ids that restart at 0 with every row; given these and
no attention mask, transformers (5.23, with sdpa or eager attention) keeps rows apart. Flash attention reads position
ids only in a batch of one line, so it also gets the row boundaries (`cu_seq_lens`); other kernels are refused
(`checks.py`). Lines are no longer than the longest row because sdpa and eager attention compute all pairs of a line.
Objectives see the same (R, T) tensors either way and know nothing of packing. Agent tokens and padding are marked by
fields of the rows, never by token ids.

`BatchSampler` shuffles the items anew every epoch from the seed and cuts them into optimizer steps. `divide_passes`
cuts a step into forward passes so that rows of similar length meet: items are sorted by their longest row and filled
in from the longest. This never changes which items an optimizer step holds.

Source: ours; packing by position ids as in transformers' `DataCollatorWithFlattening`.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader

from sonde.core.errors import UserError
from sonde.core.seeding import Rng, derive

from .token_rewards import agent_token_order, token_rewards
from .types import Batch, Item, Need, Row, Sample, item_rows, item_samples, longest_row

Tensors = dict[str, Any]
"""The inputs of one forward pass and its objective, by name: tensors, and `n_samples`. Trainer moves it between
devices."""

_FIELDS = ("agent_RT", "turn_RT", "owner_R", "n_samples", "score_S", "success_S")
_STREAMS: dict[Need, tuple[str, Callable[[Row], array[float] | None], str]] = {
    "sampled": ("sampled_RT", lambda row: row.logprobs, "log-probabilities at sampling"),
    "proximal": ("proximal_RT", lambda row: row.proximal, "log-probabilities under the weights of the first step"),
    "reference": ("reference_RT", lambda row: row.reference, "log-probabilities under the reference"),
    "advantage": ("advantage_RT", lambda row: row.advantages, "advantages"),
    "return": ("return_RT", lambda row: row.returns, "returns"),
    "old_value": ("old_value_RT", lambda row: row.values, "values"),
}
_ATTACHED = tuple(name for name, _, _ in _STREAMS.values())
_SOME = ("reward_RT", "nth_RT", "cut_S", "shown_S")
"""Present on request, or where a batch contains such samples."""


def collate(items: Sequence[Item], *, needs: frozenset[Need], pad_id: int, packed: bool = False) -> Tensors:
    """The tensors of these items for one forward pass.

    `input_ids`, and if `packed`, `position_ids`, `cu_seq_lens` (where rows begin in all lines end to end, and where the
    last one ends) and `max_length` (of the longest row). `keep`, of the same shape, marks tokens that are
    followed by an agent token; `target` holds the ids of these next tokens, in order, `place` their positions in (R,
    T), counted line by line, and `temperature` those of their draws, where "sampled" is needed and not all are 1. The
    rest are the fields of `Batch`.
    """
    samples = [sample for item in items for sample in item_samples(item)]
    rows = [row for sample in samples for row in sample.rows]
    if not rows:
        raise UserError("collate: got no rows, allowed: at least one")
    length_R = np.fromiter(map(len, rows), np.int64, len(rows))
    real_RT = np.arange(length_R.max()) < length_R[:, None]
    ids_N = _join_arrays((row.ids for row in rows), np.int64)
    agent_N = np.frombuffer(b"".join(row.agent for row in rows), np.bool_)
    starts_N = np.zeros(len(ids_N), np.bool_)
    starts_N[np.cumsum(length_R) - length_R] = True
    said_N = agent_N & ~starts_N  # nothing predicts a row's first token
    keep_N = np.append(said_N[1:], False)
    fed = _pack_rows(ids_N, keep_N, length_R, pad_id) if packed else _pad_rows(ids_N, keep_N, real_RT, pad_id)
    order = _token_order([row for line in pack_lines(length_R) for row in line], length_R) if packed else slice(None)
    place_N = np.flatnonzero(real_RT)[order]
    streams = {_STREAMS[n][0]: _token_stream(n, rows, agent_N, real_RT) for n in sorted(needs) if n in _STREAMS}
    if "reward" in needs:
        streams |= _reward_streams(samples, real_RT)
    if any(sample.shown for sample in samples):
        streams["shown_S"] = torch.tensor([sample.shown for sample in samples])
    temperature_N = _token_temperatures(rows, agent_N) if "sampled" in needs else np.ones(len(ids_N), np.float32)
    drawn_N = temperature_N[order][said_N[order]]
    return {
        **fed,
        **({"temperature": torch.from_numpy(drawn_N)} if (drawn_N != 1).any() else {}),
        "target": torch.from_numpy(ids_N[order][said_N[order]]),
        "place": torch.from_numpy(place_N[said_N[order]]),
        "agent_RT": torch.from_numpy(_lay_out_rows(agent_N, real_RT, 0)),
        "turn_RT": torch.from_numpy(_lay_out_rows(_join_arrays((row.turns for row in rows), np.int64), real_RT, -1)),
        "owner_R": torch.tensor([i for i, sample in enumerate(samples) for _ in sample.rows]),
        "n_samples": len(samples),
        "score_S": torch.tensor([sample.score for sample in samples], dtype=torch.float32),
        "success_S": torch.tensor([sample.success for sample in samples]),
        **streams,
    }


def _reward_streams(samples: Sequence[Sample], real_RT: np.ndarray) -> Tensors:
    """Rewards and indices of the agent's tokens within their sample, and which episodes a limit ended."""
    reward_N, nth_N = np.zeros(real_RT.sum(), np.float32), np.full(real_RT.sum(), -1)
    start = 0
    for sample in samples:
        said = start + agent_token_order(sample)
        reward_N[said], nth_N[said] = token_rewards(sample), np.arange(len(said))
        start += sum(map(len, sample.rows))
    return {
        "reward_RT": torch.from_numpy(_lay_out_rows(reward_N, real_RT, 0)),
        "nth_RT": torch.from_numpy(_lay_out_rows(nth_N, real_RT, -1)),
        "cut_S": torch.tensor([sample.cut for sample in samples]),
    }


def empty_pass(pad_id: int) -> Tensors:
    """A forward pass without agent tokens, for a process that has none left while others still compute."""
    ids = torch.full((1, 2), pad_id)
    keep = torch.tensor([[True, False]])
    return {
        "input_ids": ids,
        "keep": keep,
        "target": ids[0, :1],
        "silent": True,
    }


def make_batch(tensors: Tensors) -> Batch:
    """The objective's view of collated tensors."""
    streams = {name: tensors[name] for name in (*_ATTACHED, *_SOME) if name in tensors}
    return Batch(**{name: tensors[name] for name in _FIELDS}, **streams)


def _pad_rows(ids_N: np.ndarray, keep_N: np.ndarray, real_RT: np.ndarray, pad_id: int) -> Tensors:
    return {
        "input_ids": torch.from_numpy(_lay_out_rows(ids_N, real_RT, pad_id)),
        "keep": torch.from_numpy(_lay_out_rows(keep_N, real_RT, 0)),
    }


def _pack_rows(ids_N: np.ndarray, keep_N: np.ndarray, length_R: np.ndarray, pad_id: int) -> Tensors:
    packs = pack_lines(length_R)
    order = [row for line in packs for row in line]
    order_N = _token_order(order, length_R)
    full_L = np.array([length_R[line].sum() for line in packs])
    real_LT = np.arange(length_R.max()) < full_L[:, None]
    position_LT = np.cumsum(~real_LT, axis=1) - 1  # what fills a line counts from 0, as a row of its own
    position_LT[real_LT] = np.concatenate([np.arange(length_R[row]) for row in order])
    begin_N = np.flatnonzero(position_LT == 0)
    return {
        "input_ids": torch.from_numpy(_lay_out_rows(ids_N[order_N], real_LT, pad_id)),
        "position_ids": torch.from_numpy(position_LT),
        "cu_seq_lens": torch.from_numpy(np.append(begin_N, position_LT.size).astype(np.int32)),
        "max_length": int(length_R.max()),
        "keep": torch.from_numpy(_lay_out_rows(keep_N[order_N], real_LT, 0)),
    }


def pack_lines(length_R: np.ndarray) -> list[list[int]]:
    """Which rows share a line of the longest row's length: first-fit, from the longest row on."""
    packs: list[list[int]] = []
    room: list[int] = []
    for row in np.argsort(-length_R, kind="stable").tolist():
        line = next((i for i, free in enumerate(room) if free >= length_R[row]), len(packs))
        if line == len(packs):
            packs.append([])
            room.append(int(length_R.max()))
        packs[line].append(row)
        room[line] -= int(length_R[row])
    return packs


def _token_order(rows: Sequence[int], length_R: np.ndarray) -> np.ndarray:
    """Indices of the tokens of these rows, row by row, where all rows lie end to end in their original order."""
    first_R = np.cumsum(length_R) - length_R
    return np.concatenate([np.arange(first_R[row], first_R[row] + length_R[row]) for row in rows])


def _join_arrays(parts: Iterable[array[Any]], dtype: type[np.generic]) -> np.ndarray:
    return np.concatenate([np.frombuffer(part, part.typecode) for part in parts]).astype(dtype)


def _lay_out_rows(values_N: np.ndarray, real_RT: np.ndarray, rest: int) -> np.ndarray:
    """Lay out values of the rows' tokens, end to end, by row; `rest` fills the ends."""
    out_RT = np.full(real_RT.shape, rest, values_N.dtype)
    out_RT[real_RT] = values_N
    return out_RT


def _token_temperatures(rows: Sequence[Row], agent_N: np.ndarray) -> np.ndarray:
    """The temperature of each token's draw, 1 off agent tokens; an error where it does not describe the sampling
    distribution."""
    given = [row.temperatures for row in rows if row.temperatures is not None]
    if len(given) < len(rows):
        raise UserError(
            f"collate: {len(rows) - len(given)} of {len(rows)} rows carry no temperatures; attach them first"
        )
    values_N = np.where(agent_N, _join_arrays(given, np.float32), np.float32(1))
    if bad := int((~np.isfinite(values_N)).sum()):
        raise UserError(
            f"collate: temperatures: {bad} of {int(agent_N.sum())} agent tokens were chosen greedily, cut by top-p or "
            "min-p, or drawn at an unknown temperature; allowed, for objectives that use the probabilities at "
            "sampling: plain draws (top_p 1, min_p 0) at a known temperature above 0"
        )
    return values_N


def _token_stream(need: Need, rows: Sequence[Row], agent_N: np.ndarray, real_RT: np.ndarray) -> Tensor:
    """One number per token, zero off agent tokens; an error where it is missing or not finite."""
    _, get, what = _STREAMS[need]
    given = [values for row in rows if (values := get(row)) is not None]
    if len(given) < len(rows):
        raise UserError(f"collate: {len(rows) - len(given)} of {len(rows)} rows carry no {what}; attach them first")
    values_N = np.where(agent_N, _join_arrays(given, np.float32), np.float32(0))
    if not np.isfinite(values_N).all():
        bad = int((~np.isfinite(values_N)).sum())
        raise UserError(f"collate: {what}: {bad} of {int(agent_N.sum())} agent tokens have none or no finite number")
    return torch.from_numpy(_lay_out_rows(values_N, real_RT, 0))


# --- which items share a forward pass ---------------------------------------------------------------------------------


def count_pass_tokens(items: Sequence[Item], *, packed: bool) -> int:
    """The number of tokens, padding included, that a forward pass over these items computes."""
    length_R = np.array([len(row) for row in item_rows(items)])
    return int(length_R.max()) * len(pack_lines(length_R) if packed else length_R)


def divide_passes(items: Sequence[Item], *, most_items: int, most_tokens: int | None, packed: bool) -> list[list[Item]]:
    """Cut a mini-batch into forward passes of at most `most_items` items and `most_tokens` tokens.

    Items are never cut: one that is larger than `most_tokens` gets a pass of its own.
    """
    passes: list[list[Item]] = []
    for item in sorted(items, key=longest_row, reverse=True):
        last = passes[-1] if passes else []
        full = not last or len(last) == most_items
        if full or (most_tokens is not None and count_pass_tokens([*last, item], packed=packed) > most_tokens):
            passes.append([item])
        else:
            last.append(item)
    return passes


# --- optimizer steps -------------------------------------------------------------------------------------------------


class BatchSampler:
    """The items of each optimizer step of an epoch: a seeded shuffle in mini-batches, the last possibly smaller."""

    def __init__(self, n: int, batch_size: int, seed: int, *, shuffle: bool = True) -> None:
        self.n, self.batch_size, self.seed, self.shuffle, self.epoch = n, batch_size, seed, shuffle, 0

    def __len__(self) -> int:
        return math.ceil(self.n / self.batch_size)

    def __iter__(self) -> Iterator[list[int]]:
        order = list(range(self.n))
        if self.shuffle:
            Rng(derive(self.seed, "train", "order"), self.epoch).shuffle(order)
        for start in range(0, self.n, self.batch_size):
            yield order[start : start + self.batch_size]

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch


class ItemLoader(DataLoader[Any]):
    """Yields lists of item indices; Trainer sets the epoch."""

    def set_epoch(self, epoch: int) -> None:
        self.batch_sampler.set_epoch(epoch)  # type: ignore[union-attr]
