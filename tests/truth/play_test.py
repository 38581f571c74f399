"""Plain first questions x topics of every kind: how many get no answer. `python tests/truth/play_test.py [--gaps]`.

`twenty_questions.play.txt` has 14 questions to which rules may be fitted, asked of 20 test topics of every kind, 14
that are held out, asked of 20 training topics, and 40 more that are held out too (`wide`), asked of the test topics.
Printed: the share of replies that are neither yes nor no, per kind and in all. `--gaps` lists the unanswered pairs of
the open part.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import sonde
from sonde.core import derive
from sonde.envs.twenty_questions.env import TwentyQuestions
from sonde.envs.twenty_questions.user import true_reply

HERE = Path(__file__).resolve().parent
TOPICS = 20
"""Topics of each kind."""
SPLITS = {"open": "test", "held_out": "train", "wide": "test"}


def load_questions() -> Mapping[str, Sequence[str]]:
    """Part -> its questions."""
    from sonde.envs._shared.english.tokens import parse_sections

    text = (HERE / "twenty_questions.play.txt").read_text("ascii")
    rows = "\n".join(line for line in text.splitlines() if line[:1] != "#")
    return {part: body.splitlines() for part, body in parse_sections(rows).items()}


def topics_by_kind(split: str) -> Mapping[str, Sequence[str]]:
    """Kind -> 20 of its topics, drawn by hash from all presets."""
    sys.path.insert(0, str(HERE))
    from gate import SORTS

    found: dict[str, dict[str, None]] = {}
    for preset in TwentyQuestions.presets:
        for task in sonde.make("twenty_questions", preset=preset).tasks(split):
            found.setdefault(SORTS.get(str(task.tags["category"]), "thing"), {})[str(task.hidden)] = None
    return {
        kind: sorted(topics, key=lambda topic: derive(0, "task", "play_test", topic))[:TOPICS]
        for kind, topics in sorted(found.items())
    }


def find_gaps(part: str) -> Mapping[str, Sequence[tuple[str, str]]]:
    """Kind -> the pairs of question and topic without an answer."""
    questions = load_questions()[part]
    return {
        kind: [(q, topic) for q in questions for topic in topics if true_reply(topic, q) not in ("Yes.", "No.")]
        for kind, topics in topics_by_kind(SPLITS[part]).items()
    }


def share_of_gaps(part: str) -> Mapping[str, float]:
    """Kind -> the share of its pairs without an answer."""
    asked, topics = len(load_questions()[part]), topics_by_kind(SPLITS[part])
    return {kind: len(pairs) / (asked * len(topics[kind])) for kind, pairs in find_gaps(part).items()}


def count_pairs(part: str) -> int:
    """Pairs of question and topic in all."""
    return len(load_questions()[part]) * sum(map(len, topics_by_kind(SPLITS[part]).values()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gaps", action="store_true", help="list the unanswered pairs of the open part")
    show_gaps = parser.parse_args().gaps
    for part, split in SPLITS.items():
        gaps, topics = find_gaps(part), topics_by_kind(split)
        for kind, pairs in gaps.items():
            share = len(pairs) / (len(topics[kind]) * len(load_questions()[part]))
            sys.stdout.write(f"{part:9} {kind:13} {len(topics[kind]):3} topics  {share:6.1%}\n")
        sys.stdout.write(f"{part:9} all {sum(map(len, gaps.values())) / count_pairs(part):.1%}\n")
        for kind, pairs in gaps.items() if show_gaps and part == "open" else ():
            for question in dict.fromkeys(q for q, _ in pairs):
                sys.stdout.write(f"{kind} | {question} | {', '.join(t for q, t in pairs if q == question)}\n")


if __name__ == "__main__":
    main()
