"""Log-probabilities of the agent's tokens: with gradients under the policy, and stored ones under a reference policy.

**Policy.** The LM head is computed only where the next token is the agent's: the mask of these positions goes through
the model's own forward (`logits_to_keep`), so the hooks of DDP and FSDP and the layers of an adapter all take part. The
result has shape (agent tokens, V), however many rows there are. The log-softmax is in float32; logits of lower
precision are widened block by block, in the backward pass too, so that no float32 copy of all of them exists. Where the
tensors give the temperature at which each token was drawn, its logits are divided by it first. This needs a model whose
`logits_to_keep` takes a mask: all decoders of transformers 5.23.

**Reference.** The reference is the model at the start of the run, another model (the one that began the round), or the
model with its adapter disabled, which is the same for a fresh adapter. Its log-probabilities are computed once and
written to the run's folder with a digest of the tokens they belong to: a resumed run reads them back instead of
computing them with weights that have moved on. Source: PAPRIKA (Tajwar et al. 2025), appendix C, computes them once per
pair; how they are stored is ours.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from sonde._util.folders import write_errors
from sonde.core.errors import UserError
from sonde.models.local.heads import Heads, record_hidden_states

from .collate import Tensors, collate, divide_passes
from .model_io import disable_adapter
from .provenance import hash_rows
from .types import Item, Need, Pair, Row, Sample, item_rows, item_samples

BLOCK = 1 << 24
"""The largest number of logits that are widened to float32 at once."""


# --- policy ----------------------------------------------------------------------------------------------------------


def token_logprobs(model: Any, tensors: Tensors) -> Tensor:
    """Log-probabilities of shape (R, T), zero off agent tokens and at the first token of a row."""
    return _scatter_tokens(agent_logprobs(model, tensors), tensors)


def _scatter_tokens(values_N: Tensor, tensors: Tensors) -> Tensor:
    """Scatter values to the positions of the tokens, zero elsewhere."""
    shape_RT = tensors["agent_RT"].shape
    return values_N.new_zeros(shape_RT.numel()).index_copy(0, tensors["place"], values_N).view(shape_RT)


def agent_logprobs(model: Any, tensors: Tensors) -> Tensor:
    """Log-probabilities of the tokens in `tensors["target"]`, in their order."""
    logits_NV = model(**_model_inputs(tensors), logits_to_keep=tensors["keep"], use_cache=False).logits
    if logits_NV.shape[:-1] != tensors["target"].shape:
        got, wanted = tuple(logits_NV.shape), len(tensors["target"])
        raise UserError(
            f"train: {type(model).__name__} gives logits of shape {got} for {wanted} positions; allowed: a decoder of "
            "transformers 5.23 or later, whose `logits_to_keep` takes a mask"
        )
    return gather_logprobs(logits_NV, tensors["target"], tensors.get("temperature"))


def agent_values(model: Any, heads: Heads, tensors: Tensors) -> tuple[Tensor, dict[str, Tensor]]:
    """The same, and the heads' predictions for these tokens."""
    with record_hidden_states(model) as seen:
        logprob_N = agent_logprobs(model, tensors)
    return logprob_N, heads(seen[0], tensors["target"])


def token_values(model: Any, heads: Heads, tensors: Tensors) -> tuple[Tensor, dict[str, Tensor]]:
    """Log-probabilities as in `token_logprobs`, and the heads' predictions, also (R, T)."""
    logprob_N, head = agent_values(model, heads, tensors)
    return _scatter_tokens(logprob_N, tensors), {name: _scatter_tokens(x, tensors) for name, x in head.items()}


def _model_inputs(tensors: Tensors) -> Tensors:
    """The model's inputs by name: padded lines, or packed ones with row boundaries."""
    if "position_ids" not in tensors:
        return {"input_ids": tensors["input_ids"]}
    begin, longest = tensors["cu_seq_lens"], tensors["max_length"]
    lengths = {"cu_seq_lens_q": begin, "cu_seq_lens_k": begin, "max_length_q": longest, "max_length_k": longest}
    return {"input_ids": tensors["input_ids"], "position_ids": tensors["position_ids"], **lengths}


