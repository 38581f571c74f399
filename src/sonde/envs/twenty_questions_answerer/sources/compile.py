"""Build ``data/nouns.json``, nouns with WordNet hypernyms.

Run: ``python src/sonde/envs/twenty_questions_answerer/sources/compile.py``.

Source: WordNet 3.0 (the Debian package ``wordnet-base``, version 1:3.0-37) and SCOWL 2020.12.07 (``scowl``); notices in
NOTICE. Criteria of Multi-Turn Puzzles, appendix A.3: nouns of SCOWL; at least 7 hypernyms; all have *physical entity*,
none has *abstraction*; no two have the same hypernyms; none is a hypernym of another.

Rules
- The candidates are chosen by hand (``candidates.txt``), section by section: a section names a lexicographer file of
  WordNet, and the sense of a word is its first one in that file, so that *tiger* is the cat and not the fierce person.
  Chosen were everyday, concrete words; left out were those whose sense is not the everyday one, or that may offend.
- A candidate must be a word of SCOWL up to size 60. Hypernyms are all ancestors by the pointer ``@``, each under the
  first name of its synset; two ancestors of one name are one hypernym. They are listed nearest first.
- Candidates that themselves miss a criterion are refused with an error: the list must be corrected by hand.
- Among candidates with the same hypernyms the most common stays (SCOWL size, then WordNet's count of tagged uses, then
  the alphabet). A word that is a hypernym of another, or has the name of one, is dropped in its favour.
- The split: words with the smallest BLAKE2b digests are the test words, half of all.

Departure: which words passed, and in which sense, is not published; the pool and its curation are ours.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "_shared" / "words" / "sources"))
import words as wordle

HERE = Path(__file__).resolve().parent
TARGET = HERE.parent / "data" / "nouns.json"
WORDNET = Path("/usr/share/wordnet")

LARGEST = 60
MIN_HYPERNYMS = 7
FILES = {"animal": 5, "artifact": 6, "body": 8, "food": 13, "object": 17, "person": 18, "plant": 20, "substance": 27}
"""Sections of the word list and the numbers of WordNet's lexicographer files."""


@dataclass(frozen=True)
class Synset:
    """A meaning: the number of its lexicographer file, its words, its direct hypernyms."""

    file: int
    words: tuple[str, ...]
    above: tuple[str, ...]


@dataclass(frozen=True)
class Noun:
    """A candidate in one sense. `above` are its hypernyms' names, nearest first; a lower `rarity` is more common."""

    word: str
    synset: str
    above: tuple[str, ...]
    rarity: tuple[int, int, str]


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the nouns of twenty_questions_answerer from WordNet.")
    parser.add_argument("--wordnet", type=Path, default=WORDNET, help="folder with data.noun (default: %(default)s)")
    parser.add_argument("--scowl", type=Path, default=wordle.SCOWL, help="folder with SCOWL's lists")
    parser.add_argument("--out", type=Path, default=TARGET, help="file to write (default: %(default)s)")
    args = parser.parse_args()
    text = dump(build_nouns(args.wordnet, args.scowl))
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(text, encoding="ascii")
    print({split: len(words) for split, words in json.loads(text).items()})


def build_nouns(wordnet: Path, scowl: Path) -> dict[str, dict[str, tuple[str, ...]]]:
    """Maps split and word to the word's hypernyms, nearest first."""
    synsets = read_synsets(wordnet)
    sizes = {word: size for word, size in wordle.read_sizes(scowl).items() if size <= LARGEST}
    found = candidates(synsets, wordnet, sizes)
    kept = {noun.word: noun.above for noun in antichain(distinct(found), synsets)}
    shuffled = sorted(kept, key=rank)
    half = len(shuffled) // 2
    parts = {"test": shuffled[:half], "train": shuffled[half:]}
    return {split: {word: kept[word] for word in sorted(words)} for split, words in parts.items()}


def dump(splits: Mapping[str, Mapping[str, tuple[str, ...]]]) -> str:
    """JSON with one line per word."""
    parts = [
        f"{json.dumps(split)}: {{\n"
        + ",\n".join(f"{json.dumps(w)}: {json.dumps(above)}" for w, above in words.items())
        + "\n}"
        for split, words in splits.items()
    ]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def candidates(synsets: Mapping[str, Synset], wordnet: Path, sizes: Mapping[str, int]) -> list[Noun]:
    """The words of the list, each checked by itself."""
    senses, counts = read_senses(wordnet), read_counts(wordnet)
    found: list[Noun] = []
    for section, word in read_list():
        synset = next((s for s in senses.get(word, ()) if synsets[s].file == FILES[section]), None)
        above = tuple(dict.fromkeys(name(synsets[s]) for s in ancestors(synsets, synset))) if synset else ()
        reason = "not in SCOWL" if word not in sizes else unfit(above)
        if synset is None or reason:
            raise ValueError(f"candidates.txt: {section} {word!r}: {reason if synset else 'no such sense'}")
        found.append(Noun(word, synset, above, (sizes[word], -counts.get(word, 0), word)))
    return found


