"""Settings for models of 0.4 M weights that play maze and best_arm on one CPU thread. Ours, not tuned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..credit import GAE, ReturnToGo
from ..igpo import ProbabilityGain
from ..online.settings import OnlineSettings
from ..rewarders import BeliefGain, ExactGain
from ..rewards import RewardMix
from ..selection import SFTRule, ShareRule
from ..settings import TrainSettings
from ..training import Learning, Training
from .papers import DELTA_BELIEF, IGPO, STARPO

_TINY = TrainSettings(batch_size=32, micro_batch=32, micro_tokens=8192, warmup=0.0, save_steps=10)
_TINY_SOURCE = "ours: models of 0.4 M weights on their own play of maze and best_arm, one CPU thread; not tuned"


def _shrink_preset(published: Training, **changes: Any) -> Training:
    """The same for a tiny model on a CPU: 8 groups of 8 a step, all weights, and a suitable learning rate."""
    tiny = {"k": 8, "updates_per_rollout": 1, "lock_step": True, "max_tokens": None, "template": {}}
    return replace(
        published,
        online=replace(published.online, **{**tiny, **changes}),
        settings=replace(
            _TINY, lr=5e-4, batch_size=64, micro_batch=64, schedule="constant", max_steps=40,
            betas=published.settings.betas, weight_decay=published.settings.weight_decay,
        ),
        plays={"twenty_questions": {"preset": "small"}},
        source=f"{_TINY_SOURCE}; rewards, credit and loss: {published.source}",
    )  # fmt: skip


_VALUES = {"discount": 0.95, "per": "turn", "cql": 0.01, "bc": 1.0, "width": 2.0}
TINY: Mapping[str, Training] = {
    "tiny_sft": Training(
        objective="sft", learning=Learning(sft=SFTRule(within=0)), settings=replace(_TINY, lr=1e-3, epochs=10.0),
        source=_TINY_SOURCE,
    ),
    "tiny_rpo": Training(
        objective="rpo", options={"beta": 0.1, "alpha": 1.0},
        settings=replace(_TINY, lr=2e-5, batch_size=16),
        source=f"{_TINY_SOURCE}; rate: from 5e-5 on the maze's model forgets how a move is written",
    ),
    "tiny_grpo": Training(
        objective="grpo",
        online=OnlineSettings(
            k=8, max_new_tokens=8, rewards=RewardMix({"success": 1.0, "turns": -0.02}), lock_step=True
        ),
        settings=replace(
            _TINY, lr=5e-4, batch_size=64, micro_batch=64, schedule="constant", warmup=0.0, max_steps=40
        ),
        source=_TINY_SOURCE,
    ),
    "tiny_starpo": _shrink_preset(STARPO),
    "tiny_delta_belief": _shrink_preset(DELTA_BELIEF, rewarders=(BeliefGain(template="answer"),)),
    "tiny_igpo": _shrink_preset(IGPO, rewarders=(ProbabilityGain(template="answer"),)),
    "tiny_exact_gain": _shrink_preset(
        DELTA_BELIEF,
        rewards=RewardMix({"success": 2.0, "turns": -0.05, "invalid": -5.0, "repeated": -1.0, "truth_gain": 0.1}),
        rewarders=(ExactGain(),),
        credit=ReturnToGo(),
    ),
    "tiny_bc": Training(
        objective="bc", settings=replace(_TINY, lr=2e-3, epochs=3.0),
        source=_TINY_SOURCE,
    ),
    "tiny_filtered_bc": Training(
        objective="bc", learning=Learning(share=ShareRule(top=0.1)), settings=replace(_TINY, lr=2e-3, epochs=10.0),
        source=_TINY_SOURCE,
    ),
    "tiny_online_filtered_bc": Training(
        objective="bc", online=OnlineSettings(k=8, keep=0.3, rewards=RewardMix.from_paper("env"), lock_step=True),
        settings=replace(_TINY, lr=5e-4, batch_size=64, micro_batch=64, schedule="constant", max_steps=40),
        source=_TINY_SOURCE,
    ),
    "tiny_mc": Training(
        objective="mc", options=_VALUES, settings=replace(_TINY, lr=2e-3, epochs=3.0), source=_TINY_SOURCE
    ),
    "tiny_ilql": Training(
        objective="ilql", options={**_VALUES, "tau": 0.8, "polyak": 0.1},
        settings=replace(_TINY, lr=2e-3, epochs=10.0), source=_TINY_SOURCE,
    ),
    "tiny_ppo": Training(
        objective="ppo",
        online=OnlineSettings(
            k=1, max_new_tokens=8, rewards=RewardMix.from_paper("env"), lock_step=True,
            credit=GAE(discount=0.99, lam=0.95, level="turn"),
        ),
        settings=replace(_TINY, lr=3e-4, batch_size=64, micro_batch=64, schedule="constant", max_steps=40),
        source=_TINY_SOURCE,
    ),
    "tiny_ppo_offline": Training(
        objective="ppo", recorded=True,
        online=OnlineSettings(
            k=1, updates_per_rollout=4, rewards=RewardMix.from_paper("env"),
            credit=GAE(discount=0.99, lam=0.95, level="turn"),
        ),
        settings=replace(
            _TINY, lr=3e-4, batch_size=64, micro_batch=64, schedule="constant", epochs=4.0, save_steps=20
        ),
        source=_TINY_SOURCE,
    ),
}  # fmt: skip
