"""Curriculum: potentials and indices by hand, resuming, and a problem whose right curriculum is known."""

import json
import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sonde
from sonde.core import Action, Episode, Task, Trajectory, UserError
from sonde.train.curriculum import (
    UCB,
    Arm,
    Curriculum,
    CurriculumState,
    Thompson,
    Uniform,
    coefficient_of_variation,
    group_tasks,
    learning_potential,
    turns_needed,
)
from tests.cases import each

# --- learning potential ----------------------------------------------------------------------------------------------


def test_variation_by_hand() -> None:
    """2, 4, 6: s = 2, mean 4, correction 1 + 1/12; 20, 20, 20, 8: s = 6, mean 17, correction 1 + 1/16."""
    assert coefficient_of_variation([2.0, 4.0, 6.0]) == pytest.approx(13 / 12 * 2 / 4)
    assert coefficient_of_variation([20.0, 20.0, 20.0, 8.0]) == pytest.approx(17 / 16 * 6 / 17)
    assert coefficient_of_variation([-2.0, -4.0, -6.0]) == coefficient_of_variation([2.0, 4.0, 6.0])
    assert coefficient_of_variation([0.0, 1.0]) == pytest.approx(9 / 8 * math.sqrt(0.5) / 0.5)


def test_variation_where_it_is_not_defined() -> None:
    assert [coefficient_of_variation(v) for v in ([], [3.0], [0.0, 0.0], [0.1] * 5)] == [0.0] * 4
    assert coefficient_of_variation([-1.0, 1.0]) == pytest.approx(
        9 / 8 * math.sqrt(2) / 1
    )  # mean 0: the mean of the sizes
    assert coefficient_of_variation([-0.2, 0.9]) == pytest.approx(9 / 8 * 1.1 / math.sqrt(2) / 0.55)
    with pytest.raises(UserError, match="finite numbers"):
        coefficient_of_variation([1.0, math.inf])


def wordle(*texts: str, error: str = "") -> Trajectory:
    env = sonde.make("wordle")
    ep = Episode.begin(env, env.task("toast"), seed=0)
    for text in texts:
        ep = ep.step(Action(f"<Answer>{text}</Answer>"))
    return ep.to_trajectory(error=error)


def test_failures_count_with_the_maximum_of_turns() -> None:
    """Won in 2 turns, failed at once by an unreadable answer, lost after 6, broken by the world."""
    played = [wordle("blank", "toast"), wordle(""), wordle(*["blank"] * 6), wordle("blank", error="gone")]
    assert turns_needed(played, 6) == [2, 6, 6]
    assert learning_potential(played, 6) == pytest.approx(13 / 12 * math.sqrt(16 / 3) / (14 / 3))
    assert learning_potential(played[1:], 6) == learning_potential(played[:1], 6) == 0.0


# --- groups ----------------------------------------------------------------------------------------------------------


def task(index: int, env: str = "wordle", **tags: str) -> Task:
    return Task(env=env, preset="p", split="train", index=index, tags=tags)


def test_tasks_are_grouped_by_tag_environment_or_preset() -> None:
    tasks = [task(0, difficulty="hard"), task(1, "maze", difficulty="easy"), task(2, difficulty="hard")]
    assert group_tasks(tasks, "difficulty") == {"hard": [0, 2], "easy": [1]}
    assert list(group_tasks(tasks, "difficulty")) == ["hard", "easy"]
    assert group_tasks(tasks, "env") == {"wordle": [0, 2], "maze": [1]}
    assert group_tasks(tasks, "preset") == {"p": [0, 1, 2]}
    with pytest.raises(UserError, match="has no tag 'topic'; its tags: difficulty"):
        group_tasks(tasks, "topic")


LEFT = {"a": 5, "b": 5}

# --- bandits ---------------------------------------------------------------------------------------------------------


