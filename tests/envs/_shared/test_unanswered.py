"""Three kinds of replies that are no answer, in all conversations and in the metrics: no question, not understood, not
known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import sonde
from sonde.core import AGENT, Episode, Trajectory, advance_to_agent, default_policies, run_sync
from sonde.evaluation.evaluate import evaluate
from sonde.evaluation.per_turn import marked_turns
from tests.cases import each

MESSAGES = {
    "twenty_questions": {
        "Hello there.": "invalid", "What color is it?": "invalid", "Is it glorpish?": "not_understood",
        "Was it created in Japan?": "not_known",
    },
    "guess_my_city": {
        "Nice weather today.": "invalid", "What is your city called?": "invalid", "Is it glorpish?": "not_understood",
    },
    "customer_service": {"Thanks a lot.": "invalid", "Is the moon glorpish?": "not_understood"},
    "customer_service_bandit": {"Thanks a lot.": "invalid", "Is the moon glorpish?": "not_understood"},
    "murder_mystery": {
        "Nice weather.": "invalid", "Where is the glorp?": "not_understood",
        "Look at the purple elephant.": "not_known",
    },
    "user_personalization": {"Nice weather.": "invalid", "What is your glorp?": "not_understood"},
}  # fmt: skip


def ask(name: str, messages: Sequence[str], index: int = 0) -> Trajectory:
    env: Any = sonde.make(name)
    ep = Episode.begin(env, env.tasks("test")[index])
    for message in messages:
        ep = run_sync(advance_to_agent(ep.step(message), default_policies(env)))
    return ep.to_trajectory(policies={AGENT: sonde.make("agents:random")}, error="cut")


@each("name", list(MESSAGES))
def test_what_has_no_answer_is_named_by_kind(name: str) -> None:
    """Beside one another the replies of different kinds differ, and the kind follows from message and reply alone."""
    for index in range(3):
        played = ask(name, list(MESSAGES[name]), index)
        kinds = [turn.info.get("unanswered") for turn in played.turns]
        assert kinds == list(MESSAGES[name].values()), played.task.hidden
        replies = {kind: turn.told for kind, turn in zip(kinds, played.turns, strict=True)}
        assert replies["not_understood"] != replies.get("not_known")


def test_an_answer_has_no_kind() -> None:
    played = ask("guess_my_city", ["Is it in Europe?", "Is it Tokyo, Japan?"])
    assert [turn.info.get("unanswered") for turn in played.turns] == [None, None] and not marked_turns(played)


def test_they_are_counted_apart() -> None:
    """Two episodes of three turns: each kind once in the first, one not understood in the second."""
    first = ask("twenty_questions", ["Hello there.", "Is it glorpish?", "Was it created in Japan?"])
    second = ask("twenty_questions", ["Is it alive?", "Is it a person?", "Is it glorpish?"], 1)
    found = evaluate([first, second], gains=False).metrics
    shares = [found[name].mean for name in ("invalid", "not_understood", "not_known")]  # type: ignore[union-attr]
    assert shares == pytest.approx([1 / 6, 1 / 3, 1 / 6])


def test_a_model_in_the_users_seat_may_say_them_too() -> None:
    env: Any = sonde.make("guess_my_city")
    for reply, kind in (("I don't know.", "not_known"), ("I do not understand", "not_understood"), ("No.", None)):
        ep = Episode.begin(env, env.tasks("test")[0]).step("Is it glorpish?").step(reply)
        assert ep.turns[0].info.get("unanswered") == kind
