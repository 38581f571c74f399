"""SkyRL's own generator, which its trainers call, plays rows of ours with an engine that says what it is told to.

`SONDE_TEST_WHEELS` names a folder with skyrl in it (`make test-hosts`); SkyRL's training needs GPUs and is not run."""

from __future__ import annotations

import asyncio
import os
import sys
import typing
from importlib.util import find_spec
from typing import Any

import pytest

import sonde
from sonde.interop.session import Session

from ..verl_host import WHEELS, byte_tokenizer

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # of what others say when imported
    pytest.mark.skipif(not find_spec("skyrl_gym"), reason="needs the extra: pip install 'sonde-rl[skyrl-gym]'"),
]


@pytest.fixture(scope="module")
def skyrl() -> Any:
    """The module of the generator. Its types are `typing.TypedDict`s, which pydantic 2.14 refuses on Python 3.11."""
    typing_extensions = pytest.importorskip("typing_extensions")
    if (folder := os.environ.get(WHEELS)) and folder not in sys.path:
        sys.path.append(folder)
    usual = typing.TypedDict
    typing.TypedDict = typing_extensions.TypedDict  # type: ignore[misc,assignment]
    try:
        return pytest.importorskip(
            "skyrl.train.generators.skyrl_gym_generator", reason=f"skyrl is not in {WHEELS}", exc_type=ImportError
        )
    finally:
        typing.TypedDict = usual  # type: ignore[misc]


class Engine:
    """Says the lines of a script, one per turn of each conversation."""

    model_name = "scripted"

    def __init__(self, tokenizer: Any, script: typing.Callable[[str], str]) -> None:
        self.tokenizer, self.script = tokenizer, script

    async def generate(self, input_batch: Any, model: str | None = None) -> Any:
        texts = [self.script(self.tokenizer.decode(ids)) for ids in input_batch["prompt_token_ids"]]
        ids = [[*self.tokenizer.encode(text, add_special_tokens=False), self.tokenizer.eos_token_id] for text in texts]
        return {
            "responses": texts, "response_ids": ids, "stop_reasons": ["stop"] * len(texts),
            "response_logprobs": [[-0.5] * len(row) for row in ids], "prompt_logprobs": None,
            "rollout_expert_indices": None,
        }  # fmt: skip

    async def finish_session(self, session_id: str) -> None:
        """Nothing is held for a session."""


def test_skyrls_generator_plays_rows_of_ours(skyrl: Any) -> None:
    """Two worlds of Wordle, one won in the second turn and one lost: rewards lie on the turns that earned them."""
    from skyrl.train.config import GeneratorConfig, SamplingParams, SkyRLGymConfig

    from sonde.interop.outward.skyrl_gym import make_rows

    env = sonde.make("wordle", preset="lmrl")
    rows = list(make_rows(env, 2, seed=3))
    secrets = [env.tasks("train")[seed].hidden for seed in (3, 4)]
    tokenizer = byte_tokenizer()

    def say(prompt: str) -> str:
        turn = prompt.count("<|sonde-assistant|>")  # the open one counts
        return f"<Answer>{secrets[0] if turn == 2 else 'toast'}</Answer>"

    config = GeneratorConfig(
        max_turns=env.spec.max_turns, max_input_length=100_000, use_cache_salt=False,
        sampling_params=SamplingParams(max_generate_length=100),
    )  # fmt: skip
    generator = skyrl.SkyRLGymGenerator(
        generator_cfg=config, skyrl_gym_cfg=SkyRLGymConfig(max_env_workers=0), tokenizer=tokenizer,
        inference_engine_client=Engine(tokenizer, say),
    )  # fmt: skip
    batch = {
        "prompts": [row["prompt"] for row in rows], "env_classes": [row["env_class"] for row in rows],
        "env_extras": rows, "sampling_params": None, "trajectory_ids": None, "batch_metadata": None,
    }  # fmt: skip
    out = asyncio.run(generator.generate(batch, disable_tqdm=True))
    assert tokenizer.decode(out["prompt_token_ids"][0]).count(rows[0]["prompt"][0]["content"]) == 1
    for i, (seed, words) in enumerate(((3, ["toast", secrets[0]]), (4, ["toast", secrets[0], *["toast"] * 4]))):
        seat = Session(env)
        seat.reset(seed)
        earned = [seat.say(f"<Answer>{word}</Answer>").reward for word in words]
        rewards, mask, ids = out["rewards"][i], out["loss_masks"][i], out["response_ids"][i]
        assert [r for r in rewards if r] == [r for r in earned if r] and sum(rewards) == sum(earned)
        said = "".join(tokenizer.decode([id_]) for id_, mine in zip(ids, mask, strict=True) if mine)
        assert said.count("<Answer>") == len(words) and seat.episode.outcome
    assert out["rollout_metrics"]["environment/success"] == 0.5
