"""Settings of online training, checks that they are consistent, and the progress that a checkpoint stores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal

import orjson

from sonde._util.argument_checks import Checked
from sonde._util.folders import write_atomically
from sonde._util.frozen import freeze
from sonde.core import EMPTY, UserError, content_hash, invalid, unknown
from sonde.core.types import Json

from ..collect import Game
from ..credit import GAE, Estimator, GroupRelative
from ..curriculum import Bandit, CurriculumState, Uniform
from ..rewarders import Rewarder
from ..rewards import RECORDED, RewardMix
from ..selection import count_share
from ..settings import TrainSettings
from ..types import Headed, Objective


@dataclass(frozen=True, kw_only=True)
class OnlineSettings(Checked):
    """How to play and to assign credit. Sampling follows ΔBelief-RL (section 4.1): temperature 1. Top-p and min-p are
    not offered: nothing can be learned about the tokens that they cut off, and the gradient is biased
    (`objectives/grpo.py`).

    `k`: samples per task; 1 suffices if credit does not compare them (`credit.GAE`, `keep`). `updates_per_rollout`:
    optimizer steps, each on a part of the groups, before the next play. `rewards` and `credit`: see `train.rewards` and
    `train.credit`; `rewarders` add rewards that need a model or the environment's filter (`train.rewarders`).
    `drop_flat` excludes groups without signal, in which every advantage is zero, from the mean of the loss (unless all
    are); they are counted either way. `keep`: the share of a rollout's episodes, best returns first, that is learned
    from (LMRL-Gym's online filtered BC, with `sft`). `by`, `bandit`, `replacement`, `on`: the curriculum, see
    `train.curriculum`; its potential is computed from `turns` or from the mixed `reward`. `context` to `max_new_tokens`
    are those of `agents:llm`; `template`, `max_batch`, `kv_bytes` of `models:hf`: with equal values, the model sees the
    same in evaluation as in training. `lock_step`: episodes wait for each other (`models.hf`), so that a run can be
    reproduced, and resumed, exactly, at the cost of batches that are not refilled. `overlap`: a server plays the next
    rollout while this one is trained on, so its weights are `updates_per_rollout` steps old when it is learned from.
    Every `eval_every` steps (0: never) the model plays `eval_k` episodes of each task of `eval_split`, and the best
    weights by that are kept (`online.held_out`); training ends after `patience` evaluations in a row without a better
    one (0: never). `max_tokens`: longer trajectories are left out. `save_episodes` writes
    every episode to run folders, `episodes/GAME` in the folder of the training.
    """

    called = "online"

    k: int = 8
    updates_per_rollout: int = 1
    temperature: float = 1.0
    context: str = "full"
    system: str = ""
    examples: int = 0
    answer_only: bool = False
    keep_thinking: bool = False
    tools: bool = False
    max_new_tokens: int | None = None
    template: Mapping[str, Json] = EMPTY
    max_batch: int = 256
    kv_bytes: int = 2 << 30
    lock_step: bool = False
    overlap: bool = False
    rewards: RewardMix = field(default_factory=RewardMix)
    rewarders: tuple[Rewarder, ...] = ()
    credit: Estimator = field(default_factory=GroupRelative)
    drop_flat: bool = False
    keep: float = 1.0
    by: str = "env"
    bandit: Bandit = field(default_factory=Uniform)
    replacement: bool = False
    on: Literal["turns", "reward"] = "turns"
    eval_every: int = 0
    eval_split: str = "val"
    eval_k: int = 1
    patience: int = 0
    max_tokens: int | None = None
    save_episodes: bool = False

    def __post_init__(self) -> None:
        if self.k < (1 if self.critic is not None or self.keep < 1 else 2):
            raise invalid("online: k", self.k, "2 or more: the samples of a task are compared with each other")
        if not 0 < self.keep <= 1:
            raise invalid("online: keep", self.keep, "above 0, at most 1")
        for name in ("updates_per_rollout", "max_batch", "eval_k"):
            if getattr(self, name) < 1:
                raise invalid(f"online: {name}", getattr(self, name), "1 or more")
        if self.temperature <= 0:
            raise invalid("online: temperature", self.temperature, "above 0: equal samples teach nothing")
        self._check_evaluation()
        if self.kv_bytes < 0:
            raise invalid("online: kv_bytes", self.kv_bytes, "0 or more")
        object.__setattr__(self, "template", freeze(self.template))
        if self.on not in ("turns", "reward"):
            raise invalid("online: on", self.on, "turns or reward")
        self._check_names()

    @property
    def critic(self) -> GAE | None:
        """The credit, if it comes from a critic."""
        return self.credit if isinstance(self.credit, GAE) else None

    def _check_evaluation(self) -> None:
        """Check when held-out tasks are played."""
        if self.eval_every < 0 or self.eval_every % self.updates_per_rollout:
            allowed = f"0, or a multiple of updates_per_rollout = {self.updates_per_rollout}"
            raise invalid("online: eval_every", self.eval_every, allowed)
        if self.patience < 0 or (self.patience and not self.eval_every):
            raise invalid("online: patience", self.patience, "0, or with eval_every a number of evaluations")
        if self.eval_every and self.overlap:
            raise invalid(
                "online: eval_every", self.eval_every, "0 with overlap: the server plays the next rollout then"
            )

    def _check_names(self) -> None:
        """Check that every mixed reward exists and no name occurs twice, and that they go with `tools`."""
        if self.tools and (self.examples or any(rewarder.asked_weights for rewarder in self.rewarders)):
            allowed = "false with examples, which write their answers, or with rewarders that ask the model"
            raise invalid("online: tools", self.tools, allowed)
        object.__setattr__(self, "rewarders", tuple(self.rewarders))
        names = [*RECORDED, *(name for rewarder in self.rewarders for name in rewarder.names)]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise invalid("online: rewarders", sorted(twice), "each name once")
        for name in sorted(self.rewards.names - set(names)):
            raise unknown("online: rewards", name, names)

    def to_json(self) -> dict[str, Any]:
        """The settings that must match for a checkpoint to be resumed."""
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        parts = {
            "rewards": self.rewards.to_json(),
            "credit": _describe_part(self.credit),
            "bandit": _describe_part(self.bandit),
        }
        return {**plain, **parts, "rewarders": {rewarder.called: rewarder.to_json() for rewarder in self.rewarders}}


def _describe_part(part: object) -> dict[str, Any]:
    """The class (or the name of a function) and, for a dataclass, its settings."""
    name = getattr(part, "__qualname__", type(part).__qualname__)
    return {"is": name, **(asdict(part) if is_dataclass(part) and not isinstance(part, type) else {})}


# --- progress --------------------------------------------------------------------------------------------------------


PROGRESS = "online.json"
"""File in every checkpoint: the progress of play."""


@dataclass(frozen=True, kw_only=True)
class OnlineProgress:
    """What a checkpoint stores besides weights and optimizer."""

    state: CurriculumState
    episodes: int = 0
    kl: float = 0.0
    """The weight of the penalty for leaving the reference."""

    def write_file(self, file: Path, tied: Mapping[str, Any]) -> None:
        content = {"state": self.state.to_json(), "episodes": self.episodes, "kl": self.kl, "tied": tied}
        write_atomically(file, orjson.dumps(content, option=orjson.OPT_INDENT_2).decode())

    @classmethod
    def read_file(cls, file: Path, tied: Mapping[str, Any]) -> OnlineProgress:
        if not file.is_file():
            raise UserError(f"train: resume: {file} is missing, so this checkpoint is not one of online training")
        saved = orjson.loads(file.read_bytes())
        for name, value in orjson.loads(orjson.dumps(tied)).items():
            if saved["tied"].get(name) != value:
                raise invalid(f"train: resume: online: {name}", value, f"{saved['tied'].get(name)!r}, as before")
        return cls(state=CurriculumState.from_json(saved["state"]), episodes=saved["episodes"], kl=saved["kl"])


# --- checks ----------------------------------------------------------------------------------------------------------


def check_sizes(settings: TrainSettings, online: OnlineSettings) -> None:
    episodes = settings.batch_size * online.updates_per_rollout
    if episodes % online.k or settings.batch_size % online.k:
        raise invalid("train: batch_size", settings.batch_size, f"a multiple of online.k = {online.k}, in episodes")
    if count_share(online.keep, episodes) < online.updates_per_rollout:
        allowed = f"a larger share of {episodes} episodes: each of {online.updates_per_rollout} steps needs one"
        raise invalid("online: keep", online.keep, allowed)
    if settings.max_steps is None:
        raise invalid("train: max_steps", None, "a number of optimizer steps: online training has no epochs")
    if settings.save_steps is not None and settings.save_steps % online.updates_per_rollout:
        allowed = f"a multiple of online.updates_per_rollout = {online.updates_per_rollout}: rollouts are not saved"
        raise invalid("train: save_steps", settings.save_steps, allowed)


def check_objective(objective: Objective, online: OnlineSettings) -> None:
    """Check that this objective can learn from play, with this credit."""
    critic = isinstance(objective, Headed) and objective.heads.v
    if (online.critic is not None) != critic:
        wanted = "gae (online.credit=gae)" if critic else "one without a critic, such as group_relative"
        raise invalid("online: credit", type(online.credit).__name__, f"{wanted}, for {objective.name}")
    if objective.learns in ("pairs", "values"):
        allowed = f"one that learns from single episodes, such as grpo; this one learns {objective.learns}"
        raise invalid("online: objective", objective.name, allowed)


def hash_tasks(game: Game) -> str:
    """A hash of the tasks that may be played."""
    return content_hash([task.id for task in game.tasks])


def check_processes(trainer: Any) -> None:
    """Raise if groups cannot be divided among the processes, or weights are sharded in another way."""
    world, per_step = trainer.args.world_size, trainer.settings.batch_size // trainer.online.k
    if per_step % world:
        raise invalid("train: batch_size", trainer.settings.batch_size, f"k times a multiple of {world} processes")
    if trainer.is_fsdp_enabled or trainer.is_deepspeed_enabled:
        allowed = "whole ones (DDP), or settings.shard under torchrun"
        raise UserError(
            f"train: online training with FSDP or DeepSpeed by accelerate: got their weights, allowed: {allowed}"
        )
