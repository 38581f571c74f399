"""The consistent answerer: truthful about one word from first to last, so it never loses."""

from __future__ import annotations

import pytest

from sonde.agents.consistent_answerer import ConsistentAnswerer
from sonde.core import Episode, Outcome, ProgramPolicy, UserError
from sonde.envs.mastermind import Mastermind
from sonde.envs.twenty_questions_answerer import TwentyQuestionsAnswerer
from sonde.rules.taxonomy import nouns
from sonde.users.trapper import Trapper

ENV = TwentyQuestionsAnswerer()
AGENT = ConsistentAnswerer()


def play(n: int, sample: int = 0) -> list[Episode]:
    seats: dict[str, ProgramPolicy] = {"agent": AGENT, "user": Trapper()}
    played: list[Episode] = []
    for task in ENV.tasks("train")[:n]:
        ep = Episode.begin(ENV, task, sample=sample)
        while ep.to_act is not None:
            ep = ep.step(seats[ep.to_act].act_now(ep.view(ep.to_act)))
        played.append(ep)
    return played


def test_wins_every_game() -> None:
    assert {ep.outcome for ep in play(200)} == {Outcome("win", 1.0)}


def test_every_answer_is_true_of_its_word() -> None:
    for ep in play(50):
        secret = ep.task.public["words"][ep.memory["agent"]]
        for turn in ep.turns:
            term = turn.info["term"]
            true = term == secret if turn.info["question"] == "word" else term in nouns()[secret]
            assert turn.info["answer"] == ("yes" if true else "no")


def test_the_word_depends_on_the_sample_alone_and_is_never_said() -> None:
    first, again, other = play(30), play(30), play(30, sample=1)
    secrets = [[ep.memory["agent"] for ep in eps] for eps in (first, again, other)]
    assert secrets[0] == secrets[1] != secrets[2]
    assert {turn.text for ep in first for turn in ep.turns} == {"<Answer>yes</Answer>", "<Answer>no</Answer>"}


def test_refuses_other_games() -> None:
    other = Mastermind()
    with pytest.raises(UserError, match="allowed: twenty_questions_answerer"):
        AGENT.act_now(Episode.begin(other, other.task("0427")).view())
