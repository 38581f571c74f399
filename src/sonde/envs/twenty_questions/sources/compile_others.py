"""Builds ``data/others.txt`` from ``others.txt``: things that are no topics. Run it.

A guess of one of them is wrong of every topic, save those of which that is not certain: what WordNet has above it or
beside it as another name, what shares its last word, and, since names that WordNet lacks may mean the same, topics of
the same sort unless both are words of it. Yes are the topics that are a kind of it ("is it a finch?" of a canary).

A line is `name|flag|base|yes|unsure`: `a` for what is a guess only with an article, the number of a line `= MASK`
(from 0 on; hexadecimal, bit i for topic i), and numbers of topics.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from compile import all_kinds, told_kinds
from kb import read_books
from resolve import Resolver
from wordnet import FILES, WordNet

HERE = Path(__file__).resolve().parent
DATA = HERE.parent / "data"
FAMILIES = (
    ("animal", "plant", "food", "drink", "substance", "body_part"),
    ("object", "substance", "place"),
    ("pursuit", "concept", "event"),
)
"""Roots of which one topic may be another name of a thing of the others."""
COUNTED = ("animal", "object")
STRICT = ("plant", "food", "drink", "object")
"""Where a name that WordNet lacks may mean the same."""
LOOSE = ("food", "drink", "object", "pursuit")
"""Where things beside each other in WordNet may be called by each other's names ("jug", "pitcher")."""
APART = ("fictional_character", "work", "organisation")
"""Whose topics may be such a thing without being of its root: a meerkat in a film, a puma as a brand."""
SENSES = {**FILES, "pursuit": (4,)}
PLAIN = frozenset(
    (
        "the", "of", "and", "a", "in", "at", "on", "war", "battle",
        "treaty", "conference", "siege", "bombing", "massacre", "revolution", "attack", "disaster", "king",
        "dr", "mr", "mrs", "miss", "princess", "prince", "captain", "rebellion", "accident",
        "agreement", "congress", "wars", "uprising", "affair", "trial", "scandal",
    )
)  # fmt: skip
"""Words that make no two proper names the same."""


class Thing(NamedTuple):
    """A name and its root, whether it is a proper name, and the topics that may be meant too."""

    name: str
    root: str
    named: bool
    near: frozenset[str]


def others() -> Iterator[Thing]:
    """What the lines name; what comes twice counts once."""
    seen = set[str]()
    for line in (HERE / "others.txt").read_text("utf-8").splitlines():
        head, _, rest = line.partition(": ")
        root, _, wide = head.partition(" ~ ")
        for item in rest.split(", ") if rest and not line.startswith("#") else ():
            name, _, near = item.strip().partition(" ~ ")
            if name.lower() not in seen:
                seen.add(name.lower())
                topics = frozenset((*wide.split("; "), *near.split("; "))) - {""}
                yield Thing(name, root.removeprefix("named "), root.startswith("named "), topics)


