"""What the sentences of an adviser do, whatever they are about; any text can be read, and not for long."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sonde.envs._shared.english.speech import read_speech
from tests.cases import each

SAYINGS = [
    ("Is the belt worn?", "asks", "is the belt worn"),
    ("Could you tell me how old the belt is?", "asks", "how old the belt is"),
    ("Please describe the noise.", "asks", "the noise"), ("Have you checked the belt?", "looks", "the belt"),
    ("Please make sure the belt is tight.", "looks", "the belt is tight"),
    ("Have you tried another belt?", "tries", "another belt"), ("Please replace the belt.", "does", "replace the belt"),
    ("Could you replace the belt, please?", "does", "replace the belt"),
    ("Let us replace the belt.", "does", "replace the belt"),
    ("I would suggest that you replace the belt.", "does", "replace the belt"),
    ("Oil the hinge instead of the belt.", "does", "oil the hinge"),
    ("The belt is worn.", "states", "the belt is worn"), ("I think the belt is worn.", "states", "the belt is worn"),
    ("Could it be that the belt is worn?", "states", "the belt is worn"),
    ("My diagnosis is that the belt is worn.", "states", "the belt is worn"),
    ("It looks as if the belt isn't tight.", "states", "the belt is not tight"),
    ("Don't replace the belt.", "aside", "do not replace the belt"),
    ("It isn't the belt.", "aside", "it is not the belt"), ("The belt is fine.", "aside", "the belt is fine"),
    ("Another customer had a worn belt.", "aside", "another customer had a worn belt"),
    ("My colleague says that the belt is worn.", "aside", "my colleague says that the belt is worn"),
    ("I will replace the belt later.", "aside", "replace the belt later"), ("Thank you very much!", "talk", ""),
    ("One moment, please.", "talk", ""),
]  # fmt: skip


@each("said, mode, words", SAYINGS)
def test_what_a_sentence_does(said: str, mode: str, words: str) -> None:
    (part,) = read_speech(said)
    assert (part.mode, " ".join(part.words)) == (mode, words)


def test_what_is_not_so_is_set_aside_beside_what_is() -> None:
    assert [p.mode for p in read_speech("The lock isn't broken. The belt is worn.")] == ["aside", "states"]
    assert [p.mode for p in read_speech("It is not the lock but the belt.")] == ["aside", "states"]
    assert [p.mode for p in read_speech("Never mind the lock. Please oil the belt.")] == ["aside", "does"]


@each("lead", ["", "Thanks! ", "I see. ", "Okay, so ", "Sorry to hear that. "])
@each("said, mode, words", SAYINGS[:18])
def test_what_comes_before_changes_nothing(lead: str, said: str, mode: str, words: str) -> None:
    last = read_speech(lead + said)[-1]
    assert (last.mode, " ".join(last.words)) == (mode, words)


@given(st.text(max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    assert read_speech(text) == read_speech(text)
