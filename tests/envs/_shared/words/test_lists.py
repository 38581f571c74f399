"""The Wordle word lists: counts, split, curation, and that the build script gives exactly the shipped files."""

from __future__ import annotations

import importlib.util
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

from sonde.core.errors import UserError
from sonde.envs._shared.words import lists as words
from tests.cases import each

ROOT = Path(__file__).resolve().parents[4]
SHIPPED = ROOT / "src/sonde/envs/_shared/words/data"
ANSWERS = {4: 791, 5: 2315, 6: 1045, 7: 1092, 8: 987, 9: 840, 10: 661}
GUESSES = {4: 3106, 5: 6304, 6: 10603, 7: 15217, 8: 17222, 9: 16602, 10: 13980}
TEST = {4: 167, 5: 800, 6: 167, 7: 167, 8: 167, 9: 166, 10: 166}


@pytest.fixture(scope="module")
def build() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_words", ROOT / "src/sonde/envs/_shared/words/sources/words.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@each("length", words.LENGTHS)
def test_counts_and_shape(length: int) -> None:
    answers = words.answer_words(length)
    assert len(answers) == len(set(answers)) == ANSWERS[length]
    assert list(answers) == sorted(answers)
    assert len(words.allowed_words(length)) == GUESSES[length]
    assert words.allowed_words(length) >= set(answers)
    assert all(len(w) == length and w.isascii() and w.isalpha() and w.islower() for w in words.allowed_words(length))


@each("length", words.LENGTHS)
def test_train_and_test_part_the_answers(length: int) -> None:
    train, test = words.task_words(length, "train"), words.task_words(length, "test")
    assert len(test) == TEST[length]
    assert not set(train) & set(test)
    assert set(train) | set(test) == set(words.answer_words(length))
    assert list(test) != sorted(test), "a prefix of an alphabetical list is no fair sample"


@each("length", words.LENGTHS)
def test_the_split_follows_the_digests(build: ModuleType, length: int) -> None:
    shuffled = sorted(words.answer_words(length), key=build.rank)
    assert words.task_words(length, "test") == tuple(shuffled[: TEST[length]])
    assert words.task_words(length, "train") == tuple(shuffled[TEST[length] :])


def test_modified_takes_turns_and_holds_every_length_but_five() -> None:
    test, train = words.modified_task_words("test"), words.modified_task_words("train")
    assert [len(word) for word in test[:7]] == [4, 6, 7, 8, 9, 10, 4]
    assert Counter(len(word) for word in test) == {n: TEST[n] for n in (4, 6, 7, 8, 9, 10)}
    assert Counter(len(word) for word in train) == {n: ANSWERS[n] - TEST[n] for n in (4, 6, 7, 8, 9, 10)}


def test_lmrl_inherits_the_split() -> None:
    train, test = words.lmrl_task_words("train"), words.lmrl_task_words("test")
    assert set(train) <= set(words.task_words(5, "train"))
    assert set(test) <= set(words.task_words(5, "test"))
    assert sorted(train + test) == list(words.lmrl_answers())
    assert min(len(train), len(test)) >= 100


@each("length", [3, 11, 0, -5])
def test_unknown_length_is_named(length: int) -> None:
    with pytest.raises(UserError, match=rf"length: got {length}, allowed: 4 to 10"):
        words.answer_words(length)
    with pytest.raises(UserError, match=rf"length: got {length}, allowed: 4 to 10"):
        words.allowed_words(length)


def test_nothing_blocked_is_an_answer_or_a_guess(build: ModuleType) -> None:
    blocked = build.blocklist()
    assert len(blocked) > 800
    for length in words.LENGTHS:
        assert not blocked & set(words.answer_words(length))
        assert not blocked & words.allowed_words(length)


def test_inflected_forms_are_guesses_but_no_answers(build: ModuleType) -> None:
    sizes = {"word": 20, "stop": 10, "reply": 35, "glass": 10, "abbot": 50, "umbel": 60}
    inflected = {"words", "stopped", "replies", "abbots"}
    assert {word for word in (*inflected, "glass", "umbels", "word") if build.is_inflected(word, sizes)} == inflected
    for word in inflected:
        assert word in words.allowed_words(len(word)) and word not in words.answer_words(len(word))


@each("word, stems",
    [
        ("cats", ["cat"]), ("boxes", ["boxe", "box", "boxe"]), ("cries", ["crie", "cri", "crie", "cry"]),
        ("hopped", ["hopp", "hoppe", "hop"]), ("glass", []), ("speed", ["spe", "spee"]), ("toast", []),
    ],
)  # fmt: skip
def test_stems(build: ModuleType, word: str, stems: list[str]) -> None:
    assert list(build.stems(word)) == stems


def test_hand_edits_hold(build: ModuleType) -> None:
    dropped, added = build.edits()
    answers = {word for length in words.LENGTHS for word in words.answer_words(length)}
    assert not dropped & answers
    assert added <= answers
    assert not dropped & added


def test_rebuild_equals_the_shipped_files(build: ModuleType) -> None:
    if not build.SCOWL.is_dir():
        pytest.skip(f"SCOWL is not installed at {build.SCOWL} (Debian package scowl, 2020.12.07-2)")
    built = build.build(build.SCOWL)
    assert set(built) == {path.name for path in SHIPPED.iterdir()}
    for name, expected in built.items():
        assert (SHIPPED / name).read_text(encoding="ascii") == "".join(f"{word}\n" for word in expected), name
