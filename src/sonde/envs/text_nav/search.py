"""The shortest path to the goal of a house, from one world or from all possible ones.

What is possible is a set of worlds that look alike. A command moves each, costs one, and tells them apart by what is
seen then. V(B), the commands to the goal under the best plan, summed over the worlds of a set, is the least solution of

    V(B) = min over commands of |B| + the sum of V over the parts that B falls into, worlds at the goal left out

found by iteration from below, in whole numbers, over the sets that can come up. A plan moves no thing but the goal's,
and looks into containers only where that may show it or tell worlds apart: so it leaves no marks in rooms that look
alike, which in a house that is known could only save commands in rooms that nothing else tells apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from .commands import read_command
from .world import CLOSED, DIRECTIONS, SURFACE, Scene, World, how, obey, seen

Worlds = frozenset[World]


@lru_cache(maxsize=1 << 14)
def steps_left(world: World) -> int:
    """The minimum number of commands to the goal if everything is known: to the thing, and with it to its
    destination."""
    house, room, where, _ = world
    goal, place = house.goal, where[house.goal.thing]
    if world.done:
        return 0
    last = house.room_of(goal.place)
    if place == goal.place:
        return house.steps[last][room] + 1
    found = 0
    if place != house.held:
        there = house.room_of(place)
        found = house.steps[there][room] + _closed(world, place) + 1
        room = there
    return found + house.steps[last][room] + _closed(world, goal.place) + 1 + goal.shut


def _closed(world: World, place: int) -> bool:
    return place >= len(world.house.rooms) and how(world, place) == CLOSED


def best_command(worlds: Worlds, full: bool, first: Worlds | None = None) -> str:
    """A command of the shortest plan; ties go to the first that `choices` lists. `first` is a set from which the plan
    has been followed so far, if any, so that it is computed once."""
    if len(worlds) == 1:
        (world,) = worlds
        return min(choices(worlds, full), key=lambda c: steps_left(after(world, c)))
    plan = total_steps(first or worlds, full)
    if worlds not in plan:
        plan = total_steps(worlds, full)
    return min(choices(worlds, full), key=lambda c: sum(_value(plan, part) for part in parts(worlds, c, full)))


@lru_cache(maxsize=64)
def total_steps(worlds: Worlds, full: bool) -> Mapping[Worlds, int]:
    """V of this set and of every set of several worlds reachable from it."""
    below = _reachable(worlds, full)
    values = {some: sum(map(steps_left, some)) for some in below}
    changed = True
    while changed:
        changed = False
        for some, rest in below.items():
            value = len(some) + min(sum(_value(values, part) for part in every) for every in rest)
            if value > values[some]:
                values[some], changed = value, True
    return values


def _value(values: Mapping[Worlds, int], worlds: Worlds) -> int:
    if len(worlds) > 1:
        return values[worlds]
    (world,) = worlds
    return steps_left(world)


def _reachable(worlds: Worlds, full: bool) -> Mapping[Worlds, list[tuple[Worlds, ...]]]:
    """Every reachable set of several worlds, with the parts that each command leads to; small sets first."""
    waiting, found = [worlds], dict[Worlds, list[tuple[Worlds, ...]]]()
    while waiting:
        some = waiting.pop()
        if some not in found and len(some) > 1:
            found[some] = [parts(some, command, full) for command in choices(some, full)]
            waiting += [part for every in found[some] for part in every]
    return dict(sorted(found.items(), key=lambda row: len(row[0])))


@lru_cache(maxsize=1 << 16)
def parts(worlds: Worlds, command: str, full: bool) -> tuple[Worlds, ...]:
    """The sets after a command, without worlds at the goal."""
    return alike((world for old in worlds if not (world := after(old, command)).done), full)


def alike(worlds: Iterable[World], full: bool) -> tuple[Worlds, ...]:
    """Group worlds by what they look like."""
    groups: dict[Scene, set[World]] = {}
    for world in worlds:
        groups.setdefault(seen(world, full), set()).add(world)
    return tuple(frozenset(group) for group in groups.values())


def after(world: World, command: str) -> World:
    """The world after a readable command."""
    read = read_command(command)
    assert read is not None, command
    return obey(world, read)[0]


@lru_cache(maxsize=1 << 16)
def choices(worlds: Worlds, full: bool) -> tuple[str, ...]:
    """The commands that a plan may use in these worlds, which look alike."""
    rows = [_useful(world) for world in worlds]
    found = dict.fromkeys(command for row in rows for command in row)
    if len(worlds) > 1:
        (any_world, *_) = worlds
        lids = [f"open {name}" for name, state, _ in seen(any_world, full).furniture if state == CLOSED]
        found |= dict.fromkeys(lid for lid in lids if len(parts(worlds, lid, full)) > 1)
    return tuple(sorted(found, key=_order))


def _order(command: str) -> tuple[int, str]:
    """Sort key: commands on things before directions, directions in compass order."""
    verb, _, rest = command.partition(" ")
    return (1 + DIRECTIONS.index(rest), "") if verb == "go" else (0, command)


def _useful(world: World) -> Sequence[str]:
    """Commands that may be part of the shortest plan in this world."""
    house, room, where, _ = world
    goal, place = house.goal, where[house.goal.thing]
    thing, here = house.things[goal.thing], house.inside[room]
    found = [f"go {way}" for way, there in zip(DIRECTIONS, house.exits[room], strict=True) if there >= 0]
    lids = [p for p in here if how(world, p) == CLOSED and p in (place, goal.place)]
    found += [f"open {house.at(p).name}" for p in lids if p == place or place == house.held]
    if place == goal.place and place in here:
        found.append(f"close {house.at(place).name}")
    elif place == house.held:
        target = next((p for p in here if p == goal.place and how(world, p) != CLOSED), None)
        if target is not None:
            word = "on" if how(world, target) == SURFACE else "in"
            found.append(f"put {thing} {word} {house.at(target).name}")
    elif place == room:
        found.append(f"take {thing}")
    elif place in here and how(world, place) != CLOSED:
        found.append(f"take {thing} from {house.at(place).name}")
    return found
