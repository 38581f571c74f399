"""Letter Wordle: its words, attempts, and that any string may be spelled."""

from typing import Any

import pytest

import sonde
from sonde.core import Episode, Outcome, UserError
from sonde.envs._shared.words import lists as words
from sonde.envs.letter_wordle.env import LetterWordle
from tests.cases import each

ENV = LetterWordle()


def play_episode(word: str, letters: str) -> Episode:
    ep = Episode.begin(ENV, ENV.task(word))
    for letter in letters:
        ep = ep.step(ENV.say(letter))
    return ep


def test_words_have_distinct_letters_and_keep_their_split() -> None:
    train, test = ({t.hidden for t in ENV.tasks(s)} for s in ("train", "test"))
    assert not train & test and len(train) > 800 and len(test) > 400
    assert all(len(w) == 5 == len(set(w)) for w in train | test)
    assert train <= set(words.task_words(5, "train")) and test <= set(words.task_words(5, "test"))
    assert ENV.spec.max_turns == 30 and LetterWordle(sub_episodes=5).spec.max_turns == 25


def test_any_string_may_be_spelled() -> None:
    ep = play_episode("trace", "zzzzz")
    assert [t.info["mark"] for t in ep.turns] == ["b"] * 5 and ep.outcome is None
    assert [t.info["mark"] for t in play_episode("trace", "ccttr").turns] == ["y", "y", "y", "y", "y"]
    assert "The word is not found yet. Attempt 2 of 6 begins." in ep.turns[-1].told


def test_the_word_wins() -> None:
    ep = play_episode("trace", "grace" + "TRACE")
    assert ep.outcome == Outcome("win", 1.0) and ep.turns[-1].info["sub_episode"] == 1
    assert [t.info["mark"] for t in ep.turns] == ["b", "g", "g", "g", "g", "g", "g", "g", "g", "g"]


def test_attempts_run_out() -> None:
    assert play_episode("trace", "qzxjv" * 6).outcome == Outcome("out_of_turns", truncated="turns")


def test_beliefs_follow_the_marks() -> None:
    known: Any = play_episode("trace", "caret").filter()
    assert "trace" in known.possible_codes
    assert all(set(w) == set("trace") and w[0] != "c" and w[1] != "a" for w in known.possible_codes)
    prior: Any = ENV.filter(ENV.task("trace").public)
    firsts = [w[0] for w in prior.possible_codes]
    assert prior.expected_regrets == pytest.approx([1 - firsts.count(a) / len(firsts) for a in ENV.allowed_symbols])
    assert len(firsts) == len(ENV.tasks("train")) + len(ENV.tasks("test"))


@each("hidden", [None, "", "toast", "TRACE", "zzzzz", "abcde", 5, ["trace"], "race"])
def test_bad_words_are_refused(hidden: Any) -> None:
    with pytest.raises(UserError, match=r"^letter_wordle: hidden: "):
        ENV.task(hidden)


@each("wrong", [{"preset": "x"}, {"length": 3}, {"length": 11}, {"sub_episodes": 0}])
def test_bad_arguments_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=r"^letter_wordle: "):
        LetterWordle(**wrong)


def test_other_lengths() -> None:
    env = LetterWordle(length=7)
    word = env.tasks("test")[0].hidden
    assert len(set(word)) == 7 and env.place_count == 7 and sonde.build(env.config) == env


@each("text", ["ß", "ab", "", "1", "é", "the letter a", "a b"])
def test_similar_characters_are_not_letters(text: str) -> None:
    assert ENV._parse_symbol(f"<Answer>{text}</Answer>") is None
