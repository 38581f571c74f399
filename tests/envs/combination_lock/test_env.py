"""The combination lock: codes, marks, attempts, and what a digit is worth before anything is known."""

from math import log2
from typing import Any

import numpy as np
import pytest

import sonde
from sonde.core import Episode, Outcome, UserError
from sonde.envs._shared.words.symbols import code_world, mark_symbol
from sonde.envs.combination_lock.env import CombinationLock
from tests.cases import each

ENV = CombinationLock()


def play_episode(env: CombinationLock, code: str, digits: str) -> Episode:
    ep = Episode.begin(env, env.task(code))
    for digit in digits:
        ep = ep.step(env.say(digit))
    return ep


def test_every_code_is_a_task_once() -> None:
    train, test = ([t.hidden for t in ENV.tasks(s)] for s in ("train", "test"))
    assert (len(train), len(test)) == (480, 240)
    codes = {*train, *test}
    assert len(codes) == 720 and all(len(set(c)) == 3 and c.isdecimal() for c in codes)
    assert (ENV.spec.max_turns, ENV.round_count, ENV.place_count) == (24, 8, 3)


@each("hidden", [None, "", "42", "4277", "477", 427, ["4", "2", "7"], "42a", "４２７"])
def test_bad_codes_are_refused(hidden: Any) -> None:
    with pytest.raises(UserError, match=r"^combination_lock: hidden: "):
        ENV.task(hidden)


@each(
    "wrong", [{"preset": "x"}, {"length": 0}, {"length": 6}, {"sub_episodes": 0}, {"max_turns": 25}, {"max_turns": 0}]
)
def test_bad_arguments_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=r"^combination_lock: "):
        CombinationLock(**wrong)


def test_marks_and_clock() -> None:
    ep = play_episode(ENV, "427", "452")
    assert [t.info["mark"] for t in ep.turns] == ["g", "b", "y"]
    assert [t.info["state"] for t in ep.turns] == ["1", "2", "off"]
    assert [t.info["next"] for t in ep.turns] == ["2", "off", "off"]
    assert ep.turns[0].told.startswith("Digit 4 in place 1: right place.\nAttempt 1 of 8")
    assert "The lock stays shut. Attempt 2 of 8 begins." in ep.turns[2].told
    after = ep.step(ENV.say("4"))
    assert (after.turns[3].info["sub_episode"], after.turns[3].info["step"], after.turns[3].info["state"]) == (
        1,
        0,
        "1",
    )


def test_the_code_in_one_attempt_opens_the_lock() -> None:
    ep = play_episode(ENV, "427", "427")
    assert ep.outcome == Outcome("win", 1.0) and ep.turns[-1].rewards == {"agent": 1.0}
    assert ep.turns[-1].info["next"] == "solved" and "427" not in ep.turns[-1].told
    across = play_episode(ENV, "427", "142" + "7")
    assert across.outcome is None, "an attempt starts anew, whatever came before"


def test_repeated_digits_may_be_entered() -> None:
    assert [t.info["mark"] for t in play_episode(ENV, "427", "222").turns] == ["y", "g", "y"]


def test_attempts_run_out() -> None:
    ep = play_episode(ENV, "427", "012" * 8)
    assert ep.outcome == Outcome("out_of_turns", truncated="turns") and len(ep.turns) == 24
    assert "no attempts are left" in ep.turns[-1].told


def test_an_unreadable_answer_leaves_its_place_empty() -> None:
    ep = play_episode(ENV, "427", "4").step("<Answer>twenty</Answer>").step(ENV.say("7"))
    assert [t.info["result"] for t in ep.turns] == ["step", "invalid", "step"]
    assert ep.outcome is None and ep.turns[1].info["action"] is None and ep.turns[2].info["state"] == "off"
    assert ep.step("seven").outcome == Outcome("unreadable")


@each("text", ["٤", "42", "4 2", "-4", "4.5", "four", "²", "4" * 100])
def test_similar_characters_are_not_digits(text: str) -> None:
    assert ENV._parse_symbol(f"<Answer>{text}</Answer>") is None


def test_marks_follow_the_code() -> None:
    for code in ("427", "012"):
        seen = [mark_symbol(code, p, s) for p in range(3) for s in "0123456789"]
        assert (seen.count("g"), seen.count("y"), seen.count("b")) == (3, 6, 21)


# --- the decision problem and beliefs --------------------------------------------------------------------------------


def test_tables_of_a_code() -> None:
    problem = ENV.decision_problem({})
    world = code_world(problem, "427")
    values = world.action_values(3)
    first = problem.states.index("1")
    assert values[0, first].tolist() == [0, 0, 0, 0, 1, 0, 0, 0, 0, 0]
    assert values[1, problem.states.index("2")].argmax() == 2 and values[0, problem.states.index("off")].max() == 0.0
    assert ENV.optimal_value(Episode.begin(ENV, ENV.task("427")).state) == 1.0
    # A code drawn uniformly, repeats allowed, hits one in a thousand; without repeats one in 720.
    uniform = np.full((3, len(problem.states), 10), 0.1)
    assert world.policy_values(uniform)[0, first] == pytest.approx(0.001)


def test_what_the_first_digit_is_worth() -> None:
    known: Any = ENV.filter(ENV.task("427").public)
    assert known.entropy == pytest.approx(log2(720))
    # Right place for 1 code in 10, other place for 2, absent for 7.
    bits = -(0.1 * log2(0.1) + 0.2 * log2(0.2) + 0.7 * log2(0.7))
    assert known.expected_gains == pytest.approx([bits] * 10)
    assert known.expected_regrets == pytest.approx([0.9] * 10)


def test_beliefs_by_hand() -> None:
    known: Any = play_episode(ENV, "427", "724").filter()
    assert set(known.possible_codes) == {"427"} and known.prob("427") == 1.0
    one: Any = play_episode(ENV, "427", "4").filter()
    assert one.alive.bit_count() == 72 and one.expected_regrets == pytest.approx([*[8 / 9] * 4, 1.0, *[8 / 9] * 5])
    lost: Any = play_episode(ENV, "427", "5").filter()
    assert lost.expected_regrets.tolist() == [0.0] * 10


def test_the_best_question_enters_a_code_that_is_known() -> None:
    ep = play_episode(ENV, "427", "724")
    while ep.to_act is not None:
        known = ep.filter()
        assert known is not None
        ep = ep.step(ENV.say(known.best_question()[0]))
    assert ep.outcome == Outcome("win", 1.0) and len(ep.turns) == 6


def test_longer_codes() -> None:
    env = CombinationLock(length=4, sub_episodes=2)
    assert len(env.tasks("train")) == 3360 and play_episode(env, "9041", "9041").outcome == Outcome("win", 1.0)
    assert sonde.build(env.config) == env
