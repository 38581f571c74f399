"""The search behind Wordle and Mastermind: quicker ways to the numbers of plain counting."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product
from threading import Barrier
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sonde
from sonde.core import Episode, Rng
from sonde.envs._shared.words import marks
from sonde.envs._shared.words.guessing import GuessFilter, Guessing, VerdictParts
from tests.cases import each


def filters(env: Any, n: int) -> list[GuessFilter]:
    """What is known after each of a few random guesses, in n games."""
    found: list[GuessFilter] = []
    for i, task in enumerate(env.tasks("test")[:n]):
        rng, ep = Rng(0, "guessing", i), Episode.begin(env, task)
        while ep.to_act and len(ep.turns) < 4:
            ep = ep.step(env.say(rng.choice(env.actions(ep.state))))
            found.append(ep.filter())  # type: ignore[arg-type]
    return found


def count_plainly(known: GuessFilter) -> tuple[str, float]:
    """The best question by counting the verdicts of every candidate, one by one."""
    game = known.game
    bits = []
    for guess in game.candidates:
        counts = Counter(game.guess_verdicts(guess, known.alive).tolist()).values()
        bits.append(-sum(c / len(known.alive) * math.log2(c / len(known.alive)) for c in counts))
    ties = [i for i, b in enumerate(bits) if b >= max(bits) - 1e-9]
    alive = set(known.alive.tolist())
    return game.candidates[next((i for i in ties if i in alive), ties[0])], max(bits)


@pytest.mark.thorough
@each(
    "name, config",
    [
        ("mastermind", {"length": 3, "digits": 7}), ("mastermind", {"length": 4, "digits": 4}), ("wordle", {}),
        ("wordle", {"preset": "lmrl"}), ("wordle", {"preset": "lmrl", "rules": "code"}), ("word_guess", {}),
    ],
)  # fmt: skip
def test_the_search_finds_what_plain_counting_finds(name: str, config: dict[str, Any]) -> None:
    for known in filters(sonde.make(name, **config), 4):
        question, bits = known.best_question()
        expected, most = count_plainly(known)
        assert question == expected
        assert bits == pytest.approx(most, abs=1e-12)


@each("n", [1, 2, 3, 32, 33, 200])
def test_the_entropy_of_verdicts_is_that_of_their_counts(n: int) -> None:
    def verdict(guesses: Any, secrets: Any) -> Any:
        rng = np.random.default_rng(n)
        return rng.integers(0, 9, (len(guesses), len(secrets))).astype(np.uint16)

    words: Sequence[str] = [chr(97 + i // 26) + chr(97 + i % 26) for i in range(n)]
    game = Guessing(words, verdict, 9, lambda turn: None, lambda text: text)
    every = np.arange(n, dtype=np.int32)
    marks = verdict(game.codes, game.codes)
    for row, bits in zip(marks, game._mark_entropies(marks, 9), strict=True):  # pyright: ignore[reportPrivateUsage]
        shares = [c / n for c in Counter(row.tolist()).values()]
        assert bits == pytest.approx(-sum(p * math.log2(p) for p in shares), abs=1e-12)
        assert game.entropy(row) == pytest.approx(bits, abs=1e-12)
    assert game.start().alive.tolist() == every.tolist()


APART: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("mastermind", {"length": 3, "digits": 7}, {}),
    ("mastermind", {"length": 5, "digits": 3}, {}),
    ("wordle", {"preset": "lmrl"}, {"length": 5}),
    ("wordle", {"preset": "lmrl", "rules": "code"}, {"length": 5}),
    ("wordle", {"preset": "modified"}, {"length": 8}),
]


def taken_apart(name: str, config: dict[str, Any], public: dict[str, Any]) -> tuple[Guessing, VerdictParts]:
    known = sonde.make(name, **config).filter(public)
    assert isinstance(known, GuessFilter)
    parts = known.game._code_parts  # pyright: ignore[reportPrivateUsage]
    assert parts is not None and parts.of_PG.max() < parts.n
    return known.game, parts


@each("name, config, public", APART)
def test_the_parts_of_a_guess_tell_its_verdict(name: str, config: dict[str, Any], public: dict[str, Any]) -> None:
    game, parts = taken_apart(name, config, public)
    marks = parts.marks(np.arange(len(game.candidates), dtype=np.int32))
    assert len(marks) == parts.n
    for guess in range(0, len(game.candidates), 7):
        verdicts = game.verdict(game.codes[guess : guess + 1], game.codes)[0]
        told = list(zip(*marks[parts.of_PG[:, guess]].tolist(), strict=True))
        assert len(set(zip(told, verdicts.tolist(), strict=True))) == len(set(told))


@pytest.mark.parametrize(("name", "config", "public"), APART)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_no_entropy_exceeds_its_bound(
    name: str, config: dict[str, Any], public: dict[str, Any], data: st.DataObject
) -> None:
    game, parts = taken_apart(name, config, public)
    every = range(len(game.candidates))
    alive = np.array(sorted(data.draw(st.sets(st.sampled_from(every), min_size=1, max_size=60))), np.int32)
    rows = np.array(sorted(data.draw(st.sets(st.sampled_from(every), min_size=1, max_size=60))), np.int32)
    bounds = game._entropy_bounds(parts, rows, alive)  # pyright: ignore[reportPrivateUsage]
    for row, bound in zip(rows, bounds, strict=True):
        counts = Counter(game.verdict(game.codes[row : row + 1], game.codes[alive])[0].tolist()).values()
        assert bound >= -sum(c / len(alive) * math.log2(c / len(alive)) for c in counts) - 1e-12


def test_a_bound_by_hand() -> None:
    """Guess aab. Its a (places 1 and 2) is marked gg, yb, bg and gb under the four words: 2 bits. Its b is marked g, y,
    g and y: 1 bit. The four verdicts differ: 2 bits, of the 3 that they cannot exceed."""
    words = ["aab", "bba", "cab", "abc"]
    parts = partial(marks.letter_parts, marks.standard_table)
    game = Guessing(words, marks.standard_table, 27, lambda turn: None, lambda text: text, parts=parts)
    first, every = np.zeros(1, np.int32), np.arange(4, dtype=np.int32)
    found = parts(game.codes)
    assert [marks.standard_marks(word, "aab") for word in words] == ["ggg", "yby", "bgg", "gby"]
    assert game._entropy_bounds(found, first, every).tolist() == [3.0]  # pyright: ignore[reportPrivateUsage]
    assert game._guess_entropies(first, every).tolist() == [2.0]  # pyright: ignore[reportPrivateUsage]


def test_few_guesses_are_counted() -> None:
    env = sonde.make("wordle")
    after = Episode.begin(env, env.task("toast")).step(env.say("crane")).filter()
    assert isinstance(after, GuessFilter) and len(after.alive) > 40
    every = np.arange(len(after.game.candidates), dtype=np.int32)
    contenders = after.game._contending_rows(every, after.alive)  # pyright: ignore[reportPrivateUsage]
    assert after.best_question()[0] in {after.game.candidates[i] for i in contenders}
    assert len(contenders) < 231, "of 2,315 words"


def test_codes_that_only_rename_digits_are_not_searched() -> None:
    env = sonde.make("mastermind")
    known = env.filter({})
    assert isinstance(known, GuessFilter)
    asked: list[int] = []
    verdict = known.game.verdict

    def counted(guesses: Any, secrets: Any) -> Any:
        asked.append(len(guesses))
        return verdict(guesses, secrets)

    known.game.verdict = counted
    try:
        best = Guessing.best_guess
        after = Episode.begin(env, env.task("0427")).step(env.say("0123")).filter()
        assert isinstance(after, GuessFilter)
        asked.clear()
        best(known.game, frozenset(["0123"]), after.alive)
    finally:
        known.game.verdict = verdict
    assert 0 < sum(asked) < 800, "of 10,000 codes, after a guess of four digits"


def test_threads_may_share_a_game() -> None:
    """They tabulate it at the same time, keep filters that others drop, and weigh different guesses on one filter."""
    words = ["".join(letters) for letters in product("abcd", repeat=5)][::3]
    lone = Guessing(words, marks.standard_table, 243, lambda turn: None, lambda text: text)
    expected = {word: lone.start().expected_gain(word) for word in words[:40]}, lone.start().best_question()
    switching = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(3):
            shared = Guessing(words, marks.standard_table, 243, lambda turn: None, lambda text: text)
            start = Barrier(6)

            def play(shared: Guessing = shared, start: Barrier = start) -> tuple[dict[str, float], tuple[str, float]]:
                start.wait()
                best = shared.start().best_question()
                return {word: shared.start().expected_gain(word) for word in words[:40]}, best

            with ThreadPoolExecutor(6) as pool:
                assert all(f.result() == expected for f in [pool.submit(play) for _ in range(6)])
    finally:
        sys.setswitchinterval(switching)
