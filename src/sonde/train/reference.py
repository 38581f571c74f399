"""Log-probabilities of the agent's tokens under a reference policy, computed once and kept with the run.

The reference is the model as it is at the start of the run, another model (the one that began the round), or the model
with its adapter off, which for a fresh adapter is the same. They are written to the run's folder with a digest of the
tokens they belong to: a resumed run reads them back instead of computing them with weights that have moved on.

Source: PAPRIKA (Tajwar et al. 2025), appendix C, computes them once per pair; ours in how they are kept.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from sonde._util.folders import writing
from sonde.core.errors import UserError

from .collate import Tensors, collate, divide, members, rows_of
from .logprobs import token_logprobs
from .lora import adapter_off
from .types import Item, Need, Pair, Row, Sample

Attached = Literal["reference", "proximal"]

PASS_TOKENS = 8192
"""Tokens per forward pass where nothing else is said; without gradients more fit than in training."""


@dataclass(frozen=True, kw_only=True)
class Compared:
    """Another model as the reference: what identifies its weights, and how it is loaded, if need be."""

    weights: str
    load: Callable[[], Any]


@dataclass(frozen=True, kw_only=True)
class Referee:
    """How reference log-probabilities are computed: by `model` in evaluation mode; with `off`, without its adapter.

    `bf16` should be as in training, so that ratios start at one. `tempered`: at the temperature that each token was
    drawn at, as objectives that need "sampled" have it; otherwise at 1. `rank` of `world` processes share the rows.
    """

    model: Any
    pad_id: int
    off: bool = False
    bf16: bool = False
    tempered: bool = False
    tokens: int = PASS_TOKENS
    rank: int = 0
    world: int = 1

    def __call__(self, items: Sequence[Item], name: Attached = "reference") -> list[Item]:
        """The items with log-probabilities attached to every row, as `reference` or under another name. Rows that
        several items share are computed once."""
        rows = list({id(row): row for row in rows_of(items)}.values())
        numbers = range(self.rank, len(rows), self.world)
        mine = list(zip(numbers, self._logprobs([rows[i] for i in numbers]), strict=True))
        found = mine
        if self.world > 1:
            from accelerate.utils import gather_object

            found = gather_object(mine)
        return attach(items, {id(rows[i]): values for i, values in found}, name)

    def _logprobs(self, rows: Sequence[Row]) -> list[array[float]]:
        was_training = self.model.training
        self.model.eval()
        found: dict[int, array[float]] = {}
        needs: frozenset[Need] = frozenset({"sampled"} if self.tempered else ())
        try:
            with torch.no_grad(), adapter_off(self.model) if self.off else nullcontext():
                for part in divide(
                    [_alone(row) for row in rows], most_items=1024, most_tokens=self.tokens, packed=False
                ):
                    found |= self._of(rows_of(part), collate(part, needs=needs, pad_id=self.pad_id))
        finally:
            self.model.train(was_training)
        return [found[id(row)] for row in rows]

    def _of(self, rows: Sequence[Row], tensors: Tensors) -> dict[int, array[float]]:
        device = self.model.device
        moved = {k: v.to(device) if isinstance(v, torch.Tensor) else v for k, v in tensors.items()}
        with torch.autocast(device.type, torch.bfloat16, enabled=self.bf16):
            logprob_RT = token_logprobs(self.model, moved).double().cpu().numpy()
        lines = zip(rows, logprob_RT, strict=True)
        return {id(row): _off_agent_nan(row, values_T[: len(row)]) for row, values_T in lines}


def attach(items: Iterable[Item], found: dict[int, array[float]], name: Attached = "reference") -> list[Item]:
    """The items with `found[id(row)]` as that field of each row."""

    def one(sample: Sample) -> Sample:
        return replace(sample, rows=tuple(replace(row, **{name: found[id(row)]}) for row in sample.rows))

    return [Pair(*map(one, members(item))) if isinstance(item, Pair) else one(item) for item in items]


def kept_reference(file: Path, referee: Referee, items: Sequence[Item], *, resumed: bool) -> list[Item]:
    """What `referee` finds, kept in `file`; where the run was resumed, what it found when the run started."""
    if resumed and not file.exists():
        raise UserError(f"train: resume: {file} is missing: weights that were trained cannot say what they said before")
    if resumed:
        return read_reference(file, items)
    done = referee(items)
    if referee.rank == 0:
        write_reference(file, done)
    return done


def write_reference(file: Path, items: Sequence[Item]) -> None:
    """All rows' reference log-probabilities, in order, in single precision."""
    rows = rows_of(items)
    values_N = np.concatenate([np.asarray(row.reference, np.float32) for row in rows])
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(".part")
    with writing(file), part.open("wb") as out:
        np.savez(out, values=values_N, digest=np.frombuffer(digest(rows), np.uint8))
    part.replace(file)


def read_reference(file: Path, items: Sequence[Item]) -> list[Item]:
    """The items with what `write_reference` kept of them; an error if the file is of other tokens."""
    rows = rows_of(items)
    with np.load(file) as data:
        values_N, kept = data["values"], data["digest"].tobytes()
    if kept != digest(rows):
        raise UserError(f"train: {file} belongs to other training data; allowed: the data that the run started with")
    ends = np.cumsum([len(row) for row in rows])[:-1]
    parts = [array("d", part.astype(np.float64).tobytes()) for part in np.split(values_N, ends)]
    return attach(items, dict(zip(map(id, rows), parts, strict=True)))


def digest(rows: Iterable[Row]) -> bytes:
    """Of every row's tokens and of whose they are."""
    found = blake2b(digest_size=16)
    for row in rows:
        found.update(len(row).to_bytes(8, "big") + row.ids.tobytes() + row.agent)
    return found.digest()


def _alone(row: Row) -> Sample:
    """A sample of this row, so that rows of all items can share passes."""
    return Sample(
        rows=(row,), trajectory="", group="", task="", env="", kind="", score=0.0, rewards=(), tags={},
    )  # fmt: skip


def _off_agent_nan(row: Row, values_T: np.ndarray) -> array[float]:
    agent_T = np.frombuffer(row.agent, np.bool_)
    return array("d", np.where(agent_T, values_T, np.nan).tobytes())
