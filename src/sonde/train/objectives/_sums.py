"""Sums and means over the agent's tokens, per sample; shared by the objectives.

A sample's tokens may lie in several rows (a new row starts where a prompt does not extend the previous one). Sums here
run over all rows of a sample, so how a trajectory is split into rows changes no loss. Axis suffixes: R rows, T tokens,
S samples, P pairs.
"""

from __future__ import annotations

from math import isfinite

import torch
from torch import Tensor

from sonde.core import UserError, invalid

from ..types import Batch, Need


def required_tensor(batch: Batch, need: Need) -> Tensor:
    """A batch field that an objective needs, zero off agent tokens; raises an error if it is missing."""
    return check_finite(f"{need}_RT", on_agent(required_field(batch, f"{need}_RT"), batch)).detach()


def required_field(batch: Batch, name: str) -> Tensor:
    """A batch field that an objective needs; raises an error if it is missing."""
    tensor: Tensor | None = getattr(batch, name)
    if tensor is None:
        raise UserError(f"batch: {name} is missing, and this objective needs it")
    return tensor


def check_finite(field: str, values: Tensor) -> Tensor:
    """Return `values`, or raise if some are NaN or infinite: one such number would spoil every weight of the model."""
    bad = int((~torch.isfinite(values)).sum())
    if bad:
        raise UserError(f"batch: {field} holds {bad} values that are not finite")
    return values


def on_agent(values_RT: Tensor, batch: Batch) -> Tensor:
    """`values_RT` with zeros off agent tokens, where no gradient flows either; at least single precision."""
    return mask_tokens(values_RT, batch.agent_RT)


def mask_tokens(values_RT: Tensor, agent_RT: Tensor) -> Tensor:
    """`on_agent` for a mask without a batch."""
    wide = widen_dtype(values_RT)
    return torch.where(agent_RT, wide, torch.zeros_like(wide))


def widen_dtype(values: Tensor) -> Tensor:
    """Convert to at least single precision."""
    return values if values.dtype == torch.float64 else values.float()


def token_sum(values_RT: Tensor, batch: Batch) -> Tensor:
    """The sum over the agent tokens of the batch."""
    return on_agent(values_RT, batch).sum()


def sample_sums(values_RT: Tensor, batch: Batch) -> Tensor:
    """The sum over the agent tokens of each sample, shape `(S,)`."""
    row_R = on_agent(values_RT, batch).sum(dim=1)
    return row_R.new_zeros(batch.n_samples).index_add(0, batch.owner_R, row_R)


def sample_tokens(batch: Batch) -> Tensor:
    """The number of agent tokens of each sample, shape `(S,)`, integers."""
    row_R = batch.agent_RT.sum(dim=1)
    return row_R.new_zeros(batch.n_samples).index_add(0, batch.owner_R, row_R)


def sample_means(values_RT: Tensor, batch: Batch) -> Tensor:
    """The mean over the agent tokens of each sample, shape `(S,)`; 0 for a sample without any."""
    return sample_sums(values_RT, batch) / sample_tokens(batch).clamp(min=1)


def spread_over_tokens(values_S: Tensor, batch: Batch) -> Tensor:
    """One value per sample as a column that broadcasts over the tokens of its rows, shape `(R, 1)`."""
    return values_S[batch.owner_R].unsqueeze(1)


def split_pairs(values_S: Tensor) -> tuple[Tensor, Tensor]:
    """The values of the chosen and of the rejected samples, shape `(P,)` each."""
    if len(values_S) % 2:
        raise UserError(f"batch: {len(values_S)} samples are not pairs; preference objectives need chosen and rejected")
    return values_S[0::2], values_S[1::2]


def value_metric(values: Tensor) -> tuple[Tensor, int]:
    """A metric: the mean of these values."""
    return values.detach().sum(), values.numel()


def token_metric(values_RT: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
    """A metric: the mean over agent tokens."""
    return token_sum(values_RT.detach(), batch), batch.agent_RT.sum()


def check_positive(field: str, value: float) -> None:
    """Raise unless `value` is a finite number above 0."""
    if not (value > 0 and isfinite(value)):
        raise invalid(field, value, "a finite number > 0")


def check_not_negative(field: str, value: float) -> None:
    """Raise unless `value` is a finite number, 0 or above."""
    if not (value >= 0 and isfinite(value)):
        raise invalid(field, value, "a finite number >= 0")


def check_choice(field: str, value: str, allowed: tuple[str, ...]) -> None:
    """Raise unless `value` is one of the allowed names."""
    if value not in allowed:
        raise invalid(field, value, " or ".join(repr(a) for a in allowed))
