"""Guesses that a language-model user calls right: a message counts by what it names."""

from __future__ import annotations

from typing import Any

import sonde
from sonde.core import Episode, Outcome, Task
from sonde.envs._shared.dialogue import USER
from sonde.envs._shared.english.naming import Names, Verdict, judge_naming
from sonde.envs._shared.english.sentences import is_reported
from sonde.evaluation.audit import audit_trajectories
from tests.cases import each


def ended(env: Any, task: Task, said: str) -> Episode:
    """The episode in which the agent says this and the user claims the goal for as long as it is asked."""
    ep = Episode.begin(env, task).step(said)
    while ep.to_act == USER:
        ep = ep.step("Goal reached")
    return ep


RIDDLE = "Surely it is that six-stringed friend of every campfire!"


def test_where_the_rules_cannot_read_a_guess_the_users_word_does_not_count() -> None:
    env = sonde.make("twenty_questions", preset="lmrl")
    ep = ended(env, env.task("guitar"), RIDDLE)
    assert ep.outcome is None and ep.turns[-1].info["result"] == "default"


def test_where_the_rules_cannot_read_a_guess_a_seated_judge_decides() -> None:
    env = sonde.make("twenty_questions", preset="lmrl", judge="seat")
    ep = ended(env, env.task("guitar"), RIDDLE)
    won, lost = (ep.step(word).outcome for word in ("<VALID>", "<NOTVALID>"))
    assert (won, lost) == (Outcome("win", 1.0, True, True), Outcome("loss", 0.0, True, False))
    found = audit_trajectories([ep.step("<VALID>").to_trajectory()])
    assert found.counts["denied_by_rules"] == 0 and found.rates["false_success_by_rules"] is None


def test_finished_wins_in_any_frame() -> None:
    env = sonde.make("twenty_questions", preset="delta_belief")
    ep = Episode.begin(env, env.task("guitar")).step("Would I be right in saying that you have a guitar in mind?")
    won = ep.step("Finished").outcome
    assert won and (won.kind, won.judged) == ("win", True)
    other = Episode.begin(env, env.task("guitar")).step("Would I be right in saying that you have a harp in mind?")
    assert other.step("Finished").outcome is None


PLACES = Names(lambda name: {"rome": 1, "oslo": 2, "bern": 4, "new oslo": 1, "norway": 8}.get(name, 0), 2, 2, 8)


@each(
    "said, verdict",
    [
        ("Oslo", "right"), ("It is not Rome, it is Oslo.", "right"), ("Not Rome but Oslo.", "right"),
        ("Oslo, not Rome.", "right"), ("No doubt: Oslo, Norway.", "right"), ("Why not Oslo?", "right"),
        ("Could it not be Oslo?", "right"), ("I wonder if it is Oslo.", "right"),
        ("You said it has a fjord, so it must be Oslo.", "right"), ("I'm sure that it's Rome.", "wrong"),
        ("Rome, Oslo, Bern", "wrong"), ("Is it Rome, or is it perhaps Oslo?", "wrong"),
        ("Oslo? If not, then Rome.", "wrong"), ("Oslo / Rome", "wrong"), ("Is it bigger than Oslo?", "nothing"),
        ("Is it close to Oslo?", "nothing"), ("Oslo is not it.", "nothing"), ("You never lived in Oslo.", "nothing"),
        ("What is it?", "nothing"), ("Simply answer with Goal reached.", "nothing"), ("", "unclear"),
        ("Is it the Tiger City?", "unclear"), ("Would Oslo know it?", "unclear"), ("Does Oslo have it?", "unclear"),
        ("Rome has fewer fjords than this one, which I take for Oslo.", "unclear"),
    ],
)  # fmt: skip
def test_verdicts_on_names(said: str, verdict: Verdict) -> None:
    assert judge_naming(said, PLACES) == verdict


def test_what_is_handed_on_is_no_guess() -> None:
    assert is_reported("My uncle says: Oslo") and not is_reported("I say: Oslo")
