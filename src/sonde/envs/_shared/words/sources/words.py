"""Build the Wordle word lists in ``words/data`` from SCOWL.

Run: ``python src/sonde/envs/_shared/words/sources/words.py``.

Source: SCOWL 2020.12.07 by Kevin Atkinson (the Debian package ``scowl``, version 2020.12.07-2; notices in NOTICE).
SCOWL grades words by size: 10 is the most common, 70 what most dictionaries hold. We read ``english-words`` and
``american-words``, which excludes names, abbreviations and contractions, and keep words of letters a to z only.

Rules
- Guesses: every word of 4 to 10 letters up to size 70, inflected or not.
- Answers: size 20 and below, size 40 and below for five letters. A regular -s or -ed form of a word up to size 50 is
  dropped; -ing forms stay, since SCOWL cannot tell *building* the noun from the verb. Then the hand edits of
  ``edits.txt``. The five-letter list has exactly 2315 words: 1515 train and 800 test, the sizes of PAPRIKA
  (arXiv:2502.17543, table of task groups).
- Nothing of ``blocklist.rot13.txt`` is an answer or a guess: slurs, obscenities, sexual and demeaning words.
  The file is in rot13, so that nobody meets those words by browsing the repository; ``rot13`` gives them back.
- Order and split come from one fixed shuffle, ``rank``: the words with the smallest BLAKE2b digests of each length are
  the test words. A word has one length, so it is test or train everywhere. Lengths 4 and 6 to 10 share 1000 test words
  (PAPRIKA, appendix I.8), as evenly as 1000 divides by 6.
- The list of LMRL-Gym's size (arXiv:2311.18232) is the first 400 five-letter answers of size 10, in the same shuffle.

Departure: the counts are the papers', the words ours. PAPRIKA names no dictionary ("an English dictionary"), and
LMRL-Gym takes 400 of the commercial game's words; we ship only words with known licence terms.

Files: ``answers_N.{train,test}.txt`` in shuffled order, so that any prefix is a fair sample of tasks;
``guesses_N.txt`` and ``lmrl.txt`` sorted.
"""

from __future__ import annotations

import argparse
import codecs
import re
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

HERE = Path(__file__).resolve().parent
TARGET = HERE.parent / "data"
SCOWL = Path("/usr/share/dict/scowl")

SIZES = (10, 20, 35, 40, 50, 55, 60, 70)
LENGTHS = range(4, 11)
ANSWER_SIZE = {length: 40 if length == 5 else 20 for length in LENGTHS}
ADDED_SIZE = 50  # hand-added answers and the stems of inflected forms have at most this size
TEST_COUNT = {4: 167, 5: 800, 6: 167, 7: 167, 8: 167, 9: 166, 10: 166}
FIVE_LETTER_ANSWERS = 2315
LMRL_SIZE, LMRL_COUNT = 10, 400


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the Wordle word lists from SCOWL.")
    parser.add_argument(
        "--scowl", type=Path, default=SCOWL, help="folder with SCOWL's final lists (default: %(default)s)"
    )
    parser.add_argument("--out", type=Path, default=TARGET, help="folder to write to (default: %(default)s)")
    args = parser.parse_args()
    files = build_lists(args.scowl)
    args.out.mkdir(parents=True, exist_ok=True)
    for name, words in files.items():
        (args.out / name).write_text("".join(f"{word}\n" for word in words), encoding="ascii")
        print(f"{name}: {len(words)}")


def build_lists(scowl: Path) -> dict[str, list[str]]:
    """Maps a file name to its words, in order."""
    blocked = blocklist()
    sizes = {word: size for word, size in read_sizes(scowl).items() if word not in blocked}
    files: dict[str, list[str]] = {}
    for length in LENGTHS:
        shuffled = sorted(answers(sizes, length), key=rank)
        files[f"answers_{length}.test.txt"] = shuffled[: TEST_COUNT[length]]
        files[f"answers_{length}.train.txt"] = shuffled[TEST_COUNT[length] :]
        files[f"guesses_{length}.txt"] = sorted(word for word in sizes if len(word) == length)
        if length == 5:
            check_count(len(shuffled))
            files["lmrl.txt"] = sorted([word for word in shuffled if sizes[word] <= LMRL_SIZE][:LMRL_COUNT])
    return files


def read_sizes(scowl: Path) -> dict[str, int]:
    """Maps each lower-case word of letters only to the smallest SCOWL size that lists it."""
    sizes: dict[str, int] = {}
    for size in SIZES:
        for category in ("english", "american"):
            for word in (scowl / f"{category}-words.{size}").read_text(encoding="latin-1").split():
                if re.fullmatch("[a-z]+", word):
                    sizes.setdefault(word, size)
    return sizes


def answers(sizes: dict[str, int], length: int) -> set[str]:
    drop, add = edits()
    added = {word for word in add if len(word) == length}
    if unfit := {word for word in added if sizes.get(word, ADDED_SIZE + 1) > ADDED_SIZE}:
        raise ValueError(f"edits.txt adds {sorted(unfit)}: blocked, or beyond SCOWL size {ADDED_SIZE}")
    common = {word for word, size in sizes.items() if len(word) == length and size <= ANSWER_SIZE[length]}
    return {word for word in common - drop if not is_inflected(word, sizes)} | added


def is_inflected(word: str, sizes: dict[str, int]) -> bool:
    return any(sizes.get(stem, ADDED_SIZE + 1) <= ADDED_SIZE for stem in stems(word))


def stems(word: str) -> Iterator[str]:
    """The words of which a word could be the regular -s or -ed form: cries -> crie, cri, cry; hopped -> hopp, hoppe,
    hop."""
    if word.endswith("s") and not word.endswith("ss"):
        yield word[:-1]
    if word.endswith(("es", "ed")):
        yield from (word[:-2], word[:-1])
    if word.endswith(("ies", "ied")):
        yield word[:-3] + "y"
    if re.search(r"(.)\1ed$", word):
        yield word[:-3]


def edits() -> tuple[set[str], set[str]]:
    """The words to drop, and the words to add."""
    chosen: dict[str, set[str]] = {"-": set(), "+": set()}
    for line in (HERE / "edits.txt").read_text(encoding="ascii").splitlines():
        sign, *words = line.split() or ["#"]
        if sign != "#":
            chosen[sign].update(words)
    return chosen["-"], chosen["+"]


def blocklist() -> frozenset[str]:
    return frozenset(rot13((HERE / "blocklist.rot13.txt").read_text(encoding="ascii")).split())


def rot13(text: str) -> str:
    return codecs.encode(text, "rot13")


def rank(word: str) -> bytes:
    """A sort key that gives a fixed shuffle."""
    return blake2b(word.encode(), digest_size=8, person=b"sonde.words").digest()


def check_count(count: int) -> None:
    if count != FIVE_LETTER_ANSWERS:
        raise ValueError(f"five-letter answers: got {count}, need exactly {FIVE_LETTER_ANSWERS}; change edits.txt")


if __name__ == "__main__":
    main()
