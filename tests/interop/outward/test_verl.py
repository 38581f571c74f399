"""verl: its own configuration classes read the recipe, its own agent loop plays, with an engine that says what it is
told to."""

from __future__ import annotations

import asyncio
import runpy
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

import sonde
from sonde.core import Episode
from sonde.models.files.shipped import get_shipped_model
from sonde.testing import check_interop

from .. import hosts, pages, verl_host
from ..verl_host import RECIPE

pytestmark = [pytest.mark.thorough, pytest.mark.filterwarnings("ignore")]  # of what others say when imported


@pytest.fixture(scope="module")
def adapter() -> Any:
    return verl_host.require()


@pytest.mark.parametrize("name", hosts.SOME)
def test_it_keeps_the_contract_of_adapters(adapter: Any, name: str) -> None:
    check_interop(hosts.verl, sonde.make(name), episodes=3, concurrent=30)


ROOM = 30
"""Tokens of a response: those of a turn and its end, and not those of an answer to it."""


def test_it_stops_where_there_is_no_room(adapter: Any) -> None:
    async def reply(text: str) -> str:
        return "<Answer>1 2 3 4</Answer>"

    (row,) = adapter.make_rows("mastermind", 1, seed=3)
    asked: list[Any] = []

    async def play() -> Any:
        loop = verl_host.make_loop(reply, f"data.max_response_length={ROOM}", cuts=True)
        out = await loop.run({}, extra_info=row["extra_info"])
        asked[:] = loop.asked
        return out

    out = asyncio.run(play())
    assert len(out.response_ids) == len(out.response_mask) <= ROOM
    assert (out.extra_fields["outcome"], out.extra_fields["truncated"]) == ("out_of_turns", "context")
    assert [sampling["max_tokens"] for sampling in asked] == [ROOM]
    assert row["agent_name"] == "sonde" and row["extra_info"]["seed"] == 3


# --- the recipe ------------------------------------------------------------------------------------------------------


def flatten(tree: Mapping[str, Any], at: str = "") -> Iterator[tuple[str, Any]]:
    """All that is set in a configuration, by its dotted name."""
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{at}{name}.")
        else:
            yield f"{at}{name}", value


def compose() -> Any:
    return verl_host.compose(f"actor_rollout_ref.model.path={get_shipped_model('sonde-tiny-maze').folder}")


def test_every_field_of_the_recipe_is_one_of_verls(adapter: Any) -> None:
    """In the whole configuration as its wheel has it, and of the same kind where that has a value."""
    import verl

    file = Path(verl.__file__).parent / "trainer/config/_generated_ppo_trainer.yaml"
    theirs = dict(flatten(yaml.safe_load(file.read_text("utf-8"))))
    ours = yaml.safe_load((RECIPE / "wordle.yaml").read_text("utf-8"))
    assert ours.pop("hydra") and ours.pop("defaults") == ["ppo_trainer", "_self_"]
    found = dict(flatten(ours))
    assert set(found) <= set(theirs)
    for name, value in found.items():
        known = theirs[name]
        taken = known is None or str(known).startswith(("${", "???")) or type(known) is type(value)
        assert taken or {type(known), type(value)} <= {int, float}, (name, known, value)


def test_verl_reads_the_recipe(adapter: Any) -> None:
    """What its main function checks before it trains, and its typed settings of what the recipe sets."""
    from verl.utils.config import omega_conf_to_dataclass, validate_config

    config = compose()
    validate_config(config, use_reference_policy=False, use_critic=False)
    rollout = omega_conf_to_dataclass(config.actor_rollout_ref.rollout)
    assert rollout.n == 8 and rollout.agent.default_agent_loop == "sonde" and rollout.response_length == 6144
    assert omega_conf_to_dataclass(config.actor_rollout_ref.actor).clip_ratio_high == 0.28
    assert omega_conf_to_dataclass(config.algorithm).adv_estimator == "grpo"


def test_verls_own_loop_plays_the_data_set(adapter: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the rows of the recipe's script to what verl trains on: its token builder joins the turns, the response is
    the conversation as the template has it, the mask is what the engine sampled and nothing else."""
    import hydra
    import pandas
    from omegaconf import OmegaConf
    from transformers import AutoTokenizer
    from verl.experimental.agent_loop.agent_loop import AgentLoopOutput, DictConfigWrap

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["data.py", "maze", "--config", '{"max_turns": 5}', "--train", "3", "--test", "1"])
    runpy.run_path(str(RECIPE / "data.py"), run_name="__main__")
    row = pandas.read_parquet("train.parquet").to_dict("records")[2]
    tokenizer, asked = AutoTokenizer.from_pretrained(get_shipped_model("sonde-tiny-maze").folder), list[list[int]]()
    end, config = tokenizer.eos_token_id, compose()

    async def generate(*, request_id: str, prompt_ids: list[int], sampling_params: dict[str, Any]) -> Any:
        asked.append(list(prompt_ids))
        ids = [*tokenizer.encode("move up" if len(asked) % 2 else "move left"), end]
        return SimpleNamespace(token_ids=ids, log_probs=[-0.5] * len(ids))

    (named,) = OmegaConf.load(RECIPE / "agent_loop.yaml")

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


# --- the page --------------------------------------------------------------------------------------------------------


def test_the_page_says_what_happens(adapter: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    ((_, code, printed),) = pages.page_examples("verl.md")
    assert pages.run_code(code) == printed


def test_the_agent_loop_of_the_page_is_that_of_the_recipe() -> None:
    (shown,) = pages.code_blocks("verl.md", "yaml")
    assert yaml.safe_load(shown) == yaml.safe_load((RECIPE / "agent_loop.yaml").read_text("utf-8"))
