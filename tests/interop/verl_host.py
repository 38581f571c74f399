"""verl itself, for tests and benchmarks: the recipe's configuration, a tokenizer that reads any text, and its own agent
loop with an engine that says what it is told to.

`make test-hosts` installs verl without the versions that it pins (`constraints-verl.txt`) and names the folder in
`SONDE_TEST_WHEELS`; without verl, what needs it is skipped."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

WHEELS = "SONDE_TEST_WHEELS"
"""A variable of the environment: a folder of packages that are not installed."""
RECIPE = Path(__file__).parents[2] / "recipes" / "interop" / "verl"
END = "<|sonde-end|>"
_TEMPLATE = (
    "{% for m in messages %}<|sonde-{{ m.role }}|>{{ m.content }}" + END + "{% endfor %}"
    "{% if add_generation_prompt %}<|sonde-assistant|>{% endif %}"
)


def require() -> Any:
    """The adapter, on verl; skips where verl is not here."""
    if (folder := os.environ.get(WHEELS)) and folder not in sys.path:
        sys.path.append(folder)
    for name in ("torch", "hydra", "ray", "tensordict", "verl"):
        pytest.importorskip(name, reason=f"verl is neither installed nor in {WHEELS}")
    from sonde.interop.outward import verl

    return verl


@cache
def compose(*overrides: str) -> Any:
    """The recipe, as Hydra makes it for verl's main function."""
    import hydra

    with hydra.initialize_config_dir(str(RECIPE), version_base=None):
        return hydra.compose("wordle", overrides=list(overrides))


@cache
def byte_tokenizer() -> Any:
    """One token per byte, so that every text comes back as it was."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = {sign: i for i, sign in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    inner = Tokenizer(models.BPE(alphabet, []))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    inner.decoder = decoders.ByteLevel()
    made = PreTrainedTokenizerFast(tokenizer_object=inner, eos_token=END, pad_token=END)
    made.add_special_tokens({"additional_special_tokens": [f"<|sonde-{role}|>" for role in ("user", "assistant")]})
    made.chat_template = _TEMPLATE
    return made


def make_loop(reply: Callable[[str], Awaitable[str]], *overrides: str, cuts: bool = False) -> Any:
    """The agent loop, with an engine that answers the last message of the user; what it was asked is in `.asked`. It
    keeps to `max_tokens` only where it `cuts`: a limit that is enough for words is too small for bytes."""
    adapter = require()
    from verl.experimental.agent_loop.agent_loop import DictConfigWrap

    room = "data.max_prompt_length=1000000", "data.max_response_length=1000000"
    config, tokenizer = compose(*room, "actor_rollout_ref.model.path=none", *overrides), byte_tokenizer()
    user, asked = "<|sonde-user|>", list[dict[str, Any]]()

    async def generate(*, request_id: str, prompt_ids: list[int], sampling_params: dict[str, Any]) -> Any:
        asked.append(sampling_params)
        told = tokenizer.decode(prompt_ids).rpartition(user)[2].partition(END)[0]
        ids = tokenizer.encode(await reply(told), add_special_tokens=False)
        ids = [*ids, tokenizer.eos_token_id][: sampling_params["max_tokens"] if cuts else None]
        return SimpleNamespace(token_ids=ids, log_probs=[-1.0] * len(ids))

    loop = adapter.SondeAgentLoop(
        trainer_config=DictConfigWrap(config), server_manager=SimpleNamespace(generate=generate), tokenizer=tokenizer,
        processor=None, dataset_cls=None, data_config=DictConfigWrap(config.data),
    )  # fmt: skip
    loop.asked = asked
    return loop