def unfit(above: tuple[str, ...]) -> str:
    """The criterion on a single word that the hypernyms miss; empty if none."""
    if len(above) < MIN_HYPERNYMS:
        return f"{len(above)} hypernyms"
    if "physical entity" not in above:
        return "no physical entity"
    return "an abstraction" if "abstraction" in above else ""


def distinct(nouns: list[Noun]) -> list[Noun]:
    """The most common word of every set of hypernyms."""
    chosen: dict[frozenset[str], Noun] = {}
    for noun in sorted(nouns, key=lambda n: n.rarity):
        chosen.setdefault(frozenset(noun.above), noun)
    return list(chosen.values())


def antichain(nouns: list[Noun], synsets: Mapping[str, Synset]) -> list[Noun]:
    """The nouns that are not a hypernym of another, neither as a synset nor by name."""
    above = {s for noun in nouns for s in ancestors(synsets, noun.synset)}
    names = {n for noun in nouns for n in noun.above}
    return [noun for noun in nouns if noun.synset not in above and noun.word not in names]


def ancestors(synsets: Mapping[str, Synset], synset: str) -> tuple[str, ...]:
    """All hypernyms of a synset, excluding itself, nearest first."""
    found: dict[str, None] = {}
    level = [synset]
    while level:
        level = [up for s in level for up in synsets[s].above if up not in found]
        found |= dict.fromkeys(level)
    return tuple(found)


def name(synset: Synset) -> str:
    return synset.words[0].replace("_", " ")


def rank(word: str) -> bytes:
    """A sort key that gives a fixed shuffle."""
    return blake2b(word.encode(), digest_size=8, person=b"sonde.mtp.nouns").digest()


# --- files -----------------------------------------------------------------------------------------------------------


def read_list() -> Iterator[tuple[str, str]]:
    """Section and word, in the order of the list."""
    seen: set[str] = set()
    for line in (HERE / "candidates.txt").read_text(encoding="ascii").splitlines():
        section, *words = line.split() or ["#"]
        if section == "#":
            continue
        if section not in FILES or seen & set(words) or len(set(words)) < len(words):
            raise ValueError(f"candidates.txt: unknown section or repeated word in {line!r}")
        seen.update(words)
        yield from ((section, word) for word in words)


def read_synsets(wordnet: Path) -> dict[str, Synset]:
    """Maps offsets to synsets, from ``data.noun`` (format: wndb(5WN))."""
    synsets: dict[str, Synset] = {}
    for line in (wordnet / "data.noun").read_text(encoding="ascii").splitlines():
        if line.startswith("  "):
            continue
        fields = line.partition(" | ")[0].split()
        n_words = int(fields[3], 16)
        pointers = fields[5 + 2 * n_words :]
        above = tuple(pointers[i + 1] for i in range(0, len(pointers), 4) if pointers[i] == "@")
        synsets[fields[0]] = Synset(int(fields[1]), tuple(fields[4 : 4 + 2 * n_words : 2]), above)
    return synsets


def read_senses(wordnet: Path) -> dict[str, list[str]]:
    """Maps words to the offsets of their noun senses, most frequent first, from ``index.noun``."""
    senses: dict[str, list[str]] = {}
    for line in (wordnet / "index.noun").read_text(encoding="ascii").splitlines():
        if not line.startswith("  "):
            fields = line.split()
            senses[fields[0]] = fields[6 + int(fields[3]) :]
    return senses


def read_counts(wordnet: Path) -> dict[str, int]:
    """Maps words to the number of times they were tagged as nouns, from ``cntlist.rev``."""
    counts: dict[str, int] = {}
    for line in (wordnet / "cntlist.rev").read_text(encoding="ascii").splitlines():
        key, _, count = line.split()
        word, _, sense = key.partition("%")
        if sense.startswith("1:"):
            counts[word] = counts.get(word, 0) + int(count)
    return counts


if __name__ == "__main__":
    main()
