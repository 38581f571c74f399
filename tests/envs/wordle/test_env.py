"""Wordle: marks by hand under both rules, words read from text, exact filters, and the entropy strategy."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.core import Episode, Filter, Outcome, Rng, TabularEnv, UserError
from sonde.core.types import Rules
from sonde.envs._shared.words import lists as words
from sonde.envs._shared.words import marks
from sonde.envs._shared.words.guessing import encode_words
from sonde.envs.wordle.env import Wordle
from sonde.testing import check_env
from tests.cases import each

ENV = Wordle()
LMRL = Wordle(preset="lmrl")
PAIR = st.integers(1, 8).flatmap(lambda n: st.tuples(*[st.text("abc", min_size=n, max_size=n)] * 2))


@each(
    "secret, guess, standard, membership",
    [
        ("toast", "toast", "ggggg", "ggggg"),
        ("toast", "boost", "bgbgg", "bgygg"),
        ("toast", "stoat", "yyyyg", "yyyyg"),
        ("toast", "trust", "gbbgg", "gbbgg"),
        ("toast", "zebra", "bbbby", "bbbby"),
        # One of two copies: the right place takes it, and earlier copies get none.
        ("those", "geese", "bbbgg", "byygg"),
        ("abbey", "kebab", "bygyy", "bygyy"),
        ("abbey", "babes", "yyggb", "yyggb"),
        ("crane", "eerie", "bbybg", "yyybg"),
        ("hello", "lolly", "byggb", "yyggb"),
        ("level", "eleve", "yyyyb", "yyyyy"),
        ("sassy", "asses", "yygby", "yygby"),
        ("aaaab", "baaaa", "ygggy", "ygggy"),
        ("abcde", "aaaaa", "gbbbb", "gyyyy"),
    ],
)
def test_marks_by_hand(secret: str, guess: str, standard: str, membership: str) -> None:
    assert marks.standard_marks(secret, guess) == standard
    assert marks.membership_marks(secret, guess) == membership
    assert ENV.mark_guess(secret, guess) == standard
    assert Wordle(rules="code").mark_guess(secret, guess) == membership


@given(PAIR)
def test_marks_count_no_letter_twice(pair: tuple[str, str]) -> None:
    secret, guess = pair
    seen = marks.standard_marks(secret, guess)
    found = Counter(g for g, mark in zip(guess, seen, strict=True) if mark != "b")
    assert found == Counter(secret) & Counter(guess)
    assert [m == "g" for m in seen] == [s == g for s, g in zip(secret, guess, strict=True)]
    for letter in set(guess):
        not_placed = [m for g, m in zip(guess, seen, strict=True) if g == letter and m != "g"]
        assert not_placed == sorted(not_placed, reverse=True), "yellow before black, from left to right"


def test_marks_as_a_number_in_base_three() -> None:
    assert marks.marks_number("b") == 0
    assert marks.marks_number("ybg") == 1 * 9 + 0 * 3 + 2
    assert len({marks.marks_number("".join(m)) for m in itertools.product("byg", repeat=4)}) == 81


# --- reading ---------------------------------------------------------------------------------------------------------


@each(
    "text, guess",
    [
        ("<Answer>toast</Answer>", "toast"), ("<Think>hm</Think> <answer> TOAST </answer>", "toast"),
        ("<Answer>t o a s t</Answer>", "toast"), ("<Answer>qzxjk</Answer>", "qzxjk"), ("<Answer>toasts</Answer>", None),
        ("<Answer>toas</Answer>", None), ("<Answer>toas7</Answer>", None), ("<Answer>toasté</Answer>", None),
        ("<Answer>tоast</Answer>", None), ("<Answer>toast or boost</Answer>", None),
        ("<Answer>toast.</Answer>", "toast"), ("<Answer></Answer>", None), ("toast", None), ("t o a s t", None),
    ],
)  # fmt: skip
def test_words_by_hand(text: str, guess: str | None) -> None:
    assert ENV.parse_guess(text, 5) == guess


@each(
    "text, guess",
    [
        ("t o a s t", "toast"), ("T O A S T\n", "toast"), ("toast", "toast"), ("<Answer>t o a s t</Answer>", "toast"),
        ("My guess is t o a s t", "toast"), ("My guess is not t o a s t", None), ("t o a s", None),
        ("", None), ("<Think>t o a s t</Think>", None), (" " * 100 + "toast", None),
    ],
)  # fmt: skip
def test_words_without_tags(text: str, guess: str | None) -> None:
    assert LMRL.parse_guess(text, 5) == guess


# --- play ------------------------------------------------------------------------------------------------------------


def play_episode(env: Wordle, word: str, *texts: str) -> Episode:
    ep = Episode.begin(env, env.task(word))
    for text in texts:
        ep = ep.step(text)
    return ep


def test_a_game_by_hand() -> None:
    ep = play_episode(ENV, "toast", "<Answer>boost</Answer>", "<Answer>toasty</Answer>", "<Answer>toast</Answer>")
    assert [dict(t.info) for t in ep.turns] == [
        {"result": "marks", "guess": "boost", "feedback": "bgbgg"},
        {"result": "invalid"},
        {"result": "win", "guess": "toast", "feedback": "ggggg"},
    ]
    lines = ["b: absent", "o: right place", "o: absent", "s: right place", "t: right place"]
    assert ep.turns[0].told.splitlines()[:5] == lines
    assert "Guesses left: 5" in ep.turns[0].told
    assert [t.rewards.get("agent", 0.0) for t in ep.turns] == [0.0, 0.0, 1.0]
    assert ep.outcome == Outcome("win", 1.0)


def test_the_published_rule_is_played_and_told() -> None:
    ep = play_episode(Wordle(rules="code"), "toast", "<Answer>boost</Answer>")
    assert ep.turns[0].info["feedback"] == "bgygg"
    first, plain = ep.messages["agent"][0].content, play_episode(ENV, "toast").messages["agent"][0].content
    assert "judged each time on its own" in first
    assert "only as often as the secret has it" in plain
    assert ep.env.spec.departures != ENV.spec.departures


def test_the_end_comes_with_the_last_guess() -> None:
    miss, hit = "<Answer>boost</Answer>", "<Answer>toast</Answer>"
    assert play_episode(ENV, "toast", *[miss] * 5, hit).outcome == Outcome("win", 1.0)
    late = play_episode(ENV, "toast", *[miss] * 6)
    assert late.outcome == Outcome("out_of_turns", truncated="turns")
    assert "toast" not in late.turns[-1].told
    assert play_episode(ENV, "toast", "toast").outcome == Outcome("unreadable")
    assert play_episode(Wordle(max_turns=1), "toast", miss).outcome == Outcome("out_of_turns", truncated="turns")


def test_lmrl_speaks_in_signs_and_counts_misses() -> None:
    ep = play_episode(LMRL, "space", "t r a c e", "nothing of the kind", "s p a c e")
    assert ep.turns[0].told == "b b g g g"
    assert [t.rewards["agent"] for t in ep.turns] == [-1.0, -1.0, 0.0]
    assert [t.info["result"] for t in ep.turns] == ["marks", "invalid", "win"]
    assert ep.outcome == Outcome("win", 1.0)
    lost = play_episode(LMRL, "space", *["t r a c e"] * 6)
    assert sum(t.rewards["agent"] for t in lost.turns) == -6.0
    assert lost.outcome == Outcome("out_of_turns", truncated="turns")


def test_by_the_code_lmrl_wants_a_word_of_its_list() -> None:
    env = Wordle(preset="lmrl", rules="code")
    texts = ("e e e e e", "a b c d e", "t r a c e")
    told, listed = (play_episode(e, "space", *texts) for e in (LMRL, env))
    assert [t.info["result"] for t in told.turns] == ["marks"] * 3
    assert [t.info["result"] for t in listed.turns] == ["invalid", "invalid", "marks"]
    assert [t.rewards["agent"] for t in listed.turns] == [-1.0] * 3
    assert listed.information_gain()[:2] == (0.0, 0.0) and told.information_gain()[0] > 0.5  # type: ignore[index]
    assert "a word that I do not know" in listed.messages["agent"][0].content
    assert "a word that I do not know" not in told.messages["agent"][0].content
    check_env(env, episodes=8)


def test_modified_words_have_other_lengths_and_ten_turns() -> None:
    env = Wordle(preset="modified")
    lengths = Counter(len(t.hidden) for t in env.tasks("test"))
    assert set(lengths) == {4, 6, 7, 8, 9, 10}
    assert env.spec.max_turns == 10
    ep = play_episode(env, "know", "<Answer>iron</Answer>", "<Answer>knows</Answer>")
    assert ep.turns[0].info["feedback"] == "bbgy"
    assert ep.turns[1].info["result"] == "invalid"
    assert "word of 4 letters" in ep.messages["agent"][0].content


@each("preset, train, test", [("paprika", 1515, 800), ("modified", None, 1000), ("lmrl", None, None)])
def test_tasks_are_those_of_the_papers_in_number(preset: str, train: int | None, test: int | None) -> None:
    env = Wordle(preset=preset)
    n_train, n_test = len(env.tasks("train")), len(env.tasks("test"))
    assert train in (None, n_train)
    assert test in (None, n_test)
    if preset == "lmrl":
        assert n_train + n_test == 400


@each("hidden", ["", "Toast", "toas", "xxxxx", "toasty", None, 5, ["toast"]])
def test_words_outside_the_list_are_errors(hidden: object) -> None:
    with pytest.raises(UserError, match=r"wordle: hidden: got .*an answer word of 5 letters"):
        ENV.task(hidden)


@each("word", ["Toast", "toas", "toasté", "", None])
def test_other_secrets_are_words_too(word: object) -> None:
    with pytest.raises(UserError, match=r"wordle: hidden: got .* a word of 5 letters"):
        ENV.task({"word": word})


def test_the_code_of_lmrl_accepts_no_other_secret() -> None:
    assert Wordle(preset="lmrl").task({"word": "zzzza"}).public["foreign"] is True
    with pytest.raises(UserError, match="hidden"):
        Wordle(preset="lmrl", rules="code").task({"word": "zzzza"})


# --- the filter ------------------------------------------------------------------------------------------------------


@each("length", [4, 5, 7, 10])
def test_the_tables_of_marks_are_the_rules(length: int) -> None:
    rng = Rng(0, "tables", length)
    some = [*rng.sample(words.answer_words(length), 150), "a" * length, "ab" * (length // 2) + "a" * (length % 2)]
    guesses = some[-30:]
    standard = marks.standard_table(encode_words(guesses), encode_words(some))
    membership = marks.membership_table(encode_words(guesses), encode_words(some))
    for (i, guess), (j, secret) in itertools.product(enumerate(guesses), enumerate(some)):
        assert standard[i, j] == marks.marks_number(marks.standard_marks(secret, guess))
        assert membership[i, j] == marks.marks_number(marks.membership_marks(secret, guess))


@each("rules", ["paper", "code"])
def test_the_filter_is_brute_force(rules: Rules) -> None:
    """On the 400 words of `lmrl`, with guesses in and out of the list."""
    env = Wordle(preset="lmrl", rules=rules, max_turns=20)
    found = words.lmrl_answers()
    for i in range(3):
        rng = Rng(i, "game", int(rules == "code"))
        ep = Episode.begin(env, env.task(rng.choice(found)))
        fast: Filter | None = env.filter(ep.task.public)
        slow = TabularEnv.filter(env, ep.task.public)
        while ep.to_act and len(ep.turns) < 4:
            assert fast is not None and slow is not None
            mine, theirs = fast.belief(), slow.belief()
            assert list(mine.hypotheses) == list(theirs.hypotheses)
            assert np.allclose(mine.probs, theirs.probs)
            assert fast.entropy == pytest.approx(slow.entropy)
            texts = [env.say(w) for w in rng.sample(found, 3)] + ["e e e e e", "a b c d e", "no word"]
            for text in texts:
                assert fast.expected_gain(text) == pytest.approx(slow.expected_gain(text), abs=1e-9)
            if len(theirs) < 60:
                assert fast.best_question()[1] == pytest.approx(slow.best_question()[1], abs=1e-9)
            ep = ep.step(rng.choice(texts))
            fast, slow = fast.observe(ep.turns[-1]), slow.observe(ep.turns[-1])


def test_the_prior_is_uniform_over_the_answer_words() -> None:
    prior, other = ENV.filter({"length": 5}), LMRL.filter({"length": 5})
    assert prior is not None and other is not None
    assert prior.entropy == pytest.approx(np.log2(1515 + 800))
    assert prior.prob("toast") == pytest.approx(1 / 2315)
    assert prior.prob("qzxjk") == 0.0
    assert other.entropy == pytest.approx(np.log2(400))
