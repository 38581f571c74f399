"""Learning while playing: what is trained is what was sampled, groups share a world, runs resume, and models learn."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch

import sonde
from sonde.core import Episode, Step, Task, Trajectory, UserError
from sonde.store import Run
from sonde.train.algos.dpo import DPO
from sonde.train.algos.grpo import GRPO
from sonde.train.collate import batch_of, rows_of
from sonde.train.credit import Grouped, GroupRelative
from sonde.train.curriculum import UCB, Choice, variation
from sonde.train.gather import Game, groups_of
from sonde.train.groups import Chosen, OnlineSettings, chosen_tasks, credited
from sonde.train.logprobs import token_logprobs
from sonde.train.online import OnlineTrainer
from sonde.train.rewards import RewardMix
from sonde.train.settings import LoraSettings, TrainSettings
from sonde.train.trainer import last_checkpoint

from .asking import WORDS, Asking, State
from .tiny import tiny_model, tiny_tokenizer

ENV = Asking()
HURRY = RewardMix({"success": 1.0, "turns": -0.1})
"""Tells episodes apart that are all lost."""
CLOCKS = ("seconds_playing", "seconds_training")


def trainer(folder: Path, *, seed: int = 0, model: Any = None, games: Sequence[Game] = (), objective: Any = None,
            online: OnlineSettings | None = None, kind: type[OnlineTrainer] = OnlineTrainer,
            **changes: Any) -> OnlineTrainer:  # fmt: skip
    """Two tasks of four episodes per step, unless told otherwise."""
    usual: dict[str, Any] = {"lr": 3e-3, "batch_size": 8, "micro_batch": 8, "max_steps": 3, "schedule": "constant"}
    settings = TrainSettings(folder=str(folder), seed=seed, **{**usual, "warmup": 0.0, **changes})
    tokenizer = tiny_tokenizer(WORDS)
    model = model if model is not None else tiny_model(seed, vocab=len(tokenizer))
    online = online or OnlineSettings(k=4)
    games = games or [Game(ENV, ENV.tasks("train"), "asking")]
    return kind(model, objective or GRPO(), games, settings, online, tokenizer=tokenizer)


def places(t: OnlineTrainer, *chosen: int, n_rollout: int = 0) -> list[Chosen]:
    return chosen_tasks(t.groups, [Choice(ENV.name, i) for i in chosen], t.settings.seed, n_rollout)


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
    played = t.play(chosen)
    groups = credited(chosen, played, t.online)
    for group, episodes in zip(groups, played, strict=True):
        assert [sample.trajectory for sample in group.samples] == [episode.id for episode in episodes]
        for sample, episode in zip(group.samples, episodes, strict=True):
            said = [id_ for turn in episode.turns for c in turn.acts[0].action.completions for id_ in c.ids]
            trained = [id_ for row in sample.rows for id_, a in zip(row.ids, row.agent, strict=True) if a]
            assert trained == said and sample.turns == len(episode.turns)
            assert len(sample.rows) == (sample.turns if context == "render" else 1)
    (tensors, *_), _ = t.passes([sample for group in groups for sample in group.samples])
    batch = batch_of(tensors)
    with t.playing() as model, torch.no_grad():
        found_RT = token_logprobs(model, tensors)
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
    rollouts = [t.play(places(t, 0, 0, 1, n_rollout=r)) for r in range(3)]
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
    played = t.play(chosen_tasks(t.groups, [Choice(group, i) for i in range(4)], 0, 0))
    return [c.logprobs.tobytes() for group in played for e in group for act in e.acts for c in act.action.completions]


def test_in_lock_step_numbers_do_not_depend_on_how_fast_anyone_is(tmp_path: Path) -> None:
    env = Hesitant()
    games = [Game(env, env.tasks("train"), "asking")]
    online = OnlineSettings(k=8, max_batch=12, lock_step=True, max_new_tokens=3)
    t = trainer(tmp_path, games=games, online=online)
    slow = numbers(t, [0.003, 0.0, 0.0, 0.006, 0.0, 0.001, 0.0])
    assert t.hf.stats.steps > 0 and len(slow) > 32
    assert numbers(t, [0.0]) == slow == numbers(t, [0.0, 0.004])


def test_two_equal_runs_are_equal(tmp_path: Path) -> None:
    online = OnlineSettings(k=4, lock_step=True, rewards=HURRY)
    a, b = (trainer(tmp_path / name, online=online, max_steps=8) for name in ("a", "b"))
    assert without_clocks(a.train().history) == without_clocks(b.train().history)
    for p, q in zip(a.model.parameters(), b.model.parameters(), strict=True):
        assert torch.equal(p, q)


# --- going on --------------------------------------------------------------------------------------------------------


def test_a_resumed_run_has_the_same_history_and_weights(tmp_path: Path) -> None:
    """Tasks, worlds, samples, curriculum, optimizer: nothing is lost at a checkpoint, with two updates per rollout."""
    online = OnlineSettings(
        k=4, updates_per_rollout=2, by="difficulty", bandit=UCB(alpha=0.3), save_episodes=True, lock_step=True
    )
    options: dict[str, Any] = {"online": online, "max_steps": 6, "save_steps": 2, "keep": 5}
    whole = trainer(tmp_path / "whole", **options)
    straight = whole.train().history

    class Interrupted(Exception):
        pass

    class Broken(OnlineTrainer):
        def play(self, chosen: Sequence[Chosen]) -> list[list[Trajectory]]:
            if self.state.global_step == 4:
                raise Interrupted
            return super().play(chosen)

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
    assert list(runs[0].canonical()) == list(runs[1].canonical())


def test_a_run_that_was_killed_at_any_write_of_a_checkpoint_goes_on(tmp_path: Path) -> None:
    """The files of a checkpoint, in the order in which they were written: what was cut short at any of them is not
    taken for a checkpoint, and the run goes on from the one before to the same end."""
    options: dict[str, Any] = {
        "online": OnlineSettings(k=4, lock_step=True),
        "max_steps": 6,
        "save_steps": 2,
        "keep": 5,
    }
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


# --- numbers ---------------------------------------------------------------------------------------------------------


def game(task: Task, *texts: str, error: str = "", sample: int = 0) -> Trajectory:
    ep = Episode.begin(ENV, task, seed=1, sample=sample)
    for text in texts:
        ep = ep.step(text)
    return ep.trajectory(error=error)


def with_ids(t: Trajectory) -> Trajectory:
    """As a model would have said it: one made-up token per act."""
    from array import array

    from sonde.core import Completion
    from sonde.core.types import Action, Turn

    def said(turn: Turn) -> Turn:
        act = turn.acts[0]
        done = Completion(text=act.action.text, ids=array("i", [7]), logprobs=array("f", [-1.0]), temperature=1.0,
                          prompt_ids=array("i", [3, 5]), model="m")  # fmt: skip
        return Turn(turn.index, (replace(act, action=Action(act.action.text, completions=(done,))),))

    return replace(t, turns=tuple(map(said, t.turns)))


def test_numbers_of_a_group_by_hand() -> None:
    """Won in 2 turns, lost in 1, out of turns after 4, and one that the outside world broke."""
    task = ENV.task("red")
    texts = (("ask", "red"), ("red",), ("hm",) * 4, ("ask",))
    played = [with_ids(game(task, *said, sample=i, error="gone" if i == 3 else "")) for i, said in enumerate(texts)]
    settings = OnlineSettings(
        k=4, rewards=RewardMix({"success": 1.0, "turns": -0.1}), credit=GroupRelative(scale="none")
    )
    (group,) = credited([Chosen(Game(ENV, [task], "asking"), task, 1, "g")], [played], settings)
    rewards = [1 - 0.2, -0.1, -0.4]
    assert {name: value / count for name, (value, count) in group.sums.items()} == pytest.approx({
        "success": 1 / 3, "score": 1 / 3, "reward": sum(rewards) / 3, "turns": 7 / 3, "format": 1.0, "tokens": 7.0,
        "agent_tokens": 7 / 3, "forked": 4 / 3, "too_long": 0.0, "flat_groups": 0.0, "errors": 0.25, "invalid": 4 / 3,
        "repeated": 0.0,
    })  # fmt: skip
    assert group.signal and group.potential == pytest.approx(variation([2.0, 4.0, 4.0]))
    for sample, reward in zip(group.samples, rewards, strict=True):
        for row in rows_of([sample]):
            assert row.advantages is not None
            assert max(row.advantages, key=abs) == pytest.approx(reward - sum(rewards) / 3, abs=1e-6)
    on_reward = replace(settings, on="reward", rewards=RewardMix())
    (other,) = credited([Chosen(Game(ENV, [task], "asking"), task, 1, "g")], [played], on_reward)
    assert other.potential == pytest.approx(variation([1.0, 0.0, 0.0]))


def test_a_group_that_the_world_failed_is_played_but_teaches_nothing() -> None:
    task = ENV.task("red")
    played = [with_ids(game(task, "ask", sample=i, error="gone")) for i in range(2)]
    (group,) = credited([Chosen(Game(ENV, [task], "asking"), task, 1, "g")], [played], OnlineSettings(k=2))
    assert group.samples == [] and not group.signal and group.potential is None
    assert group.sums["errors"] == (2.0, 2.0) and group.sums["success"] == (0.0, 0.0)


def test_episodes_that_the_model_cannot_hold_are_left_out(tmp_path: Path) -> None:
    """A context of 12 tokens holds the first turns; longer episodes fail, are counted, and train nobody."""
    short = tiny_model(vocab=len(tiny_tokenizer(WORDS)), max_position_embeddings=12)
    t = trainer(tmp_path / "some", model=short, max_steps=1, batch_size=32)
    (entry,) = t.train().history
    assert 0.0 < entry["errors"] < 1.0 and entry["tokens"] <= 12
    shorter = tiny_model(vocab=len(tiny_tokenizer(WORDS)), max_position_embeddings=3)
    with pytest.raises(UserError, match=r"no episode has tokens to learn from \(8 of 8 failed: WorldError: the prompt"):
        trainer(tmp_path / "none", model=shorter).train()


def spread(rewards: Grouped) -> dict[str, list[Any]]:
    """Credit by turn: what a turn earned above the mean of its game."""
    return {group: [r - r.mean() for r in rows] for group, rows in rewards.items()}


def none(rewards: Grouped) -> dict[str, list[Any]]:
    return {group: [0.0 * r for r in rows] for group, rows in rewards.items()}


def test_signal_is_in_advantages_and_not_in_returns() -> None:
    """Two games that earned the same teach something where credit goes to turns; two that did not teach nothing where
    no credit is given, and neither does a group whose only credit is on a game too long to be trained."""
    task = ENV.task("red")
    equal = [with_ids(game(task, "ask", "red", sample=i)) for i in range(2)]
    differing = [with_ids(game(task, *said, sample=i)) for i, said in enumerate((("ask", "red"), ("red",)))]
    chosen = [Chosen(Game(ENV, [task], "asking"), task, 1, "g")]

    def signal(played: list[Trajectory], credit: Any, **more: Any) -> bool:
        (group,) = credited(chosen, [played], OnlineSettings(k=2, credit=credit, **more))
        assert group.sums["flat_groups"] == (float(not group.signal), 1.0)
        return group.signal

    assert signal(equal, spread) and not signal(equal, GroupRelative())
    assert signal(differing, GroupRelative()) and not signal(differing, none)
    assert not signal(differing, spread, max_tokens=2)


def test_flat_groups_can_be_left_out_of_the_mean(tmp_path: Path) -> None:
    task = ENV.task("red")
    won, lost = (with_ids(game(task, *said)) for said in (("ask", "red"), ("red",)))
    chosen = [Chosen(Game(ENV, [task], "asking"), task, 1, "g")] * 2
    groups = credited(chosen, [[won, won], [won, lost]], OnlineSettings(k=2))
    assert [group.sums["flat_groups"][0] for group in groups] == [1.0, 0.0]
    for drop, n in ((False, 4), (True, 2)):
        t = trainer(tmp_path / str(drop), batch_size=2, online=OnlineSettings(k=2, drop_flat=drop))
        assert len(t._kept(groups)) == n  # pyright: ignore[reportPrivateUsage]
    assert len(t._kept(groups[:1])) == 2  # pyright: ignore[reportPrivateUsage]  # all flat: kept, with zeros


@dataclass(frozen=True, kw_only=True)
class Thorough(GRPO):
    """The same loss; but it does not say that flat samples can be skipped."""

    @property
    def skips_flat(self) -> bool:
        return False


@pytest.mark.parametrize("aggregation", ["seq-mean-token-mean", "token-mean"])
def test_samples_that_cannot_matter_are_counted_but_not_computed(tmp_path: Path, aggregation: Any) -> None:
    """Eight groups of two, of which some are flat: the weights move as if every sample had been computed."""
    kept: list[Any] = []
    for kind in (GRPO, Thorough):
        online = OnlineSettings(k=2, rewards=HURRY)
        objective = kind(aggregation=aggregation)
        t = trainer(tmp_path / kind.__name__, objective=objective, online=online, batch_size=16, micro_batch=16)
        history = t.train().history
        assert history[0]["flat_groups"] > 0.0
        kept.append((history, [p.detach().clone() for p in t.model.parameters()]))
    (fast, moved), (slow, all_moved) = kept
    names = ("grad_norm", "loss", "success", "flat_groups")
    for a, b in zip(fast, slow, strict=True):
        assert {n: a[n] for n in names} == pytest.approx({n: b[n] for n in names}, abs=1e-5)
    for a, b in zip(moved, all_moved, strict=True):
        torch.testing.assert_close(a, b, atol=1e-4, rtol=0)


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
    bad: list[tuple[dict[str, Any], str]] = [
        ({"batch_size": 6}, r"batch_size: got 6, allowed: a multiple of online\.k = 4"),
        ({"max_steps": None}, "max_steps: got None, allowed: a number of optimizer steps"),
        (
            {"save_steps": 3, "online": OnlineSettings(k=4, updates_per_rollout=2)},
            r"save_steps: got 3, allowed: a multiple of online\.updates_per_rollout = 2",
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
    with pytest.raises(UserError, match="objective: got 'dpo', allowed: one that learns from samples"):
        trainer(tmp_path, objective=DPO())
    with pytest.raises(UserError, match="the trained model's seat"):
        OnlineTrainer(
            tiny_model(),
            GRPO(),
            games,
            settings,
            tokenizer=tiny_tokenizer(),
            policies={"agent": sonde.make("agents:random")},
        )


def test_tasks_keep_the_order_of_games() -> None:
    games = [Game(ENV, ENV.tasks("train"), "a"), Game(ENV, ENV.tasks("test"), "b")]
    groups = groups_of(games, "difficulty")
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
