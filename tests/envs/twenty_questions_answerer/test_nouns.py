"""The nouns of twenty_questions_answerer: the published criteria, and that the build script gives the shipped file."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from sonde._util.folders import data_file
from sonde.envs.twenty_questions_answerer import taxonomy

ROOT = Path(__file__).resolve().parents[3]
SHIPPED = ROOT / "src/sonde/envs/twenty_questions_answerer/data/nouns.json"


@pytest.fixture(scope="module")
def build() -> ModuleType:
    path = ROOT / "src/sonde/envs/twenty_questions_answerer/sources/compile.py"
    spec = importlib.util.spec_from_file_location("build_nouns", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    # A dataclass looks its module up while its class is built.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [*sys.path])  # to which the script adds
        patch.setitem(sys.modules, spec.name, module)
        spec.loader.exec_module(module)
    return module


def test_the_criteria_of_the_paper_hold() -> None:
    nouns = taxonomy.all_nouns()
    assert len(nouns) == 491
    for word, kinds in nouns.items():
        assert len(set(kinds)) == len(kinds) >= 7, word
        assert "physical entity" in kinds and "abstraction" not in kinds
    assert len({frozenset(kinds) for kinds in nouns.values()}) == len(nouns), "no two words have the same hypernyms"
    assert not set(nouns) & {kind for kinds in nouns.values() for kind in kinds}, "no word is a hypernym of another"


def test_hypernyms_by_hand() -> None:
    nouns = taxonomy.all_nouns()
    assert nouns["chihuahua"][:3] == ("toy dog", "dog", "canine") or nouns["chihuahua"][:2] == ("toy dog", "dog")
    assert "mammal" in nouns["chihuahua"] and "bird" not in nouns["chihuahua"]
    assert nouns["clam"] == (
        "bivalve", "mollusk", "invertebrate", "animal", "organism", "living thing", "whole", "object",
        "physical entity", "entity",
    )  # fmt: skip


def test_the_halves_are_disjoint_and_follow_the_digests(build: ModuleType) -> None:
    test, train = taxonomy.word_pool("test"), taxonomy.word_pool("train")
    assert (len(test), len(train)) == (245, 246)
    assert not set(test) & set(train)
    assert set(test) == set(sorted(taxonomy.all_nouns(), key=build.rank)[:245])


def test_no_blocked_word_is_shown(build: ModuleType) -> None:
    blocked = build.wordle.blocklist()
    shown = set(taxonomy.all_nouns()) | {kind for kinds in taxonomy.all_nouns().values() for kind in kinds}
    assert not {part for name in shown for part in name.lower().split()} & blocked


def test_ancestors_are_nearest_first_and_listed_once(build: ModuleType) -> None:
    def synset(*above: str) -> object:
        return build.Synset(5, ("x",), above)

    synsets = {"a": synset("b", "c"), "b": synset("d"), "c": synset("b", "e"), "d": synset("e"), "e": synset()}
    assert build.ancestors(synsets, "a") == ("b", "c", "d", "e")
    assert build.ancestors(synsets, "e") == ()


def test_criteria_are_named_where_they_fail(build: ModuleType) -> None:
    good = ("physical entity", *"abcdef")
    assert build.unfit(good) == ""
    assert build.unfit(good[:6]) == "6 hypernyms"
    assert build.unfit(("thing", *"abcdef")) == "no physical entity"
    assert build.unfit((*good, "abstraction")) == "an abstraction"


def test_rebuild_equals_the_shipped_file(build: ModuleType) -> None:
    if not (build.WORDNET.is_dir() and build.wordle.SCOWL.is_dir()):
        pytest.skip("WordNet or SCOWL is not installed (Debian packages wordnet-base, scowl)")
    assert build.dump(build.build(build.WORDNET, build.wordle.SCOWL)) == SHIPPED.read_text("ascii")


def test_the_licence_travels_with_the_words() -> None:
    notice = (ROOT / "NOTICE").read_text("utf-8")
    assert "src/sonde/envs/twenty_questions_answerer/data/nouns.json" in notice
    assert "WordNet 3.0 Copyright 2006 by Princeton University" in notice


def test_masks_agree_with_the_lists() -> None:
    words = tuple(sorted(taxonomy.word_pool("test")))[:90]
    known = taxonomy.word_taxonomy(words)
    for kind, mask in known.kinds.items():
        assert {w for i, w in enumerate(words) if mask >> i & 1} == {
            w for w in words if kind in taxonomy.all_nouns()[w]
        }
    assert known.all.bit_count() == 90
    assert set(known.common()) >= {"entity", "physical entity"}
    assert known.kind_members("kind", "no such kind") == known.kind_members("word", "no such word") == 0
    assert len(known.word_lines().splitlines()) == 90
    assert json.loads(data_file("twenty_questions_answerer", "nouns.json").read_text("ascii")).keys() == {
        "test",
        "train",
    }
