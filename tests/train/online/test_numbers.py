"""Numbers of online training: learning potentials, episodes left out, and samples that need no computation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import torch

from sonde.cli.tables import format_history_entry
from sonde.core import Episode, Outcome, Task, Trajectory, UserError
from sonde.train.collect import Game
from sonde.train.credit import Grouped, GroupRelative
from sonde.train.curriculum import coefficient_of_variation
from sonde.train.objectives.grpo import GRPO
from sonde.train.online.groups import Group, PlannedTask, assign_credit, divide_steps
from sonde.train.online.settings import OnlineSettings
from sonde.train.rewards import RewardMix
from sonde.train.types import item_rows

from ..asking import WORDS
from ..tiny import tiny_model, tiny_tokenizer
from .test_trainer import ENV, HURRY, trainer


def game(task: Task, *texts: str, error: str = "", sample: int = 0) -> Trajectory:
    ep = Episode.begin(ENV, task, seed=1, sample=sample)
    for text in texts:
        ep = ep.step(text)
    return ep.to_trajectory(error=error)


def with_ids(t: Trajectory) -> Trajectory:
    """As a model would have said it: one made-up token per act."""
    from array import array

    from sonde.core import Completion
    from sonde.core.types import Action, Turn

    def said(turn: Turn) -> Turn:
        act = turn.acts[0]
        done = Completion(text=act.action.text, ids=array("i", [7]), logprobs=array("f", [-1.0]), temperature=1.0,
                          prompt_ids=array("i", [3, 5]), model="m")  # fmt: skip
        return Turn(turn.index, (act._replace(action=Action(act.action.text, completions=(done,))),))

    return replace(t, turns=tuple(map(said, t.turns)))


def test_numbers_of_a_group_by_hand() -> None:
    """Won in 2 turns, lost in 1, out of turns after 4, and one that the outside world broke."""
    task = ENV.task("red")
    texts = (("ask", "red"), ("red",), ("hm",) * 4, ("ask",))
    played = [with_ids(game(task, *said, sample=i, error="gone" if i == 3 else "")) for i, said in enumerate(texts)]
    settings = OnlineSettings(
        k=4, rewards=RewardMix({"success": 1.0, "turns": -0.1}), credit=GroupRelative(scale="none")
    )
    (group,) = assign_credit([PlannedTask(Game(ENV, [task], "asking"), task, 1, "g")], [played], settings)
    rewards = [1 - 0.2, -0.1, -0.4]
    assert {name: value / count for name, (value, count) in group.sums.items()} == pytest.approx({
        "success": 1 / 3, "score": 1 / 3, "reward": sum(rewards) / 3, "turns": 7 / 3, "unreadable": 0.0, "tokens": 7.0,
        "agent_tokens": 7 / 3, "forked": 4 / 3, "too_long": 0.0, "flat_groups": 0.0, "errors": 0.25, "invalid": 4 / 3,
        "repeated": 0.0, "context_full": 0.0, "cut": 0.0,
    })  # fmt: skip
    assert group.signal and group.potential == pytest.approx(coefficient_of_variation([2.0, 4.0, 4.0]))
    for sample, reward in zip(group.samples, rewards, strict=True):
        for row in item_rows([sample]):
            assert row.advantages is not None
            assert max(row.advantages, key=abs) == pytest.approx(reward - sum(rewards) / 3, abs=1e-6)
    on_reward = replace(settings, on="reward", rewards=RewardMix())
    (other,) = assign_credit([PlannedTask(Game(ENV, [task], "asking"), task, 1, "g")], [played], on_reward)
    assert other.potential == pytest.approx(coefficient_of_variation([1.0, 0.0, 0.0]))


def test_what_was_unreadable_is_counted_as_everywhere_else() -> None:
    """In a training's history as in an evaluation: the share that failed, not the share that did not."""
    from sonde.evaluation.evaluate import evaluate

    task = ENV.task("red")
    played = [with_ids(game(task, *said, sample=i)) for i, said in enumerate((("?",), ("?",), ("?",), ("red",)))]
    broken = [replace(t, outcome=Outcome("unreadable")) for t in played[:3]] + played[3:]
    (group,) = assign_credit([PlannedTask(Game(ENV, [task], "asking"), task, 1, "g")], [broken], OnlineSettings(k=4))
    total, n = group.sums["unreadable"]
    failed = evaluate(broken, gains=False).metrics["unreadable"]
    assert failed is not None and total / n == failed.mean == 0.75
    assert format_history_entry({"unreadable": total / n, "turns": 1.0}) == {"turns": "1.0", "unreadable %": "75"}
    assert format_history_entry({"unreadable": 0.0, "turns": 1.0}) == {"turns": "1.0"}


