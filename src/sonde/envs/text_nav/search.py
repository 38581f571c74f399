"""The shortest path to the goal of a house, from one world or from all possible ones.

The plan over several worlds that look alike is the fixed point of `_shared/plans.py`. A plan moves only the goal's
thing, and opens containers only if that may show the thing or distinguish worlds. So it never leaves other things
behind as marks, which could save commands only in rooms that nothing else distinguishes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from .._shared.plans import group_states, solve_sets
from .commands import read_command
from .world import CLOSED, DIRECTIONS, SURFACE, HouseWorld, container_state, obey_command, visible_scene

Worlds = frozenset[HouseWorld]


@lru_cache(maxsize=1 << 14)
def steps_left(world: HouseWorld) -> int:
    """The minimum number of commands to the goal if everything is known: to the thing, and with it to its
    destination."""
    house, room, where, _ = world
    goal, place = house.goal, where[house.goal.thing]
    if world.is_done:
        return 0
    last = house.room_of(goal.place)
    if place == goal.place:
        return house.room_distances[last][room] + 1
    found = 0
    if place != house.hands_place:
        there = house.room_of(place)
        found = house.room_distances[there][room] + _is_closed(world, place) + 1
        room = there
    return found + house.room_distances[last][room] + _is_closed(world, goal.place) + 1 + goal.shut


def _is_closed(world: HouseWorld, place: int) -> bool:
    return place >= len(world.house.rooms) and container_state(world, place) == CLOSED


def best_command(worlds: Worlds, full: bool, first: Worlds | None = None) -> str:
    """A command of the shortest plan; ties go to the first that `plan_commands` lists. `first` is a set from which
    the plan has been followed so far, if any, so that it is computed once."""
    if len(worlds) == 1:
        (world,) = worlds
        return min(plan_commands(worlds, full), key=lambda c: steps_left(world_after(world, c)))
    plan = total_steps(first or worlds, full)
    if worlds not in plan:
        plan = total_steps(worlds, full)
    return min(
        plan_commands(worlds, full),
        key=lambda c: sum(plan[part] for part in command_parts(worlds, c, full)),
    )


@lru_cache(maxsize=64)
def total_steps(worlds: Worlds, full: bool) -> Mapping[Worlds, int]:
    """The commands to the goal, summed over the worlds, for this set and every set reachable from it."""

    def options(some: Worlds) -> list[tuple[Worlds, ...]]:
        return [command_parts(some, command, full) for command in plan_commands(some, full)]

    return solve_sets([worlds], options, steps_left)


@lru_cache(maxsize=1 << 16)
def command_parts(worlds: Worlds, command: str, full: bool) -> tuple[Worlds, ...]:
    """The sets after a command, without worlds at the goal."""
    return group_alike((world for old in worlds if not (world := world_after(old, command)).is_done), full)


def group_alike(worlds: Iterable[HouseWorld], full: bool) -> tuple[Worlds, ...]:
    """Group worlds by what they look like."""
    return group_states(worlds, lambda world: visible_scene(world, full))


def world_after(world: HouseWorld, command: str) -> HouseWorld:
    """The world after a readable command."""
    read = read_command(command)
    assert read is not None, command
    return obey_command(world, read)[0]


@lru_cache(maxsize=1 << 16)
def plan_commands(worlds: Worlds, full: bool) -> tuple[str, ...]:
    """The commands that a plan may use in these worlds, which look alike."""
    rows = [_useful_commands(world) for world in worlds]
    found = dict.fromkeys(command for row in rows for command in row)
    if len(worlds) > 1:
        (any_world, *_) = worlds
        lids = [f"open {name}" for name, state, _ in visible_scene(any_world, full).furniture if state == CLOSED]
        found |= dict.fromkeys(lid for lid in lids if len(command_parts(worlds, lid, full)) > 1)
    return tuple(sorted(found, key=_command_order))


def _command_order(command: str) -> tuple[int, str]:
    """Sort key: commands on things before directions, directions in compass order."""
    verb, _, rest = command.partition(" ")
    return (1 + DIRECTIONS.index(rest), "") if verb == "go" else (0, command)


def _useful_commands(world: HouseWorld) -> Sequence[str]:
    """Commands that may be part of the shortest plan in this world."""
    house, room, where, _ = world
    goal, place = house.goal, where[house.goal.thing]
    thing, here = house.things[goal.thing], house.furniture_places[room]
    found = [f"go {way}" for way, there in zip(DIRECTIONS, house.exits[room], strict=True) if there >= 0]
    lids = [p for p in here if container_state(world, p) == CLOSED and p in (place, goal.place)]
    found += [f"open {house.furniture_at(p).name}" for p in lids if p == place or place == house.hands_place]
    if place == goal.place and place in here:
        found.append(f"close {house.furniture_at(place).name}")
    elif place == house.hands_place:
        target = next((p for p in here if p == goal.place and container_state(world, p) != CLOSED), None)
        if target is not None:
            word = "on" if container_state(world, target) == SURFACE else "in"
            found.append(f"put {thing} {word} {house.furniture_at(target).name}")
    elif place == room:
        found.append(f"take {thing}")
    elif place in here and container_state(world, place) != CLOSED:
        found.append(f"take {thing} from {house.furniture_at(place).name}")
    return found
