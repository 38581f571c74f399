"""What the tests of TRL share: a small game, a trainer for it, and what TRL makes of its episodes.

The game of tests/train (`asking`) has a colour to ask for; the model is a random Llama that knows its words.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch

from sonde.train.collect import Game
from sonde.train.credit import ReturnToGo
from sonde.train.online.settings import OnlineSettings
from sonde.train.rewards import RewardMix

from ..train.asking import WORDS, Asking
from ..train.tiny import AGENT, tiny_tokenizer

if TYPE_CHECKING:
    from sonde.interop.outward.trl import RolloutFunc

WARNINGS = [
    pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning"),
    pytest.mark.filterwarnings("ignore:`.*` is deprecated and will be removed:FutureWarning"),
    pytest.mark.filterwarnings("ignore:You are using 'rollout_func':UserWarning"),
]

ENV = Asking()
HURRY = RewardMix({"success": 1.0, "turns": -0.1})
K = 4


def make_config(folder: Path, **changes: Any) -> Any:
    from trl import GRPOConfig

    usual: dict[str, Any] = {
        "output_dir": str(folder / "out"), "per_device_train_batch_size": 2 * K, "num_generations": K, "max_steps": 2,
        "loss_type": "grpo", "epsilon": 0.2, "epsilon_high": 0.28, "learning_rate": 3e-3, "report_to": [],
        "use_cpu": True, "bf16": False, "save_strategy": "no", "disable_tqdm": True, "logging_steps": 1, "seed": 0,
        "max_completion_length": 64, "lr_scheduler_type": "constant", "activation_checkpointing": False,
    }  # fmt: skip
    return GRPOConfig(**{**usual, **changes})


def make_trainer(
    folder: Path, *, env: Any = ENV, kind: Any = None, play: RolloutFunc | None = None, **changes: Any
) -> Any:
    """A trainer and what plays for it."""
    from sonde.interop.outward.trl import CreditedGRPO, RolloutFunc

    settings = OnlineSettings(k=K, max_new_tokens=2, rewards=HURRY, credit=ReturnToGo())
    play = play or RolloutFunc([Game(env, env.tasks("train"), "asking")], settings)
    made = (kind or CreditedGRPO)(
        str(folder), args=make_config(folder, **changes), train_dataset=play.make_dataset(12), rollout_func=play,
        processing_class=tiny_tokenizer(WORDS), reward_funcs=play.reward,
    )  # fmt: skip
    return made, play


def make_batch(made: Any, play: RolloutFunc, *places: int) -> dict[str, Any]:
    """What TRL makes of the episodes of these tasks."""
    prompts = [{"prompt": f"asking {place}"} for place in places for _ in range(K)]
    made.model.train()
    return made._generate_and_score_completions(prompts)


def agent_mask(out: dict[str, Any]) -> torch.Tensor:
    return out["completion_mask"] * out["tool_mask"]


def agent_logprobs(made: Any, out: dict[str, Any]) -> torch.Tensor:
    """Log-probabilities of the agent's tokens in a plain forward pass, 0 elsewhere."""
    ids = torch.cat([out["prompt_ids"], out["completion_ids"]], 1)
    attention = torch.cat([out["prompt_mask"], out["completion_mask"]], 1)
    logits = made.model(input_ids=ids, attention_mask=attention, use_cache=False).logits[:, :-1].float()
    found = logits.log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return found[:, -out["completion_ids"].shape[1] :] * agent_mask(out)


def incline_model(model: Any, word: str) -> Any:
    """The same model, a little more inclined to say this."""
    said = tiny_tokenizer(WORDS).convert_tokens_to_ids(word)
    with torch.no_grad():
        hidden = model.get_input_embeddings().weight[AGENT]
        model.get_input_embeddings().weight[said] += 0.5 * hidden / hidden.norm()
    return model
