"""Named rewards and their mixes against values computed by hand."""

import math
from typing import Any

import numpy as np
import pytest

import sonde
from sonde.core import Action, Episode, Trajectory, UserError
from sonde.train.rewards import RewardMix, named_rewards


def play(name: str, hidden: Any, *texts: str, **options: Any) -> Trajectory:
    env = sonde.make(name, **options)
    ep = Episode.begin(env, env.task(hidden), seed=0)
    for text in texts:
        ep = ep.step(Action(text))
    return ep.to_trajectory()


def test_named_rewards_of_a_game_won_in_two_turns() -> None:
    named = named_rewards(play("wordle", "toast", "<Answer>blank</Answer>", "<Answer>toast</Answer>"))
    assert {name: values.tolist() for name, values in named.items() if name not in ("env", "score")} == {
        "turns": [1, 1], "extra_turns": [1, 1], "invalid": [0, 0], "repeated": [0, 0], "success": [0, 1],
        "loss": [0, 0], "unreadable": [0, 0], "out_of_turns": [0, 0],
    }  # fmt: skip
    assert named["env"].sum() == named["score"][-1] == 1.0


def test_named_rewards_of_an_answer_that_cannot_be_read() -> None:
    named = named_rewards(play("wordle", "toast", "no idea"))
    assert (
        named["unreadable"].tolist() == [1]
        and named["success"].tolist() == [0]
        and named["extra_turns"].tolist() == [0]
    )


def asked() -> Trajectory:
    """Two good questions, one repeated, one that is two, then the word."""
    env, user = sonde.make("twenty_questions", preset="delta_belief"), sonde.make("users:answerer")
    topic = env.tasks("train")[0].hidden
    ep = Episode.begin(env, env.task(topic), seed=0)
    for text in ("Is it alive?", "Is it alive?", "Is it big? Is it red?", "Is it an animal?", f"Is it {topic}?"):
        ep = ep.step(text)
        ep = ep.step(user.act_now(ep.view("user"))) if ep.to_act == "user" else ep
    return ep.to_trajectory()


def test_questions_called_invalid_and_repeated_are_charged_as_published() -> None:
    """2 - 5 - 1 - 5 * 0.05, each where it is due."""
    per_turn = RewardMix.from_paper("starpo")(named_rewards(asked()))
    assert per_turn == pytest.approx([-0.05, -1.05, -5.05, -0.05, 1.95])


def test_equation_3_by_hand_and_as_a_mix() -> None:
    """End of the game on every turn: 2 - 5 * 0.05 = 1.75. Gains of 3, -1, .4 and 0 before the turn that wins."""
    named = named_rewards(asked())
    by_hand = [1.75 + 0.3, 1.75 - 1.0, 1.75 - 5.0 + 0.04, 1.75, 1.75]
    shaped = np.maximum([3.0, -1.0, 0.4, 0.0, 0.0], 0.0)
    assert RewardMix.from_paper("delta_belief")({**named, "belief": shaped}) == pytest.approx(by_hand)


def test_a_game_of_one_turn_costs_nothing() -> None:
    named = named_rewards(play("wordle", "toast", "<Answer>toast</Answer>"))
    assert RewardMix.from_paper("delta_belief")({**named, "belief": [0.0]}).tolist() == [2.0]


def test_a_mix_of_rewards_is_weighted_turn_by_turn() -> None:
    mix = RewardMix({"success": 1.0, "turns": -0.02, "unreadable": -0.5})
    named = {"success": [0, 0, 1], "turns": [1, 1, 1], "unreadable": np.zeros(3), "unused": [9]}
    assert mix(named) == pytest.approx([-0.02, -0.02, 0.98])
    assert RewardMix()({"success": [0, 1]}).tolist() == [0, 1]
    both = RewardMix({"turns": -0.02}, every={"success": 1.0, "unreadable": -0.5})
    assert both(named) == pytest.approx([0.98, 0.98, 0.98]) and both.names == {"turns", "success", "unreadable"}
    assert both.to_json() == {"turns": -0.02, "every": {"success": 1.0, "unreadable": -0.5}}


def test_bad_mixes_are_refused() -> None:
    with pytest.raises(UserError, match="at least one name"):
        RewardMix({})
    with pytest.raises(UserError, match="turns: got nan"):
        RewardMix({"turns": math.nan})
    with pytest.raises(UserError, match="did you mean 'success'"):
        RewardMix({"sucess": 1.0})({"success": [1], "turns": [1]})
    with pytest.raises(UserError, match=r"lengths: got \[1, 2\]"):
        RewardMix({"success": 1.0, "turns": 1.0})({"success": [1], "turns": [1, 1]})
    with pytest.raises(UserError, match="known: delta_belief, env, igpo, starpo, success"):
        RewardMix.from_paper("ppo")
