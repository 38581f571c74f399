"""Builds ``sonde/envs/data/twenty_questions.json`` from the ``.kb`` files. Run: ``python data/build/twenty_questions/compile.py``.

The files are authored by hand (README.md here gives their format); WordNet 3.0 (the Debian package ``wordnet-base``)
adds the hypernyms of the topics that are words of it. A value is yes, no or unknown:

1. what the topic's own line says;
2. else what its nearest class says that says anything; `decide` says no. Where two of its classes disagree: unknown;
3. else the attribute's default: no for words that name a kind of thing and for classes, unknown for others.

A class is an attribute too: yes below it. Elsewhere it is no where the trees of classes and of WordNet agree that the
topic is not one: its root is a closed one (an animal is not a kind of plant), or no noun sense of its name has a
hypernym of the class's names. Splits: topics by the BLAKE2b digest of their names, so that a topic is on one side in
every preset.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from hashlib import blake2b
from pathlib import Path

from kb import Book, Topic, read_books
from resolve import NO, YES, Resolver
from wordnet import WordNet

HERE = Path(__file__).resolve().parent
TARGET = HERE.parents[2] / "src" / "sonde" / "envs" / "data" / "twenty_questions.json"
NUMBERS = ("size", "weight", "price", "born", "died", "start", "end")
LISTS = ("nation", "job", "continent", "country")

SIZES = {"test": 433, "val": 198, "sft": 341, "rl": 1000}
"""Words of the preset `delta_belief`, as published (ΔBelief-RL, appendix D; its repository's lists)."""
PAPRIKA = {"train": 1499, "test": 367}
LMRL = 158
"""Objects of the preset `lmrl`, in the 17 groups of `lmrl.txt`."""


def digest(name: str) -> bytes:
    return blake2b(name.casefold().encode(), digest_size=8).digest()


def delta_sets(topics: list[Topic]) -> dict[str, str]:
    """Topic -> its set in `delta_belief`: frequent nouns of one word."""
    words = sorted((t.name for t in topics if t.frequent), key=digest)
    if len(words) < sum(SIZES.values()):
        raise SystemExit(f"{len(words)} frequent nouns, {sum(SIZES.values())} needed")
    sets: dict[str, str] = {}
    start = 0
    for name, n in SIZES.items():
        sets |= dict.fromkeys(words[start : start + n], name)
        start += n
    return sets


def sides(topics: list[Topic], sets: dict[str, str]) -> dict[str, str]:
    """Topic -> "train", "val" or "test"; the same in every preset."""
    side = {name: which if which in ("test", "val") else "train" for name, which in sets.items()}
    for t in topics:
        side.setdefault(t.name, "test" if digest(t.name)[0] < 52 else "train")
    return side


def paprika_sets(topics: list[Topic], side: dict[str, str]) -> dict[str, str]:
    """Topic -> its split in `paprika`: every topic but the frequent nouns first, then those, by digest."""
    chosen: dict[str, str] = {}
    for split, n in PAPRIKA.items():
        pool = [t for t in topics if side[t.name] == split]
        pool.sort(key=lambda t: (t.frequent, digest("paprika " + t.name)))
        if len(pool) < n:
            raise SystemExit(f"{len(pool)} topics on the side {split}, {n} needed")
        chosen |= dict.fromkeys((t.name for t in pool[:n]), split)
    return chosen


def lmrl_groups(names: set[str]) -> dict[str, str]:
    """Topic -> its group in `lmrl`, from lines `group: topic, topic, ...`."""
    groups: dict[str, str] = {}
    for line in (HERE / "lmrl.txt").read_text("utf-8").splitlines():
        group, _, rest = line.partition(":")
        for name in filter(None, (part.strip() for part in rest.split(","))):
            if name not in names or name in groups:
                raise SystemExit(f"lmrl.txt: {name!r} is no topic, or comes twice")
            groups[name] = group.strip()
    if len(groups) != LMRL or len(set(groups.values())) != 17:
        raise SystemExit(f"lmrl.txt: {len(groups)} objects in {len(set(groups.values()))} groups")
    return groups


def mask(values: list[int], wanted: int) -> str:
    """The topics of this value, as a hexadecimal number; bit i is topic i."""
    number = int("".join("1" if v == wanted else "0" for v in reversed(values)), 2)
    return f"{number:x}"


def built(book: Book, words: WordNet) -> dict[str, object]:
    topics = list(book.topics.values())
    resolver = Resolver(book, words)
    attributes: dict[str, list[str]] = {}
    for name in resolver.attributes:
        values = [resolver.value(t, name) for t in topics]
        if any(v == YES for v in values):
            attributes[name] = [mask(values, YES), mask(values, NO)]
    sets = delta_sets(topics)
    side = sides(topics, sets)
    paprika, lmrl = paprika_sets(topics, side), lmrl_groups(set(book.topics))
    hypernyms = [words.above(t.name, resolver.root(t)) for t in topics]
    kinds = [k for k, n in Counter(k for row in hypernyms for k in row).items() if n > 1]
    number = {k: i for i, k in enumerate(sorted(kinds))}
    return {
        "topics": [t.name for t in topics],
        "aka": [list(t.aka) for t in topics],
        "category": [resolver.category(t) for t in topics],
        "side": "".join(side[t.name][0] + side[t.name][1] for t in topics),
        "delta_belief": [sets.get(t.name, "") for t in topics],
        "paprika": "".join({"train": "r", "test": "e", "": "-"}[paprika.get(t.name, "")] for t in topics),
        "lmrl": [lmrl.get(t.name, "") for t in topics],
        "numbers": {f: [t.numbers.get(f) for t in topics] for f in NUMBERS},
        "lists": {f: {str(i): list(t.lists[f]) for i, t in enumerate(topics) if t.lists.get(f)} for f in LISTS},
        "classes": {c.name: list(c.names) for c in book.classes.values() if c.names},
        "attributes": attributes,
        "kinds": sorted(kinds),
        "hypernyms": [[number[k] for k in row if k in number] for row in hypernyms],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wordnet", type=Path, default=Path("/usr/share/wordnet"))
    parser.add_argument("--target", type=Path, default=TARGET)
    args = parser.parse_args()
    book = read_books(sorted(HERE.glob("*.kb")))
    data = built(book, WordNet(args.wordnet))
    args.target.write_text(json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
    cells = sum(len(v) for v in data["attributes"].values()) // 2  # type: ignore[attr-defined]
    sys.stdout.write(f"{len(book.topics)} topics, {cells} attributes, {args.target.stat().st_size} bytes\n")


if __name__ == "__main__":
    main()
