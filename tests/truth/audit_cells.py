"""Draws single yes/no cells of the knowledge base for twenty questions, to be judged by hand.

`python tests/truth/audit_cells.py [--n 150] [--seed 0]` prints one JSON line per cell: the sample, topic, attribute, a
phrase that asks for it, the value. Topics marked as rarely known are left out, and attributes for which no phrase asks.
Two samples of n cells each:

    uniform      uniform over all cells that are yes or no
    informative  one half yes, one half no; the no cells from attributes that at least `COMMON` of the topic's category
                 has, so that they could well be yes

Judged cells are kept in `twenty_questions.cells.jsonl` with `ok` true or false.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from sonde.envs._shared.partition import bits
from sonde.envs.twenty_questions.knowledge import knowledge
from sonde.envs.twenty_questions.room import declared

COMMON = 0.03


@cache
def asked_attributes() -> Mapping[str, str]:
    """Attributes that a phrase of their own asks for -> that phrase."""
    found: dict[str, str] = {}
    for line in declared():
        if line.meaning in knowledge().has:
            found.setdefault(line.meaning, next(line.spelled()))
    for name, words in knowledge().classes.items():
        found.setdefault(name, f"is a {words[0]}")
    for name, meaning in knowledge().meanings.items():
        found.setdefault(name, meaning)
    return found


def well_known() -> int:
    knows = knowledge()
    return sum(1 << i for i in range(len(knows.names)) if not knows.little_known(i))


def drawn(rng: random.Random, masks: Mapping[str, int]) -> tuple[str, int]:
    """An attribute and a topic, uniform over all cells of these masks."""
    names = sorted(masks)
    name = rng.choices(names, [masks[n].bit_count() for n in names])[0]
    return name, rng.choice(bits(masks[name]))


def common_in() -> Mapping[str, int]:
    """Attribute -> the topics of the categories of which at least `COMMON` have it."""
    knows, members = knowledge(), defaultdict[str, int](int)
    for i, category in enumerate(knows.category):
        members[category] |= 1 << i
    found: dict[str, int] = {}
    for name in asked_attributes():
        yes = knows.known(name).yes
        having = (m for m in members.values() if (yes & m).bit_count() >= COMMON * m.bit_count() and yes & m)
        found[name] = sum(having)
    return found


def cells(n: int, seed: int) -> Iterator[dict[str, Any]]:
    """The drawn cells: the sample, and what is claimed."""
    rng, knows, known = random.Random(seed), knowledge(), well_known()
    yes = {a: knows.known(a).yes & known for a in asked_attributes()}
    no = {a: knows.known(a).no & known for a in asked_attributes()}
    common = common_in()
    risky = {a: mask & common[a] for a, mask in no.items()}
    n_yes, n_no = (sum(m.bit_count() for m in masks.values()) for masks in (yes, no))
    for k in range(2 * n):
        if k < n:
            value = "yes" if rng.random() < n_yes / (n_yes + n_no) else "no"
            name, topic = drawn(rng, yes if value == "yes" else no)
        else:
            value = "no" if k % 2 else "yes"
            name, topic = drawn(rng, risky if k % 2 else yes)
        yield {
            "sample": "uniform" if k < n else "informative",
            "topic": knows.names[topic],
            "attribute": name,
            "phrase": asked_attributes()[name],
            "value": value,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    for cell in cells(args.n, args.seed):
        sys.stdout.write(json.dumps(cell, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
