"""Online training: sampled tokens are trained, groups share a world, runs resume, and models learn."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

import sonde
from sonde.core import Episode, Step, Trajectory, UserError
from sonde.runs.store import Run
from sonde.train.collate import make_batch
from sonde.train.collect import Game, group_game_tasks
from sonde.train.curriculum import UCB, Choice
from sonde.train.logprobs import token_logprobs
from sonde.train.objectives.dpo import DPO
from sonde.train.objectives.grpo import GRPO
from sonde.train.online.groups import PlannedTask, assign_credit, plan_tasks
from sonde.train.online.settings import OnlineSettings
from sonde.train.rewards import RewardMix
from sonde.train.settings import LoraSettings, TrainSettings

from ..asking import WORDS, Asking, State
from ..tiny import tiny_model, tiny_tokenizer, where

if TYPE_CHECKING:
    from sonde.train.online.trainer import OnlineTrainer

ENV = Asking()
HURRY = RewardMix({"success": 1.0, "turns": -0.1})
"""Tells episodes apart that are all lost."""
CLOCKS = ("seconds_playing", "seconds_training", "seconds_held_out")


def trainer(folder: Path, *, seed: int = 0, model: Any = None, games: Sequence[Game] = (), objective: Any = None,
            online: OnlineSettings | None = None, kind: type[OnlineTrainer] | None = None,
            **changes: Any) -> OnlineTrainer:  # fmt: skip
    """Two tasks of four episodes per step, unless told otherwise."""
    from sonde.train.online.trainer import OnlineTrainer

    usual: dict[str, Any] = {"lr": 3e-3, "batch_size": 8, "micro_batch": 8, "max_steps": 3, "schedule": "constant"}
    settings = TrainSettings(folder=str(folder), seed=seed, **{**usual, "warmup": 0.0, **changes})
    tokenizer = tiny_tokenizer(WORDS)
    model = model if model is not None else tiny_model(seed, vocab=len(tokenizer))
    online = online or OnlineSettings(k=4)
    games = games or [Game(ENV, ENV.tasks("train"), "asking")]
    return (kind or OnlineTrainer)(model, objective or GRPO(), games, settings, online, tokenizer=tokenizer)


def places(t: OnlineTrainer, *chosen: int, n_rollout: int = 0) -> list[PlannedTask]:
    return plan_tasks(t.groups, [Choice(ENV.name, i) for i in chosen], t.settings.seed, n_rollout)


def without_clocks(history: Sequence[dict[str, float]]) -> list[dict[str, float]]:
    return [{name: value for name, value in entry.items() if name not in CLOCKS} for entry in history]


# --- tokens ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lora", "context", "temperature"),
    [(None, "full", 1.0), (LoraSettings(r=4), "full", 1.0), (None, "render", 1.0), (None, "full", 0.5)],
)
def test_what_is_trained_is_what_was_sampled(
    tmp_path: Path, lora: LoraSettings | None, context: str, temperature: float
) -> None:
    """Ids are those of the completions; log-probabilities of the training pass equal those recorded, to 1e-4, at any
    temperature. Where every prompt is rendered afresh, every turn is a row of its own."""
    online = OnlineSettings(k=4, max_new_tokens=3, context=context, temperature=temperature)
    t = trainer(tmp_path, lora=lora, online=online)
    chosen = places(t, 0, 1, 2)
    played = t.play_tasks(chosen)
    groups = assign_credit(chosen, played, t.online)
    for group, episodes in zip(groups, played, strict=True):
        assert [sample.trajectory for sample in group.samples] == [episode.id for episode in episodes]
        for sample, episode in zip(group.samples, episodes, strict=True):
            said = [id_ for turn in episode.turns for c in turn.acts[0].action.completions for id_ in c.ids]
            trained = [id_ for row in sample.rows for id_, a in zip(row.ids, row.agent, strict=True) if a]
            assert trained == said and sample.turns == len(episode.turns)
            assert len(sample.rows) == (sample.turns if context == "render" else 1)
    (tensors, *_), _ = t.make_passes([sample for group in groups for sample in group.samples])
    batch = make_batch(tensors)
    with t.evaluation_mode() as model, torch.no_grad():
        found_RT = token_logprobs(model, where(model, tensors)).cpu()
    assert batch.sampled_RT is not None and batch.n_samples == 8
    assert float((found_RT - batch.sampled_RT)[batch.agent_RT].abs().max()) < 1e-4
    assert float(batch.sampled_RT[batch.agent_RT].max()) < 0.0


def test_the_first_update_of_every_rollout_has_ratio_one(tmp_path: Path) -> None:
    online = OnlineSettings(k=4, rewards=HURRY)
    history = trainer(tmp_path / "one", max_steps=4, online=online).train().history
    assert [entry["ratio"] for entry in history] == pytest.approx([1.0] * 4, abs=1e-5)
    both = trainer(tmp_path / "two", max_steps=4, online=replace(online, updates_per_rollout=2)).train().history
    assert [entry["ratio"] for entry in both[::2]] == pytest.approx([1.0] * 2, abs=1e-5)
    assert all(abs(entry["kl_sampled"]) > 1e-6 for entry in both[1::2])  # the weights have moved since
    assert [entry["episodes"] for entry in both] == [16, 16, 32, 32]
    assert all("success" in entry for entry in both[::2]) and not any("success" in entry for entry in both[1::2])


@pytest.mark.parametrize("again", [False, True], ids=["kept", "recomputed"])
def test_a_model_with_dropout_has_ratio_one_too(again: bool, tmp_path: Path) -> None:
    """Episodes are played without it."""
    model = tiny_model(vocab=len(tiny_tokenizer(WORDS)), attention_dropout=0.5)
    online = OnlineSettings(k=4, rewards=HURRY)
    (entry,) = trainer(tmp_path, model=model, max_steps=1, online=online, gradient_checkpointing=again).train().history
    assert entry["ratio"] == pytest.approx(1.0, abs=1e-5) and entry["kl_sampled"] == pytest.approx(0.0, abs=1e-9)


def test_a_reference_policy_is_the_model_at_the_start(tmp_path: Path) -> None:
    online = OnlineSettings(k=4, rewards=HURRY)
    history = trainer(tmp_path, objective=GRPO(kl=0.1), online=online).train().history
    assert history[0]["kl_reference"] == pytest.approx(0.0, abs=1e-6)
    assert history[-1]["kl_reference"] > 1e-6


# --- worlds ----------------------------------------------------------------------------------------------------------


def colours(group: Sequence[Trajectory]) -> set[str]:
    return {Episode.replay(ENV, t).state.colour for t in group}  # type: ignore[attr-defined]


def test_samples_of_a_task_share_a_world_and_every_rollout_has_new_ones(tmp_path: Path) -> None:
    t = trainer(tmp_path)
    rollouts = [t.play_tasks(places(t, 0, 0, 1, n_rollout=r)) for r in range(3)]
    for groups in rollouts:
        assert all(len({e.seed for e in group}) == len({e.group for e in group}) == 1 for group in groups)
        assert all(len(colours(group)) == 1 for group in groups)
        assert [e.sample for e in groups[0]] == [0, 1, 2, 3] and len({e.id for e in groups[0]}) > 1
    seeds = {group[0].seed for groups in rollouts for group in groups}
    assert len(seeds) == 9 and {c for groups in rollouts for group in groups for c in colours(group)} == {"red", "blue"}


def test_completions_name_the_weights_that_said_them(tmp_path: Path) -> None:
    t = trainer(tmp_path, max_steps=2, online=OnlineSettings(k=4, save_episodes=True))
    t.train()
    episodes = list(Run.load(tmp_path / "episodes" / "asking"))
    assert len(episodes) == 16
    for e in episodes:
        assert {c.weights for act in e.acts for c in act.action.completions} == {f"step-{e.tags['step']}"}
        assert Episode.replay(ENV, e).outcome == e.outcome
    assert {e.tags["step"] for e in episodes} == {"0", "1"}


# --- the same again ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Hesitant(Asking):
    """The same game, in which every answer takes its time, another one whenever it is played."""

    pauses: ClassVar[list[float]] = []

    def outcomes(self, state: State, text: str) -> Sequence[tuple[float, Step]]:
        time.sleep(self.pauses[0])
        self.pauses.append(self.pauses.pop(0))
        return super().outcomes(state, text)


def numbers(t: OnlineTrainer, pauses: Sequence[float]) -> list[bytes]:
    """The log-probabilities of all that is said in a rollout, to the last bit."""
    Hesitant.pauses[:] = pauses
    (group,) = t.groups
    played = t.play_tasks(plan_tasks(t.groups, [Choice(group, i) for i in range(4)], 0, 0))
    return [c.logprobs.tobytes() for group in played for e in group for act in e.acts for c in act.action.completions]


def test_in_lock_step_numbers_do_not_depend_on_how_fast_anyone_is(tmp_path: Path) -> None:
    env = Hesitant()
    games = [Game(env, env.tasks("train"), "asking")]
    online = OnlineSettings(k=8, max_batch=12, lock_step=True, max_new_tokens=3)
    t = trainer(tmp_path, games=games, online=online)
    slow = numbers(t, [0.003, 0.0, 0.0, 0.006, 0.0, 0.001, 0.0])
    assert t.hf.stats.steps > 0 and len(slow) > 32
    assert numbers(t, [0.0]) == slow == numbers(t, [0.0, 0.004])


@pytest.mark.thorough
def test_two_equal_runs_are_equal(tmp_path: Path) -> None:
    online = OnlineSettings(k=4, lock_step=True, rewards=HURRY)
    a, b = (trainer(tmp_path / name, online=online, max_steps=8) for name in ("a", "b"))
    assert without_clocks(a.train().history) == without_clocks(b.train().history)
    for p, q in zip(a.model.parameters(), b.model.parameters(), strict=True):
        assert torch.equal(p, q)


# --- going on --------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_a_resumed_run_has_the_same_history_and_weights(tmp_path: Path) -> None:
    """Tasks, worlds, samples, curriculum, optimizer: nothing is lost at a checkpoint, with two updates per rollout."""
    from sonde.train.online.trainer import OnlineTrainer

    online = OnlineSettings(
        k=4, updates_per_rollout=2, by="difficulty", bandit=UCB(alpha=0.3), save_episodes=True, lock_step=True
    )
    options: dict[str, Any] = {"online": online, "max_steps": 6, "save_steps": 2, "keep": 5}
    whole = trainer(tmp_path / "whole", **options)
    straight = whole.train().history

    class Interrupted(Exception):
        pass

    class Broken(OnlineTrainer):
        def play_tasks(self, chosen: Sequence[PlannedTask]) -> list[list[Trajectory]]:
            if self.state.global_step == 4:
                raise Interrupted
            return super().play_tasks(chosen)

    with pytest.raises(Interrupted):
        trainer(tmp_path / "parts", kind=Broken, **options).train()
    second = trainer(tmp_path / "parts", **options)
    resumed = second.train(resume=tmp_path / "parts" / "checkpoint-2").history
    assert without_clocks(resumed) == without_clocks(straight)
    assert second.progress == whole.progress and second.progress.episodes == 48
    assert second.progress.state.arms["easy"].n + second.progress.state.arms["hard"].n == 12
    for (name, a), (_, b) in zip(whole.model.named_parameters(), second.model.named_parameters(), strict=True):
        assert torch.equal(a, b), name
    runs = [Run.load(tmp_path / part / "episodes" / "asking") for part in ("whole", "parts")]
    assert list(runs[0].canonical_lines()) == list(runs[1].canonical_lines())


@pytest.mark.thorough
def test_a_run_that_was_killed_at_any_write_of_a_checkpoint_goes_on(tmp_path: Path) -> None:
    """The files of a checkpoint, in the order in which they were written: what was cut short at any of them is not
    taken for a checkpoint, and the run goes on from the one before to the same end."""
    from sonde.train.trainer import last_checkpoint

    options: dict[str, Any] = {
        "online": OnlineSettings(k=4, lock_step=True), "max_steps": 6, "save_steps": 2, "keep": 5,
    }  # fmt: skip
    straight = trainer(tmp_path / "whole", **options).train().history
    written = sorted((tmp_path / "whole" / "checkpoint-4").iterdir(), key=lambda file: file.stat().st_mtime_ns)
    assert {"online.json", "optimizer.pt", "trainer_state.json"} <= {file.name for file in written}

    def killed(at: int) -> Path:
        """The folder of a run that was killed while it wrote this file."""
        folder = tmp_path / f"killed-{at}"
        shutil.copytree(tmp_path / "whole" / "checkpoint-2", folder / "checkpoint-2")
        shutil.copy(tmp_path / "whole" / "settings.json", folder)
        (folder / "checkpoint-4").mkdir()
        for file in written[: at + 1]:
            shutil.copy(file, folder / "checkpoint-4")
        last = folder / "checkpoint-4" / written[at].name
        last.write_bytes(last.read_bytes()[: last.stat().st_size // 2])
        return folder

    for at in range(len(written)):
        found = last_checkpoint(killed(at))
        assert found is not None and found.name == "checkpoint-2", f"killed at {written[at].name}"
    again = trainer(tmp_path / f"killed-{len(written) - 1}", **options)
    assert without_clocks(again.train(resume=True).history) == without_clocks(straight)
    shutil.copytree(tmp_path / "whole" / "checkpoint-4", tmp_path / "saved" / "checkpoint-4")
    found = last_checkpoint(tmp_path / "saved")
    assert found is not None and found.name == "checkpoint-4"


def test_a_checkpoint_is_tied_to_how_it_was_played(tmp_path: Path) -> None:
    trainer(tmp_path, max_steps=2, save_steps=1).train()
    other = trainer(tmp_path, max_steps=2, save_steps=1, online=OnlineSettings(k=4, temperature=1.5))
    with pytest.raises(UserError, match=r"online: temperature: got 1\.5, allowed: 1\.0, as before"):
        other.train(resume=tmp_path / "checkpoint-1")
    (tmp_path / "checkpoint-1" / "online.json").unlink()
    with pytest.raises(UserError, match="not one of online training"):
        trainer(tmp_path, max_steps=2, save_steps=1).train(resume=tmp_path / "checkpoint-1")


def test_several_environments_share_a_loop(tmp_path: Path) -> None:
    """Two environments, grouped by name: UCB plays each unseen one first, and what is saved replays in its own."""
    lock = sonde.make("combination_lock", length=1, sub_episodes=2)
    games = [Game(ENV, ENV.tasks("train"), "asking"), Game(lock, lock.tasks("train"), "lock")]
    online = OnlineSettings(k=4, bandit=UCB(), max_new_tokens=2, save_episodes=True)
    t = trainer(tmp_path, games=games, online=online, max_steps=1)
    t.train()
    assert {name: arm.n for name, arm in t.progress.state.arms.items()} == {ENV.name: 1, "combination_lock": 1}
    for env, name in ((ENV, "asking"), (lock, "lock")):
        episodes = list(Run.load(tmp_path / "episodes" / name))
        assert len(episodes) == 4 and all(Episode.replay(env, e).outcome == e.outcome for e in episodes)


def test_bad_settings_end_in_a_clear_message(tmp_path: Path) -> None:
    from sonde.train.online.trainer import OnlineTrainer

    bad: list[tuple[dict[str, Any], str]] = [
        ({"batch_size": 6}, r"batch_size: got 6, allowed: a multiple of online\.k = 4"),
        ({"max_steps": None}, "max_steps: got None, allowed: a number of optimizer steps"),
        (
            {"save_steps": 3, "online": OnlineSettings(k=4, updates_per_rollout=2)},
            r"save_steps: got 3, allowed: a multiple of online\.updates_per_rollout = 2",
        ),
        (
            {"online": OnlineSettings(k=4, keep=0.05, updates_per_rollout=4)},
            r"keep: got 0\.05, allowed: a larger share of 32 episodes: each of 4 steps needs one",
        ),
        ({"online": OnlineSettings(k=4, by="topic")}, "has no tag 'topic'; its tags: difficulty, group"),
    ]
    for options, message in bad:
        with pytest.raises(UserError, match=message):
            trainer(tmp_path, **options)
    with pytest.raises(UserError, match="k: got 1, allowed: 2 or more"):
        OnlineSettings(k=1)
    with pytest.raises(UserError, match="temperature: got 0"):
        OnlineSettings(temperature=0.0)
    settings, games = TrainSettings(folder=str(tmp_path), max_steps=1), [Game(ENV, ENV.tasks("train"), "asking")]
    with pytest.raises(UserError, match="chat template"):
        OnlineTrainer(tiny_model(), GRPO(), games, settings, tokenizer=None)
    with pytest.raises(UserError, match="objective: got 'dpo', allowed: one that learns from single episodes"):
        trainer(tmp_path, objective=DPO())
    with pytest.raises(UserError, match="the trained model's seat"):
        OnlineTrainer(
            tiny_model(), GRPO(), games, settings, tokenizer=tiny_tokenizer(),
            policies={"agent": sonde.make("agents:random")},
        )  # fmt: skip


def test_tasks_keep_the_order_of_games() -> None:
    games = [Game(ENV, ENV.tasks("train"), "a"), Game(ENV, ENV.tasks("test"), "b")]
    groups = group_game_tasks(games, "difficulty")
    assert [(g.name, task.split, task.index) for g, task in groups["hard"]] == [
        (name, split, i) for name, split in (("a", "train"), ("b", "test")) for i in (1, 3, 5)
    ]


# --- learning --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_a_random_model_learns_to_ask_first_and_to_use_the_answer(tmp_path: Path, seed: int) -> None:
    """From about no game won in a hundred to most, in 2,560 episodes."""
    sizes: dict[str, Any] = {"batch_size": 64, "micro_batch": 64, "max_steps": 40}
    history = trainer(tmp_path, seed=seed, **sizes).train().history
    success = [entry["success"] for entry in history]
    assert np.mean(success[:3]) < 0.15 and np.mean(success[-5:]) > 0.7
