"""Whole settings of training as one value, and those of the papers by name.

A `Training` is all that a run is apart from its model and what it learns from: the objective with its options, the
numbers of the trainer, and how recorded episodes become items or how the model plays. `learn`, `learn_online`,
`sonde train` and `sonde paprika` apply all of it. What was changed in a preset is told (`Training.overridden`): by the
command line when a run starts, in its `data.json`, and in the report.

Sources: PAPRIKA (Tajwar et al. 2025), section 4 and appendix C, and its code; ΔBelief-RL (2026), section 4.1 and
appendices E and F, and its code; each `source` names what the papers do not print and what is ours. How PAPRIKA samples
what is learned from is in `sonde.train.paprika`. `delta_belief` is ΔBelief-RL, and `starpo` what that paper compares
itself with. `lmrl_TASK_METHOD`: table 5 of LMRL-Gym (`lmrl.py`). `tiny_*`: ours, for models of 0.4 M weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sonde._util.argument_checks import Checked
from sonde._util.frozen import freeze, frozen
from sonde.core.errors import unknown
from sonde.core.types import EMPTY, Json

from .algos import found
from .credit import ReturnToGo, TurnWise
from .critic import GAE
from .groups import OnlineSettings
from .learn import Learning
from .lmrl import presets as lmrl_presets
from .rewarders import BeliefGain, ExactGain
from .rewards import RewardMix
from .selection import SFTRule, ShareRule
from .settings import FREE, LoraSettings, TrainSettings

_UNTOLD = (
    *(f"settings.{name}" for name in (*FREE, "seed")), "learning.seed", "online.max_batch", "online.kv_bytes",
    "online.lock_step", "online.save_episodes",
)  # fmt: skip
"""What changes nothing that a source could have fixed."""


@dataclass(frozen=True, kw_only=True)
class Training(Checked):
    """See the module. `options` are the objective's own; `learning` is for objectives that learn from recorded
    episodes, `online` for those that learn while the model plays. `preset` names what it began as.

    >>> Training(objective="rpo", options={"beta": 0.2}, settings=TrainSettings(lr=1e-4)).settings.lr
    0.0001
    """

    called = "train"

    objective: str
    settings: TrainSettings
    options: Mapping[str, Json] = EMPTY
    learning: Learning = field(default_factory=Learning)
    online: OnlineSettings = field(default_factory=OnlineSettings)
    preset: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", freeze(self.options))

    def of(self, objective: str) -> Training:
        """The same for another objective, which has options of its own."""
        return self if objective == self.objective else replace(self, objective=objective, options=EMPTY)

    @property
    def plays(self) -> bool:
        """Whether the model learns while it plays, or else from recorded episodes."""
        return found(self.objective).learns == "play" or self.online.keep < 1

    @property
    def episodes(self) -> int:
        """How many are played in all, where the model learns while it plays."""
        return self.settings.batch_size * (self.settings.max_steps or 0)

    def to_json(self) -> dict[str, Json]:
        """Everything that this objective is trained with, as plain JSON."""
        how = {"online": self.online.to_json()} if self.plays else {"learning": self.learning.to_json()}
        return {
            "preset": self.preset,
            "objective": self.objective,
            "options": dict(self.options),
            "settings": self.settings.to_json(),
            **how,
        }

    def overridden(self) -> list[str]:
        """What differs from the preset of that name, each with the preset's own value.

        >>> preset("starpo", lr=1e-4).overridden()
        ['settings.lr 0.0001 (1e-05)']
        """
        if not self.preset:
            return []
        known = PRESETS[self.preset]
        now, was = (dict(_leaves("", t.to_json())) for t in (self, known))
        gone = was if self.objective == known.objective else ()  # another objective has other options
        names = [name for name in dict.fromkeys((*now, *gone)) if name not in _UNTOLD]
        return [f"{name} {now.get(name)} ({was.get(name)})" for name in names if now.get(name) != was.get(name)]

    def told(self) -> str:
        """The preset and what was changed in it, as a line of text."""
        changed = self.overridden()
        return f"{self.preset}, but {', '.join(changed)}" if changed else self.preset


def _leaves(path: str, value: Json) -> Iterator[tuple[str, Json]]:
    """Every plain value in nested mappings, by its path."""
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from _leaves(f"{path}.{name}" if path else name, part)
    else:
        yield path, list(value) if isinstance(value, tuple) else value


def preset(name: str, **changes: Any) -> Training:
    """The preset of that name, with some of its trainer's settings changed.

    >>> preset("paprika_rpo", folder="runs/rpo").settings.lr
    2e-07
    """
    if name not in PRESETS:
        raise unknown("train: preset", name, PRESETS)
    known = PRESETS[name]
    return replace(known, settings=replace(known.settings, **changes))


_PAPRIKA = TrainSettings(
    lr=1e-6, batch_size=32, micro_batch=1, bf16=True, gradient_checkpointing=True, max_tokens=12_000, save_steps=50
)
_PAPRIKA_SOURCE = (
    "PAPRIKA section 4: AdamW, batch 32, cosine, warm-up .04; section 3.2: which episodes; appendix C: token limit of "
    "fine-tuning, beta and alpha; 1 epoch, no weight decay, limit of 8,192 tokens in RPO, bfloat16, mean over tokens: "
    "its code, not the paper; when to save: ours"
)
_STARPO = Training(
    objective="grpo",
    options={
        "clip_low": 0.2, "clip_high": 0.28, "dual_clip": 3.0, "aggregation": "seq-mean-token-mean", "kl": 0.0,
    },
    online=OnlineSettings(
        k=16, temperature=1.0, updates_per_rollout=3, rewards=RewardMix.published("starpo"), max_tokens=2500
    ),
    settings=TrainSettings(
        lr=1e-5, batch_size=1280, max_steps=180, micro_batch=8, schedule="constant", warmup=0.0, betas=(0.9, 0.95),
        weight_decay=0.01, clip=1.0, bf16=True, lora=LoraSettings(r=64, alpha=64.0), save_steps=12,
    ),
    source=(
        "ΔBelief-RL section 4.1: G = 16, temperature 1, LoRA of rank 64 with alpha 64; appendix F: clip .2 / .28, no "
        "KL, one advantage per game, mean over games of means over tokens, rate of the model of 1.7 B weights (table "
        "5; `starpo_4b`: table 6); its code: 240 tasks a rollout in 3 updates, 60 rollouts, rewards (2 for a win, -5 "
        "invalid, -1 repeated, -.05 a turn), 2,500 tokens a game, AdamW's numbers, constant rate, dual clip 3; "
        "micro-batch, bfloat16 and when to save: ours"
    ),
)  # fmt: skip
_DELTA = replace(
    _STARPO,
    options={**_STARPO.options, "aggregation": "token-mean"},
    online=replace(
        _STARPO.online, rewards=RewardMix.published("delta_belief"), rewarders=(BeliefGain(),), credit=TurnWise()
    ),
    settings=replace(_STARPO.settings, lr=3e-5),
    source=(
        "ΔBelief-RL section 3.2: ΔBelief of the statement's target, at least 0, times .1, the end of the game on every "
        "turn, credit per turn (equations 1, 3 and 4); section 4.1: rate 3e-5, with 4 B weights too; appendix A.1: "
        "rewards; its code: mean over tokens; the rest as `starpo`. Its code asks `question` and pads games that have "
        "ended with zeros: online.rewarders.belief.template=question and online.credit.as_published=true"
    ),
)
_TINY = TrainSettings(batch_size=32, micro_batch=32, micro_tokens=8192, warmup=0.0, save_steps=10)
_TINY_SOURCE = "ours: models of 0.4 M weights on their own play of maze and best_arm, one CPU thread; not tuned"


def _small(published: Training, **changes: Any) -> Training:
    """The same for a tiny model on a CPU: 8 groups of 8 a step, all weights, a rate that suits them."""
    tiny = {"k": 8, "updates_per_rollout": 1, "lock_step": True, "max_tokens": None}
    return replace(
        published,
        online=replace(published.online, **{**tiny, **changes}),
        settings=replace(
            _TINY, lr=5e-4, batch_size=64, micro_batch=64, schedule="constant", max_steps=40,
            betas=published.settings.betas, weight_decay=published.settings.weight_decay,
        ),
        source=f"{_TINY_SOURCE}; rewards, credit and loss: {published.source}",
    )  # fmt: skip


_KNOWN: dict[str, Training] = {
    "paprika_sft": Training(objective="sft", settings=_PAPRIKA, source=_PAPRIKA_SOURCE),
    "paprika_rpo": Training(
        objective="rpo", options={"beta": 0.1, "alpha": 1.0}, settings=replace(_PAPRIKA, lr=2e-7, max_tokens=8192),
        source=_PAPRIKA_SOURCE,
    ),
    "starpo": _STARPO,
    "starpo_4b": replace(_STARPO, settings=replace(_STARPO.settings, lr=3e-5)),
    "delta_belief": _DELTA,
    "delta_belief_4b": _DELTA,
    "delta_belief_sft": Training(
        objective="sft",
        learning=Learning(sft=SFTRule(distinct=False, within=0), by_turn=True),
        settings=TrainSettings(
            lr=1e-5, epochs=2.0, batch_size=256, micro_batch=16, warmup=0.1, betas=(0.9, 0.95), weight_decay=0.01,
            bf16=True, max_tokens=650, save_steps=10,
        ),
        source=(
            "ΔBelief-RL appendix E: the shortest wins of each secret, every question an item of its own, 2 epochs, "
            "cosine, warm-up .1, batch 256, 650 tokens; bfloat16, micro-batch and when to save: ours"
        ),
    ),
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
}  # fmt: skip
_KNOWN |= {
    "tiny_starpo": _small(_STARPO),
    "tiny_delta_belief": _small(_DELTA, rewarders=(BeliefGain(template="answer"),)),
    "tiny_exact_gain": _small(
        _DELTA,
        rewards=RewardMix({"success": 2.0, "turns": -0.05, "invalid": -5.0, "repeated": -1.0, "truth_gain": 0.1}),
        rewarders=(ExactGain(),),
        credit=ReturnToGo(),
    ),
}
_KNOWN |= lmrl_presets(Training)
_VALUES = {"discount": 0.95, "per": "turn", "cql": 0.01, "bc": 1.0, "width": 2.0}
_KNOWN |= {
    "tiny_bc": Training(
        objective="sft", learning=Learning(share=ShareRule()), settings=replace(_TINY, lr=2e-3, epochs=3.0),
        source=_TINY_SOURCE,
    ),
    "tiny_filtered_bc": Training(
        objective="sft", learning=Learning(share=ShareRule(top=0.1)), settings=replace(_TINY, lr=2e-3, epochs=10.0),
        source=_TINY_SOURCE,
    ),
    "tiny_online_filtered_bc": Training(
        objective="sft", online=OnlineSettings(k=8, keep=0.3, rewards=RewardMix.published("env"), lock_step=True),
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
            k=1, max_new_tokens=8, rewards=RewardMix.published("env"), lock_step=True,
            credit=GAE(discount=0.99, lam=0.95, level="turn"),
        ),
        settings=replace(_TINY, lr=3e-4, batch_size=64, micro_batch=64, schedule="constant", max_steps=40),
        source=_TINY_SOURCE,
    ),
}  # fmt: skip
PRESETS: Mapping[str, Training] = frozen({name: replace(known, preset=name) for name, known in _KNOWN.items()})
