"""The values: tasks as JSON and ids, actions that may be stored, what a turn sums up, what an outcome means."""

from __future__ import annotations

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.core import Act, Action, Completion, Frozen, Message, Outcome, Task, Turn, UserError, content_hash
from sonde.core.types import MEMORY_LIMIT

TASK = Task(env="wordle", preset="test", split="train", index=3, public={"sizes": [1, 2]}, hidden={"mines": [[0, 1]]})

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def test_a_content_hash_ignores_the_order_of_keys_and_nothing_else() -> None:
    assert content_hash({"a": 1, "b": 2}) == content_hash({"b": 2, "a": 1})
    assert content_hash([1, 2]) != content_hash([2, 1])
    assert content_hash("1") != content_hash(1)
    assert content_hash({"word": "toast"}) == content_hash({"word": "toast"})
    assert len(content_hash(None)) == 20


def test_a_task_freezes_what_it_is_given() -> None:
    assert TASK.public == {"sizes": (1, 2)}
    assert TASK.hidden == {"mines": ((0, 1),)}
    assert isinstance(TASK.hidden, Frozen)


@given(public=st.dictionaries(st.text(), JSON, max_size=3), hidden=JSON)
def test_a_task_is_the_same_through_json_and_pickle(public: dict[str, object], hidden: object) -> None:
    task = Task("e", "p", "test", 0, public, hidden, {"group": "g"})
    for again in (Task.from_json(json.loads(json.dumps(task.to_json()))), pickle.loads(pickle.dumps(task))):
        assert again == task
        assert again.id == task.id
        assert hash(again) == hash(task)


def test_tasks_differ_by_every_field() -> None:
    fields = {"env": "a", "preset": "b", "split": "c", "index": 1, "public": {"n": 1}, "hidden": 2, "tags": {"t": "u"}}
    plain = Task(env="", preset="", split="", index=0)
    ids = {Task(**{**plain.to_json(), name: value}).id for name, value in fields.items()}
    assert len(ids | {plain.id}) == 8


def test_memory_of_exactly_the_limit_is_allowed() -> None:
    fits = "x" * (MEMORY_LIMIT - 2)
    assert Action("", memory=fits).check_storable().memory == fits
    with pytest.raises(UserError, match=rf"action\.memory: got {MEMORY_LIMIT + 1} bytes of JSON"):
        Action("", memory=fits + "x").check_storable()


def test_memory_must_be_json() -> None:
    with pytest.raises(UserError, match=r"action\.memory: not JSON"):
        Action("", memory={1, 2}).check_storable()
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(UserError, match=r"action\.memory: not JSON"):
        Action("", memory=loop).check_storable()


def test_memory_is_what_a_record_gives_back_and_nobody_can_change_it() -> None:
    plan: dict[object, object] = {"words": ["toast"], 1: (True, None)}
    memory = Action("", memory=plan).check_storable().memory
    assert memory == {"words": ("toast",), "1": (True, None)}
    plan.clear()
    assert memory["words"] == ("toast",)
    with pytest.raises(TypeError, match="read-only"):
        memory["words"] = ()
    with pytest.raises(UserError, match=r"action\.memory: not JSON"):
        Action("", memory={"value": float("nan")}).check_storable()


def test_text_must_be_text() -> None:
    with pytest.raises(UserError, match=r"action\.text: got bytes, allowed: str"):
        Action(b"x").check_storable()  # type: ignore[arg-type]


def test_half_surrogate_pairs_become_text_that_a_file_can_hold() -> None:
    completion = Completion(text="x")
    action = Action("a\ud83d\ude00b\ud800c\udc00", memory=[1], completions=(completion,)).check_storable()
    assert action.text == "a😀b\ufffdc\ufffd"
    assert action.text.encode()
    assert (action.memory, action.completions) == ((1,), (completion,))


def test_success_is_a_win_that_no_judge_denied() -> None:
    assert Outcome("win", 1.0).success
    assert Outcome("win", 1.0, judged=True).success
    assert not Outcome("win", 1.0, judged=False).success
    assert not any(Outcome(kind).success for kind in ("loss", "unreadable", "out_of_turns", "error"))  # type: ignore[arg-type]


def test_a_turn_sums_up_its_acts() -> None:
    first = Act("agent", Action("ask"), Frozen(user="ask"), Frozen(agent=0.5), Frozen(n=1, kind="question"))
    second = Act("user", Action("yes"), Frozen(agent="yes"), Frozen(agent=0.25, user=1.0), Frozen(n=2))
    third = Act("judge", Action("fine"), Frozen(agent="fine"), Frozen(), Frozen())
    turn = Turn(0, (first, second, third))
    assert turn.text == "ask"
    assert turn.told == "yes\n\nfine"
    assert turn.info == {"n": 2, "kind": "question"}
    assert turn.rewards == {"agent": 0.75, "user": 1.0}
    assert Turn(0, (first,)).told == ""
    assert Turn(0, (first,)).rewards == {"agent": 0.5}


def test_messages_go_to_chat_templates_as_role_and_content() -> None:
    assert Message("assistant", "hi", Completion(text="hi")).to_json() == {"role": "assistant", "content": "hi"}