def test_ucb_by_hand() -> None:
    """Means 1 and 0.5 of 1 and 4 tasks: ln 5 = 1.609, so the bonuses are 1.794 and 0.897."""
    arms = {"a": Arm(1, 1.0), "b": Arm(4, 2.0)}
    index = UCB().upper_bounds(arms, {})
    assert index == pytest.approx({"a": 1 + math.sqrt(2 * math.log(5)), "b": 0.5 + math.sqrt(2 * math.log(5) / 4)})
    assert UCB(alpha=0.5).upper_bounds(arms, {})["b"] == pytest.approx(0.5 + 0.5 * math.sqrt(math.log(5) / 2))
    assert UCB(alpha=0.0).upper_bounds({**arms, "c": Arm()}, {})["c"] == math.inf
    assert UCB().pick_group({"b": Arm(2, 1.0), "a": Arm(2, 1.0)}, {}, LEFT, 0) == "b"  # ties go to the first


def test_ucb_counts_what_is_under_way() -> None:
    """Two choices of `a` wait: its bonus is that of 3 tasks among 7, its mean is still 1. `c` waits for its first
    result: it is expected to be as good as the others on average."""
    arms = {"a": Arm(1, 1.0), "b": Arm(4, 2.0), "c": Arm()}
    index = UCB().upper_bounds(arms, {"a": 2, "c": 1})
    assert index["a"] == pytest.approx(1 + math.sqrt(2 * math.log(8) / 3))
    assert index["c"] == pytest.approx(0.75 + math.sqrt(2 * math.log(8)))


def test_thompson_by_hand() -> None:
    """Prior 0.5 +- 0.5, noise 0.25; two tasks of 1.0: precision 4 + 32, mean (2 + 32) / 36."""
    assert Thompson().posterior(Arm(2, 2.0)) == pytest.approx((34 / 36, 1 / 6))
    assert Thompson().posterior(Arm()) == pytest.approx((0.5, 0.5))
    drawn = Counter(Thompson().pick_group({"a": Arm(), "b": Arm()}, {}, LEFT, seed) for seed in range(400))
    assert 150 < drawn["a"] < 250
    assert {Thompson().pick_group({"a": Arm(50, 50.0), "b": Arm(50, 5.0)}, {}, LEFT, seed) for seed in range(50)} == {
        "a"
    }
    with pytest.raises(UserError, match="noise: got 0"):
        Thompson(noise=0)


def test_uniform_does_not_care_what_was_seen() -> None:
    arms = {"a": Arm(9, 9.0), "b": Arm(), "c": Arm(1, 0.0)}
    drawn = Counter(Uniform().pick_group(arms, {}, {"a": 2, "b": 2, "c": 2}, s) for s in range(600))
    assert all(150 < drawn[name] < 250 for name in "abc")
    assert {Uniform().pick_group(arms, {}, {"a": 0, "b": 7, "c": 0}, s) for s in range(50)} == {"b"}


def test_uniform_draws_tasks_and_not_groups() -> None:
    """The paper's groups of twenty questions: every one of 1,499 tasks alike, so groups come by their sizes."""
    sizes = {"easy": 477, "medium": 726, "hard": 296}
    curriculum = Curriculum(groups=sizes, bandit=Uniform())
    choices, _ = curriculum.choose_tasks(curriculum.initial_state(), 0, 6000)
    drawn = Counter(choice.group for choice in choices)
    expected = {name: 6000 * n / 1499 for name, n in sizes.items()}
    # Chi-squared with 2 degrees of freedom: above 13.8 in 1 of 1,000.
    assert sum((drawn[name] - e) ** 2 / e for name, e in expected.items()) < 13.8


