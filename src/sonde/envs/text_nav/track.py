"""The possible worlds of a walker, given everything it knows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sonde._util.frozen import as_frozen

from .commands import read_command
from .plan import Setup, find_house, first_world, list_setups
from .world import HouseWorld, obey_command

if TYPE_CHECKING:
    from sonde.core import View


def possible_worlds(view: View) -> frozenset[HouseWorld]:
    """Each remaining initial world, updated by every command so far."""
    known = view.filter
    left: Iterable[Setup] = list_setups(view.public) if known is None else known.belief().hypotheses
    return frozenset(_current_world(first_world(find_house(view.public), setup), view) for setup in left)


def _current_world(world: HouseWorld, view: View) -> HouseWorld:
    for row in view.transitions:
        command = read_command(row.action)
        if command is not None:
            world, _ = obey_command(world, command)
    return world


def initial_worlds(view: View) -> frozenset[HouseWorld]:
    """Each initial world compatible with the public part."""
    return _initial_worlds(as_frozen(view.public))


@lru_cache(maxsize=256)
def _initial_worlds(public: Mapping[str, Any]) -> frozenset[HouseWorld]:
    return frozenset(first_world(find_house(public), setup) for setup in list_setups(public))
