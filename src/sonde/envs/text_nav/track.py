"""The worlds that a walker may be in, given all that it may know."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sonde._util.frozen import frozen

from .commands import read_command
from .plan import Setup, first_world, named, setups
from .world import World, obey

if TYPE_CHECKING:
    from sonde.core import View


def possible(view: View) -> frozenset[World]:
    """Each remaining initial world, updated by every command so far."""
    known = view.filter
    left: Iterable[Setup] = setups(view.public) if known is None else known.belief().hypotheses
    return frozenset(_now(first_world(named(view.public), setup), view) for setup in left)


def _now(world: World, view: View) -> World:
    for row in view.transitions:
        command = read_command(row.action)
        if command is not None:
            world, _ = obey(world, command)
    return world


def at_first(view: View) -> frozenset[World]:
    """Each initial world compatible with the public part."""
    return _at_first(frozen(view.public))


@lru_cache(maxsize=256)
def _at_first(public: Mapping[str, Any]) -> frozenset[World]:
    return frozenset(first_world(named(public), setup) for setup in setups(public))
