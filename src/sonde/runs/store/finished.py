"""The keys of a run's finished episodes, looked up in its index so that a million keys need no set in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from typing import Any

from .index import Index, Key


class FinishedKeys(Set[Key]):
    """The episodes that the index lists as stored without an error, and those added since it last read the logs."""

    def __init__(self, index: Index) -> None:
        self._index, self._since = index, set[Key]()
        self.settle_index()

    def add_key(self, key: Key) -> None:
        """Add a new key."""
        self._since.add(key)

    def settle_index(self) -> None:
        """Clear the added keys once the index has read them."""
        self._since = {key for key in self._since if not self._index.is_finished(key)}
        self._known: int = next(self._index.select_columns("count(*)", "error = ''"))[0]

    def __contains__(self, key: object) -> bool:
        return key in self._since or (isinstance(key, tuple) and self._index.is_finished(Key(*key)))

    def __iter__(self) -> Iterator[Key]:
        rows = self._index.select_columns("task, seed, sample", "error = ''", order="task, seed, sample")
        yield from (Key(task, int(seed), sample) for task, seed, sample in rows)
        yield from self._since

    def __len__(self) -> int:
        return self._known + len(self._since)

    @classmethod
    def _from_iterable(cls, it: Iterable[Any]) -> frozenset[Any]:
        return frozenset(it)
