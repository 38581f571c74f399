"""How far online training is, beside weights and optimizer; and which settings of it go together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from sonde._util.folders import write_atomically
from sonde.core import UserError, content_hash, invalid

from .critic import GAE
from .curriculum import State
from .gather import Game
from .groups import OnlineSettings
from .settings import TrainSettings
from .types import Headed, Objective

PROGRESS = "online.json"
"""In every checkpoint: how far the playing is."""


@dataclass(frozen=True, kw_only=True)
class Progress:
    """What a checkpoint has to know besides weights and optimizer."""

    state: State
    episodes: int = 0
    kl: float = 0.0
    """The weight of the penalty for leaving the reference."""

    def write(self, file: Path, tied: Mapping[str, Any]) -> None:
        content = {"state": self.state.to_json(), "episodes": self.episodes, "kl": self.kl, "tied": tied}
        write_atomically(file, orjson.dumps(content, option=orjson.OPT_INDENT_2).decode())

    @classmethod
    def read(cls, file: Path, tied: Mapping[str, Any]) -> Progress:
        if not file.is_file():
            raise UserError(f"train: resume: {file} is missing, so this checkpoint is not one of online training")
        saved = orjson.loads(file.read_bytes())
        for name, value in orjson.loads(orjson.dumps(tied)).items():
            if saved["tied"].get(name) != value:
                raise invalid(f"train: resume: online: {name}", value, f"{saved['tied'].get(name)!r}, as before")
        return cls(state=State.from_json(saved["state"]), episodes=saved["episodes"], kl=saved["kl"])


def check_sizes(settings: TrainSettings, online: OnlineSettings) -> None:
    episodes = settings.batch_size * online.updates_per_rollout
    if episodes % online.k or settings.batch_size % online.k:
        raise invalid("train: batch_size", settings.batch_size, f"a multiple of online.k = {online.k}, in episodes")
    if settings.max_steps is None:
        raise invalid("train: max_steps", None, "a number of optimizer steps: online training has no epochs")
    if settings.save_steps is not None and settings.save_steps % online.updates_per_rollout:
        allowed = f"a multiple of online.updates_per_rollout = {online.updates_per_rollout}: rollouts are not saved"
        raise invalid("train: save_steps", settings.save_steps, allowed)


def check_objective(objective: Objective, online: OnlineSettings) -> None:
    """That this objective can learn from play, with this credit."""
    critic = isinstance(objective, Headed) and objective.heads.v
    if isinstance(online.credit, GAE) != critic:
        wanted = "gae (online.credit=gae)" if critic else "one without a critic, such as group_relative"
        raise invalid("online: credit", type(online.credit).__name__, f"{wanted}, for {objective.name}")
    if objective.learns in ("pairs", "values"):
        allowed = f"one that learns from single episodes, such as grpo; this one learns {objective.learns}"
        raise invalid("online: objective", objective.name, allowed)


def tasks_of(game: Game) -> str:
    """What identifies the tasks that may be played."""
    return content_hash([task.id for task in game.tasks])


def check_processes(trainer: Any) -> None:
    """Raise where groups cannot be shared by the processes, or weights are not whole."""
    world, per_step = trainer.args.world_size, trainer.settings.batch_size // trainer.online.k
    if per_step % world:
        raise invalid("train: batch_size", trainer.settings.batch_size, f"k times a multiple of {world} processes")
    if trainer.is_fsdp_enabled or trainer.is_deepspeed_enabled:
        allowed = "whole ones (DDP), or settings.shard under torchrun"
        raise UserError(
            f"train: online training with FSDP or DeepSpeed by accelerate: got their weights, allowed: {allowed}"
        )
