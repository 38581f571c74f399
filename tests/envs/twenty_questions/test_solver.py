"""The reference of twenty questions: plain English, understood as it was meant, never twice the same."""

from __future__ import annotations

import pytest

from sonde.core import AGENT, UNKNOWN, Episode, default_policies
from sonde.envs.twenty_questions.answering import canonical_questions, question_phrasings
from sonde.envs.twenty_questions.env import TwentyQuestions
from sonde.envs.twenty_questions.room import is_repeated, message_sense
from sonde.envs.twenty_questions.solver import TwentyQuestionsSolver
from sonde.runs.rollout import collect_trajectories
from tests.cases import each


@pytest.mark.slow
def test_every_question_has_five_phrasings_that_mean_the_same() -> None:
    few: list[str] = []
    for question in canonical_questions():
        forms = question_phrasings(question)
        texts = {message_sense(form) for form in forms}
        assert len(texts) == 1, question
        if len(set(forms)) < 5:
            few.append(question)
    assert not few, f"{len(few)} of {len(canonical_questions())}: {few[:20]}"


@pytest.mark.thorough
def test_it_never_asks_the_same_twice() -> None:
    env = TwentyQuestions(preset="delta_belief")
    asker, users = TwentyQuestionsSolver(), default_policies(env)
    for task in env.tasks("val")[:5]:
        ep = Episode.begin(env, task)
        while ep.to_act is not None:
            policy = asker if ep.to_act == "agent" else users[ep.to_act]
            ep = ep.step(policy.act_now(ep.view(ep.to_act)))  # type: ignore[union-attr]
        said = [turn.text for turn in ep.turns]
        assert not any(is_repeated(text, said[:i]) for i, text in enumerate(said))


def test_words_differ_by_seed_and_plain_ones_do_not() -> None:
    env = TwentyQuestions()
    task = env.tasks("train")[0]
    views = [Episode.begin(env, task, sample=k).view() for k in range(10)]
    assert len({TwentyQuestionsSolver().act_now(view).text for view in views}) > 1
    assert len({TwentyQuestionsSolver(plain=True).act_now(view).text for view in views}) == 1


@each("evidence, least, most", [("answers", 0.0, 0.02), ("silences", 0.1, 0.5)])
def test_the_share_of_its_bits_that_is_silence(evidence: str, least: float, most: float) -> None:
    """An asker who knows the gaps by heart learns from "I do not know"; the reference does not."""
    env, silent, total = TwentyQuestions(evidence=evidence), 0.0, 0.0
    for played in collect_trajectories(env, {AGENT: TwentyQuestionsSolver()}, env.tasks("test")[:20]):
        ep = Episode.replay(env, played)
        bits = dict(enumerate(ep.information_gain() or ()))
        total += sum(bits.values())
        silent += sum(bits[t] for t, turn in enumerate(ep.turns) if turn.info.get("reply") == UNKNOWN)
    assert least <= silent / total <= most
