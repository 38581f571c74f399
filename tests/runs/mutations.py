"""Mutations of JSON: what damage and malice make of a file."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 7, 2**31, 2**63, 2**64, 2**200, -(2**70), 0.5, -1e308, 1e308, "", "x", "0", "\x00",
    "\u202e<b>", "a" * 3000, [], {}, [[]], [None], {"": None}, {"name": "x"}, {"name": 3}, ["a", 1], {"a": {"b": []}},
    "evil:Env", "agents:nobody", "2026-01-01",
)  # fmt: skip
"""What a value may become."""


def mutate(value: Any, rng: random.Random, times: int = 1) -> Any:
    """The value with `times` of its parts replaced, removed, added, repeated or moved."""
    found = copy.deepcopy(value)
    for _ in range(times):
        if places := list(_places(found)):
            _change(*rng.choice(places), rng)
    return found


def _change(holder: Any, key: Any, rng: random.Random) -> None:
    how = rng.choice(("replace", "replace", "replace", "remove", "add", "swap"))
    if how == "replace":
        holder[key] = copy.deepcopy(rng.choice(ODD))
    elif how == "remove":
        del holder[key]
    elif how == "add" and isinstance(holder, dict):
        holder[rng.choice(("x", "", "name", "schema", "kind"))] = copy.deepcopy(rng.choice(ODD))
    elif isinstance(holder, dict):
        holder[key], other = None, holder[key]
        holder[rng.choice(list(holder))] = other
    else:
        holder.append(copy.deepcopy(holder[key]))


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every holder of a value and its key there."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in list(inner):
        yield value, key
        yield from _places(one)