def test_a_group_that_the_world_failed_is_played_but_teaches_nothing() -> None:
    task = ENV.task("red")
    played = [with_ids(game(task, "ask", sample=i, error="gone")) for i in range(2)]
    (group,) = assign_credit([PlannedTask(Game(ENV, [task], "asking"), task, 1, "g")], [played], OnlineSettings(k=2))
    assert group.samples == [] and not group.signal and group.potential is None
    assert group.sums["errors"] == (2.0, 2.0) and group.sums["success"] == (0.0, 0.0)


def test_no_step_is_left_without_what_others_have() -> None:
    """Steps take turns among the groups that have samples, whole; where these are too few, among their samples."""

    def of(*samples: str) -> Any:
        return Group(samples=list(samples), signal=True, potential=None, sums={})  # type: ignore[arg-type]

    def divided(*groups: Any, n: int) -> list[list[list[Any]]]:
        return [[group.samples for group in step] for step in divide_steps(groups, n)]

    assert divided(of("a", "b"), of("c"), of("d", "e"), of("f"), n=2) == [[["a", "b"], ["d", "e"]], [["c"], ["f"]]]
    assert divided(of("a", "b"), of(), of("c"), of(), n=2) == [[["a", "b"]], [["c"]]]
    assert divided(of("a", "b"), of(), n=2) == [[["a"]], [["b"]]]


def test_episodes_that_fill_the_context_are_learned_from_as_far_as_they_came(tmp_path: Path) -> None:
    """A context of 12 tokens holds the first turns; longer episodes end there, are counted, and stay in their groups.
    One that does not hold the rules is an error: nothing that the model said is to blame."""
    short = tiny_model(vocab=len(tiny_tokenizer(WORDS)), max_position_embeddings=12)
    t = trainer(tmp_path / "some", model=short, max_steps=1, batch_size=32)
    (entry,) = t.train().history
    assert 0.0 < entry["context_full"] < 1.0 and entry["errors"] == 0.0 and entry["tokens"] <= 12
    shorter = tiny_model(vocab=len(tiny_tokenizer(WORDS)), max_position_embeddings=3)
    with pytest.raises(
        UserError, match=r"no episode has tokens to learn from \(8 of 8 failed: ContextFull: agent: the prompt"
    ):
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
    chosen = [PlannedTask(Game(ENV, [task], "asking"), task, 1, "g")]

    def signal(played: list[Trajectory], credit: Any, **more: Any) -> bool:
        (group,) = assign_credit(chosen, [played], OnlineSettings(k=2, credit=credit, **more))
        assert group.sums["flat_groups"] == (float(not group.signal), 1.0)
        return group.signal

    for wrong in (lambda rewards: 3, lambda rewards: {}, lambda rewards: {g: [0.0] for g in rewards},
                  lambda rewards: dict.fromkeys(rewards, 0.0)):  # fmt: skip
        with pytest.raises(UserError, match=r"online: credit: advantages: got .*allowed: for group '0' a list of 2"):
            signal(differing, wrong)
    assert signal(equal, spread) and not signal(equal, GroupRelative())
    assert signal(differing, GroupRelative()) and not signal(differing, none)
    assert not signal(differing, spread, max_tokens=2)


def test_flat_groups_can_be_left_out_of_the_mean(tmp_path: Path) -> None:
    task = ENV.task("red")
    won, lost = (with_ids(game(task, *said)) for said in (("ask", "red"), ("red",)))
    chosen = [PlannedTask(Game(ENV, [task], "asking"), task, 1, "g")] * 2
    groups = assign_credit(chosen, [[won, won], [won, lost]], OnlineSettings(k=2))
    assert [group.sums["flat_groups"][0] for group in groups] == [1.0, 0.0]
    for drop, n in ((False, 4), (True, 2)):
        t = trainer(tmp_path / str(drop), batch_size=2, online=OnlineSettings(k=2, drop_flat=drop))
        assert len(t._step_samples(groups)) == n  # pyright: ignore[reportPrivateUsage]
    assert len(t._step_samples(groups[:1])) == 2  # pyright: ignore[reportPrivateUsage]  # all flat: kept, with zeros


@dataclass(frozen=True, kw_only=True)
class Thorough(GRPO):
    """The same loss; but it does not say that flat samples can be skipped."""

    @property
    def skips_flat(self) -> bool:
        return False


@pytest.mark.thorough
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
