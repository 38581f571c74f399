"""The published settings of PAPRIKA, StarPO, ΔBelief-RL, IGPO and *Learning to Ask Informative Questions*.

Sources: PAPRIKA (Tajwar et al. 2025), section 4 and appendix C, and its code; ΔBelief-RL (2026), section 4.1 and
appendices E and F, and its code; IGPO and preference pairs by gain: `train.igpo` and `train.gain_pairs`. Each `source`
names what the papers do not print and what is ours. How PAPRIKA samples its training episodes is in `train.paprika`.
`delta_belief` is ΔBelief-RL, `starpo` that paper's baseline, both as the
paper has them. `delta_belief_code` and `starpo_code` are all that its code does: the rule of the game and the length of
a reply (`twenty_questions`, rules=code), and for ΔBelief the question that is asked and the zeros with which games that
have ended enter the means. `_4b` are the settings of the larger model. Models that can think are told not to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..credit import TurnWise
from ..igpo import NormalisedReturn, ProbabilityGain
from ..online.settings import OnlineSettings
from ..rewarders import BeliefGain
from ..rewards import RewardMix
from ..selection import SFTRule
from ..settings import LoraSettings, TrainSettings
from ..training import Learning, Training

_PAPRIKA = TrainSettings(
    lr=1e-6, batch_size=32, micro_batch=1, bf16=True, gradient_checkpointing=True, max_tokens=12_000, save_steps=50
)
_PAPRIKA_SOURCE = (
    "PAPRIKA section 4: AdamW, batch 32, cosine, warm-up .04; section 3.2: which episodes; appendix C: token limit of "
    "fine-tuning, beta and alpha; 1 epoch, no weight decay, limit of 8,192 tokens in RPO, bfloat16, mean over tokens: "
    "its code, not the paper; when to save: ours"
)
STARPO = Training(
    objective="grpo",
    options={
        "clip_low": 0.2, "clip_high": 0.28, "dual_clip": 3.0, "aggregation": "seq-mean-token-mean", "kl": 0.0,
    },
    online=OnlineSettings(
        k=16, temperature=1.0, updates_per_rollout=3, rewards=RewardMix.from_paper("starpo"), max_tokens=2500,
        template={"enable_thinking": False},
    ),
    settings=TrainSettings(
        lr=1e-5, batch_size=1280, max_steps=180, micro_batch=8, schedule="constant", warmup=0.0, betas=(0.9, 0.95),
        weight_decay=0.01, clip=1.0, bf16=True, lora=LoraSettings(r=64, alpha=64.0), save_steps=12,
    ),
    plays={"twenty_questions": {"preset": "delta_belief"}},
    source=(
        "ΔBelief-RL section 4.1: G = 16, temperature 1, LoRA of rank 64 with alpha 64; appendix F: clip .2 / .28, no "
        "KL, one advantage per game, mean over games of means over tokens, rate of the model of 1.7 B weights (table "
        "5; `starpo_4b`: table 6); its code: 240 tasks a rollout in 3 updates, 60 rollouts, rewards (2 for a win, -5 "
        "invalid, -1 repeated, -.05 a turn), 2,500 tokens a game, AdamW's numbers, constant rate, dual clip 3; "
        "micro-batch, bfloat16 and when to save: ours"
    ),
)  # fmt: skip
DELTA_BELIEF = replace(
    STARPO,
    options={**STARPO.options, "aggregation": "token-mean"},
    online=replace(
        STARPO.online, rewards=RewardMix.from_paper("delta_belief"), rewarders=(BeliefGain(),), credit=TurnWise()
    ),
    settings=replace(STARPO.settings, lr=3e-5),
    source=(
        "ΔBelief-RL section 3.2: ΔBelief of the statement's target, at least 0, times .1, the end of the game on every "
        "turn, credit per turn (equations 1, 3 and 4); section 4.1: rate 3e-5, with 4 B weights too; appendix A.1: "
        "rewards; its code: mean over tokens; the rest as `starpo`"
    ),
)


def _take_code(known: Training) -> Training:
    """A training of ΔBelief-RL with what its code does otherwise than the paper."""
    told = "what its code does otherwise than the paper: the exact word ends a game, replies of 50 tokens"
    online = known.online
    if online.rewarders:
        online = replace(online, rewarders=(BeliefGain(template="question"),), credit=TurnWise(rules="code"))
        told = f"{told}, the template `question`, games that have ended count as zeros in turn-wise means"
    plays = {"twenty_questions": {"preset": "delta_belief", "rules": "code"}}
    return replace(known, online=online, plays=plays, source=f"{known.source}; {told}")


IGPO = Training(
    objective="grpo",
    options={
        "clip_low": 0.2, "clip_high": 0.2, "aggregation": "seq-mean-token-mean", "kl": 0.001, "kl_ratio": False,
    },
    online=OnlineSettings(
        k=16, temperature=1.0, rewards=RewardMix.from_paper("igpo"), rewarders=(ProbabilityGain(),),
        credit=NormalisedReturn(),
    ),
    settings=TrainSettings(
        lr=1e-6, batch_size=512, max_steps=180, micro_batch=2, schedule="constant", warmup=0.0, weight_decay=0.01,
        clip=1.0, bf16=True, gradient_checkpointing=True, save_steps=12,
    ),
    source=(
        "IGPO (arXiv 2510.14967), equations 3 to 8: rewards, credit and loss; its code: 32 tasks of 16 games a step, "
        "temperature 1, clip .2, KL .001 without a ratio, rate 1e-6, constant, AdamW, -2 for an unreadable end, "
        "discount 1; success in place of F1, how long and when to save: ours"
    ),
)  # fmt: skip


_STARPO_4B = replace(STARPO, settings=replace(STARPO.settings, lr=3e-5))
PAPERS: Mapping[str, Training] = {
    "paprika_sft": Training(objective="sft", settings=_PAPRIKA, source=_PAPRIKA_SOURCE),
    "paprika_rpo": Training(
        objective="rpo", options={"beta": 0.1, "alpha": 1.0}, settings=replace(_PAPRIKA, lr=2e-7, max_tokens=8192),
        source=_PAPRIKA_SOURCE,
    ),
    "starpo": STARPO,
    "starpo_4b": _STARPO_4B,
    "starpo_code": _take_code(STARPO),
    "starpo_code_4b": _take_code(_STARPO_4B),
    "delta_belief": DELTA_BELIEF,
    "delta_belief_4b": DELTA_BELIEF,
    "delta_belief_code": _take_code(DELTA_BELIEF),
    "delta_belief_code_4b": _take_code(DELTA_BELIEF),
    "igpo": IGPO,
    "gain_pairs": Training(
        objective="dpo", options={"beta": 0.1},
        settings=TrainSettings(
            lr=2e-5, epochs=1.0, batch_size=8, micro_batch=4, warmup=0.1, bf16=True, gradient_checkpointing=True,
            max_tokens=1024,
            lora=LoraSettings(
                r=128, alpha=32.0, dropout=0.1,
                targets=("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"),
            ),
            save_steps=50,
        ),
        source=(
            "Learning to Ask Informative Questions (arXiv 2406.17453), section 3: DPO of high over low expected gain; "
            "its code: beta .1, rate 2e-5, cosine, warm-up .1, batch 8, 1 epoch, LoRA of rank 128 with alpha 32, "
            "1,024 tokens; when to save: ours"
        ),
    ),
    "delta_belief_sft": Training(
        objective="sft",
        learning=Learning(
            sft=SFTRule(distinct=False, within=0), by_turn=True, template={"enable_thinking": False}
        ),
        settings=TrainSettings(
            lr=1e-5, epochs=2.0, batch_size=256, micro_batch=16, warmup=0.1, betas=(0.9, 0.95), weight_decay=0.01,
            bf16=True, max_tokens=650, save_steps=10,
        ),
        source=(
            "ΔBelief-RL appendix E: the shortest wins of each secret, every question an item of its own, 2 epochs, "
            "cosine, warm-up .1, batch 256, 650 tokens; bfloat16, micro-batch and when to save: ours"
        ),
    ),
}  # fmt: skip
