"""The files of wordings that murder mysteries are read by: nothing in them is unused, and no shortcut hides a form."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from sonde.envs._rules.mystery.cases import case
from sonde.envs._rules.mystery.patterns import SENTENCE
from sonde.envs._rules.mystery.replies import sentences
from sonde.envs._rules.mystery.wordings import Wordings, wordings
from sonde.envs._rules.mystery.words import template

HERE = Path(__file__).resolve().parents[1] / "truth"
FOLDER = files("sonde.envs").joinpath("data", "murder_mystery")
NAMES = sorted(entry.name.removesuffix(".toml") for entry in FOLDER.iterdir() if entry.name != "shared.toml")


@cache
def _spoken() -> tuple[str, ...]:
    """Messages, their templates, and the sentences of these."""
    rows = [(case("train", i).frame, said) for i in range(0, 60, 6) for said in sentences(case("train", i).frame)]
    tool: Any = importlib.import_module("score")
    rows += [(case(*item["case"]).frame, item["message"]) for item in tool.load("murder_mystery", "dev")]
    marked = [template(frame, said) for frame, said in rows]
    cut = [sentence.strip() for text in marked for sentence in SENTENCE.findall(text)]
    return tuple(dict.fromkeys((*(said.lower() for _, said in rows), *marked, *cut)))


def _rows(name: str) -> Iterable[tuple[str, Mapping[str, Any]]]:
    return ((key, row) for key, rows in wordings(name).says.items() for row in rows)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_needed_is_in_everything_that_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(HERE))
    whole = wordings(name)
    for key, row in _rows(name):
        if "needs" not in row:
            continue
        needs = re.sub(r"\n *", "", row["needs"]).split("|")
        found = Wordings(whole.parts, {key: row["forms"]}, {}).pattern(key)
        assert all(any(need in text for need in needs) for text in _spoken() if found.search(text)), key


@pytest.mark.parametrize("name", NAMES)
def test_every_wording_and_every_part_is_used(name: str) -> None:
    root = Path(importlib.import_module("sonde.envs._rules").__path__[0])
    code = root.joinpath("mystery", f"{name}.py").read_text("utf-8")
    whole, raw = wordings(name), FOLDER.joinpath(f"{name}.toml").read_text("utf-8")
    quoted = set(re.findall(r'"(\w+)"', code))
    if name == "subjects":
        quoted |= {f"of_{key}" for key in quoted}
    assert {*whole.forms, *whole.says} <= quoted
    own = re.findall(r"^(\w+) = ", raw[raw.index("[parts]") :].split("\n[")[0], re.M) if "[parts]" in raw else []
    assert [part for part in own if f"{{{part}}}" not in raw] == []


def test_parts_stand_in_the_place_of_their_names_and_breaks_are_nothing() -> None:
    book = Wordings({"thing": "log|{more}", "more": "a\n  b"}, {"look": ["see (?:the )?{thing}\n   s", "x{2}"]}, {})
    found = book.pattern("look")
    assert [bool(found.fullmatch(t)) for t in ("see logs", "see the abs", "see ab", "xx", "see log s")] == [
        True, True, False, True, False,
    ]  # fmt: skip
    assert [p.pattern for p in book.patterns("look")] == ["see (?:the )?(?:log|(?:ab))s", "x{2}"]


def test_a_row_is_tried_only_with_what_it_needs() -> None:
    rows = [{"needs": "b|c", "forms": ["a"]}, {"forms": ["d"]}]
    says = Wordings({}, {}, {"it": rows}).test("it")
    assert [says(text) for text in ("a", "ab", "ac", "d", "b")] == [False, True, True, True, False]