def test_uniform_without_replacement_plays_every_task_before_any_again() -> None:
    """Passes over all 12 tasks of unequal groups; each order is equally likely to begin with any task."""
    curriculum = Curriculum(groups={"a": 1, "b": 8, "c": 3}, bandit=Uniform(), replacement=False)
    choices, _ = curriculum.choose_tasks(curriculum.initial_state(), 0, 2400)
    passes = [choices[i : i + 12] for i in range(0, 2400, 12)]
    assert all(len(set(one)) == 12 for one in passes)
    first = Counter(one[0] for one in passes)
    # 200 passes, 12 tasks: chi-squared with 11 degrees of freedom is above 31.3 in 1 of 1,000.
    assert sum((first[task] - 200 / 12) ** 2 / (200 / 12) for task in set(choices)) < 31.3


# --- choosing --------------------------------------------------------------------------------------------------------


def test_algorithm_1_step_by_step() -> None:
    """Unseen groups in order; then c, the best; then a, whose bonus outweighs its mean."""
    curriculum = Curriculum(groups={"a": 3, "b": 3, "c": 3})
    state, chosen = curriculum.initial_state(), ""
    for value in (0.4, 0.1, 0.9, 0.9, 0.9):
        (choice,), state = curriculum.choose_tasks(state, seed=0)
        state = curriculum.record_potential(state, choice.group, value)
        chosen += choice.group
    # After a, b, c: 0.4, 0.1, 0.9 with equal bonuses. Then N = 4: c has 0.9 + 1.177, a 0.4 + 1.665, b 0.1 + 1.665.
    assert chosen == "abccc"
    assert state.arms["c"] == (3, pytest.approx(2.7)) and not state.pending
    (choice,), _ = curriculum.choose_tasks(state, seed=0)  # N = 5: c has 0.9 + 1.036, a 0.4 + 1.794
    assert choice.group == "a"


def test_choices_together_go_round_the_unseen_groups() -> None:
    choices, state = Curriculum(groups={"a": 5, "b": 5, "c": 5}).choose_tasks(
        Curriculum(groups={"a": 5, "b": 5, "c": 5}).initial_state(), 0, 7
    )
    assert [c.group for c in choices] == list("abcabca")
    assert state.pending == {"a": 3, "b": 2, "c": 2} and state.chosen == 7


def test_one_choice_at_a_time_and_several_agree_on_the_first() -> None:
    curriculum = Curriculum(groups={"a": 50, "b": 50}, bandit=Thompson())
    many, _ = curriculum.choose_tasks(curriculum.initial_state(), 3, 5)
    one, _ = curriculum.choose_tasks(curriculum.initial_state(), 3)
    assert many[0] == one[0]


def test_tasks_are_uniform_within_a_group() -> None:
    curriculum = Curriculum(groups={"a": 4})
    choices, state = curriculum.choose_tasks(curriculum.initial_state(), 0, 800)
    counts = Counter(c.task for c in choices)
    assert sorted(counts) == [0, 1, 2, 3] and all(150 < n < 250 for n in counts.values())
    assert state.used == {"a": ()}  # kept without replacement only


def test_without_replacement_every_task_comes_once_per_pass() -> None:
    curriculum = Curriculum(groups={"a": 4, "b": 1}, bandit=Uniform(), replacement=False)
    choices, _ = curriculum.choose_tasks(curriculum.initial_state(), 0, 80)
    rows = [c.task for c in choices if c.group == "a"]
    passes = [rows[i : i + 4] for i in range(0, len(rows) - 3, 4)]
    assert len(passes) > 5 and all(sorted(p) == [0, 1, 2, 3] for p in passes) and len(set(map(tuple, passes))) > 1
    assert {c.task for c in choices if c.group == "b"} == {0}


