"""The recipes for trainers that need GPUs, held against the trainers themselves wherever these can be imported: their
own configuration classes read the files, and verl's own agent loop plays, with an engine that says what it is told to.

`SONDE_TEST_WHEELS` names a folder with the package `verl` and the package `prime_rl` of prime-rl-configs in it."""

from __future__ import annotations

import asyncio
import os
import runpy
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

import sonde
from sonde.core import Episode
from sonde.models.shipped import shipped

from .test_elsewhere import SOURCES

RECIPES = Path(__file__).parents[2] / "recipes" / "interop"
VERL = RECIPES / "verl"

pytestmark = [pytest.mark.thorough, pytest.mark.filterwarnings("ignore")]  # of what others say when imported


@pytest.fixture(autouse=True)
def wheels(monkeypatch: pytest.MonkeyPatch) -> Path:
    root = Path(os.environ.get(SOURCES, "nowhere"))
    monkeypatch.syspath_prepend(str(root))
    return root


def fields(tree: Mapping[str, Any], at: str = "") -> Iterator[tuple[str, Any]]:
    """All that is set in a configuration, by its dotted name."""
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from fields(value, f"{at}{name}.")
        else:
            yield f"{at}{name}", value


# --- prime-rl --------------------------------------------------------------------------------------------------------


def test_prime_rl_reads_the_recipe() -> None:
    """Its own classes, which know no field but theirs and, under a source's `env`, ours."""
    pytest.importorskip("verifiers", reason="needs the extra: pip install 'sonde-rl[verifiers]'")
    configs = pytest.importorskip("prime_rl.configs.rl", reason=f"prime_rl is not in {SOURCES}")
    from sonde.interop.outward.verifiers import SondeEnvConfig

    text = (RECIPES / "prime_rl.toml").read_text("utf-8")
    read = configs.RLConfig.model_validate(tomllib.loads(text))
    assert read.orchestrator.algo.type == "grpo" and read.orchestrator.model.name == "Qwen/Qwen3-1.7B"
    train, test = read.orchestrator.train.source[0], read.orchestrator.eval.source[0]
    for source, split in ((train, "train"), (test, "test")):
        assert isinstance(source.env, SondeEnvConfig) and source.env.agent.runtime.type == "subprocess"
        assert source.env.taskset.split == split and source.env.taskset.made().tasks(split)
    assert train.group_size == 8 and train.sampling.max_completion_tokens == 1024
    with pytest.raises(ValueError, match="environment"):
        configs.RLConfig.model_validate(tomllib.loads(text.replace('env = "wordle"', 'environment = "wordle"')))


# --- verl ------------------------------------------------------------------------------------------------------------


def test_every_field_of_the_recipe_is_one_of_verls(wheels: Path) -> None:
    """In the whole configuration as its wheel has it, and of the same kind where that has a value."""
    file = wheels / "verl/trainer/config/_generated_ppo_trainer.yaml"
    if not file.is_file():
        pytest.skip(f"{file} is not here: unpack verl's wheel and name the folder in {SOURCES}")
    theirs = dict(fields(yaml.safe_load(file.read_text("utf-8"))))
    ours = yaml.safe_load((VERL / "wordle.yaml").read_text("utf-8"))
    assert ours.pop("hydra") and ours.pop("defaults") == ["ppo_trainer", "_self_"]
    found = dict(fields(ours))
    assert set(found) <= set(theirs)
    for name, value in found.items():
        known = theirs[name]
        taken = known is None or str(known).startswith(("${", "???")) or type(known) is type(value)
        assert taken or {type(known), type(value)} <= {int, float}, (name, known, value)


