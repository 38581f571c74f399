"""Task lists, splits, and the draws of an environment that lists its outcomes."""

from __future__ import annotations

import pickle

import pytest

import sonde
from sonde.core import Rng, Task, TaskList, UnknownName, UserError, names
from sonde.core.env import pick_weighted
from tests.cases import each


def make_tasks(n: int, built: list[int] | None = None) -> TaskList:
    def build(i: int) -> Task:
        if built is not None:
            built.append(i)
        return Task("e", "p", "train", i)

    return TaskList(n, build)


def test_a_task_list_builds_what_is_asked_for() -> None:
    built: list[int] = []
    tasks = make_tasks(1_000_000, built)
    assert len(tasks) == 1_000_000
    assert tasks[7].index == 7
    assert tasks[-1].index == 999_999
    assert built == [7, 999_999]


def test_a_task_list_slices_without_building() -> None:
    built: list[int] = []
    some = make_tasks(10, built)[2:9:3]
    assert len(some) == 3
    assert built == []
    assert [t.index for t in some] == [2, 5, 8]
    assert [t.index for t in make_tasks(5)[::-1][1:3]] == [3, 2]


def test_a_task_list_ends() -> None:
    assert [t.index for t in make_tasks(3)] == [0, 1, 2]
    for i in (3, -4):
        with pytest.raises(IndexError, match="of a split with 3"):
            make_tasks(3)[i]


def test_a_task_list_is_pickled_as_its_tasks() -> None:
    tasks = sonde.make("maze").tasks("test")
    assert pickle.loads(pickle.dumps(tasks)) == tuple(tasks)
    assert pickle.loads(pickle.dumps(tasks[3:9:2])) == tuple(tasks)[3:9:2]


def test_an_unknown_split_suggests_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r"split: unknown name 'tests' .did you mean 'test'"):
        sonde.make("mastermind").tasks("tests")


@each("name", names("envs"))
def test_every_environment_checks_its_preset_and_turns(name: str) -> None:
    with pytest.raises(UnknownName, match=f"^{name}: preset: unknown name 'zzz'; known: "):
        sonde.make(name, preset="zzz")
    with pytest.raises(UserError, match=rf"^{name}: max_turns: got 0, allowed: [12] (or more|to )"):
        sonde.make(name, max_turns=0)


def test_a_listed_task_is_of_its_environment() -> None:
    env = sonde.make("wordle", preset="lmrl")
    task = env.make_listed_task("test", 3, {"length": 5}, "toast", length="5")
    assert task == Task("wordle", "lmrl", "test", 3, {"length": 5}, "toast", {"group": "wordle", "length": "5"})
    assert env.make_listed_task("test", 3, group="other") == Task("wordle", "lmrl", "test", 3, tags={"group": "other"})


def test_picks_follow_the_probabilities() -> None:
    drawn = [
        pick_weighted([(0.5, "a"), (0.2, "b"), (0.0, "never"), (0.3, "c")], Rng(0, "pick", i)) for i in range(5000)
    ]
    assert set(drawn) == {"a", "b", "c"}
    assert drawn.count("a") / 5000 == pytest.approx(0.5, abs=0.03)
    assert drawn.count("b") / 5000 == pytest.approx(0.2, abs=0.03)


def test_picks_need_no_sum_of_one_and_never_take_what_is_impossible() -> None:
    class Last:
        def random(self) -> float:
            return 1.0

    assert pick_weighted([(3, "a"), (1, "b"), (0.0, "never")], Last()) == "b"  # type: ignore[arg-type]
    drawn = [pick_weighted([(3, "a"), (1, "b")], Rng(0, "weights", i)) for i in range(4000)]
    assert drawn.count("a") / 4000 == pytest.approx(0.75, abs=0.03)
