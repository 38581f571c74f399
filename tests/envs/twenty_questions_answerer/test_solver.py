"""The consistent answerer: truthful about one word from first to last, so it never loses."""

from __future__ import annotations

from sonde.core import Episode, Outcome, ProgramPolicy
from sonde.envs.twenty_questions_answerer.env import TwentyQuestionsAnswerer
from sonde.envs.twenty_questions_answerer.solver import TwentyQuestionsAnswererSolver
from sonde.envs.twenty_questions_answerer.taxonomy import all_nouns
from sonde.envs.twenty_questions_answerer.user import Trapper

ENV = TwentyQuestionsAnswerer()
AGENT = TwentyQuestionsAnswererSolver()


def play_tasks(n: int, sample: int = 0) -> list[Episode]:
    seats: dict[str, ProgramPolicy] = {"agent": AGENT, "user": Trapper()}
    played: list[Episode] = []
    for task in ENV.tasks("train")[:n]:
        ep = Episode.begin(ENV, task, sample=sample)
        while ep.to_act is not None:
            ep = ep.step(seats[ep.to_act].act_now(ep.view(ep.to_act)))
        played.append(ep)
    return played


def test_wins_every_game() -> None:
    assert {ep.outcome for ep in play_tasks(200)} == {Outcome("win", 1.0)}


def test_every_answer_is_true_of_its_word() -> None:
    for ep in play_tasks(50):
        secret = ep.task.public["words"][ep.memory["agent"]]
        for turn in ep.turns:
            term = turn.info["term"]
            true = term == secret if turn.info["question"] == "word" else term in all_nouns()[secret]
            assert turn.info["answer"] == ("yes" if true else "no")


def test_the_word_depends_on_the_sample_alone_and_is_never_said() -> None:
    first, again, other = play_tasks(30), play_tasks(30), play_tasks(30, sample=1)
    secrets = [[ep.memory["agent"] for ep in eps] for eps in (first, again, other)]
    assert secrets[0] == secrets[1] != secrets[2]
    assert {turn.text for ep in first for turn in ep.turns} == {"<Answer>yes</Answer>", "<Answer>no</Answer>"}
