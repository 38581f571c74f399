"""PPO on recorded episodes: the on-policy loss where nothing is played ("PPO Offline").

Steps come in rounds of `updates_per_rollout`, as after a rollout. At the start of a round the current weights score its
episodes: log-probabilities of their tokens, which the ratio and the penalty start from, and values, from which
generalised advantage estimation takes advantages and returns. So the first update of a round has ratio 1 whoever
played: nothing corrects for the policy behind the data, and values are those of the trained policy on states that
others chose.

Source: LMRL-Gym (Abdulhai et al. 2023), tables 8 and 9, which do not describe it further; scoring recorded episodes by
the policy in training is what its code does with any episodes that PPO is given. Rewards are the environment's, times
the weight of `env` in the mix; the weight of the penalty stays. One process.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, cast

from transformers import TrainerCallback

from sonde.core import UserError, invalid

from ..collate import BatchSampler
from ..logprobs import LogprobScorer
from ..settings import TrainSettings
from ..trainer import SondeTrainer
from ..types import Item, Objective, Row, Sample, longest_row
from .advantages import Critic, assign_critic_credit, token_divergences
from .settings import OnlineSettings, check_objective


class RecordedTrainer(SondeTrainer):
    """The trainer; see the module. Of `online` it uses credit, rewards and `updates_per_rollout`."""

    def __init__(
        self,
        model: Any,
        objective: Objective,
        samples: Sequence[Sample],
        settings: TrainSettings,
        online: OnlineSettings,
        *,
        tokenizer: Any,
        callbacks: Sequence[TrainerCallback] = (),
    ) -> None:
        check_objective(objective, online)
        if online.critic is None:
            raise invalid("train: recorded episodes", objective.name, "ppo, whose credit comes from a critic")
        if online.critic.kl_target is not None:
            raise invalid("credit: kl_target", online.critic.kl_target, "None on recorded episodes")
        if set(online.rewards.weights) != {"env"} or online.rewards.every:
            raise invalid("online: rewards", online.rewards.to_json(), "env alone on recorded episodes")
        if settings.save_steps is not None and settings.save_steps % online.updates_per_rollout:
            allowed = f"a multiple of online.updates_per_rollout = {online.updates_per_rollout}: rounds are not saved"
            raise invalid("train: save_steps", settings.save_steps, allowed)
        self.credit, self.updates = online.critic, online.updates_per_rollout
        scale = online.rewards.weights["env"]
        self._ready: dict[int, list[Sample]] = {}
        super().__init__(model, objective, [_begin_sample(s, scale) for s in samples], settings, tokenizer, callbacks)
        if self.args.world_size > 1:
            raise invalid("train: processes", self.args.world_size, f"1 for {objective.name} on recorded episodes")

    @property
    def _needs_reference(self) -> bool:
        return super()._needs_reference or self.credit.kl > 0

    def get_batch_samples(self, epoch_iterator: Any, num_batches: int, device: Any) -> tuple[list[Any], Any]:
        """The forward passes of the next optimizer step, after its round was scored."""
        numbers, step = next(epoch_iterator, None), self.state.global_step
        if numbers is None or step >= self.state.max_steps:
            return [], None
        if step not in self._ready:
            self._ready = self._score_round(step)
        chosen = sorted(self._ready.pop(step), key=longest_row, reverse=True)
        passes, n_units = self.make_passes(chosen)
        return [passes], n_units

    @cached_property
    def _order(self) -> BatchSampler:
        return BatchSampler(len(self._samples), self.settings.batch_size, self.settings.seed)

    @property
    def _samples(self) -> list[Sample]:
        return cast("list[Sample]", self.items)

    def _step_samples(self, step: int) -> list[Sample]:
        """The episodes of an optimizer step, in the order of the data loader."""
        epoch, n = divmod(step, len(self._order))
        self._order.set_epoch(epoch)
        return [self._samples[i] for i in list(self._order)[n]]

    def _score_round(self, first: int) -> dict[int, list[Sample]]:
        """The steps of a round, with log-probabilities, values and credit under the current weights."""
        steps = range(first, min(first + self.updates, int(self.state.max_steps)))
        chosen = {step: self._step_samples(step) for step in steps}
        every = [sample for samples in chosen.values() for sample in samples]
        with self.evaluation_mode() as model:
            scorer = LogprobScorer(model=model, pad_id=self.pad_id, bf16=self.settings.bf16, tempered=True)
            scored = [_take_logprobs(cast("Sample", item)) for item in scorer(every, "proximal")]
            critic = Critic(model=model, heads=self._own_heads, pad_id=self.pad_id, bf16=self.settings.bf16)
            values = critic.estimate_values(scored)
        done = iter(assign_critic_credit(scored, values, self.credit, self.credit.kl, lambda mine: [mine]))
        if self.credit.kl:
            gone = [x for sample in scored for x in token_divergences(sample).tolist()]
            kept = self.metrics.setdefault("kl_recorded", [0.0, 0.0])
            kept[0], kept[1] = kept[0] + math.fsum(gone), kept[1] + len(gone)
        return {step: [next(done) for _ in samples] for step, samples in chosen.items()}

    @property
    def _own_heads(self) -> Any:
        assert self.heads is not None
        return self.heads


def _begin_sample(item: Item, scale: float) -> Sample:
    """A recorded episode with scaled rewards, and columns that the first round fills."""
    if not isinstance(item, Sample):
        raise UserError("train: recorded episodes: got pairs, allowed: single episodes")
    rows = tuple(_begin_row(row) for row in item.rows)
    return replace(item, rows=rows, rewards=tuple(scale * reward for reward in item.rewards), score=scale * item.score)


def _begin_row(row: Row) -> Row:
    zeros, ones = array("f", bytes(4 * len(row))), array("f", [1.0]) * len(row)
    return replace(row, logprobs=zeros, temperatures=ones, advantages=zeros, returns=zeros, values=zeros)


def _take_logprobs(sample: Sample) -> Sample:
    """The episode as if the weights that scored it had sampled it."""
    return replace(sample, rows=tuple(replace(r, logprobs=r.proximal, proximal=None) for r in sample.rows))
