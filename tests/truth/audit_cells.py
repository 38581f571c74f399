"""Draws single yes/no cells of the knowledge base for twenty questions, to be judged by hand.

`python tests/truth/audit_cells.py [--n 300] [--seed 0]` prints one JSON line per cell: topic, attribute, a phrase that
asks for it, the value. Judged cells are kept in `twenty_questions.cells.jsonl` with `ok` true or false. Cells are drawn
uniformly over all cells that are yes or no, half of them from the yes cells, which are fewer and riskier.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator
from typing import Any

from sonde.envs._rules.phrases import source, supported
from sonde.envs._rules.topics import knowledge


def asked_attributes() -> dict[str, str]:
    """Attributes that a phrase of their own asks for -> that phrase."""
    found: dict[str, str] = {}
    for what, phrases in source():
        name = supported(what)
        if phrases and name in knowledge().attributes:
            found.setdefault(name, phrases[0])
    for name, words in knowledge().classes.items():
        found.setdefault(name, f"is a {words[0]}")
    for name, meaning in knowledge().meanings.items():
        found.setdefault(name, meaning)
    return found


def cells(n: int, seed: int) -> Iterator[dict[str, Any]]:
    """The drawn cells."""
    rng, knows, phrases = random.Random(seed), knowledge(), asked_attributes()
    names = sorted(phrases)
    yes = [(name, i) for name in names for i in bits(knows.known(name).yes)]
    no_counts = [knows.known(name).no.bit_count() for name in names]
    for k in range(n):
        if k % 2 == 0:
            name, topic = rng.choice(yes)
        else:
            name = rng.choices(names, no_counts)[0]
            topic = rng.choice(bits(knows.known(name).no))
        yield {
            "topic": knows.names[topic],
            "attribute": name,
            "phrase": phrases[name],
            "value": "no" if k % 2 else "yes",
        }


def bits(mask: int) -> list[int]:
    return [i for i, c in enumerate(reversed(f"{mask:b}")) if c == "1"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    for cell in cells(args.n, args.seed):
        sys.stdout.write(json.dumps(cell, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
