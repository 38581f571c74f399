"""Reading answers: what counts, what does not, and never more than a few passes over the text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sonde.envs._shared.answer import read_answer, tag_answer
from tests.cases import each


@each(
    "text, answer",
    [
        ("<Answer>toast</Answer>", "toast"),
        ("<Think>a plan</Think><Answer> toast\n</Answer>", "toast"),
        ("<ANSWER>Toast</aNsWeR>", "Toast"),
        ("<Answer>one</Answer><Answer>two</Answer>", "two"),
        ("<Answer></Answer>", ""),
        ("<Answer>one</Answer", "one"),
        ("<Answer>one<", "one"),
        ("<Answer>one", None),
        ("one</Answer>", None),
        ("</Answer><Answer>one</Answer>", "one"),
        ("</Answer>one<Answer>", None),
        ("<Answer><Answer>one</Answer></Answer>", "one"),
        ("I answer in <Answer> tags: <Answer>one</Answer>", "one"),
        ("<Answer>one</Answer> in <Answer> tags", "one"),
        ("", None),
        ("toast", None),
        ("< Answer>one</ Answer>", None),
        # Thinking is no answer, wherever it stands and however often.
        ("<Think><Answer>one</Answer></Think>", None),
        ("<Think><Answer>one</Answer></Think><Answer>two</Answer>", "two"),
        ("<Think>a</Think><Think><Answer>one</Answer></Think> <Answer>two</Answer>", "two"),
        ("<Think><Answer>one</Think><Answer>two</Answer>", "two"),
        ("<Think><Answer>one</Think></Answer>", None),
        # Thinking that never ends hides all but an answer at the end of the reply; so does one begun before it.
        ("<Think>so <Answer>one</Answer>", "one"),
        ("<Think>maybe <Answer>one</Answer>? It", None),
        ("<Answer>one</Answer> <Think>maybe <Answer>two</Answer>", "one"),
        ("<Answer>one</Answer></Think>", None),
        ("<Answer>one</Answer> hm</Think><Answer>two</Answer>", "two"),
        ("<Think>a</Think> <Answer>one</Answer> </Think>", "one"),
        ("</Think><Answer>one</Answer>", "one"),
        # Thinking inside an answer is none of it, and parts it.
        ("<Answer><Think>hm</Think> one</Answer>", "one"),
        ("<Answer>on<Think>hm</Think>e</Answer>", "on e"),
        # Letters whose lower case is longer do not shift the tags.
        ("İİİ<Answer>İx</Answer>", "İx"),
        ("ẞß\ud800<Answer>é</Answer>", "é"),
        ("<Answer>ſtoast</Anſwer>", None),
    ],
)
def test_by_hand(text: str, answer: str | None) -> None:
    assert read_answer(text) == answer


@given(st.text(st.characters(exclude_characters="<>")))
def test_tagged_answers_are_read(answer: str) -> None:
    assert read_answer(tag_answer(answer)) == answer.strip()
    assert read_answer(f"<Think>{answer}</Think>{tag_answer(answer)}") == answer.strip()
    assert read_answer(f"<Think>{tag_answer(answer)}</Think>") is None


def read_slowly(tokens: list[str]) -> str | None:
    """The same by walking over whole tokens: thinking first, then answers."""
    aloud: list[str] = []
    thinking, seen = False, False
    for i, token in enumerate(tokens):
        if token == "<Think>" and not thinking:
            cut, thinking = tokens[i + 1 :], True
        elif token == "</Think>" and thinking:
            thinking = False
            aloud.append(" ")
        elif token == "</Think>" and not seen:
            aloud = []
        elif not thinking:
            aloud.append(token)
        seen = seen or "Think" in token
    found = answers(aloud)
    if not thinking or found:
        return found[-1] if found else None
    last = "".join(cut).rstrip().endswith("</Answer>")
    return answers(cut)[-1] if last and answers(cut) else None


def answers(tokens: list[str]) -> list[str]:
    found: list[str] = []
    start: int | None = None
    for i, token in enumerate(tokens):
        if token == "<Answer>":
            start = i + 1
        elif token == "</Answer>" and start is not None:
            found.append("".join(tokens[start:i]).strip())
            start = None
    rest = "".join(tokens[start:]).rstrip() if start is not None else ""
    return [*found, rest[:-1].strip()] if rest.endswith("<") else found


@given(st.text(st.sampled_from("<>/Answerabc \n\u0130{}")))
def test_every_answer_read_is_part_of_the_text(text: str) -> None:
    answer = read_answer(text)
    assert answer is None or (answer in text and answer == answer.strip())
