"""Comparisons in twenty questions: scales, records, numbers of parts, and lives against years."""

from __future__ import annotations

import pytest

from sonde.envs._rules.twenty_questions import counts, lifetimes, records, scales, spans
from sonde.envs._rules.topics.answering import verdict_on
from sonde.envs._rules.topics.knowledge import knowledge

CASES = (
    ("Denmark", "Is it further north than Italy?", "yes"),
    ("Rome", "Is it further north than London?", "no"),
    ("Italy", "Is it further north than Rome?", "unknown"),
    ("Thames", "Is it longer than the Nile?", "no"),
    ("K2", "Is it higher than Mount Everest?", "no"),
    ("Eiffel Tower", "Is it more than 500 meters tall?", "no"),
    ("New Zealand", "Is its population smaller than Australia's?", "yes"),
    ("Venus", "Is it nearer to the Sun than the Earth is?", "yes"),
    ("horse", "Is a cat smaller than it?", "yes"),
    ("gold", "Is silver worth more than it, gram for gram?", "no"),
    ("Canada", "Is it the largest country in the world?", "no"),
    ("Alaska", "Is it the largest state?", "yes"),
    ("white", "Is it the darkest of all colours?", "no"),
    ("wheelbarrow", "Does it have fewer wheels than a car?", "yes"),
    ("knee", "Does a person have two of them?", "yes"),
    ("planet Mercury", "Does it have any moons?", "no"),
    ("Bob Marley", "Did he die before he turned 50?", "yes"),
    ("Anne Frank", "Did she live to be over eighty?", "no"),
    ("Isaac Newton", "Did he live at the same time as Albert Einstein?", "no"),
    ("Julius Caesar", "Was this person born before Napoleon?", "yes"),
    ("Barack Obama", "Was he president before George W. Bush?", "no"),
    ("Donald Trump", "Was he president in 2022?", "no"),
    ("Wall Street Crash of 1929", "Did this happen between the two world wars?", "yes"),
    ("car", "Was it around in 1800?", "no"),
    ("Claude Monet", "Was he a 19th-century painter?", "yes"),
    ("cassette", "Was it more widely used in the 1980s than it is now?", "yes"),
    ("World War I", "Did it last more than ten years?", "no"),
    ("Kenya", "Is it an African country?", "yes"),
    ("Brazil", "Is it an Asian country?", "no"),
    ("Meiji Restoration", "Is it part of Japanese history?", "yes"),
)


@pytest.mark.parametrize(("topic", "question", "answer"), CASES)
def test_what_is_answered(topic: str, question: str, answer: str) -> None:
    assert verdict_on(knowledge().index[topic], question) == answer


def test_ranges_that_may_meet_are_not_told_apart() -> None:
    speed = scales.scale("speed")
    car, train = (speed.rows[knowledge().index[name]] for name in ("car", "train"))
    found = scales.compare(speed, train, True)
    assert car[0] < train[1]
    assert not (found.yes | found.no) >> knowledge().index["car"] & 1


def test_what_is_more_is_not_less() -> None:
    for words in ("longer than the rhine", "higher than mont blanc", "closer to the sun than mars"):
        found = scales.compared(words.split())
        assert found is not None
        assert not found.yes & found.no


def test_a_record_has_one_holder() -> None:
    found = records.superlative(["the", "second", "planet", "from", "the", "sun"])
    assert found is not None
    assert found.yes == 1 << knowledge().index["Venus"]
    assert records.superlative(["the", "second", "planet", "from", "the", "left"]) is None


def test_counts_without_a_noun_of_the_table_are_not_understood() -> None:
    assert counts.counted(["have", "more", "than", "two", "chapters"]) is None


def test_ages_at_death_are_one_of_two() -> None:
    found = lifetimes.asked_of(["die", "before", "the", "age", "of", "36"])
    assert found is not None
    marley = knowledge().index["Bob Marley"]  # born 1945, died 1981: 35 or 36
    assert not (found.yes | found.no) >> marley & 1


@pytest.mark.parametrize(
    ("words", "years"),
    [("the 1980s", (1980, 1989)), ("last century", (1901, 2000)), ("reign of queen victoria", (1837, 1901))],
)
def test_spans(words: str, years: tuple[int, int]) -> None:
    assert spans.span(words.split()) == years
