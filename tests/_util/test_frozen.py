"""Read-only mappings: nothing changes them, they hash by content, pickle, copy, and write as JSON."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from sonde._util.frozen import as_frozen
from sonde.core import Frozen, freeze
from tests.cases import each


@each(
    "change",
    [
        lambda f: f.__setitem__("a", 2), lambda f: f.__delitem__("a"), lambda f: f.update(a=2),
        lambda f: f.setdefault("b", 2), lambda f: f.pop("a"), lambda f: f.popitem(), lambda f: f.clear(),
        lambda f: f.__ior__({"a": 2}),
    ],
)  # fmt: skip
def test_nothing_changes_it(change: Callable[[Any], object]) -> None:
    value = Frozen(a=1)
    with pytest.raises(TypeError, match="read-only"):
        change(value)
    assert value == {"a": 1}


def test_it_hashes_by_content() -> None:
    assert hash(Frozen(a=1, b=2)) == hash(Frozen(b=2, a=1))
    assert {Frozen(a=1): "x"}[Frozen(a=1)] == "x"
    with pytest.raises(TypeError, match="unhashable"):
        hash(Frozen(a=[1]))


def test_it_pickles_copies_and_writes_as_json() -> None:
    value = Frozen(a=1, b=Frozen(c=2))
    for again in (pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy(value)):
        assert again == value
        assert type(again) is Frozen
    assert json.loads(json.dumps(value)) == {"a": 1, "b": {"c": 2}}


def test_a_union_is_a_plain_dict_and_leaves_both_as_they_were() -> None:
    value = Frozen(a=1)
    union = value | {"b": 2}
    assert union == {"a": 1, "b": 2}
    assert value == {"a": 1}


def test_freeze_goes_all_the_way_down() -> None:
    value = freeze({"a": [1, {"b": [2]}], 3: "x"})
    assert value == {"a": (1, {"b": (2,)}), "3": "x"}
    assert isinstance(value["a"][1], Frozen)
    assert hash(value) == hash(freeze({"3": "x", "a": [1, {"b": [2]}]}))
    assert freeze("text") == "text"
    assert freeze(None) is None


def test_frozen_copies_only_what_could_change() -> None:
    value, plain = Frozen(a=1), {"a": 1}
    assert as_frozen(value) is value
    again = as_frozen(plain)
    plain["a"] = 2
    assert again == {"a": 1}
