"""JSON lines: exact conversion of records to bytes and back.

orjson reads and writes all values but a few: it turns NaN and infinities into null and refuses lone surrogates (which a
model may produce) and integers beyond 64 bits. The standard library writes lines with such values, starting with a
space; JSON ignores the space, and it tells the reader which library to use. Log-probabilities are float32 and are
written with the digits that float32 needs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import orjson

from sonde.core import StoreError, Trajectory

_LEAVES = frozenset((str, int, bool, type(None)))
_PACKED = {"ids": np.int32, "prompt_ids": np.int32, "logprobs": np.float32}
_OPTIONS = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME


def dump_json(value: Any, *, sort: bool = False) -> bytes:
    """One line of JSON, without its line break. Raises `StoreError` if the value is not JSON."""
    try:
        if _is_finite(value):
            return orjson.dumps(value, default=_to_plain, option=_OPTIONS | (orjson.OPT_SORT_KEYS if sort else 0))
        return _dump_fallback(value, sort)
    except (TypeError, RecursionError):
        return _dump_fallback(value, sort)


def load_json(line: bytes) -> Any:
    """Parse one line of JSON."""
    return json.loads(line) if line[:1] == b" " else orjson.loads(line)


def encode_trajectory(trajectory: Trajectory, *, sort: bool = False) -> bytes:
    """The JSON line of a trajectory."""
    data = trajectory.to_json()
    for act in acts(data):
        for completion in act.get("completions", ()):
            for field, dtype in _PACKED.items():
                completion[field] = np.array(completion[field], dtype)
    try:
        return dump_json(data, sort=sort)
    except StoreError as e:
        raise StoreError(f"trajectory {trajectory.id}: {e}") from e


def acts(data: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """All acts in a trajectory's JSON form, in order."""
    yield from data["opening"]
    for turn in data["turns"]:
        yield from turn


def _is_finite(value: Any) -> bool:
    """Whether the value contains no NaN or infinity. Leaves, the most common values, are tested without a call."""
    if isinstance(value, dict | list | tuple):
        for one in value.values() if isinstance(value, dict) else value:
            if type(one) not in _LEAVES and not _is_finite(one):
                return False
        return True
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, np.ndarray) or value.dtype.kind == "i" or bool(np.isfinite(value).all())


def _to_plain(value: Any) -> Any:
    """Convert values that neither JSON writer supports to ones that both do."""
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"got {type(value).__name__}, allowed: JSON values")


def _dump_fallback(value: Any, sort: bool) -> bytes:
    try:
        _check_keys(value)
        return b" " + json.dumps(value, default=_to_plain, sort_keys=sort, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as e:
        raise StoreError(f"not JSON: {e}") from e


def _check_keys(value: Any) -> None:
    """Raise `TypeError` for a non-text key, which the standard library would silently convert to text."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise TypeError(f"got key {key!r}, allowed: text")
            _check_keys(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            _check_keys(inner)
