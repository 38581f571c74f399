"""PAPRIKA with other people: own users and judges, a server that plays every stage, and another model that plays what
is learned from."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from aiohttp import web

from sonde.core import AGENT, Trajectory, UserError
from sonde.models.files.shipped import get_shipped_model
from sonde.models.files.weights import folder_fingerprint
from sonde.runs.store import Run
from sonde.train.by_name import DATA
from sonde.train.paprika import Paprika, run_pipeline

from ..models.engines import Double, SglangDouble, VllmDouble
from ..models.server import Request, Server, says
from ..models.tiny import write

SECRETS = {"famous person": "Coco Chanel", "city": "Saint Petersburg"}
"""Of the first two training tasks, by what their openings name."""
GUESS = "Is it Coco Chanel?"
QUESTIONS = {"name": "twenty_questions", "max_turns": 3}
MAZE = {"name": "maze", "preset": "pairs", "max_turns": 2}


async def guesses(request: Request, writer: asyncio.StreamWriter) -> None:
    """The right guess, in every turn: of a wrong one no user may say that the goal is reached."""
    opening = request.body["messages"][1]["content"]
    secret = next((secret for kind, secret in SECRETS.items() if kind in opening), "")
    await says(f"Is it {secret}?" if secret else "up")(request, writer)


def said(*script: str) -> dict[str, Any]:
    return {"name": "users:llm", "model": {"name": "models:fake", "script": list(script)}}


def pipeline(model: str, url: str, **changes: Any) -> Paprika:
    usual: dict[str, Any] = {
        "model": model, "envs": (QUESTIONS, MAZE), "stages": ("sft",), "presets": {"sft": "tiny_sft"}, "n_tasks": 2,
        "k": 2, "tests": 1, "test_k": 1, "agent": {"max_new_tokens": 2, "system": "Ask."},
        "seats": {"user": said("no", "Goal reached"), "judge": said("<VALID>")},
        "player": {"name": "models:http", "model": "m", "base_url": url},
    }  # fmt: skip
    return Paprika(**{**usual, **changes})


def spoke(t: Trajectory, seat: str) -> set[str]:
    return {c.model for act in t.acts if act.seat == seat for c in act.action.completions}


@pytest.fixture
def model(tmp_path: Path) -> str:
    return str(write(tmp_path / "m" / "model", max_position_embeddings=8192))


def test_users_judges_and_an_endpoint_play_what_is_learned_from(model: str, tmp_path: Path) -> None:
    async def main() -> Any:
        async with Server((guesses,)) as first, Server((guesses,)) as second:
            outcome = await asyncio.to_thread(run_pipeline, pipeline(model, first.url), tmp_path / "p")
            assert first.requests[0].body["temperature"] == 1.5
            moved = await asyncio.to_thread(run_pipeline, pipeline(model, second.url), tmp_path / "p")
            assert moved.to_json() == outcome.to_json() and not second.requests, "where it is served makes no other run"
            return outcome

    outcome = asyncio.run(main())
    play = tmp_path / "p" / "round-1" / "play"
    for t in (asked := list(Run.load(play / "twenty_questions-paprika"))):
        assert (spoke(t, AGENT), spoke(t, "user"), spoke(t, "judge")) == ({"served"}, {"fake"}, {"fake"})
        assert t.outcome and t.outcome.success and t.outcome.judged and len(t.turns) == 1
    assert len(asked) == 4 and len(Run.load(play / "maze-pairs")) == 4, "a game of one seat goes on as ever"

    data = json.loads((tmp_path / "p" / "round-1" / "sft" / DATA).read_text())
    assert data["learning"]["system"] == "Ask."
    assert data["items"] == 2 and data["rows"]["without_ids"] == 0
    assert data["rows"]["agent_tokens"] >= 2 * len(GUESS) // 4, "the endpoint's texts, as tokens of the model"

    for stage in outcome.stages:
        evaluation = tmp_path / "p" / "evaluation" / stage.name / "twenty_questions-paprika"
        (t,) = Run.load(evaluation)
        assert spoke(t, AGENT) == {stage.model} and spoke(t, "user") == {"fake"}
        assert {c.weights for act in t.acts if act.seat == AGENT for c in act.action.completions} == {
            folder_fingerprint(Path(stage.model))
        }


def test_a_pipeline_belongs_to_the_model_that_it_began_with(model: str, tmp_path: Path) -> None:
    changes: dict[str, Any] = {"envs": (MAZE,), "seats": {}, "player": {"name": "models:fake", "pattern": ["up"]}}
    with pytest.raises(UserError, match="no training items"):
        run_pipeline(pipeline(model, "", **changes), tmp_path / "p")
    write(Path(model), kind="llama", max_position_embeddings=4096)
    with pytest.raises(UserError, match=r"another configuration: paprika\.weights"):
        run_pipeline(pipeline(model, "", **changes), tmp_path / "p")


# --- a server --------------------------------------------------------------------------------------------------------


MAZE_MODEL = get_shipped_model("sonde-tiny-maze").folder
DOUBLES: dict[str, type[Double]] = {"vllm": VllmDouble, "sglang": SglangDouble}


def on_server(double: Double, kind: str, **changes: Any) -> Paprika:
    usual: dict[str, Any] = {
        "model": "sonde-tiny-maze", "envs": ({"name": "maze", "preset": "pairs"},), "stages": ("sft",),
        "presets": {"sft": "tiny_sft"}, "n_tasks": 4, "k": 6, "tests": 4, "test_k": 2, "temperature": 1.0,
        "min_p": 0.0, "agent": {"max_new_tokens": 8},
        "server": {"name": f"models:{kind}", "model": double.name, "base_url": double.url, "api_key_env": ""},
    }  # fmt: skip
    return Paprika(**{**usual, **changes})


def played_by(path: Path) -> set[tuple[str, str]]:
    """The models and weights that played in a run folder."""
    return {(c.model, c.weights) for t in Run.load(path) for act in t.acts for c in act.action.completions}


@pytest.mark.thorough
@pytest.mark.parametrize("kind", list(DOUBLES))
def test_a_server_plays_every_stage_of_every_round_with_its_weights(kind: str, tmp_path: Path) -> None:
    with DOUBLES[kind](str(MAZE_MODEL)) as double:
        config = on_server(double, kind, rounds=2)
        outcome = run_pipeline(config, tmp_path)
        asked = len(double.requests)
        assert run_pipeline(config, tmp_path).to_json() == outcome.to_json()
        assert len(double.requests) == asked, "nothing is published or played once all is done"
    for stage in ("base", "round-1-sft", "round-2-sft"):
        assert played_by(tmp_path / "evaluation" / stage / "maze-pairs") == {("served", stage)}
    for n in (1, 2):
        assert played_by(tmp_path / f"round-{n}" / "play" / "maze-pairs") == {("served", f"round-{n}")}
    data = json.loads((tmp_path / "round-2" / "sft" / DATA).read_text())
    assert data["model"] == outcome.stages[1].model and data["rows"]["without_ids"] == 0


@pytest.mark.thorough
def test_adapters_of_a_stage_are_published_as_such(tmp_path: Path) -> None:
    changes = {"sft": {"lora": {"r": 4}, "save": "adapter"}}
    with VllmDouble(str(MAZE_MODEL)) as double:
        outcome = run_pipeline(on_server(double, "vllm", changes=changes), tmp_path)
        adapters = [body["lora_path"] for path, body in double.requests if path == "v1/load_lora_adapter"]
    assert adapters == [str(Path(outcome.stages[1].model).absolute())]
    assert played_by(tmp_path / "evaluation" / "round-1-sft" / "maze-pairs") == {("served", "round-1-sft")}


def halved(target: Path) -> Path:
    """The maze model with other weights."""
    from transformers import AutoModelForCausalLM

    module = AutoModelForCausalLM.from_pretrained(MAZE_MODEL)
    with torch.no_grad():
        for weights in module.parameters():
            weights.mul_(0.5)
    shutil.copytree(MAZE_MODEL, target)
    module.save_pretrained(target)
    return target


def test_a_round_that_goes_on_is_tied_to_the_weights_of_its_player(tmp_path: Path) -> None:
    """A player with other weights under the same name is noticed before it plays."""
    hard = {"agent": {"max_new_tokens": 1}}  # no move is complete: nothing to learn from, and the round stays open
    for folder, message in ((MAZE_MODEL, "no training items"), (halved(tmp_path / "other"), "holds other weights")):
        with VllmDouble(str(folder)) as double:
            player = {"name": "models:vllm", "model": double.name, "base_url": double.url, "api_key_env": "",
                      "tokenizer": str(MAZE_MODEL)}  # fmt: skip
            with pytest.raises(UserError, match=message):
                run_pipeline(on_server(double, "vllm", server={}, player=player, **hard), tmp_path / "p")
        (tmp_path / "p" / "round-1" / "selection.json").unlink(missing_ok=True)
        shutil.rmtree(tmp_path / "p" / "round-1" / "play", ignore_errors=True)


def test_a_server_that_plays_with_other_weights_ends_it(tmp_path: Path) -> None:
    """It says that it has loaded what was published, and goes on with its own."""

    class Deaf(VllmDouble):
        async def _collective_rpc(self, body: dict[str, Any]) -> Any:
            return web.json_response({"results": [None]})

    with Deaf(str(halved(tmp_path / "other"))) as double:
        with pytest.raises(UserError, match=r"after 'base' was published.*does not play with the trained weights"):
            run_pipeline(on_server(double, "vllm"), tmp_path / "p")
        assert {body["max_tokens"] for body in double.sampled} == {1}, "only the probe was asked about"
