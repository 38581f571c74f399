"""What the rule user of twenty questions may say: nothing is inferred that does not follow from what is known."""

from __future__ import annotations

from functools import reduce
from operator import or_

import pytest

from sonde.envs._rules.twenty_questions import facts
from sonde.envs._rules.topics.answering import article, verdict_on
from sonde.envs._rules.twenty_questions.phrases import expression, lexicon
from sonde.envs._rules.topics.room import read
from sonde.envs._rules.topics.knowledge import knowledge
from sonde.envs.twenty_questions import TwentyQuestions


def reply(topic: str, question: str) -> str:
    return verdict_on(knowledge().index[topic], question)


@pytest.mark.parametrize(
    ("topic", "question", "answer"),
    [
        ("World War II", "Did it happen in the United States?", "unknown"),
        ("World War II", "Did it happen in Europe?", "yes"),
        ("Sinking of the Titanic", "Did it happen in Europe?", "unknown"),
        ("French Revolution", "Did it happen in France?", "yes"),
        ("Vietnam War", "Did it take place in France?", "no"),
        ("Marie Curie", "Is it a mammal?", "yes"),
        ("Marie Curie", "Can it talk?", "yes"),
        ("hammer", "Can it talk?", "no"),
        ("hammer", "Can it fly?", "no"),
        ("dog", "Was it created in Japan?", "unknown"),
        ("rose", "Did it write novels?", "no"),
        ("dog", "Does it grow?", "yes"),
        ("dog", "Can you buy it at a supermarket?", "unknown"),
        ("teacher", "Is it a famous person?", "unknown"),
        ("Paris", "Is it a famous person?", "no"),
        ("Cleopatra", "Is she a king?", "no"),
        ("Cleopatra", "Is she a queen?", "yes"),
        ("dolphin", "Is it a mammal that lives in water?", "yes"),
        ("World War II", "Is it an event where many people died?", "yes"),
        ("Cleopatra", "Did she live her entire life before 1700?", "yes"),
        ("Mount Everest", "Is it in northern Europe?", "no"),
        ("Paris", "Is it in northern Europe?", "unknown"),
        ("owl", "Is it from Europe?", "unknown"),
        ("notebook", "Do students bring it to school?", "yes"),
        ("love", "Is it something you own?", "unknown"),
    ],
)
def test_by_hand(topic: str, question: str, answer: str) -> None:
    assert reply(topic, question) == answer


def test_or_else_is_false_only_where_the_others_say_nothing() -> None:
    """`a / b`: not false where b is at home and not known."""
    knows, both = knowledge(), expression("flies / can_fly")
    first, second = knows.known("flies"), knows.known("can_fly")
    assert both.yes == first.yes | second.yes
    homes = [branch for branch in knows.roots.values() if branch & second.yes]
    assert homes
    for branch in homes:
        assert not both.no & branch & ~second.no
    assert not both.no & ~first.no


def test_a_phrase_of_several_lines_is_false_only_where_all_are() -> None:
    """Or where a fact denies it of topics by name."""
    shared = [k for k, whats in lexicon().items() if len(whats) > 1 and not k.endswith(":")]
    assert shared
    from sonde.envs._rules.twenty_questions.phrases import asked

    for k in shared:
        found, first = asked(k), expression(lexicon()[k][0])
        assert found is not None
        denied = [facts.known(head).no for head in facts.about(k) if head.endswith("] -")]
        assert not found.no & ~first.no & ~reduce(or_, denied, 0)
        assert not found.yes & found.no


def test_a_kind_is_denied_only_where_no_sense_of_the_word_has_its_place() -> None:
    knows, i = knowledge(), knowledge().index
    never = knows.never("hunter")
    assert not never >> i["dog"] & 1
    assert not never >> i["Marie Curie"] & 1
    assert knows.never("reptile") >> i["hammer"] & 1
    assert not knows.never("no word of WordNet")
    for kind in list(knows.kinds)[::97]:
        assert not knows.never(kind) & knows.kinds[kind] & ~knows.lookup.get(kind, 0)


def test_other_names_are_legal_and_win() -> None:
    env = TwentyQuestions(preset="paprika")
    name, topic = next((n, i) for n, i in knowledge().aliases.items() if n[0].islower() and article(n))
    query = read(env.say(name)).query
    assert env.say(name).startswith("Is it a")
    assert query is not None
    assert query.goal >> topic & 1
