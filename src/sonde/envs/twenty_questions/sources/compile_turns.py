"""How many turns the reference solver of twenty questions needs for every topic of every preset.

Writes ``data/turns.json``: preset -> one character per topic, its turns in base 36, `-` where
the preset does not have it. `envs/twenty_questions/topic_knowledge.py` says what follows. Run this file with Python
after the topics, their facts or the solver have changed; it takes a minute and prints how many topics took how many
turns.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import sonde
from sonde.envs.twenty_questions.knowledge import topic_knowledge
from sonde.runs.rollout import collect_trajectories

OUT = Path(__file__).resolve().parents[1] / "data" / "turns.json"
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def turns(preset: str) -> str:
    """The plain-spoken reference plays every task once."""
    env, found = sonde.make("twenty_questions", preset=preset), ["-"] * len(topic_knowledge().names)
    for split in env.splits:
        for t in collect_trajectories(
            env, {"agent": sonde.make("agents:twenty_questions", plain=True)}, env.tasks(split)
        ):
            found[topic_knowledge().index[t.task.hidden]] = DIGITS[len(t.turns)]
    return "".join(found)


def write(found: Mapping[str, str]) -> None:
    OUT.write_text(json.dumps(found, indent=0) + "\n", "ascii")


def main() -> None:
    presets = sonde.core.find("twenty_questions").presets
    write(
        dict.fromkeys(presets, "0" * len(topic_knowledge().names))
    )  # tasks carry their difficulty, so there must be some
    found = {preset: turns(preset) for preset in presets}
    write(found)
    for preset, row in found.items():
        counts = Counter(DIGITS.index(c) for c in row if c != "-")
        print(preset, dict(sorted(counts.items())))


if __name__ == "__main__":
    main()
