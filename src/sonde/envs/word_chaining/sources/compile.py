"""Build the word pools of ``sonde.envs.word_chaining.env`` from SCOWL.

Run: ``python src/sonde/envs/word_chaining/sources/compile.py``.

Source: SCOWL 2020.12.07, read and cleaned by ``envs/_shared/words/sources/words.py`` (notices in NOTICE). Multi-Turn
Puzzles draws each game's 500 words from SCOWL at random and does not say from which sizes; we take ``english-words``
and ``american-words`` up to size 60, of 3 letters or more, inflected forms included, without ``blocklist.rot13.txt``.

Of these, 20,000 chosen by ``words.rank``, a fixed shuffle, are shipped: the first 10,000 are the pool of the test
games, the others that of the training games, so no training game shows a word of a test game. Both files are sorted.
(``word_guess`` needs no file: its vocabularies are slices of the five-letter answers of ``words.py``.)
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "_shared" / "words" / "sources"))
import words

TARGET = Path(__file__).resolve().parents[1] / "data"
LARGEST_SIZE, SHORTEST, POOL = 60, 3, 10_000


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the word pools of word_chaining from SCOWL.")
    parser.add_argument("--scowl", type=Path, default=words.SCOWL, help="folder with SCOWL's final lists")
    parser.add_argument("--out", type=Path, default=TARGET, help="folder to write to (default: %(default)s)")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for name, found in build_pools(args.scowl).items():
        (args.out / name).write_text("".join(f"{word}\n" for word in found), encoding="ascii")
        print(f"{name}: {len(found)}")


def build_pools(scowl: Path) -> dict[str, list[str]]:
    """Maps a file name to its words, in order."""
    sizes, blocked = words.read_sizes(scowl), words.blocklist()
    kept = {word for word, size in sizes.items() if size <= LARGEST_SIZE and len(word) >= SHORTEST} - blocked
    shuffled = sorted(kept, key=words.rank)
    return {
        "chaining.test.txt": sorted(shuffled[:POOL]),
        "chaining.train.txt": sorted(shuffled[POOL : 2 * POOL]),
    }


if __name__ == "__main__":
    main()
