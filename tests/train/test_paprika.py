"""PAPRIKA with other people: own users and judges, and an endpoint that plays the training episodes."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from sonde.core import AGENT, Trajectory, UserError
from sonde.models.files.weights import folder_fingerprint
from sonde.runs.store import Run
from sonde.train.learn import DATA
from sonde.train.paprika import Paprika, run_pipeline

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
    assert data["learning"]["system"] == "Ask." and data["learning"]["encode"]
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
