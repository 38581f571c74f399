"""What is read off a pattern is true of every text in which it is found."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.rules.lazy import Lazy, fitting, head, opened

PATTERNS = (
    "is C (?:on|by) (?:sea|ocean|the coast)$",
    "(?:is|are) (.+?) (?:big|small)(?: city)?",
    "is C big|was C (?:very )?small",
    "does (?:C|N) have (?P<x>[a-z ]+)",
    "\\b(?:teh|hte)\\b",
    "(?:, )?(?:yeah|yep)$",
    "is (?=C )(?:(?:a|b) x|c+ y)",
    "(?!is )(?:do|does) it",
    "x* y{2} (?:p|q)?",
)
WORDS = ("is", "are", "was", "does", "C", "N", "on", "by", "sea", "ocean", "the", "coast", "big", "small", "teh")
TEXTS = st.lists(st.sampled_from((*WORDS, "have", "very", "a", "b", "x", "c", "y", "yy", "it", ",", "yep")), max_size=7)


@given(TEXTS)
def test_a_text_in_which_a_pattern_is_found_may_fit(words: list[str]) -> None:
    text = " ".join(words)
    for pattern in PATTERNS:
        if re.search(pattern, text):
            assert Lazy(pattern).may_fit(text), (pattern, text)
        if re.match(pattern, text):
            assert fitting((head(pattern),), opened(text)) == [0], (pattern, text)


@pytest.mark.parametrize(("pattern", "text"), [(PATTERNS[0], "is C on river"), (PATTERNS[2], "is C large")])
def test_a_text_without_the_words_is_not_tried(pattern: str, text: str) -> None:
    assert not Lazy(pattern).may_fit(text)
