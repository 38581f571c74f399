"""Natural questions crossed with test topics: `python tests/truth/gate_cities.py ENV [--keep]`.

`ENV.gate.txt` beside this file has one line per question: its kind, the question, and what the rule user made of it
over all test topics: the share in percent of those for whom there was an answer, of "Yes" and of "No", and how many
different answers there were. The questions were written as language models ask (in the manner of the dialogues printed
in the papers' appendices, own words) before their author saw a parser; they are for measuring, never for fitting.

What is measured now must be what is kept (`tests/truth/test_gate_cities.py`). `--keep` writes it,
for a reader to review line by line: a question that falls silent or whose share of "Yes" grows needs a reason.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
SILENT = (
    "I do not know.",
    "I do not understand.",
    "That is no question about my city.",
    "Propose one city at a time, please.",
)


class Row(NamedTuple):
    """A question and what became of it: percent of the test topics, and a count of different answers."""

    kind: str
    question: str
    answered: int
    yes: int
    no: int
    distinct: int

    def line(self) -> str:
        return f"{self.kind} | {self.question} | {self.answered} {self.yes} {self.no} {self.distinct}"


def read(line: str) -> Row:
    kind, question, figures = (part.strip() for part in line.split("|"))
    return Row(kind, question, *map(int, figures.split()))


def kept(env: str) -> list[Row]:
    return [read(line) for line in (HERE / f"{env}.gate.txt").read_text("utf-8").splitlines()]


def measured(env: str, rows: Iterable[Row]) -> list[Row]:
    """The same questions, asked now."""
    import sonde

    game: Any = sonde.make(env)
    at = {name: i for i, name in enumerate(game.city_knowledge.names)}
    topics = sum(1 << at[game.hypothesis(sonde.Episode.begin(game, task).state)] for task in game.split("test"))
    return [_asked(row, game.city_knowledge.split(row.question), topics) for row in rows]


def _asked(row: Row, split: dict[str, int], topics: int) -> Row:
    count = {reply: n for reply, mask in split.items() if (n := (mask & topics).bit_count()) and reply not in SILENT}
    begun = {word: sum(n for reply, n in count.items() if reply.startswith(word)) for word in ("Yes", "No")}
    all_of = topics.bit_count()
    shares = (round(100 * n / all_of) for n in (sum(count.values()), begun["Yes"], begun["No"]))
    return Row(row.kind, row.question, *shares, len(count))


def summary(rows: Iterable[Row]) -> str:
    """By kind of question: how many, the share unanswered, and how many get "Yes" or "No" but never the other."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row.kind].append(row)
        found["all"].append(row)
    lines = [f"{'kind':10} questions  unanswered %  never  Yes or silence  No or silence"]
    for kind, some in found.items():
        silent = 100 - sum(r.answered for r in some) / len(some)
        never = sum(not r.answered for r in some)
        lines.append(
            f"{kind:10} {len(some):9}  {silent:12.1f}  {never:5}  {_only(some, 'yes'):14}  {_only(some, 'no'):13}"
        )
    return "\n".join(lines)


def _only(rows: Iterable[Row], word: str) -> int:
    return sum(r.answered > 0 and getattr(r, word) == r.answered for r in rows)


Measured = Callable[[str, Iterable[Row]], list[Row]]


def main(measured: Measured = measured) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("env")
    parser.add_argument("--keep", action="store_true", help="write what is measured into the table")
    args = parser.parse_args()
    before = kept(args.env)
    now = measured(args.env, before)
    for old, new in zip(before, now, strict=True):
        if old != new:
            sys.stdout.write(f"- {old.line()}\n+ {new.line()}\n")
    sys.stdout.write(summary(now) + "\n")
    if args.keep:
        (HERE / f"{args.env}.gate.txt").write_text("".join(f"{row.line()}\n" for row in now), "utf-8")


if __name__ == "__main__":
    main()
