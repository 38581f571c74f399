"""Sub-calls: readers never raise and read what they say, replies are asked for again, fallbacks are counted."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sonde.agents._shared.calls import (
    Calls,
    Role,
    action_reader,
    json_block,
    load_prompts,
    match_action,
    number_reader,
    text_reader,
)
from sonde.core import Completion, Message, Model, Sampling
from sonde.models._shared.json_beliefs import read_blocks
from tests.cases import each

ARMS = ("A", "B", "12", "a b", "off")
ANYTHING = st.text() | st.lists(
    st.sampled_from(["Action:", "<Answer>", "</Answer>", "A", "*", "\n", "1e9", "-", "."])
).map("".join)


@dataclass(frozen=True, kw_only=True)
class Scripted(Model):
    """Says these replies one after the other and keeps what it was asked."""

    replies: tuple[str, ...]
    asked: list[tuple[tuple[Message, ...], Sampling]] = field(default_factory=list[Any], init=False)

    async def generate(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        self.asked.append((tuple(messages), sampling))
        return Completion(text=self.replies[len(self.asked) - 1], model="scripted")


@given(ANYTHING)
def test_readers_never_raise(text: str) -> None:
    assert action_reader(ARMS)(text) in (None, *ARMS)
    free = action_reader(None)(text)
    assert free is None or free.strip()
    value = number_reader("Estimate:", 0.0, 10.0)(text)
    assert value is None or 0.0 <= value <= 10.0
    found = text_reader("Beliefs:", 50)(text)
    assert found is None or 0 < len(found) <= 50


@given(
    st.sampled_from(ARMS),
    st.text(alphabet=st.characters(exclude_characters="<")),
    st.sampled_from(["", "**", '"', "`", "."]),
)
def test_the_action_behind_the_last_marker_is_read(arm: str, before: str, around: str) -> None:
    assert action_reader(ARMS)(f"{before}\nAction: {around}{arm}{around}\nThat is all.") == arm
    assert action_reader(ARMS)(f"{before}\nACTION:{arm.upper() if arm != 'a b' else arm}") == arm


@given(st.floats(0, 1e6), st.text(alphabet="abc= \n0123456789."))
def test_the_number_behind_the_last_marker_is_read(value: float, before: str) -> None:
    assert number_reader("Final:")(f"{before} final: **{value!r}** bits") == value


@each(
    "text, expected",
    [
        ("Action: C", None), ("Action: A\nAction: B", "B"), ("<Think> A </Think> <Answer> b </Answer>", "B"),
        ("B", "B"), ("I would say B", None), ("Action: A or B", None), ("Action: <Answer>12</Answer>", "12"),
        ("", None),
    ],
)  # fmt: skip
def test_what_counts_as_an_action(text: str, expected: str | None) -> None:
    assert action_reader(ARMS)(text) == expected


def test_labels_that_differ_in_case_only_are_kept_apart() -> None:
    assert match_action("a", ("A", "a")) == "a" and match_action("A", ("A", "a")) == "A"
    assert match_action("é", ("É", "é")) == "é"
    assert match_action("b", ("B", "Ab")) == "B"


@each("text", ["nan", "inf", "1e999", "", "-1", "one"])
def test_invalid_numbers(text: str) -> None:
    assert number_reader("N:", 0.0)(f"N: {text}") is None


@given(st.dictionaries(st.text(max_size=5), st.text() | st.integers(), max_size=3))
def test_blocks_are_read_back(value: dict[str, Any]) -> None:
    found = read_blocks([Message("user", f"before {json_block(experience=value)} after")])
    assert found == {"experience": value}


def ask(model: Model, retries: int) -> tuple[str | None, Calls]:
    calls = Calls(7, retries, {"policy:fallback": 1})
    role = Role("policy", model, 0.5, 64)
    return asyncio.run(calls.ask_model(role, "system", "user", action_reader(ARMS))), calls


def test_an_unreadable_reply_is_asked_for_again_in_the_same_conversation() -> None:
    model = Scripted(replies=("no idea", "<think>hm</think>Action: A"))
    found, calls = ask(model, retries=2)
    assert found == "A"
    assert [(c.name, c.unread) for c in calls.completions] == [("policy", "malformed"), ("policy", "")]
    assert calls.completions[1].reasoning == "hm"
    assert calls.counts == {"policy:fallback": 1, "policy:malformed": 1}
    (first, one), (second, two) = model.asked
    assert [m.role for m in first] == ["system", "user"]
    assert [m.content for m in second[2:]] == ["no idea", load_prompts("calls")["again"]]
    assert one.seed != two.seed and (one.temperature, one.max_new_tokens) == (0.5, 64)


def test_a_call_that_is_given_up_is_counted_by_name() -> None:
    found, calls = ask(Scripted(replies=("?", "??", "???")), retries=2)
    assert found is None
    assert [c.unread for c in calls.completions] == ["malformed", "malformed", "fallback"]
    assert calls.counts == {"policy:fallback": 2, "policy:malformed": 2}


def test_branches_have_seeds_of_their_own_and_are_recorded_in_order() -> None:
    models = [Scripted(replies=(f"Action: {arm}",)) for arm in ("A", "B", "12")]
    calls = Calls(7, 0)

    def work(model: Model) -> Any:
        return lambda branch: branch.ask_model(Role("policy", model), "s", "u", action_reader(ARMS))

    assert asyncio.run(calls.run_concurrently([work(m) for m in models])) == ["A", "B", "12"]
    assert [c.text for c in calls.completions] == ["Action: A", "Action: B", "Action: 12"]
    assert len({m.asked[0][1].seed for m in models}) == 3
