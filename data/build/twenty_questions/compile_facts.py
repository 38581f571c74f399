"""Builds ``sonde/envs/data/twenty_questions_facts.json`` from ``facts.txt`` here. Run this file with Python.

The facts about single topics are authored by hand (format: ``sonde/envs/_rules/twenty_questions/facts.py``). Every
phrase is spelled out once, here, because there are many: the file that is read later maps what a phrase is looked up by
to the facts.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from sonde.envs._rules.twenty_questions.english import tokens
from sonde.envs._rules.twenty_questions.facts import never_false
from sonde.envs._rules.twenty_questions.phrases import expansions, framed, lexicon
from sonde.envs._rules.twenty_questions.phrases import key as key_of

HERE = Path(__file__).resolve().parent
TARGET = HERE.parents[2] / "src" / "sonde" / "envs" / "data" / "twenty_questions_facts.json"
LINE = re.compile(r"(?:\[([^\]]*)\] *)?(.*?): +(.*)")
LOOSE = ("rel ", "known ", "is associated ", "is related ", "is famous ", "is a symbol ", "is connected ")
"""What something has to do with, or may be known for besides: never false."""


def lines(text: str) -> list[tuple[str, str]]:
    """What stands before the colon, marked as a fact, and the phrases behind it."""
    found: list[tuple[str, str]] = []
    for n, line in enumerate(text.splitlines(), 1):
        if not line or line.startswith("# "):
            continue
        row = LINE.fullmatch(line)
        if row is None:
            raise SystemExit(f"facts.txt:{n}: cannot read {line[:60]!r}")
        found.append((f"fact {row[2]}" if row[1] is None else f"fact [{row[1]}] {row[2]}", row[3]))
    return found


FRAMES = {
    "there": ("does (have|contain|house) {}", "q (is|are) {} there"),
    "inv": ("does (involve|include|use|have|need|require) {}", "ob (need|use) {} for"),
    "capital": ("q is capital {}",),
}
"""Frames that stand for several: what is found in a place, what takes part in something, a country's capital."""


def spelled(phrase: str) -> list[str]:
    """The phrases that a phrase in one of `FRAMES` stands for; any other itself."""
    frame, _, words = phrase.partition(" ")
    return [found for form in FRAMES.get(frame, ()) for found in expansions(form.format(words))] or [phrase]


def keys(phrase: str, scoped: bool) -> list[str]:
    """What a phrase is looked up by; nothing for a plain word ("is soft") that is asked of every topic already, unless
    the line says for which topics it is false."""
    frame, _, words = phrase.partition(" ")
    if frame == "q":
        return [f"q:{key_of(tokens(words))}"]
    key = framed(frame, tokens(words))
    return [] if not scoped and frame == "is" and " " not in key and key in lexicon() else [key]


def built(text: str) -> dict[str, object]:
    heads: dict[str, int] = {}
    found: dict[str, list[int]] = {}
    for head, rest in lines(text):
        parts = (" ".join(e.split()) for part in rest.split(";") for e in expansions(part))
        for phrase in (" ".join(p.split()) for part in parts if part for p in spelled(part)):
            what = never_false(head) if phrase.startswith(LOOSE) else head
            for key in keys(phrase, head.startswith("fact [")) if phrase else ():
                row = found.setdefault(key, [])
                number = heads.setdefault(what, len(heads))
                if number not in row:
                    row.append(number)
    return {"facts": list(heads), "keys": {key: found[key] for key in sorted(found)}}


def main() -> None:
    data = built((HERE / "facts.txt").read_text("utf-8"))
    TARGET.write_text(json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
    sys.stdout.write(f"{len(data['facts'])} facts, {TARGET.stat().st_size} bytes\n")  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
