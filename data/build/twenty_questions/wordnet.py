"""What WordNet 3.0 knows of a topic: the names of everything it is a kind of."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

FILES = {
    "animal": (5,), "plant": (20,), "food": (13, 20), "drink": (13,), "object": (6,), "person": (18,),
    "place": (15, 6, 17), "event": (11, 4), "substance": (27, 17), "natural_feature": (17, 19, 11, 27),
    "body_part": (8, 26),
        "concept": (9, 7, 4, 10, 12, 14, 23, 24, 28), "occupation": (18,), "organisation": (14,), "work": (6, 10),
}  # fmt: skip
"""Root class -> lexicographer files in which the sense of a topic is looked for, in the order of the senses."""


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
        senses = self._senses.get(name.lower(), ())
        fitting = [s for s in senses if self._synsets[s][0] in FILES.get(root, ())]
        if not fitting:
            return []
        words = [w for s in self._closure(fitting[0]) for w in self._synsets[s][1]]
        return [w for w in dict.fromkeys(words) if w != name.lower()]

    def anything(self, name: str) -> set[str] | None:
        """The words of everything that any noun sense of the name is a kind of; None if WordNet lacks the name."""
        senses = self._senses.get(name.lower())
        if senses is None:
            return None
        return {w for sense in senses for s in self._closure(sense) for w in self._synsets[s][1]}
