"""Builds ``data/topics.json`` from the ``.kb`` files here. Run this file with Python.

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
import zlib
from base64 import b64encode
from collections import Counter
from collections.abc import Collection
from hashlib import blake2b
from pathlib import Path

from kb import Book, Topic, read_books
from resolve import NO, YES, Resolver
from wordnet import WordNet

HERE = Path(__file__).resolve().parent
TARGET = HERE.parent / "data" / "topics.json"
NUMBERS = ("size", "weight", "price", "born", "died", "start", "end")
LISTS = ("nation", "job", "continent", "country")

SIZES = {"test": 433, "val": 198, "sft": 341, "rl": 1000}
"""Words of the preset `delta_belief`, as published (ΔBelief-RL, appendix D; its repository's lists)."""
PAPRIKA = {"train": 1499, "test": 367}
LMRL = 158
"""Objects of the preset `lmrl`, in the 17 groups of `lmrl.txt`."""


def digest(name: str) -> bytes:
    return blake2b(name.casefold().encode(), digest_size=8).digest()


def delta_sets(topics: list[Topic], sizes: dict[str, int]) -> dict[str, str]:
    """Topic -> its set in `delta_belief`: frequent nouns of one word."""
    words = sorted((t.name for t in topics if t.frequent), key=digest)
    if len(words) < sum(sizes.values()):
        raise SystemExit(f"{len(words)} frequent nouns, {sum(sizes.values())} needed")
    sets: dict[str, str] = {}
    start = 0
    for name, n in sizes.items():
        sets |= dict.fromkeys(words[start : start + n], name)
        start += n
    return sets


def sides(topics: list[Topic], sets: dict[str, str]) -> dict[str, str]:
    """Topic -> "train", "val" or "test"; the same in every preset."""
    side = {name: which if which in ("test", "val") else "train" for name, which in sets.items()}
    for t in topics:
        side.setdefault(t.name, "test" if digest(t.name)[0] < 52 else "train")
    return side


def paprika_sets(topics: list[Topic], side: dict[str, str], sizes: dict[str, int]) -> dict[str, str]:
    """Topic -> its split in `paprika`: every topic but the frequent nouns first, then those, by digest."""
    chosen: dict[str, str] = {}
    for split, n in sizes.items():
        pool = [t for t in topics if side[t.name] == split]
        pool.sort(key=lambda t: (t.frequent, digest("paprika " + t.name)))
        if len(pool) < n:
            raise SystemExit(f"{len(pool)} topics on the side {split}, {n} needed")
        chosen |= dict.fromkeys((t.name for t in pool[:n]), split)
    return chosen


def lmrl_groups(names: set[str], draft: bool) -> dict[str, str]:
    """Topic -> its group in `lmrl`, from lines `group: topic, topic, ...`."""
    groups: dict[str, str] = {}
    for line in (HERE / "lmrl.txt").read_text("utf-8").splitlines():
        group, _, rest = line.partition(":")
        for name in filter(None, (part.strip() for part in rest.split(","))):
            if draft and name not in names:
                sys.stderr.write(f"lmrl.txt: no topic {name!r}\n")
                continue
            if name not in names or name in groups:
                raise SystemExit(f"lmrl.txt: {name!r} is no topic, or comes twice")
            groups[name] = group.strip()
    if not draft and (len(groups), len(set(groups.values()))) != (LMRL, 17):
        raise SystemExit(f"lmrl.txt: {len(groups)} objects in {len(set(groups.values()))} groups")
    return groups


def told_kinds(topics: list[Topic], resolver: Resolver) -> tuple[dict[str, list[str]], dict[str, list[int]]]:
    """What each topic is a kind of by `kinds.txt`, and for each word there the topics that may be one or not."""
    number = {t.name: i for i, t in enumerate(topics)}
    kinds: dict[str, list[str]] = {t.name: [] for t in topics}
    may: dict[str, list[int]] = {}
    for word, items in kind_lines(number):
        own = {item.rstrip("?") for item in items}
        for item in items:
            name = item.rstrip("?")
            found = [t.name for t in topics if resolver.value(t, name[1:]) == YES] if name[0] == "#" else [name]
            for topic in (t for t in found if t != word and (t == name or t not in own)):
                if item.endswith("?"):
                    may.setdefault(word, []).append(number[topic])
                else:
                    kinds[topic].append(word)
    return kinds, {word: sorted(set(numbers)) for word, numbers in may.items()}


def all_kinds(
    topics: list[Topic], roots: list[str], words: WordNet, told: dict[str, list[str]], may: dict[str, list[int]]
) -> list[list[str]]:
    """What each topic is a kind of, by `kinds.txt` and by WordNet. What the former leaves open stays so. A word of
    WordNet that is the name of another topic and means this by the way only is left open too, and noted in `may`."""
    named, rows = {t.name.lower() for t in topics}, list[list[str]]()
    for i, (t, root) in enumerate(zip(topics, roots, strict=True)):
        above = words.above(t.name, root)
        loose = words.by_the_way(t.name, root) & named & set(above) - set(told[t.name])
        for word in sorted(loose):
            may.setdefault(word, []).append(i)
        rows.append(list(dict.fromkeys((*told[t.name], *(k for k in above if i not in may.get(k, ()))))))
    return rows


def kind_lines(topics: Collection[str]) -> list[tuple[str, list[str]]]:
    """The lines of `kinds.txt`: a word and its items. What is neither a topic nor an attribute (`#`) is an error."""
    rows: list[tuple[str, list[str]]] = []
    for line in (HERE / "kinds.txt").read_text("utf-8").splitlines():
        word, _, rest = line.partition(": ")
        items = [item.strip() for item in rest.split(",")]
        if line and not line.startswith("#"):
            wrong = [i for i in (word, *items) if i[:1] != "#" and i.rstrip("?") not in topics]
            if wrong:
                raise SystemExit(f"kinds.txt: {wrong[0]!r} is no topic")
            rows.append((word, items))
    return rows


def derive_values(topic: Topic, resolver: Resolver) -> None:
    """Adds what follows from the other facts: who is alive now, who is a man or a woman."""
    marks = topic.marks
    if "alive_now" not in marks:
        marks["alive_now"] = _alive_now(topic, resolver)
    gender = topic.lists.get("gender", ("",))[0]
    human = resolver.value(topic, "human")
    for name, letter in (("man", "m"), ("woman", "f")):
        if name not in marks:
            marks[name] = ("+" if letter == gender else "-") if gender else "-" if human == NO else "?"


def _alive_now(topic: Topic, resolver: Resolver) -> str:
    if "person" not in resolver.ancestors(topic) or "occupation" in resolver.ancestors(topic):
        return {YES: "+", NO: "-"}.get(resolver.value(topic, "alive"), "?")
    if "died" in topic.numbers:
        return "-"
    return "+" if "born" in topic.numbers and topic.marks.get("alive") != "?" else "?"


def mask(values: list[int], wanted: int) -> bytes:
    """The topics of this value: bit i of the number, the lowest byte first, is topic i."""
    number = int("".join("1" if v == wanted else "0" for v in reversed(values)), 2)
    return number.to_bytes((len(values) + 7) // 8, "little")


def pack_masks(masks: list[bytes]) -> str:
    """All masks in a row, compressed, as text."""
    return b64encode(zlib.compress(b"".join(masks), 9)).decode()


def build_knowledge(book: Book, words: WordNet, draft: bool) -> dict[str, object]:
    topics = list(book.topics.values())
    resolver = Resolver(book, words)
    for topic in topics:
        derive_values(topic, resolver)
    attributes: dict[str, tuple[bytes, bytes]] = {}
    for name in resolver.attributes:
        values = [resolver.value(t, name) for t in topics]
        if any(v == YES for v in values):
            attributes[name] = (mask(values, YES), mask(values, NO))
    few = 0.1 if draft else 1.0
    sets = delta_sets(topics, {name: int(few * n) for name, n in SIZES.items()})
    side = sides(topics, sets)
    paprika = paprika_sets(topics, side, {name: int(few * n) for name, n in PAPRIKA.items()})
    lmrl = lmrl_groups(set(book.topics), draft)
    kinds_of, may_be = told_kinds(topics, resolver)
    hypernyms = all_kinds(topics, [resolver.root(t) for t in topics], words, kinds_of, may_be)
    named = {t.name.lower() for t in topics}
    kinds = [k for k, n in Counter(k for row in hypernyms for k in row).items() if n > 1 or k in named]
    number = {k: i for i, k in enumerate(sorted(kinds))}
    roots = sorted({r for t in topics for r in resolver.branches(t)})
    under: dict[str, set[str]] = {k: set() for k in kinds}
    for topic, row in zip(topics, hypernyms, strict=True):
        for k in under.keys() & row:
            under[k] |= resolver.branches(topic)
    return {
        "topics": [t.name for t in topics],
        "aka": [list(t.aka) for t in topics],
        "category": [resolver.category(t) for t in topics],
        "difficulty": "".join("e" if t.frequent else "h" if t.hard else "m" for t in topics),
        "side": "".join({"train": "t", "val": "v", "test": "e"}[side[t.name]] for t in topics),
        "delta_belief": [sets.get(t.name, "") for t in topics],
        "paprika": "".join({"train": "r", "test": "e", "": "-"}[paprika.get(t.name, "")] for t in topics),
        "lmrl": [lmrl.get(t.name, "") for t in topics],
        "numbers": {f: [t.numbers.get(f) for t in topics] for f in NUMBERS},
        "lists": {f: {str(i): list(t.lists[f]) for i, t in enumerate(topics) if t.lists.get(f)} for f in LISTS},
        "classes": {c.name: list(c.names) for c in book.classes.values() if c.names},
        "meanings": {name: book.meanings[name] for name in attributes if name in book.meanings},
        "attributes": list(attributes),
        "masks": pack_masks([m for pair in attributes.values() for m in pair]),
        "roots": {r: b64encode(mask([r in resolver.branches(t) for t in topics], True)).decode() for r in roots},
        "kinds": sorted(kinds),
        "kind_roots": ["".join("?" if r in under[k] else words.never(k, [r]) for r in roots) for k in sorted(kinds)],
        "hypernyms": [[number[k] for k in row if k in number] for row in hypernyms],
        "may_be": may_be,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wordnet", type=Path, default=Path("/usr/share/wordnet"))
    parser.add_argument("--target", type=Path, default=TARGET)
    parser.add_argument("--draft", action="store_true", help="leave out what is unfinished, make smaller sets")
    args = parser.parse_args()
    book = read_books(sorted(HERE.glob("*.kb")), args.draft)
    data = build_knowledge(book, WordNet(args.wordnet), args.draft)
    args.target.write_text(json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
    sys.stdout.write(f"{len(book.topics)} topics, {args.target.stat().st_size} bytes\n")


if __name__ == "__main__":
    main()
