"""Natural questions x test topics: who is answered, yes or no. `python tests/truth/gate.py ENV [--write]`.

`ENV.gate.tsv` has a line per question: the sort of topics that it is for, the question, and how many of these topics
hear yes, no, and "I do not know". The questions are what language models ask, in our own words, by an author who had
not looked at the parser. The sorts, and the topics of each, are the test topics of the environment; `sorts_ENV` says
which. A change may not turn a question silent nor grow a yes unseen: the table is a golden file
(`tests/truth/test_gate.py`); `--write` takes it anew, and the difference is read line by line.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent


class Row(NamedTuple):
    """A question to the topics of a sort, and how many of them hear what."""

    sort: str
    question: str
    yes: int
    no: int
    silent: int

    @property
    def topics(self) -> int:
        return self.yes + self.no + self.silent


SORTS = {
    "an animal": "animal",
    "a food": "food",
    "a drink": "food",
    "a plant": "plant",
    "a famous person": "person",
    "a fictional character": "fiction",
    "a country": "country",
    "a city": "city",
    "a landmark": "landmark",
    "a natural feature": "nature",
    "a phenomenon of nature": "nature",
    "a historical event": "event",
    "a work of art": "work",
    "an organisation": "organisation",
    "an idea or concept": "idea",
    "an idea or feeling": "idea",
    "a scientific concept": "idea",
    "an occupation or role": "role",
    "an illness or remedy": "illness",
    "a substance or material": "substance",
    "a sport or hobby": "activity",
    "a toy or game": "activity",
    "a holiday or ceremony": "activity",
    "a part of the body": "body",
}
"""Category of twenty questions -> sort; all others are things that people make."""


@cache
def sorts_twenty_questions() -> Mapping[str, Sequence[str]]:
    """The test topics of the presets `paprika` and `delta_belief`."""
    import sonde

    found = defaultdict[str, dict[str, None]](dict)
    for preset in ("paprika", "delta_belief"):
        for task in sonde.make("twenty_questions", preset=preset).tasks("test"):
            sort = SORTS.get(str(task.tags["category"]), "thing")
            found[sort][str(task.hidden)] = found["any"][str(task.hidden)] = None
    return {sort: tuple(topics) for sort, topics in found.items()}


def measured_twenty_questions(sort: str, question: str) -> Row:
    from sonde.envs.twenty_questions.user import true_reply

    replies = [true_reply(topic, question) for topic in sorts_twenty_questions()[sort]]
    yes, no = replies.count("Yes."), replies.count("No.")
    return Row(sort, question, yes, no, len(replies) - yes - no)


def measured_murder_mystery(sort: str, message: str) -> Row:
    """What is counted, `gate_mystery.py` says."""
    import gate_mystery

    return Row(sort, message, *gate_mystery.measured(sort, message))


MEASURED = {"murder_mystery": measured_murder_mystery, "twenty_questions": measured_twenty_questions}


def table(env: str) -> list[Row]:
    """The golden table."""
    lines = (line.split("\t") for line in path(env).read_text("utf-8").splitlines())
    return [Row(sort, question, int(yes), int(no), int(silent)) for sort, question, yes, no, silent in lines]


def path(env: str) -> Path:
    return HERE / f"{env}.gate.tsv"


def summary(rows: Sequence[Row]) -> str:
    """Shares by sort of topics, and the questions that are never answered or never by no."""
    by_sort = defaultdict[str, list[Row]](list)
    for row in rows:
        by_sort[row.sort].append(row)
    by_sort["in all"] = list(rows)
    lines = [
        f"{'sort':14}{'questions':>10}{'cells':>8}{'yes %':>8}{'no %':>8}{'unanswered %':>14}{'mean of questions':>19}"
    ]
    for sort, some in by_sort.items():
        cells = sum(r.topics for r in some)
        yes, no, silent = (100 * sum(getattr(r, name) for r in some) / cells for name in ("yes", "no", "silent"))
        mean = 100 * sum(r.silent / r.topics for r in some) / len(some)
        lines.append(f"{sort:14}{len(some):>10}{cells:>8}{yes:>8.1f}{no:>8.1f}{silent:>14.1f}{mean:>19.1f}")
    never = [r for r in rows if not r.yes + r.no]
    one_sided = [r for r in rows if r.yes and not r.no and r.silent]
    lines.append(f"never answered: {len(never)}; yes or silence, never no: {len(one_sided)}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("env", choices=sorted(MEASURED))
    parser.add_argument("--write", action="store_true", help="take the table anew")
    args = parser.parse_args()
    old = table(args.env)
    new = [MEASURED[args.env](row.sort, row.question) for row in old]
    for before, after in zip(old, new, strict=True):
        if before != after:
            sys.stdout.write(f"{after.sort}: {after.question} {before[2:]} -> {after[2:]}\n")
    if args.write:
        path(args.env).write_text("".join("\t".join(map(str, row)) + "\n" for row in new), "utf-8")
    sys.stdout.write(summary(new) + "\n")


if __name__ == "__main__":
    main()
