"""TRL generates, and our environment is its set of tools (`environment_factory`); our engine plays by tools in TRL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import sonde
from sonde.core import AGENT
from sonde.interop.session import common_tool
from sonde.train.collect import Game
from sonde.train.online.settings import OnlineSettings

from ...models import tiny
from ..grpo import WARNINGS, K, make_config

pytestmark = [
    *WARNINGS,
    pytest.mark.filterwarnings("ignore:You are using 'environment_factory':UserWarning"),
    pytest.mark.skipif(not find_spec("trl"), reason="needs the extra: pip install 'sonde-rl[trl]'"),
]

TEMPLATE = "qwen3_instruct_2507"
"""A template with tools, as TRL ships it."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    import torch
    from accelerate.state import AcceleratorState, GradientState

    generator = torch.get_rng_state()
    template = files("trl").joinpath("chat_templates", f"{TEMPLATE}.jinja").read_text()
    yield tiny.write(tmp_path_factory.mktemp("tools"), template=template)
    AcceleratorState._reset_state(reset_partial_state=True)
    GradientState._reset_state()
    torch.set_rng_state(generator)


def called(name: str, **arguments: object) -> str:
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call><|im_end|>"


def test_schemas_are_those_of_the_environments() -> None:
    """What TRL and transformers make of the method, beside the tool."""
    from transformers.utils import get_json_schema

    from sonde.interop.outward.trl import make_environment

    for name in ("wordle", "minesweeper", "maze", "best_arm", "twenty_questions"):
        env = sonde.make(name)
        tool = common_tool(env, "train").to_json()["function"]
        made = get_json_schema(getattr(make_environment(env)(), tool["name"]))["function"]
        assert (made["name"], made["description"]) == (tool["name"], tool["description"])
        wanted, properties = tool["parameters"]["properties"], made["parameters"]["properties"]
        assert made["parameters"]["required"] == tool["parameters"]["required"]
        for field, shape in wanted.items():
            same = {key: shape[key] for key in ("type", "description", "enum") if key in shape}
            assert properties[field] == same


def test_trl_plays_by_tools(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reply that calls and wins, one that calls what is not there, one that speaks, and one that plays on after the
    end: rewards by hand."""
    import trl
    from transformers import AutoTokenizer

    from sonde.interop.outward.trl import OVER, make_environment, make_rows

    env = sonde.make("wordle")
    word = env.tasks("train")[0].hidden
    tokenizer = AutoTokenizer.from_pretrained(folder)
    won = called("act", action=word)
    scripts = [[won, "Done.<|im_end|>"], [called("guess", action=word)], [f"{word}<|im_end|>"], [won, won]]
    at = [iter([*script, *["Well.<|im_end|>"] * 9]) for script in scripts]
    made = trl.GRPOTrainer(
        str(folder), args=make_config(folder, per_device_train_batch_size=K, max_completion_length=2000),
        train_dataset=make_rows(env, 4), reward_funcs=[], processing_class=tokenizer,
        environment_factory=make_environment(env),
    )  # fmt: skip
    asked = list[list[str]]()

    def say(prompts: list[list[int]], *rest: Any, **more: Any) -> tuple[list[list[int]], None]:
        texts = [tokenizer.decode(ids) for ids in prompts]
        asked.append(texts)
        places = range(4) if len(asked) == 1 else (0, 1, 3)[: len(texts)]
        return [tokenizer.encode(next(at[i]), add_special_tokens=False) for i in places], None

    monkeypatch.setattr(made, "_generate_single_turn", say)
    made.model.train()
    row = {"prompt": [{"role": "user", "content": ""}], "seed": 0}
    out = made._generate_and_score_completions([dict(row) for _ in range(K)])
    assert all("secret English word" in text and '"name": "act"' in text for text in asked[0])
    rewards = [instance.get_reward() for instance in made.environments]
    assert rewards == [1.0, 0.0, 0.0, 1.0]
    assert OVER in asked[1][0] and "You have won" in asked[1][0]
    assert float(out["advantages"][0]) > 0 > float(out["advantages"][1])


def test_our_engine_plays_by_tools_in_trl(folder: Path) -> None:
    """A random model calls nothing: every reply is counted, its tokens are trained on, and nothing is won."""
    from transformers import AutoTokenizer

    from sonde.interop.outward.trl import CreditedGRPO, RolloutFunc

    env = sonde.make("mastermind", max_turns=2)
    play = RolloutFunc([Game(env, env.tasks("train"), "code")], OnlineSettings(k=K, max_new_tokens=4, tools=True))
    made = CreditedGRPO(
        str(folder), args=make_config(folder), train_dataset=play.make_dataset(4), rollout_func=play,
        processing_class=AutoTokenizer.from_pretrained(folder), reward_funcs=play.reward,
    )  # fmt: skip
    made.model.train()
    made._generate_and_score_completions([{"prompt": "code 0"}] * K)
    acts = [act for group in play.played for t in group for act in t.acts if act.seat == AGENT]
    said = [c for act in acts for c in act.action.completions]
    assert said and all(c.call_defect == "no_call" and c.ids for c in said)
    assert all(t.outcome and t.outcome.kind == "unreadable" for group in play.played for t in group)
    shown = made.processing_class.decode(said[0].prompt_ids)
    assert "<tools>" in shown and '"name": "act"' in shown
