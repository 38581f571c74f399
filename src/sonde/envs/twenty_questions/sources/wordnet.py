"""What WordNet 3.0 knows of a topic: the names of everything it is a kind of."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

FILES = {
    "animal": (5,), "plant": (20,), "food": (13, 20), "drink": (13,), "object": (6,), "person": (18,),
    "place": (15, 6, 17), "event": (11, 4), "substance": (27, 17), "natural_feature": (17, 19, 11, 27),
    "body_part": (8, 26),
        "concept": (9, 7, 4, 10, 12, 14, 23, 24, 28), "occupation": (18,), "organisation": (14,), "work": (6, 10),
}  # fmt: skip
"""Root class -> lexicographer files in which the sense of a topic is looked for, in the order of the senses."""


_ANYTHING = {3, 12, 15, 21, 22, 24, 25}
"""Files of the top words, and those whose words may be said of topics of any root: relations, shapes, quantities."""
_ALSO = {
    "animal": {13, 6, 18}, "plant": {13, 27, 6}, "food": {5, 27}, "drink": {27, 20}, "object": {27, 13, 14, 10, 9},
    "person": {5, 14, 9}, "place": {14, 19, 9}, "event": {14, 9, 26, 28, 10, 22, 19}, "substance": {13, 6, 20, 19},
    "natural_feature": {9, 6, 5}, "body_part": {5, 6, 13, 19}, "concept": {18, 26, 19, 11, 5, 27, 6, 20},
    "occupation": {4, 14}, "organisation": {6, 4, 15, 10}, "work": {9, 4, 18},
}  # fmt: skip
"""Root class -> further files whose words may be true of a topic there in another of its senses."""


class WordNet:
    """Nouns, from the files ``data.noun`` and ``index.noun``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def _synsets(self) -> dict[str, tuple[int, tuple[str, ...], tuple[str, ...]]]:
        """Offset -> lexicographer file, words, hypernyms."""
        found: dict[str, tuple[int, tuple[str, ...], tuple[str, ...]]] = {}
        for line in (self._folder / "data.noun").read_text("latin-1").splitlines():
            if line.startswith(" "):
                continue
            fields = line.partition(" | ")[0].split()
            n = int(fields[3], 16)
            words = tuple(fields[4 + 2 * i].replace("_", " ").lower() for i in range(n))
            at = 4 + 2 * n
            above = tuple(
                fields[at + 2 + 4 * i] for i in range(int(fields[at])) if fields[at + 1 + 4 * i] in ("@", "@i")
            )
            found[fields[0]] = (int(fields[1]), words, above)
        return found

    @cached_property
    def _senses(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for line in (self._folder / "index.noun").read_text("latin-1").splitlines():
            if not line.startswith(" "):
                fields = line.split()
                found[fields[0].replace("_", " ")] = tuple(fields[-int(fields[2]) :])
        return found

    def _closure(self, synset: str) -> list[str]:
        """The synset and all above it, nearest first."""
        order = [synset]
        for s in order:
            order += [a for a in self._synsets[s][2] if a not in order]
        return order

    def above(self, name: str, root: str) -> list[str]:
        """The words of everything the topic is a kind of, in the first sense that fits its root class; else none."""
        words = [w for s in self._meant(name, root) for w in self._synsets[s][1]]
        return [w for w in dict.fromkeys(words) if w != name.lower()]

    def by_the_way(self, name: str, root: str) -> set[str]:
        """The words of those that mean something else first, and what they mean here by the way only: the "crown" of a
        mountain, a stadium as a "bowl"."""
        meant = self._meant(name, root)
        first = {w for s in meant for n, w in enumerate(self._synsets[s][1]) if n == 0 or self._senses[w][0] == s}
        return {w for s in meant for w in self._synsets[s][1]} - first

    def _meant(self, name: str, root: str) -> list[str]:
        """The first sense of a topic that fits its root class, and all above it."""
        fitting = [s for s in self._senses.get(name.lower(), ()) if self._synsets[s][0] in FILES.get(root, ())]
        return self._closure(fitting[0]) if fitting else []

    def anything(self, name: str) -> set[str] | None:
        """The words of everything that any noun sense of the name is a kind of; None if WordNet lacks the name."""
        senses = self._senses.get(name.lower())
        if senses is None:
            return None
        return {w for sense in senses for s in self._closure(sense) for w in self._synsets[s][1]}

    def never(self, word: str, roots: Sequence[str]) -> str:
        """A mark per root class: "-" where no sense of the word can be true of its topics, "?" elsewhere."""
        files = {self._synsets[s][0] for s in self._senses.get(word, ())}
        return "".join("?" if not files or files & (_ANYTHING | _room(root)) else "-" for root in roots)


def _room(root: str) -> set[int]:
    """Files of which a word may be true of topics below a root; all for roots of which WordNet does not know."""
    return set(FILES[root]) | _ALSO[root] if root in FILES else set(range(30))
