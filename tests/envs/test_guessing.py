"""The search behind Wordle and Mastermind: quicker ways to the numbers of plain counting."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import sonde
from sonde.core import Episode, Rng
from sonde.envs._rules.guessing import GuessFilter, Guessing


def filters(env: Any, n: int) -> list[GuessFilter]:
    """What is known after each of a few random guesses, in n games."""
    found: list[GuessFilter] = []
    for i, task in enumerate(env.tasks("test")[:n]):
        rng, ep = Rng(0, "guessing", i), Episode.begin(env, task)
        while ep.to_act and len(ep.turns) < 4:
            ep = ep.step(env.say(rng.choice(env.actions(ep.state))))
            found.append(ep.filter())  # type: ignore[arg-type]
    return found


def plainly(known: GuessFilter) -> tuple[str, float]:
    """The best question by counting the verdicts of every candidate, one by one."""
    game = known.game
    bits = []
    for guess in game.candidates:
        counts = Counter(game.verdicts(guess, known.alive).tolist()).values()
        bits.append(-sum(c / len(known.alive) * math.log2(c / len(known.alive)) for c in counts))
    ties = [i for i, b in enumerate(bits) if b >= max(bits) - 1e-9]
    alive = set(known.alive.tolist())
    return game.candidates[next((i for i in ties if i in alive), ties[0])], max(bits)


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("mastermind", {"length": 3, "digits": 7}),
        ("mastermind", {"length": 4, "digits": 4}),
        ("wordle", {"preset": "lmrl"}),
        ("wordle", {"preset": "lmrl", "as_published": True}),
        ("word_guess", {}),
    ],
)
def test_the_search_finds_what_plain_counting_finds(name: str, config: dict[str, Any]) -> None:
    for known in filters(sonde.make(name, **config), 4):
        question, bits = known.best_question()
        expected, most = plainly(known)
        assert question == expected
        assert bits == pytest.approx(most, abs=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 32, 33, 200])
def test_the_entropy_of_verdicts_is_that_of_their_counts(n: int) -> None:
    def verdict(guesses: Any, secrets: Any) -> Any:
        rng = np.random.default_rng(n)
        return rng.integers(0, 9, (len(guesses), len(secrets))).astype(np.uint16)

    words: Sequence[str] = [chr(97 + i // 26) + chr(97 + i % 26) for i in range(n)]
    game = Guessing(words, verdict, 9, lambda turn: None, lambda text: text)
    every = np.arange(n, dtype=np.int32)
    marks = verdict(game.codes, game.codes)
    for row, bits in zip(marks, game._bits(marks), strict=True):  # pyright: ignore[reportPrivateUsage]
        shares = [c / n for c in Counter(row.tolist()).values()]
        assert bits == pytest.approx(-sum(p * math.log2(p) for p in shares), abs=1e-12)
        assert game.entropy(row) == pytest.approx(bits, abs=1e-12)
    assert game.start().alive.tolist() == every.tolist()


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
        best = Guessing.best
        after = Episode.begin(env, env.task("0427")).step(env.say("0123")).filter()
        assert isinstance(after, GuessFilter)
        asked.clear()
        best(known.game, frozenset(["0123"]), after.alive)
    finally:
        known.game.verdict = verdict
    assert 0 < sum(asked) < 800, "of 10,000 codes, after a guess of four digits"
