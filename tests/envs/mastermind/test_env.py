"""Mastermind: counts by hand, codes read from text, an exact filter, and the entropy strategy's known mean."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sonde
from sonde.core import Episode, Filter, Outcome, ProgramPolicy, Rng, TabularEnv, UserError
from sonde.envs._shared.words.guessing import encode_words
from sonde.envs.mastermind.env import Mastermind, _verdict_numbers, score
from tests.cases import each

ENV = Mastermind()
SMALL = Mastermind(length=3, digits=4)
CODE = st.text("0123456789", min_size=4, max_size=4)


@each(
    "code, guess, exact, partial",
    [
        ("0427", "0427", 4, 0), ("0427", "7240", 0, 4), ("0427", "1356", 0, 0), ("0427", "0472", 2, 2),
        ("0011", "0101", 2, 2), ("0011", "1100", 0, 4), ("0011", "0000", 2, 0), ("0000", "0011", 2, 0),
        ("1234", "1111", 1, 0), ("1123", "2211", 0, 3), ("1122", "2111", 1, 2), ("9999", "9909", 3, 0),
    ],
)  # fmt: skip
def test_counts_by_hand(code: str, guess: str, exact: int, partial: int) -> None:
    assert score(code, guess) == (exact, partial)


@given(code=CODE, guess=CODE)
def test_counts_are_those_of_multisets(code: str, guess: str) -> None:
    exact, partial = score(code, guess)
    assert exact == sum(a == b for a, b in zip(code, guess, strict=True))
    assert exact + partial == (Counter(code) & Counter(guess)).total()
    assert score(guess, code) == (exact, partial)


@each(
    "answer, code",
    [
        ("0427", "0427"), (" 0 4 2 7 ", "0427"), ("04\n27", "0427"), ("042", None), ("04271", None),
        ("0,4,2,7", "0427"), ("04,27", None), ("x427", None), ("-427", None), ("４２７１", None), ("²²²²", None),
        ("٠٤٢٧", None), ("", None),
    ],
)  # fmt: skip
def test_codes_by_hand(answer: str, code: str | None) -> None:
    assert ENV.parse_code(answer) == code


def test_foreign_digits_are_no_code_where_there_are_fewer() -> None:
    assert SMALL.parse_code("3 2 1") == "321"
    assert SMALL.parse_code("4 2 1") is None


def play_episode(*texts: str, env: Mastermind = ENV, code: str = "0427") -> Episode:
    ep = Episode.begin(env, env.task(code))
    for text in texts:
        ep = ep.step(text)
    return ep


def test_a_game_by_hand() -> None:
    ep = play_episode("<Think>pairs</Think><Answer>0 0 1 1</Answer>", "<Answer>42</Answer>", "<Answer>0427</Answer>")
    assert [dict(t.info) for t in ep.turns] == [
        {"result": "counts", "guess": "0011", "exact": 1, "partial": 0},
        {"result": "invalid"},
        {"result": "win", "guess": "0427", "exact": 4, "partial": 0},
    ]
    assert [t.rewards.get("agent", 0.0) for t in ep.turns] == [0.0, 0.0, 1.0]
    assert ep.outcome == Outcome("win", 1.0)
    assert "0011 has 1 exact and 0 partial" in ep.turns[0].told
    assert "Guesses left: 11" in ep.turns[0].told
    assert "exactly 4 digits" in ep.turns[1].told
    assert "Guesses left: 10" in ep.turns[1].told


def test_no_answer_ends_the_game() -> None:
    ep = play_episode("0427")
    assert ep.outcome == Outcome("unreadable")
    assert dict(ep.turns[0].info) == {"result": "unreadable"}


def test_the_last_guess_may_win_and_one_more_is_not_given() -> None:
    miss, hit = "<Answer>1111</Answer>", "<Answer>0427</Answer>"
    assert play_episode(*[miss] * 11, hit).outcome == Outcome("win", 1.0)
    late = play_episode(*[miss] * 12)
    assert late.outcome == Outcome("out_of_turns", truncated="turns")
    assert late.turns[-1].rewards == {}
    assert "Guesses left" not in late.turns[-1].told
    assert play_episode(miss, env=Mastermind(max_turns=1)).outcome == Outcome("out_of_turns", truncated="turns")


def test_tasks_are_those_of_the_paper_in_number() -> None:
    assert (len(ENV.tasks("train")), len(ENV.tasks("test"))) == (1000, 500)
    codes = [t.hidden for split in ("train", "test") for t in ENV.tasks(split)]
    assert len(set(codes)) == 1500
    assert len(SMALL.tasks("train")) + len(SMALL.tasks("test")) == 4**3


@each("hidden", ["042", "04275", "042a", 427, None, ["0", "4", "2", "7"], "٠٤٢٧"])
def test_no_code_is_an_error(hidden: object) -> None:
    with pytest.raises(UserError, match=r"mastermind: hidden: got .*4 digits of 0123456789"):
        ENV.task(hidden)


@each("config, field",
    [({"length": 0}, "length"), ({"length": 7}, "length"), ({"digits": 1}, "digits"), ({"digits": 11}, "digits"),
     ({"length": 6, "digits": 7}, "digits"), ({"max_turns": 0}, "max_turns"), ({"preset": "lmrl"}, "preset")],
)  # fmt: skip
def test_a_bad_configuration_is_an_error(config: dict[str, object], field: str) -> None:
    with pytest.raises(UserError, match=f"mastermind: {field}"):
        sonde.make("mastermind", **config)


# --- the filter ------------------------------------------------------------------------------------------------------


def test_the_table_of_verdicts_is_the_rule() -> None:
    rng = Rng(0, "verdicts")
    codes = ["".join(rng.choices("0123456789", k=4)) for _ in range(300)]
    table = _verdict_numbers(10, encode_words(codes[:40]), encode_words(codes))
    assert table.shape == (40, 300)
    for (i, guess), (j, code) in itertools.product(enumerate(codes[:40]), enumerate(codes)):
        exact, partial = score(code, guess)
        assert table[i, j] == exact * 5 + partial


def check_same(fast: Filter, slow: Filter, texts: Sequence[str]) -> None:
    mine, theirs = fast.belief(), slow.belief()
    assert sorted(mine.hypotheses) == sorted(theirs.hypotheses)
    for hypothesis, prob in zip(theirs.hypotheses, theirs.probs, strict=True):
        assert fast.prob(hypothesis) == pytest.approx(prob)
    assert fast.entropy == pytest.approx(slow.entropy)
    for text in texts:
        assert fast.expected_gain(text) == pytest.approx(slow.expected_gain(text), abs=1e-9)
    assert fast.best_question()[1] == pytest.approx(slow.best_question()[1], abs=1e-9)


@each("length, digits", [(2, 3), (3, 4), (2, 10)])
def test_the_filter_is_brute_force(length: int, digits: int) -> None:
    env = Mastermind(length=length, digits=digits, max_turns=20)
    codes = env.actions(env.start({}, "0" * length))
    assert codes is not None
    for i in range(4):
        rng = Rng(i, "game")
        ep = Episode.begin(env, env.task(rng.choice(codes)))
        fast: Filter = env.filter(ep.task.public)
        slow = TabularEnv.filter(env, ep.task.public)
        while ep.to_act and len(ep.turns) < 4:
            texts = [env.say(c) for c in rng.sample(codes, 5)] + ["", "<Answer>99999</Answer>"]
            assert slow is not None
            check_same(fast, slow, texts)
            ep = ep.step(rng.choice(texts[:5] + texts[-1:]))
            fast, slow = fast.observe(ep.turns[-1]), slow.observe(ep.turns[-1])


def test_the_openings_searched_are_as_good_as_all() -> None:
    env = Mastermind(length=3, digits=6)
    known = env.filter({})
    best = max(known.expected_gain(env.say(c)) for c in env.actions(env.start({}, "000")) or ())
    assert known.best_question()[1] == pytest.approx(best, abs=1e-12)


def test_the_prior_is_uniform_over_all_codes() -> None:
    prior = ENV.filter({})
    assert len(prior.belief()) == 10_000
    assert prior.entropy == pytest.approx(np.log2(10_000))
    assert prior.prob("0427") == pytest.approx(1e-4)
    assert prior.prob("042") == 0.0


def turns_of_entropy(code: str) -> int:
    agent: ProgramPolicy = sonde.make("agents:entropy")
    ep = Episode.begin(ENV, ENV.task(code))
    while ep.to_act:
        ep = ep.step(agent.act_now(ep.view()))
    assert ep.outcome == Outcome("win", 1.0)
    return len(ep.turns)


@pytest.mark.slow
def test_the_entropy_strategy_on_all_codes() -> None:
    turns = [turns_of_entropy(f"{code:04d}") for code in range(10_000)]
    assert np.mean(turns) == pytest.approx(5.62, abs=0.005)
    assert max(turns) <= 8