class Relations:
    """What WordNet and the names say of a thing and the topics."""

    def __init__(self, folder: Path) -> None:
        self.words = WordNet(folder)
        book = read_books(sorted(HERE.glob("*.kb")), False)
        self.topics = list(book.topics.values())
        resolver = Resolver(book, self.words)
        self.branches = [resolver.branches(t) for t in self.topics]
        told, may = told_kinds(self.topics, resolver)
        roots = [resolver.root(t) for t in self.topics]
        self.above = [set(row) for row in all_kinds(self.topics, roots, self.words, told, may)]
        self.general = {k for row in self.above for k in row}
        self.senses = [{s for n in (t.name, *t.aka) for s in self.senses_of(n)} for t in self.topics]
        self.closures = [{c for s in own for c in self.closure(s)} for own in self.senses]
        self.listed = [any(self.files(s, r) for s in own) for own, r in zip(self.senses, roots, strict=True)]
        self.parts = [{w for n in (t.name, *t.aka) for w in _tokens(n)} for t in self.topics]
        self.heads = [{_tokens(n)[-1] for n in (t.name, *t.aka) if _tokens(n)} for t in self.topics]
        self.unnamed = self.adjectives(folder)

    def adjectives(self, folder: Path) -> set[str]:
        """Words that are adjectives or verbs as well."""
        rows = [(folder / name).read_text("latin-1").splitlines() for name in ("index.adj", "index.verb")]
        return {line.split()[0].replace("_", " ") for row in rows for line in row if not line.startswith(" ")}

    def senses_of(self, name: str) -> tuple[str, ...]:
        text = name.lower()
        return self.words._senses.get(text) or self.words._senses.get(text.removesuffix("s"), ())

    def closure(self, sense: str) -> list[str]:
        return self.words._closure(sense)

    def files(self, sense: str, root: str) -> bool:
        return self.words._synsets[sense][0] in SENSES.get(root, ())

    def alike(self, root: str, own: set[str], i: int) -> bool:
        """Whether a thing and a topic of its root stand below the same word, so that one may be called the other."""
        return root in LOOSE and root in self.branches[i] and bool(self.parents(own) & self.parents(self.senses[i]))

    def parents(self, senses: set[str]) -> set[str]:
        return {p for s in senses for p in self.words._synsets[s][2]}

    def base(self, root: str, listed: bool, named: bool) -> int:
        """Topics of which a guess of such a thing is not known to be wrong, whatever its name."""
        family = {r for f in FAMILIES if root in f for r in f} or {root}
        found = 0
        for i, (topic, branches) in enumerate(zip(self.topics, self.branches, strict=True)):
            apart = not named and bool(branches & set(APART))
            same = root in STRICT and bool(branches & family) and not (listed and self.listed[i])
            general = root in LOOSE and bool(branches & family) and topic.name.lower() in self.general
            found |= (apart or same or general) << i
        return found

    def row(self, thing: Thing) -> tuple[list[int], list[int]]:
        """The topics that are a kind of a thing, and those of which it is not certain what they are to it."""
        name, root, named, near = thing
        own = set[str]() if named else set(self.senses_of(name))
        over = {c for s in own for c in self.closure(s)}
        tokens, yes, unsure = _tokens(name), list[int](), list[int]()
        for i, topic in enumerate(self.topics):
            if not named and name.lower() in self.above[i]:
                yes.append(i)
            elif (
                topic.name in near
                or self.senses[i] & over
                or own & self.closures[i]
                or self.akin(i, tokens, named)
                or self.homely(over, i)
                or self.alike(root, own, i)
            ):
                unsure.append(i)
        return yes, unsure

    def homely(self, over: set[str], i: int) -> bool:
        """Whether both are bred: a dog may be of one breed and used as another."""
        if "animal" not in self.branches[i]:
            return False
        shared = over & self.closures[i]
        return any(w in ("dog", "domestic cat", "horse", "cattle") for s in shared for w in self.words._synsets[s][1])

    def akin(self, i: int, tokens: list[str], named: bool) -> bool:
        """Whether a name and that of a topic share what may make them the same."""
        if named:
            return bool((set(tokens) - PLAIN) & self.parts[i])
        return tokens[-1] in self.parts[i] or bool(self.heads[i] & set(tokens))


def _tokens(name: str) -> list[str]:
    text = "".join(c if c.isalnum() else " " for c in name.lower().replace("'s", ""))
    return [w.removesuffix("s") if len(w) > 3 else w for w in text.split()]


def lines(relations: Relations, skip: set[str]) -> list[str]:
    """The lines of the file; what is a topic's name, or a word that questions know otherwise, is left out."""
    bases: dict[int, int] = {}
    rows = list[str]()
    for thing in others():
        name, root, named, _ = thing
        listed = any(relations.files(s, root) for s in relations.senses_of(name))
        mask = relations.base(root, listed, named)
        at = bases.setdefault(mask, len(bases))
        yes, unsure = relations.row(thing)
        unsure = [i for i in unsure if not mask >> i & 1]
        flag = "a" if not named and (root in COUNTED or name.lower() in relations.unnamed) else ""
        if name.lower() not in skip:
            rows.append(f"{name}|{flag}|{at}|{_numbers(yes)}|{_numbers(unsure)}")
    return [*(f"= {mask:x}" for mask in bases), *rows]


def _numbers(numbers: list[int]) -> str:
    return " ".join(map(str, numbers))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wordnet", type=Path, default=Path("/usr/share/wordnet"))
    relations = Relations(parser.parse_args().wordnet)
    names = {n.lower() for t in relations.topics for n in (t.name, *t.aka)}
    text = "\n".join(lines(relations, names)) + "\n"
    (DATA / "others.txt").write_text(text, encoding="utf-8")
    sys.stdout.write(f"{text.count(chr(10))} lines, {len(text)} bytes\n")


if __name__ == "__main__":
    main()