@each("bandit", [Uniform(), UCB(), Thompson()])
@each("replacement", [True, False])
def test_a_state_read_from_a_file_goes_on_with_the_same_choices(bandit: Any, replacement: bool) -> None:
    curriculum = Curriculum(groups={"b": 9, "a": 7, "c": 5}, bandit=bandit, replacement=replacement)

    def go_on(
        state: CurriculumState, rounds: int, through: Callable[[CurriculumState], CurriculumState]
    ) -> tuple[list[Any], CurriculumState]:
        seen: list[Any] = []
        for _ in range(rounds):
            choices, state = curriculum.choose_tasks(through(state), 1, 3)
            for i, choice in enumerate(choices):
                state = curriculum.record_potential(state, choice.group, 0.1 * i + 0.2 * (choice.group == "c"))
            seen += choices
        return seen, state

    def file(state: CurriculumState) -> CurriculumState:
        return CurriculumState.from_json(json.loads(json.dumps(state.to_json(), sort_keys=True)))

    straight, first = go_on(curriculum.initial_state(), 12, lambda state: state)
    resumed, second = go_on(curriculum.initial_state(), 12, file)
    assert straight == resumed and first.to_json() == second.to_json()


def test_bad_use_is_refused() -> None:
    curriculum = Curriculum(groups={"a": 2})
    with pytest.raises(UserError, match="waits for a result"):
        curriculum.record_potential(curriculum.initial_state(), "a", 1.0)
    _, state = curriculum.choose_tasks(curriculum.initial_state(), 0)
    with pytest.raises(UserError, match="potential: got nan"):
        curriculum.record_potential(state, "a", math.nan)
    assert curriculum.record_potential(state, "a", None).arms["a"] == (0, 0.0)  # could not be played
    with pytest.raises(UserError, match=r"state: got \['a'\], allowed: the groups \['b'\]"):
        Curriculum(groups={"b": 1}).choose_tasks(state, 0)
    with pytest.raises(UserError, match="groups: a: got 0"):
        Curriculum(groups={"a": 0})
    with pytest.raises(UserError, match="at least one group"):
        Curriculum(groups={})


# --- a problem whose right curriculum is known -----------------------------------------------------------------------
# Turns of 20 episodes, normal around 10, with coefficients of variation 0.05, 0.1, 0.2 and 0.5: the last is the best.

SPREAD = {"settled": 0.05, "easy": 0.1, "medium": 0.2, "worth it": 0.5}


def learn(bandit: Any, seed: int, rounds: int = 250) -> Counter[str]:
    """How often each group is played in as many rounds as the paper has (one task of 20 episodes each)."""
    curriculum = Curriculum(groups=dict.fromkeys(SPREAD, 100), bandit=bandit)
    state, rng, played = curriculum.initial_state(), np.random.Generator(np.random.PCG64(seed)), Counter[str]()
    for _ in range(rounds):
        (choice,), state = curriculum.choose_tasks(state, seed)
        turns = np.clip(rng.normal(10.0, 10.0 * SPREAD[choice.group], 20), 1, 20)
        state = curriculum.record_potential(state, choice.group, coefficient_of_variation(turns.tolist()))
        played[choice.group] += 1
    return played


@each("seed", [0, 1, 2])
def test_the_group_with_most_to_learn_is_played_most(seed: int) -> None:
    """Alpha 1 is large beside potentials below 1, so UCB explores long; a quarter of it concentrates."""
    plain, keen, uniform = learn(UCB(), seed), learn(UCB(alpha=0.25), seed), learn(Uniform(), seed)
    assert plain.most_common(1)[0][0] == keen.most_common(1)[0][0] == "worth it"
    assert keen["worth it"] > 0.8 * 250 > plain["worth it"] > 0.35 * 250 > uniform["worth it"]
    assert learn(Thompson(), seed)["worth it"] > 0.8 * 250
    assert all(keen[group] >= 1 for group in SPREAD)


def test_what_is_learned_per_task_beats_uniform() -> None:
    def mean(played: Counter[str]) -> float:
        return sum(SPREAD[group] * n for group, n in played.items()) / played.total()

    uniform = np.mean([mean(learn(Uniform(), s)) for s in range(3)])
    assert np.mean([mean(learn(UCB(), s)) for s in range(3)]) > 1.25 * uniform
    assert np.mean([mean(learn(UCB(alpha=0.25), s)) for s in range(3)]) > 2.0 * uniform
