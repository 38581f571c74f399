"""Group the tasks of an evaluation by the values of their tags: difficulty, length, size, category.

Source: PAPRIKA (arXiv 2502.17543), figure 4 (right), success by difficulty. Which tags there are is the environment's
choice (`Task.tags`). A tag is left out where all tasks share one value, or each has its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from .metrics import Estimate

_NUMBER = re.compile(r"(\d+)")

Tags = Mapping[str, Mapping[str, str]]
"""The tags of tasks, by the id of the task."""


@dataclass(frozen=True, kw_only=True)
class TagGroup:
    """The tasks with one value of a tag: success per episode and with k samples (`pass_k`), and mean turns, in which an
    episode that was not won counts as the most turns. Intervals are clustered by task."""

    n_tasks: int
    success: Estimate
    pass_k: Estimate
    turns: Estimate


def group_tags(tags: Tags) -> dict[str, dict[str, list[str]]]:
    """The ids of tasks by tag and value, values in their natural order.

    >>> group_tags({"a": {"size": "10x10"}, "b": {"size": "9x9"}, "c": {"size": "9x9"}})
    {'size': {'9x9': ['b', 'c'], '10x10': ['a']}}
    """
    found: dict[str, dict[str, list[str]]] = {}
    for task, row in tags.items():
        for tag, value in row.items():
            found.setdefault(tag, {}).setdefault(value, []).append(task)
    chosen = {tag: groups for tag, groups in found.items() if 1 < len(groups) < sum(map(len, groups.values()))}
    return {tag: {value: groups[value] for value in sorted(groups, key=_natural)} for tag, groups in chosen.items()}


def _natural(value: str) -> tuple[tuple[int, str], ...]:
    """A key that sorts numbers in texts by their size."""
    parts = _NUMBER.split(value)
    return tuple((int(part), "") if part.isdecimal() else (-1, part) for part in parts if part)
