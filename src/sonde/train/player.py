"""The model that is being trained, in the agent's seat: what plays when learning is done while playing."""

from __future__ import annotations

from typing import Any

from sonde.agents.llm import LLM, SHOWN
from sonde.models.hf import HF

from .groups import OnlineSettings


def around(model: Any, tokenizer: Any, online: OnlineSettings) -> HF:
    """A backend that plays with this very model, as `models.hf` has it."""
    name = str(getattr(model.config, "name_or_path", "") or "policy")
    options: dict[str, Any] = {"template": online.template, "max_batch": online.max_batch, "kv_bytes": online.kv_bytes}
    return HF.around(model, tokenizer, model=name, lock_step=online.lock_step, **options)


def player(hf: HF, online: OnlineSettings) -> LLM:
    """The policy: it is shown and draws what the settings say, and nothing is cut off the distribution."""
    shown = {name: getattr(online, name) for name in SHOWN}
    return LLM(model=hf, temperature=online.temperature, min_p=0.0, max_new_tokens=online.max_new_tokens, **shown)
