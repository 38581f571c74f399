"""Word guess: four kinds of feedback by hand, the score's formula, exact filters, and the entropy strategy."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sonde
from sonde.core import Episode, Outcome, ProgramPolicy, Rng, TabularEnv, UserError
from sonde.core.types import Json
from sonde.envs._shared.words import lists as words
from sonde.envs._shared.words.guessing import encode_words
from sonde.envs.word_guess import feedback
from sonde.envs.word_guess.env import WordGuess
from tests.cases import each

ENV = WordGuess()
KINDS = tuple(feedback.N_NUMBERS)
SETUP = {"vocabulary": ["beast", "boast", "roast", "stoat", "toast", "toxin"], "secret": "toast"}
WORD = st.text("abc", min_size=5, max_size=5)


@each(
    "secret, guess, marks, bulls, cows",
    [
        ("toast", "toast", "ggggg", 5, 0),
        ("toast", "boast", "bgggg", 4, 0),
        ("toast", "stoat", "yyyyg", 1, 4),
        ("toast", "toxin", "ggbbb", 2, 0),
        # The secret has one t and the guess two, then the other way round.
        ("those", "otter", "yybyb", 0, 3),
        ("otter", "those", "ybyby", 0, 3),
        ("abbey", "babes", "yyggb", 2, 2),
        ("zzzzz", "toast", "bbbbb", 0, 0),
    ],
)
def test_feedback_by_hand(secret: str, guess: str, marks: str, bulls: int, cows: int) -> None:
    assert feedback.feedback_facts("wordle", secret, guess) == {"marks": marks}
    assert feedback.feedback_facts("bulls_cows", secret, guess) == {"bulls": bulls, "cows": cows}
    assert feedback.feedback_facts("bulls", secret, guess) == {"bulls": bulls}
    assert feedback.feedback_facts("shared_letters", secret, guess) == {"shared": bulls + cows}


@given(WORD, WORD)
def test_every_kind_follows_from_the_one_before(secret: str, guess: str) -> None:
    """Marks tell bulls and cows, these tell bulls, and their sum is the shared letters, whoever guesses."""
    seen = Counter(feedback.feedback_facts("wordle", secret, guess)["marks"])
    counts = feedback.feedback_facts("bulls_cows", secret, guess)
    assert counts == {"bulls": seen["g"], "cows": seen["y"]}
    assert feedback.feedback_facts("bulls", secret, guess)["bulls"] == sum(
        s == g for s, g in zip(secret, guess, strict=True)
    )
    shared = feedback.feedback_facts("shared_letters", secret, guess)["shared"]
    assert shared == sum((Counter(secret) & Counter(guess)).values()) == sum(counts.values())
    assert shared == feedback.feedback_facts("shared_letters", guess, secret)["shared"]


@given(st.lists(WORD, min_size=2, max_size=8, unique=True))
def test_the_tables_are_the_rules(found: list[str]) -> None:
    for kind in KINDS:
        numbers = feedback.verdict_table(kind)(encode_words(found), encode_words(found))
        for (i, guess), (j, secret) in itertools.product(enumerate(found), enumerate(found)):
            expected = feedback.feedback_number(kind, feedback.feedback_facts(kind, secret, guess), guess == secret)
            assert numbers[i, j] == expected < feedback.N_NUMBERS[kind]


def test_an_anagram_shares_all_letters_and_is_not_the_secret() -> None:
    known = feedback.feedback_facts("shared_letters", "abbac", "cabab")
    assert known == {"shared": 5}
    assert feedback.feedback_number("shared_letters", known, found=False) != feedback.feedback_number(
        "shared_letters", known, found=True
    )


# --- play ------------------------------------------------------------------------------------------------------------


def play_episode(*texts: str, **config: Json) -> Episode:
    env = WordGuess(**config)
    ep = Episode.begin(env, env.task(SETUP))
    for text in texts:
        ep = ep.step(text)
    return ep


def in_tags(word: str) -> str:
    return f"<Answer> {word} </Answer>"


def test_a_game_by_hand() -> None:
    ep = play_episode(
        in_tags("Boast"), in_tags("roasts"), in_tags("crane"), in_tags("toast or roast"), in_tags("TOAST")
    )
    assert [dict(t.info) for t in ep.turns] == [
        {"result": "feedback", "guess": "boast", "marks": "bgggg"}, {"result": "invalid"}, {"result": "invalid"},
        {"result": "invalid"}, {"result": "win", "guess": "toast", "marks": "ggggg"},
    ]  # fmt: skip
    lines = ["b: absent", "o: right place", "a: right place", "s: right place", "t: right place"]
    assert ep.turns[0].told.splitlines()[:5] == lines
    assert "Guesses left: 39" in ep.turns[0].told
    assert ep.outcome == Outcome("win", 1 - 4 / 40)
    assert [t.rewards.get("agent", 0.0) for t in ep.turns] == [0.0, 0.0, 0.0, 0.0, 0.9]


@each(
    "kind, facts, told",
    [
        ("bulls_cows", {"bulls": 1, "cows": 4}, "bulls 1, cows 4."),
        ("bulls", {"bulls": 1}, "bulls 1."),
        ("shared_letters", {"shared": 5}, "letters shared with it: 5."),
    ],
)
def test_other_kinds_tell_less(kind: str, facts: dict[str, int], told: str) -> None:
    ep = play_episode(in_tags("stoat"), feedback=kind)
    assert dict(ep.turns[0].info) == {"result": "feedback", "guess": "stoat", **facts}
    assert ep.turns[0].told.splitlines()[0].endswith(told)
    assert ep.outcome is None
    assert len(ep.messages["agent"][0].content) < len(play_episode().messages["agent"][0].content)


def test_the_score_falls_evenly_with_the_attempts() -> None:
    miss = in_tags("boast")
    for attempts in range(1, 5):
        ep = play_episode(*[miss] * (attempts - 1), in_tags("toast"), max_turns=4)
        expected = {1: 1.0, 2: 0.75, 3: 0.5, 4: 0.25}[attempts]
        assert ep.outcome == Outcome("win", expected)
        assert ep.turns[-1].rewards == {"agent": expected}
    lost = play_episode(*[miss] * 4, max_turns=4)
    assert lost.outcome == Outcome("out_of_turns", 0.0, truncated="turns")
    assert "toast" not in lost.turns[-1].told


def test_no_answer_ends_the_game() -> None:
    assert play_episode("toast").outcome == Outcome("unreadable")
    assert play_episode("<Think>" + in_tags("toast") + "</Think>").outcome == Outcome("unreadable")


# --- tasks -----------------------------------------------------------------------------------------------------------


def test_tasks_are_ten_vocabularies_with_every_word_once_the_secret() -> None:
    seen: list[set[str]] = []
    for split in ("train", "test"):
        tasks = ENV.tasks(split)
        assert len(tasks) == 400
        for first in range(0, 400, 40):
            group = tasks[first : first + 40]
            vocabularies = {t.public["vocabulary"] for t in group}
            assert len(vocabularies) == 1
            vocabulary = vocabularies.pop()
            assert tuple(t.hidden["secret"] for t in group) == vocabulary == tuple(sorted(vocabulary))
            assert set(vocabulary) <= set(words.task_words(5, "train" if split == "train" else "test"))
            seen.append(set(vocabulary))
    assert len(set().union(*seen)) == 20 * 40, "no word is in two vocabularies"


@each(
    "change, message",
    [
        ({"secret": "crane"}, "hidden.secret: got 'crane', allowed: a word of the vocabulary"),
        ({"secret": 3}, "hidden.secret: got 3"),
        ({"vocabulary": ["toast"]}, "hidden.vocabulary"),
        ({"vocabulary": ["toast", "toast"]}, "hidden.vocabulary"),
        ({"vocabulary": ["toast", "Boast"]}, "hidden.vocabulary"),
        ({"vocabulary": ["toast", "coasts"]}, "hidden.vocabulary"),
        ({"vocabulary": "toast"}, "hidden.vocabulary"),
        ({"extra": 1}, "a mapping with vocabulary and secret"),
    ],
)
def test_invalid_setups_are_errors(change: dict[str, Json], message: str) -> None:
    with pytest.raises(UserError, match=message):
        ENV.task({**SETUP, **change})


def test_a_bad_configuration_is_an_error() -> None:
    with pytest.raises(UserError, match=r"feedback: unknown name 'bull' .did you mean 'bulls'"):
        sonde.make("word_guess", feedback="bull")
    with pytest.raises(UserError, match="max_turns: got 0"):
        sonde.make("word_guess", max_turns=0)


# --- the filter ------------------------------------------------------------------------------------------------------


@each("kind", KINDS)
def test_the_filter_is_brute_force(kind: str) -> None:
    env = WordGuess(feedback=kind)
    for i in range(4):
        task, rng = env.tasks("train")[97 * i], Rng(i, "game")
        ep = Episode.begin(env, task)
        fast, slow = env.filter(task.public), TabularEnv.filter(env, task.public)
        while ep.to_act and len(ep.turns) < 4:
            assert slow is not None
            mine, theirs = fast.belief(), slow.belief()
            assert list(mine.hypotheses) == list(theirs.hypotheses)
            assert np.allclose(mine.probs, theirs.probs)
            texts = [in_tags(word) for word in rng.sample(list(ep.state.vocabulary), 3)] + [
                in_tags("aaaaa"),
                "no answer",
            ]  # type: ignore[attr-defined]
            for text in texts[:4]:
                assert fast.expected_gain(text) == pytest.approx(slow.expected_gain(text), abs=1e-9)
            assert fast.best_question()[1] == pytest.approx(slow.best_question()[1], abs=1e-9)
            ep = ep.step(rng.choice(texts[:4]))
            fast, slow = fast.observe(ep.turns[-1]), slow.observe(ep.turns[-1])


def test_an_anagram_is_ruled_out_by_its_own_guess() -> None:
    """Under shared letters, `stoat` and `toast` look alike until one of them is tried."""
    ep = play_episode(in_tags("stoat"), feedback="shared_letters")
    found = ep.posterior()
    assert found is not None and list(found.hypotheses) == ["toast"]


@each("kind, attempts", [("wordle", 2.3075), ("bulls_cows", 2.7975), ("bulls", 3.8675), ("shared_letters", 3.345)])
def test_the_entropy_strategy_finds_every_word(kind: str, attempts: float) -> None:
    """The means were measured on these vocabularies when they were made; ties may fall otherwise elsewhere."""
    env, agent = WordGuess(feedback=kind), sonde.make("agents:entropy")
    assert isinstance(agent, ProgramPolicy)
    turns: list[int] = []
    for task in env.tasks("test"):
        ep = Episode.begin(env, task)
        while ep.to_act:
            ep = ep.step(agent.act_now(ep.view()))
        assert ep.outcome is not None and ep.outcome.kind == "win"
        assert ep.outcome.score == pytest.approx(1 - (len(ep.turns) - 1) / 40)
        turns.append(len(ep.turns))
    assert np.mean(turns) == pytest.approx(attempts, abs=0.03)
