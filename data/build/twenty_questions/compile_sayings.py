"""Statements about single topics, in the form that questions are brought into: `sayings.txt` -> the package's data.

    python data/build/twenty_questions/compile_sayings.py

A line of `sayings.txt` is `TOPIC: statement; statement | no: statement; statement`, the topic being the subject of
every statement; `rolls/curls up` stands for each of the words. Statements without a form, those that only repeat what
another says, and those that are both true and false of a topic are counted and left out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from sonde.envs._rules.twenty_questions.english import NUMBERS, tokens
from sonde.envs._rules.twenty_questions.sayings_form import ALONE, DID, PAST, PREPOSITIONS, Form, statement
from sonde.envs._rules.twenty_questions.topics import knowledge

HERE = Path(__file__).resolve().parent
Row = tuple[str, tuple[str, ...]]
PARTICLES = frozenset(("off", "out", "up", "down", "away", "over", "through", "across"))
BY_ITSELF = frozenset(
    ("fly!", "swim!", "jump!", "float!", "dance!", "hibernate!", "migrate!", "crawl!", "glow!", "shine!", "hop!")
)
"""What is done whatever else is said of it: what flies through the air flies."""
FLOWN = frozenset(("kite", "plane", "helicopter", "jet", "flag", "drone", "moon", "cloth", "glider"))
COUNTS = frozenset(NUMBERS) - {"one"}
SURNAMES = frozenset(name.lower().split()[-1] for name in knowledge().index if " " in name)
OUT = HERE.parents[2] / "src" / "sonde" / "envs" / "data" / "twenty_questions_sayings.json"


def compiled(true: Sequence[Row], false: Sequence[Row]) -> dict[str, Any]:
    """As `sayings.py` reads it. A false statement is listed under the rarest of its words."""
    topics = sorted({topic for topic, _ in (*true, *false)})
    number = {name: i for i, name in enumerate(topics)}
    where: dict[str, list[int]] = {}
    for i, (_, words) in enumerate(true):
        for word in words:
            where.setdefault(word, []).append(i)
    often = Counter(word for _, words in false for word in words)
    under: dict[str, list[tuple[int, str]]] = {}
    for topic, words in false:
        key = min((w for w in words if w not in (PAST, DID, ALONE)), key=lambda w: (often[w], w))
        under.setdefault(key, []).append((number[topic], " ".join(w for w in words if w != key)))
    return {
        "topics": topics,
        "of": [number[topic] for topic, _ in true],
        "true": where,
        "alone": [i for i, (topic, words) in enumerate(true) if complete(topic, words)],
        "particle": [i for i, (_, words) in enumerate(true) if not PARTICLES.isdisjoint(words)],
        "false": under,
        "one": single(true, number),
    }


def complete(topic: str, words: Sequence[str]) -> bool:
    """Whether a true statement says what its verb alone does. Who "flies to London" need not be one who flies."""
    if len({*words} - {PAST, DID}) == 1:
        return True
    person = knowledge().known("person").yes >> knowledge().index[topic] & 1
    return not person and not BY_ITSELF.isdisjoint(words) and FLOWN.isdisjoint(words)


def single(true: Sequence[Row], number: Mapping[str, int]) -> dict[str, dict[str, list[int]]]:
    """Of what a topic has a number or a name and only one: "has three sides", "was written by Jane Austen"."""
    values: dict[tuple[str, str], set[str]] = {}
    for topic, words in true:
        rest = {*words} - {PAST, DID}
        for key in rest:
            value = rest - {key, "have!"}
            named = key == "write~" and {w[:-1] for w in value} & SURNAMES and all(w.endswith("^") for w in value)
            counted = "have!" in rest and len(rest) == 3 and value <= COUNTS
            if named or counted or (key == "capital" and "have!" in rest and len(value) == 1):
                values.setdefault((topic, key), set()).add(" ".join(sorted(value)))
    found: dict[str, dict[str, list[int]]] = {}
    for (topic, key), these in values.items():
        if len(these) == 1:
            (value,) = these
            found.setdefault(key, {}).setdefault(value, []).append(number[topic])
    return found


def spelled_out(text: str, *, true: bool) -> list[Form]:
    """The forms of a statement. True ones that differ in words that only go with the rest are one: each may be said."""
    texts = product(*(word.split("/") for word in text.split()))
    forms = [form for words in texts if (form := statement(tokens(" ".join(words)), true=true))]
    if not true:
        return list(dict.fromkeys(forms))
    found: dict[Form, Form] = {}
    for form in forms:
        core = frozenset(word for word in form if word[-1] in "~^!=") | form & {PAST, DID}
        found[core] = found.get(core, frozenset()) | form
    return list(found.values())


def narrowed(part: str, form: Form) -> Form:
    """A false statement whose preposition has no form: what "is walked on" denies, "is walked through" does not."""
    stranded = part.rsplit(maxsplit=1)[-1] in PREPOSITIONS and len(form - {PAST, DID}) == 1
    return form | {ALONE} if stranded else form


def main() -> None:
    rows: dict[str, dict[Row, None]] = {"yes": {}, "no": {}}
    count = Counter[str]()
    for line in (HERE / "sayings.txt").read_text("utf-8").splitlines():
        topic, _, said = line.partition(": ")
        if topic not in knowledge().index:
            raise SystemExit(f"sayings.txt: no topic {topic!r}")
        true, _, false = said.partition("| no:")
        for which, text in (("yes", true), ("no", false)):
            for part in filter(None, (p.strip() for p in text.split(";"))):
                forms = spelled_out(part, true=which == "yes")
                forms = forms if which == "yes" else [narrowed(part, form) for form in forms]
                count.update([which] * len(forms) or [f"{which}, unread"])
                rows[which].update(dict.fromkeys((topic, tuple(sorted(form))) for form in forms))
    both = rows["yes"].keys() & rows["no"].keys()
    found = compiled([row for row in rows["yes"] if row not in both], [row for row in rows["no"] if row not in both])
    OUT.write_text(json.dumps(found, ensure_ascii=False, separators=(",", ":")) + "\n", "utf-8")
    print(f"{dict(count)}, both {len(both)}, {OUT.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