@pytest.fixture
def verl(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The adapter on verl itself."""
    for name in ("hydra", "ray", "tensordict", "transformers"):
        pytest.importorskip(name, reason="verl needs it")
    pytest.importorskip("verl.experimental.agent_loop.agent_loop", reason=f"verl is not in {SOURCES}")
    monkeypatch.delitem(sys.modules, "sonde.interop.outward.verl", raising=False)
    from sonde.interop.outward import verl

    return verl


@pytest.fixture
def config() -> Any:
    """The recipe, as Hydra makes it for verl's main function."""
    hydra = pytest.importorskip("hydra", reason="verl needs it")
    pytest.importorskip("verl", reason=f"verl is not in {SOURCES}")
    with hydra.initialize_config_dir(str(VERL), version_base=None):
        return hydra.compose("wordle", overrides=[f"actor_rollout_ref.model.path={shipped('sonde-tiny-maze').folder}"])


def test_verl_reads_the_recipe(verl: Any, config: Any) -> None:
    """What its main function checks before it trains, and its typed settings of what the recipe sets."""
    from verl.utils.config import omega_conf_to_dataclass, validate_config

    validate_config(config, use_reference_policy=False, use_critic=False)
    rollout = omega_conf_to_dataclass(config.actor_rollout_ref.rollout)
    assert rollout.n == 8 and rollout.agent.default_agent_loop == "sonde" and rollout.response_length == 6144
    assert omega_conf_to_dataclass(config.actor_rollout_ref.actor).clip_ratio_high == 0.28
    assert omega_conf_to_dataclass(config.algorithm).adv_estimator == "grpo"


def test_verls_own_loop_plays_the_data_set(
    verl: Any, config: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the rows of the recipe's script to what verl trains on: its token builder joins the turns, the response is
    the conversation as the template has it, the mask is what the engine sampled and nothing else."""
    pandas, hydra = pytest.importorskip("pandas"), pytest.importorskip("hydra")
    from omegaconf import OmegaConf
    from transformers import AutoTokenizer
    from verl.experimental.agent_loop.agent_loop import AgentLoopOutput, DictConfigWrap

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["data.py", "maze", "--config", '{"max_turns": 5}', "--train", "3", "--test", "1"])
    runpy.run_path(str(VERL / "data.py"), run_name="__main__")
    row = pandas.read_parquet("train.parquet").to_dict("records")[2]
    tokenizer, asked = AutoTokenizer.from_pretrained(shipped("sonde-tiny-maze").folder), list[list[int]]()
    end = tokenizer.eos_token_id

    async def generate(*, request_id: str, prompt_ids: list[int], sampling_params: dict[str, Any]) -> Any:
        asked.append(list(prompt_ids))
        ids = [*tokenizer.encode("move up" if len(asked) % 2 else "move left"), end]
        return SimpleNamespace(token_ids=ids, log_probs=[-0.5] * len(ids))

    (named,) = OmegaConf.load(VERL / "agent_loop.yaml")

    async def play() -> Any:
        loop = hydra.utils.instantiate(
            named, trainer_config=DictConfigWrap(config), server_manager=SimpleNamespace(generate=generate),
            tokenizer=tokenizer, processor=None, dataset_cls=None, data_config=DictConfigWrap(config.data),
        )  # fmt: skip
        return await loop.run({"temperature": 1.0}, **row, raw_prompt=row["prompt"])

    out = asyncio.run(play())
    env = sonde.make("maze", max_turns=5)
    ep = Episode.begin(env, env.tasks("train")[2], seed=2)
    for n in range(len(asked)):
        ep = ep.step("move left" if n % 2 else "move up")
    assert isinstance(out, AgentLoopOutput) and ep.outcome is not None
    assert out.extra_fields["outcome"] == ep.outcome.kind and out.reward_score == sum(out.extra_fields["turn_scores"])
    said = [i for i, sampled in zip(out.response_ids, out.response_mask, strict=True) if sampled]
    assert said == [i for n in range(len(asked)) for i in [*tokenizer.encode("move left" if n % 2 else "move up"), end]]
    messages = [message.to_json() for message in ep.messages["agent"]][: 2 * len(asked)]
    rendered = tokenizer.apply_chat_template(messages, return_dict=False)
    assert [*out.prompt_ids, *out.response_ids] == rendered
    assert asked[-1] == rendered[: len(asked[-1])] and out.response_ids[out.extra_fields["turn_ends"][0] - 1] == end
