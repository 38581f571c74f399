"""How truthful a rule user is, on hand-written questions: `python tests/truth/score.py ENV PART`.

PART is `sealed` or `open`, a file `ENV.PART.jsonl` beside this one; README.md says what is in them.

An item is answerable if it has a true answer; the user may always be silent ("I do not know."). Reported: the share of
wrong replies among the replies given, with a 95 % Wilson interval, and the share of answerable items that got one.
Answering what has no true answer is wrong. The sealed files were committed before the parsers were written
(README.md has their sha256) and are run for the published figures only.

`judge_ENV.py` beside this file has `verdict(item) -> "right" | "wrong" | "silent"`, `answerable(item)`, and
`alike(item, other)`, whether two labels of one message say the same. Where a second reader labelled the messages too,
knowing neither the author's labels nor our replies (`ENV.PART.second_reader.jsonl`), the items on which both agree are
scored apart: about the others even careful people differ.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent


class Score(NamedTuple):
    """Counts over items: all, answerable, answered, answered and answerable, wrong."""

    items: int
    answerable: int
    answered: int
    covered: int
    wrong: int

    @property
    def wrong_rate(self) -> float:
        return self.wrong / self.answered if self.answered else 0.0

    @property
    def coverage(self) -> float:
        return self.covered / self.answerable if self.answerable else 0.0


def load(env: str, part: str) -> list[dict[str, Any]]:
    """The items of one file."""
    return [json.loads(line) for line in (HERE / f"{env}.{part}.jsonl").read_text("utf-8").splitlines()]


def judged(
    env: str, items: Iterable[dict[str, Any]], second: Mapping[str, dict[str, Any]] | None = None
) -> list[tuple[dict[str, Any], bool, str]]:
    """Every item, whether it is answerable, and the verdict on the user's reply.

    With the labels of a second reader by id: the items that both labelled alike. Right is what is right by either (one
    may have filed a city's port under its coast, the other under its trade).
    """
    sys.path.insert(0, str(HERE))
    judge = importlib.import_module(f"judge_{env}")
    if second is None:
        return [(item, judge.answerable(item), judge.verdict(item)) for item in items]
    found: list[tuple[dict[str, Any], bool, str]] = []
    for item in items:
        other = {**item, **second[item["id"]]}
        if judge.alike(item, other):
            verdicts = {judge.verdict(item), judge.verdict(other)}
            found.append((item, judge.answerable(item), "right" if "right" in verdicts else judge.verdict(item)))
    return found


def score(rows: Iterable[tuple[dict[str, Any], bool, str]]) -> Score:
    count = Counter[str]()
    for _, answerable, verdict in rows:
        answered = verdict != "silent"
        count.update(
            items=1,
            answerable=answerable,
            answered=answered,
            covered=answered and answerable,
            wrong=verdict == "wrong",
        )
    return Score(*(count[name] for name in Score._fields))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("env")
    parser.add_argument("part", help="sealed or open: the file ENV.PART.jsonl beside this script")
    parser.add_argument("--wrong", action="store_true", help="print the wrong replies (never of the sealed part)")
    args = parser.parse_args()
    if not (HERE / f"{args.env}.{args.part}.jsonl").is_file():
        parts = sorted({path.name.split(".")[1] for path in HERE.glob(f"{args.env}.*.jsonl")})
        parser.error(f"part: {args.part!r} is none of {args.env}'s: {', '.join(parts) or 'no such environment'}")
    items = load(args.env, args.part)
    rows = judged(args.env, items)
    if args.wrong and args.part != "sealed":
        for item, _, verdict in rows:
            if verdict == "wrong":
                sys.stdout.write(json.dumps(item, ensure_ascii=False) + "\n")
    report(f"{args.env} {args.part}", rows)
    if (HERE / f"{args.env}.{args.part}.second_reader.jsonl").is_file():
        second = {row["id"]: row for row in load(args.env, f"{args.part}.second_reader")}
        report("labelled alike by two readers", judged(args.env, items, second))


def report(what: str, rows: Sequence[tuple[dict[str, Any], bool, str]]) -> None:
    from sonde.evaluation.metrics import rate

    found = score(rows)
    answered = [[float(verdict == "wrong")] for _, _, verdict in rows if verdict != "silent"]
    wrong = rate(answered) if answered else "n/a"
    sys.stdout.write(f"{what}: {found}\nwrong {wrong}, answered {found.coverage:.3f} of the answerable\n")


if __name__ == "__main__":
    main()
