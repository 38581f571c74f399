"""Values learned from recorded episodes improve play, end to end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from sonde.core import AGENT, Trajectory, UserError, build
from sonde.models.chat.chat import Chat
from sonde.runs.rollout import Plan, collect_trajectories
from sonde.train.by_name import learn, prepare_data
from sonde.train.model_io import load_model
from sonde.train.selection import ShareRule, episode_return
from sonde.train.settings import TrainSettings
from sonde.train.training import Learning, Training

from .crossing import WORDS, Crossing, Shown
from .tiny import knowing

ENV = Crossing()
LOOK = "render"
"""What the model sees is where it is, not how it came there: every turn is a row of its own."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return knowing(WORDS, tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def shown() -> list[Trajectory]:
    return collect_trajectories(ENV, {AGENT: Shown()}, ENV.tasks("train"), Plan(k=16))


def trained(model: str, shown: Sequence[Trajectory], folder: Path, objective: str, **options: Any) -> str:
    learning = Learning(context=LOOK)
    settings = TrainSettings(
        folder=str(folder), lr=1e-2, batch_size=32, micro_batch=32, epochs=90, warmup=0.0, schedule="constant"
    )
    made = Training(objective=objective, options=options, settings=settings, learning=learning)
    return str(learn(model, made, shown).model)


def returns(model: str, start: int, **values: Any) -> float:
    """The mean return from `here` (0) or `there` (1), sampled at temperature 1."""
    backend = {"name": "models:hf", "model": model, **values}
    agent = build({"name": "agents:llm", "model": backend, "temperature": 1.0, "min_p": 0.0, "context": LOOK})
    played = collect_trajectories(ENV, {AGENT: agent}, [ENV.tasks("train")[start]], Plan(k=32))
    return sum(map(episode_return, played)) / len(played)


VALUES = {"discount": 0.9, "per": "turn", "bc": 1.0, "cql": 0.01}


def test_the_best_that_is_shown_is_not_the_best_there_is(shown: list[Trajectory]) -> None:
    earned = {task: {episode_return(t) for t in shown if t.task.index == task} for task in (0, 1)}
    assert earned == {0: {0.0, 0.3}, 1: {1.0}}


@pytest.mark.thorough
def test_returns_of_episodes_are_not_stitched(model: str, shown: list[Trajectory], tmp_path: Path) -> None:
    """Nobody who went right from here earned anything, so MC goes left."""
    found = trained(model, shown, tmp_path, "mc", **VALUES)
    assert returns(found, 0, heads=found, beta=20.0) == pytest.approx(0.3, abs=0.05)
    assert returns(found, 1, heads=found, beta=20.0) > 0.9


@pytest.mark.thorough
def test_ilql_stitches(model: str, shown: list[Trajectory], tmp_path: Path) -> None:
    """At the crossing somebody earned 1, so right is worth .9 of nearly that: better than .3, which is all that any who
    began here got. Without its values the model is a clone: half of the time .3, else 1 as often as 0."""
    found = trained(model, shown, tmp_path, "ilql", **VALUES, tau=0.9, polyak=0.1)
    assert returns(found, 0, heads=found, beta=20.0) > 0.9
    assert returns(found, 0, heads=found, beta=0.0) < 0.65


@pytest.mark.slow
def test_values_stand_beside_the_policy_that_they_are_added_to(
    model: str, shown: list[Trajectory], tmp_path: Path
) -> None:
    """As published: the model that values is trained by their losses alone, and the cloned policy is another one."""
    policy = trained(model, shown, tmp_path / "bc", "bc")
    assert 0.2 < returns(policy, 0) < 0.65
    values = trained(policy, shown, tmp_path / "ilql", "ilql", **{**VALUES, "bc": 0.0}, tau=0.9, polyak=0.1)
    assert returns(policy, 0, heads=values, beta=20.0) > 0.9


def test_whose_episodes_are_learned_from(model: str, shown: list[Trajectory]) -> None:
    chat = Chat(load_model(model)[1], label=model, template={})
    everything = prepare_data("ilql", shown, chat, Learning(context=LOOK))
    assert len(everything.items) == len(shown) == 32
    best = prepare_data("bc", shown, chat, Learning(context=LOOK, share=ShareRule(top=0.25)))
    assert {item.score for item in best.items} == {1.0} and len(best.items) == 8  # type: ignore[union-attr]
    won = prepare_data("bc", shown, chat, Learning(context=LOOK, share=ShareRule(success=True)))
    assert len(won.items) == 16
    with pytest.raises(UserError, match="learning: by_turn: got True, allowed: false for mc"):
        prepare_data("mc", shown, chat, Learning(by_turn=True))
