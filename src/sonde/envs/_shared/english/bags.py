"""Bags of words: the one topic that a text names.

Own design. A word counts for the topics whose declared texts contain it, the less the more topics share it. A topic is
chosen if it explains most of the text, clearly better than every other topic, and if no other topic explains the rest.
`Bags` is built once from the declared texts; choosing takes time linear in the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

NOTHING, MANY = -1, -2


class Declared(NamedTuple):
    """The declared texts of a topic, each as stems: its names, other texts that point to it, and statements about
    it."""

    names: Sequence[tuple[str, ...]]
    more: Sequence[tuple[str, ...]]
    said: Sequence[tuple[str, ...]] = ()


class Measure(NamedTuple):
    """Thresholds for choosing a topic: `topic_points`, and the `least` of them for a topic that explains everything;
    `share` of the words that it must explain; `rival`, the share of its points that another topic may have; `aside`,
    the points that another topic may have from the words that it does not explain. `phrase`: points per word beyond the
    first for a name that occurs as a whole."""

    points: float = 1.2
    share: float = 0.7
    rival: float = 0.62
    aside: float = 0.6
    phrase: float = 0.35
    least: float = 0.55


class Pick(NamedTuple):
    """The topic of a text, `NOTHING`, or `MANY` with the topics that it names; and its points."""

    target: int
    both: tuple[int, ...] = ()
    points: float = 0.0


class Bags:
    """Topics as bags of words. `weight` is the weight of a word, `background` the words common to the whole
    conversation."""

    def __init__(
        self,
        topics: Sequence[Declared],
        weight: Callable[[str], float],
        background: Iterable[str],
        measure: Measure,
    ) -> None:
        self.measure, self.background = measure, frozenset(background)
        self.weight = weight
        self.strength = _word_strengths(topics)
        self.phrases = tuple(tuple(frozenset(name) for name in t.names if len(set(name)) > 1) for t in topics)
        self.alone = tuple(frozenset(name[0] for name in t.names if len(name) == 1) for t in topics)

    def word_worth(self, word: str) -> float:
        """The weight of a word in this conversation."""
        own = self.weight(word)
        return min(own, 0.4) if word in self.background else own

    def topic_points(self, said: Iterable[str]) -> dict[int, float]:
        """The points of each topic; a word of several topics is divided among them."""
        found: dict[int, float] = {}
        for word in said:
            row: Mapping[int, float] = self.strength.get(word, {})
            total = sum(row.values())
            for i, s in row.items():
                worth = 1.0 if word in self.alone[i] else self.word_worth(word)
                found[i] = found.get(i, 0.0) + worth * s * s / total
        return found

    def choose_topic(self, text: Iterable[str]) -> Pick:
        """The topic of these stems."""
        said = list(dict.fromkeys(text))
        points, have = self.topic_points(said), frozenset(said)
        if not points:
            return Pick(NOTHING)
        for i in points:
            points[i] += self.measure.phrase * max((len(p) - 1 for p in self.phrases[i] if p <= have), default=0)
        first = max(points, key=lambda i: points[i])
        rest = [word for word in said if first not in self.strength.get(word, {})]
        aside = self.topic_points(rest)
        other = max(aside, key=lambda i: aside[i], default=NOTHING)
        m = self.measure
        if points[first] >= m.points / 2 and other >= 0 and aside[other] > max(m.aside, 0.4 * points[first]):
            return Pick(MANY, (first, other))
        second = max((p for i, p in points.items() if i != first), default=0.0)
        known, odd = self._weigh_words(said, first, rest)
        # The less is left unexplained, the fewer points are enough.
        share = known / (known + odd) if known else 0.0
        enough = m.points - (m.points - m.least) * max(0.0, share - m.share) / (1 - m.share)
        fits = (
            self._has_name(said, first, rest)
            and share >= m.share
            and points[first] >= enough
            and second <= m.rival * points[first]
        )
        return Pick(first, (), points[first]) if fits else Pick(NOTHING)

    def _has_name(self, said: Sequence[str], first: int, rest: Sequence[str]) -> bool:
        """Whether the words are enough for a name: a whole one, if it has three words or one of weight, or two such
        names."""
        own = {word for word in said if word not in rest and (word not in self.background or word in self.alone[first])}
        heavy = sum(self.weight(word) >= 1.0 for word in own)
        whole = any(p.issubset(said) and (heavy or len(p) > 2) for p in self.phrases[first])
        return heavy > 1 or whole or not own.isdisjoint(self.alone[first])

    def _weigh_words(self, said: Sequence[str], first: int, rest: Sequence[str]) -> tuple[float, float]:
        """The weight of the words that a topic explains, and of those that neither it nor the background explains."""
        known = sum(self.word_worth(word) for word in said if word not in rest)
        return known, sum(self.weight(word) for word in rest if word not in self.background)


def _word_strengths(topics: Sequence[Declared]) -> Mapping[str, Mapping[int, float]]:
    found: dict[str, dict[int, float]] = {}
    for i, topic in enumerate(topics):
        for points, texts in ((1.0, topic.names), (0.8, topic.more), (0.4, topic.said)):
            for word in {word for text in texts for word in text}:
                row = found.setdefault(word, {})
                row[i] = max(row.get(i, 0.0), points)
    return found
