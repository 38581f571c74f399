"""The one topic that a text names: by hand."""

from __future__ import annotations

import pytest

from sonde.envs._shared.english.speech import MANY, NOTHING, Bags, Declared, Measure


def words(*texts: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(text.split()) for text in texts)


BAGS = Bags(
    [
        Declared(words("filter", "foam disc"), words("grey clean")),
        Declared(words("hose", "suction hose end"), words("crack clean")),
        Declared(words("lamp"), words("red blink")),
    ],
    lambda word: 0.4 if word == "clean" else 1.0,
    ["machine"],
    Measure(),
)


def test_topics_by_hand() -> None:
    chosen = {
        said: BAGS.choose_topic(said.split()).target for said in ("filter", "foam disc", "foam", "hose crack", "clean")
    }
    assert chosen == {"filter": 0, "foam disc": 0, "foam": NOTHING, "hose crack": 1, "clean": NOTHING}
    assert BAGS.choose_topic(["machine"]).target == NOTHING, "what all is about names nothing"


def test_unread_words_veto() -> None:
    assert BAGS.choose_topic(["lamp", "machine"]).target == 2
    assert BAGS.choose_topic(["lamp", "price", "shop"]).target == NOTHING


def test_two_topics_are_many() -> None:
    pick = BAGS.choose_topic(["filter", "foam", "disc", "lamp", "blink"])
    assert pick.target == MANY and set(pick.both) == {0, 2}


def test_points_by_hand() -> None:
    # "clean" counts .4 and is shared: .4 * .8 * .8 / 1.6 each; "filter" is a name of one topic alone.
    assert BAGS.topic_points(["filter", "clean"]) == pytest.approx({0: 1.0 + 0.16, 1: 0.16})
