"""Compute token values, advantages and returns for freshly sampled episodes, and weights for demonstrations.

**Critic.** Values come from the value head under the weights that played, in evaluation mode, so that in the first
update of a rollout `value` equals `old_value`. Rows get `advantages`, `returns` and `values`. Source: ours; formulas in
`train.credit`.

**Demonstrations** are imitated alongside on-policy learning. A step uses as many as it has episodes, drawn by seed and
step alone. The trainer divides a loss by the units of the step, which are the tokens of its own play. To make imitation
a mean over the demonstrations' tokens, each of these carries, as its advantage, the number of the played tokens divided
by that of the demonstrations' tokens. Source: LMRL-Gym (Abdulhai et al. 2023), table 5, a cloning loss beside PPO in
wordle; the drawing is ours.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from sonde.core.seeding import Rng, derive
from sonde.models.local.heads import Heads

from ..collate import collate, divide_passes, make_batch
from ..credit import GAE, TokenCredit, Values, whiten
from ..logprobs import PASS_TOKENS, token_values
from ..objectives._values import lay_out_samples
from ..token_rewards import agent_token_order, agent_token_turns, scatter_to_rows, token_rewards
from ..types import Row, Sample

# --- critic ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Critic:
    """`model` with its value head; it must be in evaluation mode. `bf16` as in training."""

    model: Any
    heads: Heads
    pad_id: int
    bf16: bool = False
    tokens: int = PASS_TOKENS

    def estimate_values(self, samples: Sequence[Sample]) -> dict[str, Values]:
        """Maps trajectory ids to the values of the states before their agent tokens, in order."""
        return {name: values for part in self._split_passes(samples) for name, values in self._score_pass(part)}

    def _split_passes(self, samples: Sequence[Sample]) -> list[list[Sample]]:
        return divide_passes(samples, most_items=1024, most_tokens=self.tokens, packed=False)  # type: ignore[return-value]

    def _score_pass(self, part: Sequence[Sample]) -> Iterator[tuple[str, Values]]:
        device = self.model.device
        tensors = collate(part, needs=frozenset({"reward"}), pad_id=self.pad_id)
        moved = {k: v.to(device) if isinstance(v, torch.Tensor) else v for k, v in tensors.items()}
        with torch.no_grad(), torch.autocast(device.type, torch.bfloat16, enabled=self.bf16):
            _, head = token_values(self.model, self.heads, moved)
        line = lay_out_samples(replace(make_batch(moved), head=head), discount=1.0, per="token", limit="end")
        values = line.values["v"].double().cpu().numpy()
        for i, sample in enumerate(part):
            yield sample.trajectory, values[i, : int(line.agent[i].sum())]


def assign_critic_credit(
    samples: Sequence[Sample],
    values: Mapping[str, Values],
    credit: GAE,
    kl: float,
    everyone: Callable[[list[Any]], list[list[Any]]],
    rank: int = 0,
) -> list[Sample]:
    """The samples with advantages, returns and values on their rows. `kl` is the current weight of the penalty;
    `everyone` gathers a list from all processes, in order, because whitening covers everything played."""
    credits = [_credit_sample(sample, values[sample.trajectory], credit, kl) for sample in samples]
    advantages = [one.advantages for one in credits]
    if credit.whiten:
        parts = [np.concatenate([np.empty(0), *part]) for part in everyone(advantages)]
        mine = np.split(whiten(np.concatenate(parts)), _split_points(parts))[rank]
        advantages = np.split(mine, _split_points(advantages))
    return [
        _attach_columns(sample, advantage, one.returns, values[sample.trajectory])
        for sample, advantage, one in zip(samples, advantages, credits, strict=False)
    ]


def token_divergences(sample: Sample) -> Values:
    """`log pi_sampled - log pi_ref` of each agent token, in order."""
    numbers = agent_token_order(sample)
    sampled, reference = (
        np.concatenate([np.asarray(getattr(row, name), np.float64) for row in sample.rows])[numbers]
        for name in ("logprobs", "reference")
    )
    return sampled - reference


def _credit_sample(sample: Sample, values: Values, credit: GAE, kl: float) -> TokenCredit:
    rewards, turns = token_rewards(sample), agent_token_turns(sample)
    if kl:
        rewards = rewards - kl * token_divergences(sample)
    goes_on = sample.cut and credit.limit == "bootstrap"
    return credit.estimate_advantages(rewards, values, turns, float(values[turns == turns[-1]][0]) if goes_on else 0.0)


def _attach_columns(sample: Sample, advantages: Values, returns: Values, values: Values) -> Sample:
    columns = (scatter_to_rows(sample, column) for column in (advantages, returns, values))
    rows = [replace(row, advantages=a, returns=r, values=v) for row, a, r, v in zip(sample.rows, *columns, strict=True)]
    return replace(sample, rows=tuple(rows))


def _split_points(parts: Sequence[Values]) -> list[int]:
    """The ends of all but the last part, in their concatenation."""
    return np.cumsum([len(part) for part in parts])[:-1].tolist()


# --- demonstrations --------------------------------------------------------------------------------------------------


def draw_demonstrations(samples: Sequence[Sample], n: int, seed: int, step: int) -> list[Sample]:
    """The demonstrations of a step, over all processes."""
    return Rng(derive(seed, "train", "shown"), step).sample(list(samples), min(n, len(samples)))


def weigh_demonstrations(samples: Sequence[Sample], weight: float) -> list[Sample]:
    """The demonstrations prepared for the loss: each token has this weight, and nothing counts as played."""
    return [replace(s, shown=True, rows=tuple(_weigh_row(row, weight) for row in s.rows)) for s in samples]


def _weigh_row(row: Row, weight: float) -> Row:
    nothing = array("f", bytes(4 * len(row)))
    return replace(
        row,
        advantages=array("f", [weight * agent for agent in row.agent]),
        logprobs=nothing,
        temperatures=array("f", [1.0]) * len(row),
        returns=nothing,
        values=nothing,
    )
