"""Models on the command line: one way to name them everywhere, sampling where one plays, and what a limit has cut."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from sonde.cli.players import model_config, model_seats, model_to_train
from sonde.core import AGENT, UserError
from sonde.models.files.fetch import fetchable_models
from sonde.runs.store import Run
from tests.cases import each

from ..models.server import Server, says
from .invoke import failure, invoke, run

COLUMNS = 80

# --- names ---------------------------------------------------------------------------------------------------------

WHERE = [
    ["eval", "mastermind", "--model"], ["rollout", "mastermind", "made", "--model"],
    ["eval", "twenty_questions", "--agent", "twenty_questions", "--user"],
    ["eval", "twenty_questions", "--agent", "twenty_questions", "--judge"], ["play", "twenty_questions", "--user"],
    ["audit", "made", "--judge"], ["train", "sft", "made", "--out", "trained", "--model"],
    ["paprika", "maze", "--out", "made", "--model"],
]  # fmt: skip


@each("command", WHERE, ids=[" ".join((c[0], c[-1])) for c in WHERE])
def test_a_near_name_is_offered_wherever_a_model_is_named(command: list[str]) -> None:
    assert "got 'smolm2' (did you mean 'smollm2'?)" in failure(*command, "smolm2")
    assert "(did you mean 'sonde-tiny-maze'?)" in failure(*command, "sonde-tiny-mase")
    assert "hf:" in failure(*command, "hf:"), "a backend without a name is no model"


@each("name", fetchable_models())
def test_known_names_work_wherever_a_model_is_named(name: str) -> None:
    assert model_config(name, None) == model_config(f"hf:{name}", None) == {"name": "models:hf", "model": name}
    assert model_to_train(name) == model_to_train(f"hf:{name}") == name
    assert [s["model"]["model"] for s in model_seats(name, name, None, None).values()] == [name, name]


def test_folders_and_names_on_the_hub_need_no_backend(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    for spec in ("mine", "org/model-1.5"):
        assert model_config(spec, None) == {"name": "models:hf", "model": spec}
        assert model_to_train(spec) == spec
    with pytest.raises(UserError, match="got 'a/b/c', allowed: hf:NAME"):
        model_config("a/b/c", None)
    with pytest.raises(UserError, match="got 'http:m', allowed: a model to train"):
        model_to_train("http:m")
    with pytest.raises(UserError) as caught:
        model_to_train("sonde-tiny-maz")
    assert "(did you mean 'sonde-tiny-maze'?)" in str(caught.value) and "http" not in str(caught.value)


def test_an_address_belongs_to_a_model_behind_it() -> None:
    talk = ["eval", "twenty_questions", "--agent", "twenty_questions"]
    url = "http://localhost:1/v1"
    says_so = "--user-url: allowed: only with --user http:NAME or --judge http:NAME"
    assert failure(*talk, "--user-url", url) == says_so
    assert failure(*talk, "--user-url", url, "--user", "fake") == says_so
    assert failure("play", "twenty_questions", "--user-url", url) == says_so
    assert (
        failure(*talk, "--user", "http:u") == "--user http:NAME: needs --user-url, for example http://localhost:8000/v1"
    )
    assert "--base-url: allowed: only with --model http:NAME" in failure(
        "eval", "mastermind", "--model", "smollm2", "--base-url", url
    )


# --- sampling ------------------------------------------------------------------------------------------------------


def served(handler: Any, *args: str) -> tuple[list[dict[str, Any]], Result]:
    """What a command asks an endpoint, whose address takes the place of URL."""

    async def main() -> tuple[list[dict[str, Any]], Result]:
        async with Server((handler,)) as server:
            found = await asyncio.to_thread(
                invoke, *(server.url if a == "URL" else a for a in args), input="Is it alive?\nIs it big?\n"
            )
            return [r.body for r in server.requests], found

    return asyncio.run(main())


HERE = ["--temperature", "1.5", "--max-new-tokens", "33"]


@each(
    "command",
    [
        ["eval", "mastermind", "--no-gains", "--model", "http:m", "--base-url", "URL", "-n", "1", "-k", "1"],
        ["rollout", "mastermind", "made", "--model", "http:m", "--base-url", "URL", "-n", "1"],
        ["play", "twenty_questions", "--user", "http:m", "--user-url", "URL"],
    ],
    ids=["eval", "rollout", "play"],
)
def test_sampling_is_set_wherever_a_model_plays(command: list[str]) -> None:
    asked, result = served(says("No"), *command, *HERE)
    assert result.exit_code == 0, (result.output, result.exception)
    assert asked and {(body["temperature"], body["max_tokens"]) for body in asked} == {(1.5, 33)}


def test_a_second_judge_samples_as_it_is_told() -> None:
    talk = ["twenty_questions", "made", "--agent", "twenty_questions", "-n", "2", "--split", "test"]
    run("rollout", *talk)
    asked, result = served(says("<VALID>"), "audit", "made", "--judge", "http:j", "--base-url", "URL", *HERE)
    assert result.exit_code == 0, (result.output, result.exception)
    assert asked and {(body["temperature"], body["max_tokens"]) for body in asked} == {(1.5, 33)}
    assert "--temperature: allowed: only with a model" in failure("audit", "made", "--temperature", "1")


def test_the_data_of_a_rollout_is_sampled_as_asked() -> None:
    fake = ["--model", "fake", "-o", "seats.agent.model.script=[x]", "-n", "1"]
    run("rollout", "mastermind", "made", *fake, "--temperature", "1.5", "--min-p", "0.3", "--context", "last:2")
    agent = Run.load("made").config["seats"][AGENT]
    assert (agent["temperature"], agent["min_p"], agent["context"]) == (1.5, 0.3, "last:2")


# --- what a limit has cut --------------------------------------------------------------------------------------------


def test_replies_that_were_cut_or_only_thought_are_shown() -> None:
    args = ["eval", "mastermind", "--no-gains", "--model", "http:m", "--base-url", "URL", "-n", "3", "-k", "1"]
    for handler, cut, mute in (
        (says("<Answer>0 1", "length"), 1.0, 0.0),
        (says(None, "length", reasoning_content="So many codes"), 1.0, 1.0),
        (says("<think>So many codes", "length"), 1.0, 1.0),
        (says("<think>So many codes</think> none"), 0.0, 0.0),
    ):
        shown = " ".join(served(handler, *args)[1].stdout.split())
        (found,) = json.loads(served(handler, *args, "--json")[1].stdout)
        assert (found["metrics"]["cut"]["mean"], found["metrics"]["reasoning_only"]["mean"]) == (cut, mute)
        assert ("truncated %:" in shown, "reasoning only %:" in shown) == (bool(cut), bool(mute))
        assert ("3 replies were cut by the token limit, in 3 of 3 episodes; --max-new-tokens sets it" in shown) == bool(
            cut
        )
        assert ("3 replies hold reasoning and no answer, in 3 of 3 episodes" in shown) == bool(mute)
        for folder in Path("runs").iterdir():
            shutil.rmtree(folder)
