"""A read-only dict: immutable values stay hashable, picklable and ready for any JSON writer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn, TypeVar, cast

V = TypeVar("V")


class Frozen(dict[str, V]):
    """A read-only dict with string keys. Hashes by content if its values do.

    >>> Frozen(length=5) | {"turns": 6}
    {'length': 5, 'turns': 6}
    """

    def _refuse_write(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError("this mapping is read-only")

    __setitem__ = __delitem__ = __ior__ = update = setdefault = pop = popitem = clear = _refuse_write  # type: ignore[assignment]

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[type[Frozen[V]], tuple[dict[str, V]]]:
        return Frozen, (dict(self),)


def as_frozen(mapping: Mapping[str, V]) -> Frozen[V]:
    """`mapping` itself if it is already read-only, otherwise a read-only copy."""
    return mapping if type(mapping) is Frozen else Frozen(mapping)  # type: ignore[return-value]


def freeze(value: Any) -> Any:
    """Make a JSON value immutable and hashable: lists become tuples, mappings read-only."""
    if isinstance(value, Mapping):
        rows = cast("Mapping[object, Any]", value)
        return Frozen({str(k): freeze(v) for k, v in rows.items()})
    if isinstance(value, list | tuple):
        return tuple(freeze(v) for v in cast("Iterable[Any]", value))
    return value


def thaw(value: Any) -> Any:
    """The inverse of `freeze`: a mutable JSON value with its own dicts and lists.

    >>> thaw(freeze({"marks": ["hit", "miss"]}))
    {'marks': ['hit', 'miss']}
    """
    if isinstance(value, Mapping):
        rows = cast("Mapping[str, Any]", value)
        return {k: thaw(v) for k, v in rows.items()}
    if isinstance(value, list | tuple):
        return [thaw(v) for v in cast("Iterable[Any]", value)]
    return value
