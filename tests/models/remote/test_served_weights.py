"""Weights of a server, told by what it says of a fixed row of tokens: runs and beliefs are tied to them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cases import each

pytest.importorskip("torch")

import sonde
from sonde import UserError
from sonde.core import AGENT, run_sync
from sonde.core.types import Json
from sonde.models.remote.retry import TroubleWarning
from sonde.models.remote.served_weights import TOKENS, check_imprint, make_weight_probe, served_models
from sonde.runs.run import RunConfig, config_from, play_run, prepare_run
from sonde.runs.store import Run

from ...cli.invoke import failure, run
from ..engines import Double, SglangDouble, VllmDouble
from .test_engines import MAZE, changed_model

KINDS: dict[str, type[Double]] = {"vllm": VllmDouble, "sglang": SglangDouble}


def config(double: Double, kind: str = "vllm", **more: Any) -> RunConfig:
    model: dict[str, Json] = {
        "name": f"models:{kind}", "base_url": double.url, "model": double.name, "tokenizer": MAZE, "api_key_env": "",
        "retries": 0,
    }  # fmt: skip
    agent = {"name": "agents:llm", "temperature": 1.0, "min_p": 0.0, "max_new_tokens": 4, "model": model}
    env = {"name": "maze", "preset": "pairs", "max_turns": 2}
    return config_from({"env": env, "seats": {AGENT: agent}, "n_tasks": 2, "k": 1, **more})


def give(double: Double, kind: str, folder: Path, version: str) -> None:
    """Other weights for the server, from somebody else."""
    other = sonde.make(f"models:{kind}", base_url=double.url, model=double.name, tokenizer=MAZE, api_key_env="")

    async def publish() -> None:
        await other.publish_weights(folder, version, adapter=False)
        await other.close()

    run_sync(publish())


def test_the_probe_is_spread_over_the_vocabulary() -> None:
    from transformers import AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(MAZE)
    probe = make_weight_probe(tokenizer)
    assert len(probe.ids) == TOKENS and list(probe.places) == list(range(1, TOKENS))
    assert not set(probe.ids) & set(tokenizer.all_special_ids) and list(probe.ids) == sorted(probe.ids)
    assert probe.ids[-1] > 0.9 * len(tokenizer)


@each(
    "kept, now, message",
    [
        ({"version": "default", "logprobs": [-1.0, -2.0]}, {"version": "default", "logprobs": [-1.01, -2.0]}, ""),
        (
            {"version": "default", "logprobs": [-1.0]},
            {"version": "default", "logprobs": [-1.2]},
            "other weights.*0.200",
        ),
        ({"version": "default", "logprobs": [-1.0]}, {"version": "s-1", "logprobs": [-1.01]}, "'s-1', not 'default'"),
        ({"version": "s-1", "logprobs": [-1.0]}, {"version": "default", "logprobs": [-1.0]}, ""),
        ({"version": "default"}, {"version": "s-1"}, "weights 's-1', not 'default'"),
        ({"version": ""}, {"version": "", "logprobs": [-1.0]}, ""),
    ],
)
def test_imprints_are_compared(kept: Any, now: Any, message: str) -> None:
    if not message:
        check_imprint(kept, now, "m", "the run")
        return
    with pytest.raises(UserError, match=f"m: the server holds .*{message}.*at the start of the run"):
        check_imprint(kept, now, "m", "the run")


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_run_goes_on_with_the_weights_that_it_was_begun_with(kind: str, tmp_path: Path) -> None:
    changed, folder = changed_model(tmp_path / "changed"), tmp_path / "run"
    with KINDS[kind](MAZE) as double:
        play_run(prepare_run(config(double, kind)), folder)
        model = json.loads((folder / "config.json").read_text())["config"]["seats"][AGENT]["model"]
        assert len(model["imprint"]["logprobs"]) == TOKENS - 1 and model["imprint"]["version"] == "default"
        name = prepare_run(config(double, kind)).folder_name
        give(double, kind, changed, "other")
        assert prepare_run(config(double, kind)).folder_name == name, "what a server holds is no part of the name"
        asked = len(double.requests)
        play_run(prepare_run(config(double, kind)), folder)
        assert len(double.requests) == asked, "nothing is missing, so nobody is asked"
        message = "the server holds weights 'other-.*', not 'default'"
        with pytest.raises(UserError, match=message):
            play_run(prepare_run(config(double, kind, k=2)), folder)
        assert len(Run.load(folder)) == 2
        give(double, kind, Path(MAZE), "back")
        play_run(prepare_run(config(double, kind, k=2)), folder)
        assert len(Run.load(folder)) == 4 and not any(t.error for t in Run.load(folder))


def test_a_server_that_scores_no_prompts_is_said_not_to_be_compared(tmp_path: Path) -> None:
    with VllmDouble(MAZE, drop=frozenset({"prompt_logprobs"})) as double:
        with pytest.warns(TroubleWarning, match="a change of its weights will not be noticed: prompt_logprobs"):
            play_run(prepare_run(config(double)), tmp_path / "run")
        assert len(Run.load(tmp_path / "run")) == 2


def test_servers_are_found_in_any_seat_and_behind_a_cache(tmp_path: Path) -> None:
    model = sonde.make("models:vllm", base_url="http://localhost:1/v1", model="m", api_key_env="")
    cached = sonde.make("models:cached", model=model, path=str(tmp_path))
    seats = {AGENT: sonde.make("agents:llm", model=cached), "user": sonde.make("users:llm", model=model)}
    assert [path for path, _ in served_models(seats)] == [(AGENT, "model", "model"), ("user", "model")]


def test_beliefs_are_of_the_weights_that_played_and_of_one_kind(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with VllmDouble(str(sonde_tiny("best_arm"))) as double:
        tokenizer = str(sonde_tiny("best_arm"))
        asked = {
            "name": "models:vllm", "base_url": double.url, "model": double.name, "tokenizer": tokenizer,
            "api_key_env": "",
        }  # fmt: skip
        agent = {"name": "agents:llm", "context": "render", "max_new_tokens": 8, "model": asked}
        env = {"name": "best_arm", "preset": "small"}
        play_run(prepare_run(config_from({"env": env, "seats": {AGENT: agent}, "n_tasks": 2, "k": 1})), folder)
        command = (
            "elicit", str(folder), "--model", f"vllm:{double.name}", "--base-url", double.url, "--template", "answer",
            "-o", f"model.tokenizer={tokenizer}", "-o", "model.api_key_env=''",
        )  # fmt: skip
        assert "ln b" in run(*command)
        weaken(double)
        assert "the server holds other weights" in failure(*command, "--fresh")


def sonde_tiny(env: str) -> Path:
    from sonde.models.files.shipped import SHIPPED

    return SHIPPED[f"sonde-tiny-{env}"].folder


def weaken(double: Double) -> None:
    """A server that was begun anew with other weights under the same name and version."""
    import torch

    held = double.models[double.name]._session.held
    assert held is not None
    with torch.no_grad():
        for p in held.module.parameters():
            p.mul_(0.8)
