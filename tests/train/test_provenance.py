"""A training is tied to its base model, its data and its folder."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import torch

from sonde.core import AGENT, ProgramPolicy, Trajectory, UserError, View, run_sync
from sonde.core.types import Action
from sonde.models.chat.chat import Chat
from sonde.runs.rollout import Plan, collect_trajectories, play_episode
from sonde.train.by_name import DATA, learn, learn_online, prepare_data
from sonde.train.collect import Game
from sonde.train.logprobs import ReferenceModel
from sonde.train.model_io import load_model
from sonde.train.objectives.dpo import DPO
from sonde.train.objectives.sft import SFT
from sonde.train.provenance import hash_items, hash_model
from sonde.train.selection import PairRule
from sonde.train.settings import TrainSettings
from sonde.train.training import Learning, Training
from sonde.train.training_folder import lock_folder

from .asking import WORDS, Asking
from .tiny import knowing, pairs, samples, tiny_model, train_offline

ENV = Asking()


@dataclass(frozen=True, kw_only=True)
class Wordy(ProgramPolicy):
    """Wastes a turn with as many words, then wins, or loses by guessing before it asked."""

    words: int
    wins: bool = True

    def act_now(self, view: View) -> Action:
        if view.turn == 0:
            return Action(" ".join(["again"] * self.words))
        if not self.wins:
            return Action("red")
        return Action("ask" if view.turn == 1 else view.messages[-1].content)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return knowing(WORDS, tmp_path_factory.mktemp("model"), 0)


def said(*policies: Wordy) -> list[Trajectory]:
    """Samples of one task, one of each policy."""
    task = ENV.tasks("train")[0]
    return [run_sync(play_episode(ENV, {AGENT: policy}, task, sample=i)) for i, policy in enumerate(policies)]


def settings(folder: Path, **changes: Any) -> TrainSettings:
    usual: dict[str, Any] = {"lr": 1e-2, "batch_size": 2, "micro_batch": 2, "max_steps": 2, "save_steps": 1}
    return TrainSettings(folder=str(folder), **{**usual, **changes})


LESSONS = (Wordy(words=1), Wordy(words=1, wins=False), Wordy(words=2, wins=False))


def of(objective: str, how: TrainSettings) -> Training:
    return Training(objective=objective, settings=how)


# --- going on --------------------------------------------------------------------------------------------------------


def test_a_resumed_training_is_tied_to_its_model_its_data_and_its_objective(model: str, tmp_path: Path) -> None:
    played, folder = said(*LESSONS), tmp_path / "t"
    once = learn(model, of("rpo", settings(folder)), played)
    assert learn(model, of("rpo", settings(folder)), played, resume=True).history == once.history
    before = (folder / DATA).read_bytes()
    assert json.loads(before)["weights"]

    def refused(message: str, *, base: str = model, data: Any = played, name: str = "rpo", beta: float = 0.1,
                **more: Any) -> None:  # fmt: skip
        with pytest.raises(UserError, match=rf"train: resume: .*{message}.*--fresh"):
            learn(base, replace(of(name, settings(folder)), options={"beta": beta}), data, resume=True, **more)
        assert (folder / DATA).read_bytes() == before, "it names what the weights came from"

    refused("another base model", base=knowing(WORDS, tmp_path / "other", 1))
    refused("other training data", data=said(Wordy(words=2), *LESSONS[1:]))
    refused(r"objective RPO\(", name="dpo")
    refused(r"objective RPO\(", beta=0.5)
    refused("another reference model", reference=str(tmp_path / "other"))


def test_settings_count_before_the_first_checkpoint_too(model: str, tmp_path: Path) -> None:
    given = settings(tmp_path, save_steps=None)
    learn(model, of("sft", given), said(*LESSONS))
    with pytest.raises(UserError, match=r"resume: lr \(0.01 -> 0.5\)"):
        learn(model, of("sft", replace(given, lr=0.5)), said(*LESSONS), resume=True)


def test_online_training_is_tied_to_its_model_and_its_tasks(model: str, tmp_path: Path) -> None:
    tasks, given = ENV.tasks("train"), settings(tmp_path / "t", batch_size=8, max_steps=1)
    learn_online(model, of("grpo", given), [Game(ENV, tasks, "asking")])
    with pytest.raises(UserError, match="another base model"):
        learn_online(
            knowing(WORDS, tmp_path / "other", 1), of("grpo", given), [Game(ENV, tasks, "asking")], resume=True,
        )  # fmt: skip
    with pytest.raises(UserError, match="resume: online: games"):
        learn_online(model, of("grpo", given), [Game(ENV, tasks[::-1], "asking")], resume=True)


def test_any_weight_and_any_reward_tells() -> None:
    before = hash_model(tiny_model())
    for name, _ in tiny_model().named_parameters():
        net = tiny_model()
        with torch.no_grad():
            net.get_parameter(name).add_(1e-3)
        assert hash_model(net) != before == hash_model(tiny_model()), name
    assert hash_model(tiny_model().to(torch.bfloat16)) != before
    items = samples(3)
    assert hash_items(items) == hash_items(samples(3)) != hash_items(items[::-1])
    assert hash_items([replace(items[0], score=0.5), *items[1:]]) != hash_items(items)


# --- the folder ------------------------------------------------------------------------------------------------------


def test_a_folder_is_not_written_over(model: str, tmp_path: Path) -> None:
    played, given = said(*LESSONS), settings(tmp_path / "t", save_steps=None)
    first = learn(model, of("sft", given), played)
    weights = (first.model / "model.safetensors").read_bytes()
    with pytest.raises(
        UserError, match=r"t holds model of an earlier training; allowed: to resume it \(--resume\), to"
    ):
        learn(model, of("rpo", given), played)
    assert (first.model / "model.safetensors").read_bytes() == weights
    (tmp_path / "t" / "notes.md").write_text("mine")
    learn(model, of("rpo", given), played, fresh=True)
    assert (first.model / "model.safetensors").read_bytes() != weights
    assert json.loads((tmp_path / "t" / DATA).read_text())["objective"] == "rpo"
    assert (tmp_path / "t" / "notes.md").read_text() == "mine"
    with pytest.raises(UserError, match="got resume and fresh"):
        learn(model, of("rpo", given), played, fresh=True, resume=True)


def test_a_model_a_run_and_a_folder_of_something_else_are_not_trainings(model: str, tmp_path: Path) -> None:
    knowing(WORDS, tmp_path / "m", 0)
    for fresh, message in ((False, "holds a run or a model"), (True, "is not the folder of a training")):
        with pytest.raises(UserError, match=message):
            learn(model, of("sft", settings(tmp_path / "m")), said(*LESSONS), fresh=fresh)
    assert (tmp_path / "m" / "model.safetensors").is_file()


def test_the_trainer_alone_keeps_to_its_folder_too(tmp_path: Path) -> None:
    given = settings(tmp_path, save_steps=None)
    train_offline(tiny_model(), SFT(), samples(4), given)
    with pytest.raises(UserError, match="holds model of an earlier training"):
        train_offline(tiny_model(1), SFT(), samples(4), given)
    with pytest.raises(UserError, match="another base model"):
        train_offline(tiny_model(1), SFT(), samples(4), given, resume=True)


@contextmanager
def held_elsewhere(folder: Path) -> Iterator[None]:
    """The folder, held by another process."""
    script = (
        "import sys; from pathlib import Path; from sonde.train.training_folder import lock_folder\n"
        "with lock_folder(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", script, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdout is not None and other.stdout.readline() == "held\n"
    try:
        yield
    finally:
        other.communicate("")


def test_the_second_training_in_a_folder_refuses_at_once(model: str, tmp_path: Path) -> None:
    games = [Game(ENV, ENV.tasks("train"), "asking")]
    with held_elsewhere(tmp_path):
        for changes in ({}, {"resume": True}, {"fresh": True}):
            with pytest.raises(UserError, match=f"another training is writing to {tmp_path}"):
                learn("no-such-model", of("sft", settings(tmp_path)), said(*LESSONS), **changes)
            with pytest.raises(UserError, match=f"another training is writing to {tmp_path}"):
                learn_online(
                    "no-such-model",
                    of("grpo", settings(tmp_path, batch_size=8)),
                    games,
                    **changes,
                )
        with pytest.raises(UserError, match=f"another training is writing to {tmp_path}"):
            train_offline(tiny_model(), SFT(), samples(4), settings(tmp_path))
    with lock_folder(tmp_path):  # held by this process, so for its own training
        assert learn(model, of("sft", settings(tmp_path)), said(*LESSONS)).steps == 2


# --- another model as the reference ----------------------------------------------------------------------------------


def test_another_reference_is_computed_once_where_training_is_and_kept(tmp_path: Path) -> None:
    from sonde.train.trainer import SondeTrainer

    loaded: list[str] = []

    def load() -> Any:
        loaded.append("again")
        return tiny_model(1)

    def trained(weights: str, resume: bool) -> list[dict[str, float]]:
        given = settings(tmp_path, reference="given", save_steps=None, lr=1e-3)
        other = ReferenceModel(weights=weights, load=load)
        return SondeTrainer(tiny_model(), DPO(), pairs(4), given, compared=other).train(resume).history

    first = trained("one", False)
    assert loaded == ["again"] and (tmp_path / "reference.npz").is_file()
    assert abs(first[0]["log_ratio_chosen"]) > 1e-3, "another model says something else"
    assert trained("one", True) == first and loaded == ["again"]
    with pytest.raises(UserError, match="another reference model"):
        trained("two", True)
    assert loaded == ["again"]


# --- too long to be trained on ---------------------------------------------------------------------------------------


def test_what_is_too_long_is_left_out_before_the_choice(model: str) -> None:
    chat = Chat(load_model(model)[1], label=model, template={})
    short, long = Wordy(words=1), Wordy(words=200)
    found = prepare_data("sft", said(long, short), chat, max_tokens=100)
    assert found.counts["too_long"] == 1 and len(found.items) == 1 and found.rows.too_long == 0
    with_losses = said(long, short, *(replace(long, wins=False) for _ in range(8)), Wordy(words=1, wins=False))
    for seed in range(5):
        found = prepare_data("rpo", with_losses, chat, Learning(seed=seed), max_tokens=100)
        assert len(found.items) == 1, "the only short loss is chosen, whatever the seed draws among the long ones"
        assert found.counts["too_long"] == 9 and found.counts["trajectories"] == 11
    rule = Learning(pairs=PairRule(max_tokens=5))
    with pytest.raises(UserError, match="no training items"):
        prepare_data("rpo", with_losses, chat, rule, max_tokens=100)


def test_counts_are_of_everything_that_was_played(model: str) -> None:
    chat = Chat(load_model(model)[1], label=model, template={})
    played = collect_trajectories(ENV, {AGENT: Wordy(words=1)}, ENV.tasks("train"), Plan(k=2))
    failed = replace(played[0], outcome=None, error="WorldError: gone")
    found = prepare_data("sft", [*played[1:], failed], chat)
    assert (found.counts["trajectories"], found.counts["failed"], found.counts["tasks"]) == (12, 1, 6)
