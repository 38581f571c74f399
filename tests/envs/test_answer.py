"""Reading answers: what counts, what does not, and never more than a few passes over the text."""

from __future__ import annotations

from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.rules.answer import read_answer, tagged


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<Answer>toast</Answer>", "toast"),
        ("<Think>a plan</Think><Answer> toast\n</Answer>", "toast"),
        ("<ANSWER>Toast</aNsWeR>", "Toast"),
        ("<Answer>one</Answer><Answer>two</Answer>", "one"),
        ("<Answer></Answer>", ""),
        ("<Answer>one</Answer", None),
        ("<Answer>one", None),
        ("one</Answer>", None),
        ("</Answer><Answer>one</Answer>", "one"),
        ("</Answer>one<Answer>", None),
        ("<Answer><Answer>one</Answer></Answer>", "<Answer>one"),
        ("", None),
        ("toast", None),
        ("< Answer>one</ Answer>", None),
        # Thinking is no answer, wherever it stands and however often.
        ("<Think><Answer>one</Answer></Think>", None),
        ("<Think><Answer>one</Answer></Think><Answer>two</Answer>", "two"),
        ("<Think>a</Think><Think><Answer>one</Answer></Think> <Answer>two</Answer>", "two"),
        ("<Think><Answer>one</Think><Answer>two</Answer>", "two"),
        ("<Think><Answer>one</Think></Answer>", None),
        # Thinking that never ends hides nothing.
        ("<Think>so <Answer>one</Answer>", "one"),
        ("</Think><Answer>one</Answer>", "one"),
        # What comes after the answer has begun belongs to it.
        ("<Answer>one <Think>or</Think> two</Answer>", "one <Think>or</Think> two"),
        # Letters whose lower case is longer do not shift the tags.
        ("İİİ<Answer>İx</Answer>", "İx"),
        ("ẞß\ud800<Answer>é</Answer>", "é"),
        ("<Answer>ſtoast</Anſwer>", None),
    ],
)
def test_by_hand(text: str, answer: str | None) -> None:
    assert read_answer(text) == answer


@given(st.text(st.characters(exclude_characters="<>")))
def test_what_is_tagged_is_read(answer: str) -> None:
    assert read_answer(tagged(answer)) == answer.strip()
    assert read_answer(f"<Think>{answer}</Think>{tagged(answer)}") == answer.strip()
    assert read_answer(f"<Think>{tagged(answer)}</Think>") is None


def slowly(tokens: list[str]) -> str | None:
    """The same by walking over whole tokens."""
    i = 0
    while i < len(tokens):
        if tokens[i] == "<Think>" and "</Think>" in tokens[i:]:
            i += tokens[i:].index("</Think>")
        elif tokens[i] == "<Answer>":
            rest = tokens[i + 1 :]
            return "".join(rest[: rest.index("</Answer>")]).strip() if "</Answer>" in rest else None
        i += 1
    return None


@given(st.lists(st.sampled_from(["<Think>", "</Think>", "<Answer>", "</Answer>", "x", " y ", "İ", "<", "\n"])))
def test_any_order_of_tags(tokens: list[str]) -> None:
    assert read_answer("".join(tokens)) == slowly(tokens)


@given(st.text(st.sampled_from("<>/AnswerThinkabc \n\u0130{}")))
def test_whatever_is_read_was_said(text: str) -> None:
    answer = read_answer(text)
    assert answer is None or (answer in text and answer == answer.strip())


class Counted(str):
    """A text that counts how many characters are searched."""

    searched: ClassVar[int] = 0

    def lower(self) -> Counted:
        return Counted(super().lower())

    def translate(self, table: object) -> Counted:
        return Counted(super().translate(table))  # type: ignore[arg-type]

    def find(self, sub: str, start: int = 0, end: int | None = None) -> int:  # type: ignore[override]
        first, last, _ = slice(start, end).indices(len(self))
        found = super().find(sub, start, end)
        Counted.searched += max(0, (last if found < 0 else found + len(sub)) - first)
        return found


UNITS = (
    "a", "é", "<", "<think>", "</think>", "<answer>", "</answer>", "<think></think>", "<think><answer>",
    "</think><think>", "<think><answer></think>", "<think><answer></answer></think>", "<answer><think></think>",
    "</answer><answer>", "<think>é</think>", "<think></think></answer>", "<answer></think><think>",
)  # fmt: skip


@pytest.mark.parametrize(
    "tail", ["", "<answer>x</answer>", "<answer>", "</think>", "</answer>", "</think><answer>x</answer>"]
)
@pytest.mark.parametrize("unit", UNITS)
def test_the_work_grows_with_the_length_and_no_faster(unit: str, tail: str) -> None:
    text = Counted(unit * 2000 + tail)
    Counted.searched = 0
    read_answer(text)
    assert 0 < Counted.searched <= 4 * len(text) + 100