def gather_logprobs(
    logits_NV: Tensor, target_N: Tensor, temperature_N: Tensor | None = None, *, block: int = BLOCK
) -> Tensor:
    """The natural log-probability of one token per line, at its temperature (None: 1 for all), in float32."""
    if logits_NV.dtype == torch.float32:
        return _gather_block(logits_NV, target_N, temperature_N)
    lines = max(1, block // logits_NV.shape[-1])
    parts = zip(logits_NV.split(lines), target_N.split(lines), strict=True)
    warmth = [None] * len(target_N) if temperature_N is None else temperature_N.split(lines)
    done = [checkpoint(_gather_block, *part, t, use_reentrant=False) for part, t in zip(parts, warmth, strict=False)]
    return torch.cat(done)


def _gather_block(logits_NV: Tensor, target_N: Tensor, temperature_N: Tensor | None) -> Tensor:
    wide_NV = logits_NV.float()
    if temperature_N is not None:
        wide_NV = wide_NV / temperature_N[:, None]
    return wide_NV.gather(-1, target_N[:, None])[:, 0] - wide_NV.logsumexp(-1)


# --- reference -------------------------------------------------------------------------------------------------------


Attached = Literal["reference", "proximal"]

PASS_TOKENS = 8192
"""Default tokens per forward pass; without gradients more fit than in training."""


@dataclass(frozen=True, kw_only=True)
class ReferenceModel:
    """Another model as the reference: the identity of its weights, and how to load it."""

    weights: str
    load: Callable[[], Any]


@dataclass(frozen=True, kw_only=True)
class LogprobScorer:
    """Computes log-probabilities under `model` in evaluation mode; with `off`, without its adapter.

    `bf16` should be as in training, so that ratios start at one. `tempered`: at the temperature of each token's draw,
    as for objectives that need "sampled"; otherwise at 1. `rank` of `world` processes share the rows.
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
        """The items with log-probabilities attached to every row, as `reference` or under another name. Rows shared by
        several items are computed once."""
        rows = list({id(row): row for row in item_rows(items)}.values())
        numbers = range(self.rank, len(rows), self.world)
        mine = list(zip(numbers, self._score_rows([rows[i] for i in numbers]), strict=True))
        scored = mine
        if self.world > 1:
            from accelerate.utils import gather_object

            scored = gather_object(mine)
        return attach_logprobs(items, {id(rows[i]): values for i, values in scored}, name)

    def _score_rows(self, rows: Sequence[Row]) -> list[array[float]]:
        was_training = self.model.training
        self.model.eval()
        by_row: dict[int, array[float]] = {}
        needs: frozenset[Need] = frozenset({"sampled"} if self.tempered else ())
        try:
            with torch.no_grad(), disable_adapter(self.model) if self.off else nullcontext():
                for part in divide_passes(
                    [wrap_row(row) for row in rows], most_items=1024, most_tokens=self.tokens, packed=False
                ):
                    by_row |= self._score_pass(item_rows(part), collate(part, needs=needs, pad_id=self.pad_id))
        finally:
            self.model.train(was_training)
        return [by_row[id(row)] for row in rows]

    def _score_pass(self, rows: Sequence[Row], tensors: Tensors) -> dict[int, array[float]]:
        device = self.model.device
        moved = {k: v.to(device) if isinstance(v, torch.Tensor) else v for k, v in tensors.items()}
        with torch.autocast(device.type, torch.bfloat16, enabled=self.bf16):
            logprob_RT = token_logprobs(self.model, moved).double().cpu().numpy()
        lines = zip(rows, logprob_RT, strict=True)
        return {id(row): _mask_environment(row, values_T[: len(row)]) for row, values_T in lines}


def attach_logprobs(items: Iterable[Item], by_row: dict[int, array[float]], name: Attached = "reference") -> list[Item]:
    """The items with `by_row[id(row)]` as that field of each row."""

    def attach_to_sample(sample: Sample) -> Sample:
        return replace(sample, rows=tuple(replace(row, **{name: by_row[id(row)]}) for row in sample.rows))

    return [
        Pair(*map(attach_to_sample, item_samples(item))) if isinstance(item, Pair) else attach_to_sample(item)
        for item in items
    ]


def load_or_compute_reference(
    file: Path, referee: LogprobScorer, items: Sequence[Item], *, resumed: bool
) -> list[Item]:
    """Compute reference log-probabilities and save them in `file`; in a resumed run, read those of the start of the
    run."""
    if resumed and not file.exists():
        raise UserError(
            f"train: resume: {file} is missing: it cannot be recomputed with weights that were trained since"
        )
    if resumed:
        return read_reference(file, items)
    done = referee(items)
    if referee.rank == 0:
        write_reference(file, done)
    return done


def write_reference(file: Path, items: Sequence[Item]) -> None:
    """Write all rows' reference log-probabilities, in order, in single precision."""
    rows = item_rows(items)
    values_N = np.concatenate([np.asarray(row.reference, np.float32) for row in rows])
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(".part")
    with write_errors(file), part.open("wb") as out:
        np.savez(out, values=values_N, digest=np.frombuffer(hash_rows(rows), np.uint8))
    part.replace(file)


def read_reference(file: Path, items: Sequence[Item]) -> list[Item]:
    """The items with the log-probabilities of `write_reference`; an error if the file belongs to other tokens."""
    rows = item_rows(items)
    with np.load(file) as data:
        values_N, kept = data["values"], data["digest"].tobytes()
    if kept != hash_rows(rows):
        raise UserError(f"train: {file} belongs to other training data; allowed: the data that the run started with")
    ends = np.cumsum([len(row) for row in rows])[:-1]
    parts = [array("d", part.astype(np.float64).tobytes()) for part in np.split(values_N, ends)]
    return attach_logprobs(items, dict(zip(map(id, rows), parts, strict=True)))


def wrap_row(row: Row) -> Sample:
    """A sample of this row alone, so that rows of all items can share passes."""
    return Sample(
        rows=(row,), trajectory="", group="", task="", env="", kind="", score=0.0, rewards=(), tags={},
    )  # fmt: skip


def _mask_environment(row: Row, values_T: np.ndarray) -> array[float]:
    agent_T = np.frombuffer(row.agent, np.bool_)
    return array("d", np.where(agent_T, values_T, np.nan).tobytes())
