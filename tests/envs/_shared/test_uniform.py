"""Uniform posteriors over numbered hypotheses, their lazy names, and the cache of recent values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sonde.core import Turn
from sonde.envs._shared.uniform import LazyNames, RecentValues, UniformFilter

WORDS = ("ash", "elm", "fir", "oak")


class Trees(UniformFilter):
    def __init__(self, *alive: int) -> None:
        self.alive = np.array(alive, np.uint64)

    def name_row(self, row: int) -> str:
        return WORDS[row]

    def find_row(self, hypothesis: Any) -> int:
        return WORDS.index(hypothesis) if hypothesis in WORDS else -1

    def observe(self, turn: Turn) -> Trees:
        return self

    def expected_gain(self, action: str) -> float:
        return 0.0

    def best_question(self) -> tuple[str, float]:
        return WORDS[0], 0.0


def test_remaining_hypotheses_are_equally_likely() -> None:
    known = Trees(0, 3)
    assert [known.prob(word) for word in (*WORDS, "yew")] == [0.5, 0.0, 0.0, 0.5, 0.0]
    assert known.entropy == known.belief().entropy == 1.0
    assert list(known.belief().hypotheses) == ["ash", "oak"] and list(known.belief().probs) == [0.5, 0.5]
    assert [known.belief().prob(word) for word in ("oak", "elm", "yew")] == [0.5, 0.0, 0.0]


def test_names_are_a_sequence() -> None:
    names = LazyNames(np.array([1, 2, 3]), WORDS.__getitem__, Trees(0).find_row)
    assert (names[0], names[-1], names[1:], len(names)) == ("elm", "oak", ["fir", "oak"], 3)
    assert names.index("oak") == 2 and names.index("oak", 1) == 2 and "fir" in names and "ash" not in names
    for word, start, stop in (("ash", 0, None), ("yew", 0, None), ("elm", 1, None), ("oak", 0, 2)):
        with pytest.raises(ValueError, match=word):
            names.index(word, start, stop)
    assert repr(names) == "('elm', 'fir', 'oak')"


def test_the_least_recently_used_values_are_evicted_by_size() -> None:
    built: list[str] = []

    def build(text: str) -> str:
        built.append(text)
        return text

    held = RecentValues[str](5, len)
    for text in ("aa", "bb", "aa", "cc", "aa", "bb"):
        assert held.find(text, lambda text=text: build(text)) == text
    assert built == ["aa", "bb", "cc", "bb"], "bb was the least recently used when cc came, and cc when bb came again"
    assert held.find("longer", lambda: "longer") == "longer", "a value above the limit is held alone"
