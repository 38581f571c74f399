"""A house, its contents and the effects of commands: the rules of `text_nav`, without any text.

A place is a number: the floor of a room (its index), a piece of furniture (after the rooms), or the walker's hands
(after the furniture). Furniture is a surface, or a container that opens and closes; the content of a closed container
is not visible. Doors are always open.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from .commands import Command

DIRECTIONS = ("north", "east", "south", "west")
SURFACE, OPEN, CLOSED = KINDS = ("surface", "open", "closed")
"""Kinds of furniture: a surface, an initially open container, an initially closed one."""
FLOOR = "floor"
EDIBLE = frozenset({"apple", "fresh food", "fruit", "pear", "stale food"})
"""Things that the walker can eat, after which they are nowhere."""
REFUSED = frozenset({"no_way", "absent", "stays", "already", "fixed", "held", "not_held", "shut", "inedible"})
"""Why the rules refuse a command: no door there; no such thing here; it does not open; it is already open or closed; it
is furniture; already carried; not carried; in a closed container; not edible."""
NONE: tuple[str, ...] = ()


class Furniture(NamedTuple):
    """`Furniture("fridge", 4, "closed")`: a name, the room's index and a kind."""

    name: str
    room: int
    kind: str


class Goal(NamedTuple):
    """The thing to bring to a place (furniture), which must be closed afterwards if `shut`."""

    thing: int
    place: int
    shut: bool


@dataclass(frozen=True)
class House:
    """Rooms, the rooms north, east, south and west of each (-1: no door), furniture, things, the possible initial
    places of each thing, and the goal."""

    rooms: tuple[str, ...]
    exits: tuple[tuple[int, ...], ...]
    furniture: tuple[Furniture, ...]
    things: tuple[str, ...]
    spots: tuple[tuple[int, ...], ...]
    goal: Goal

    @cached_property
    def _house_hash(self) -> int:
        return hash((self.rooms, self.exits, self.furniture, self.things, self.spots, self.goal))

    def __hash__(self) -> int:
        return self._house_hash

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without cached values: hashes of text differ between processes."""
        return House, (self.rooms, self.exits, self.furniture, self.things, self.spots, self.goal)

    @cached_property
    def hands_place(self) -> int:
        """The place that stands for what is carried."""
        return len(self.rooms) + len(self.furniture)

    @property
    def nowhere(self) -> int:
        """The place that stands for what was eaten."""
        return self.hands_place + 1

    @cached_property
    def furniture_places(self) -> tuple[tuple[int, ...], ...]:
        """The places of each room's furniture."""
        first = len(self.rooms)
        return tuple(tuple(first + i for i, f in enumerate(self.furniture) if f.room == r) for r in range(first))

    @cached_property
    def initially_open(self) -> int:
        """The initially open containers, one bit per place."""
        first = len(self.rooms)
        return sum(1 << (first + i) for i, f in enumerate(self.furniture) if f.kind == OPEN)

    def furniture_at(self, place: int) -> Furniture:
        """The furniture at a place that is neither a floor nor the hands."""
        return self.furniture[place - len(self.rooms)]

    def room_of(self, place: int) -> int:
        """The room of a place other than the hands."""
        return place if place < len(self.rooms) else self.furniture_at(place).room

    @cached_property
    def room_distances(self) -> tuple[Mapping[int, int], ...]:
        """For each room, the distance in doors of all rooms from which it can be reached; since doors work both ways,
        these are all rooms."""
        return tuple(_distances_to(self.exits, room) for room in range(len(self.rooms)))


def _distances_to(exits: Sequence[Sequence[int]], room: int) -> Mapping[int, int]:
    found, waiting = {room: 0}, deque([room])
    while waiting:
        here = waiting.popleft()
        for there in exits[here]:
            if there >= 0 and there not in found:
                found[there] = found[here] + 1
                waiting.append(there)
    return found


class HouseWorld(NamedTuple):
    """Where the walker is, where each thing is, and which containers are open."""

    house: House
    room: int
    where: bytes
    opened: int

    @property
    def is_done(self) -> bool:
        """Whether the goal is reached."""
        goal = self.house.goal
        return self.where[goal.thing] == goal.place and not (goal.shut and self.opened >> goal.place & 1)

    @property
    def is_lost(self) -> bool:
        """Whether the goal's thing was eaten."""
        return self.where[self.house.goal.thing] == self.house.nowhere


class RoomView(NamedTuple):
    """The visible scene: the room's name and what is carried (neither under partial observation), the exits, the
    furniture as (name, state, contents), and what lies on the floor. The state is surface, open or closed."""

    room: str
    ways: tuple[str, ...]
    furniture: tuple[tuple[str, str, tuple[str, ...]], ...]
    floor: tuple[str, ...]
    carried: tuple[str, ...]


def initial_world(house: House, room: int, place: int) -> HouseWorld:
    """The initial world if the goal's thing is at that place; every other thing has only one possible place."""
    where = bytes(place if i == house.goal.thing else spots[0] for i, spots in enumerate(house.spots))
    return HouseWorld(house, room, where, house.initially_open)


@lru_cache(maxsize=1 << 15)
def visible_scene(world: HouseWorld, full: bool) -> RoomView:
    """What a walker sees; if not `full`, without the room's name and what is carried."""
    house, room, where, _ = world
    lying: dict[int, list[str]] = {}
    for name, place in zip(house.things, where, strict=True):
        lying.setdefault(place, []).append(name)
    ways = tuple(d for d, there in zip(DIRECTIONS, house.exits[room], strict=True) if there >= 0)
    furniture = tuple(
        (house.furniture_at(p).name, container_state(world, p), _visible_content(world, p, lying))
        for p in house.furniture_places[room]
    )
    floor, carried = (tuple(lying.get(p, NONE)) for p in (room, house.hands_place))
    return (
        RoomView(house.rooms[room], ways, furniture, floor, carried)
        if full
        else RoomView("", ways, furniture, floor, ())
    )


def container_state(world: HouseWorld, place: int) -> str:
    """Whether furniture is a surface, open or closed."""
    if world.house.furniture_at(place).kind == SURFACE:
        return SURFACE
    return OPEN if world.opened >> place & 1 else CLOSED


def _visible_content(world: HouseWorld, place: int, lying: Mapping[int, Sequence[str]]) -> tuple[str, ...]:
    return NONE if container_state(world, place) == CLOSED else tuple(lying.get(place, NONE))


@lru_cache(maxsize=1 << 15)
def carried_things(world: HouseWorld) -> tuple[str, ...]:
    """The names of what is carried."""
    return tuple(
        name for name, place in zip(world.house.things, world.where, strict=True) if place == world.house.hands_place
    )


@lru_cache(maxsize=1 << 15)
def admissible_commands(world: HouseWorld) -> tuple[str, ...]:
    """The commands that would change something here: directions, containers, things within reach, things carried.
    Commands that only look (`look`, `inventory`, `examine`) are understood too, but reveal nothing new."""
    scene, mine = visible_scene(world, full=False), carried_things(world)
    opens = [
        f"{'open' if state == CLOSED else 'close'} {name}" for name, state, _ in scene.furniture if state != SURFACE
    ]
    takes = [f"take {thing}" for thing in scene.floor]
    takes += [f"take {thing} from {name}" for name, _, content in scene.furniture for thing in content]
    there = [(name, "on" if state == SURFACE else "in") for name, state, _ in scene.furniture if state != CLOSED]
    puts = [f"put {thing} {word} {name}" for thing in mine for name, word in there]
    drops, eats = [f"drop {thing}" for thing in mine], [f"eat {thing}" for thing in mine if thing in EDIBLE]
    return (*(f"go {way}" for way in scene.ways), *opens, *takes, *puts, *drops, *eats)


# --- what a command does ---------------------------------------------------------------------------------------------


def obey_command(world: HouseWorld, command: Command) -> tuple[HouseWorld, str]:
    """The world after a command, and its result: what was done (`moved`, `opened`, `closed`, `taken`,
    `put`, `put_on`, `dropped`, `eaten`), what was looked at (`looked`, `carried`, `examined`), or why it was
    refused (`REFUSED`)."""
    verb = command.verb
    if verb == "go":
        return _go_through(world, command)
    if verb in ("open", "close"):
        return _swing_container(world, command)
    if verb == "take":
        return _take_thing(world, command)
    if verb in ("put", "drop"):
        return _put_thing(world, command)
    if verb == "eat":
        return _eat_thing(world, command)
    if verb == "examine" and not _within_reach(world, command.thing):
        return world, "absent"
    return world, {"look": "looked", "inventory": "carried", "examine": "examined"}[verb]


def _go_through(world: HouseWorld, command: Command) -> tuple[HouseWorld, str]:
    there = world.house.exits[world.room][DIRECTIONS.index(command.thing)]
    return (world._replace(room=there), "moved") if there >= 0 else (world, "no_way")


def _swing_container(world: HouseWorld, command: Command) -> tuple[HouseWorld, str]:
    place = _find_furniture(world, command.thing)
    if place is None:
        return world, "stays" if _within_reach(world, command.thing) else "absent"
    state, wanted = container_state(world, place), OPEN if command.verb == "open" else CLOSED
    if state == SURFACE:
        return world, "stays"
    if state == wanted:
        return world, "already"
    return world._replace(opened=world.opened ^ 1 << place), "opened" if wanted == OPEN else "closed_now"


def _take_thing(world: HouseWorld, command: Command) -> tuple[HouseWorld, str]:
    thing = _find_thing(world, command.thing)
    if thing is None:
        return world, "fixed" if _find_furniture(world, command.thing) is not None else "absent"
    place = world.where[thing]
    if place == world.house.hands_place:
        return world, "held"
    if command.target and _find_place(world, command.target) != place:
        return world, "absent"
    return _move_thing(world, thing, world.house.hands_place), "taken"


def _put_thing(world: HouseWorld, command: Command) -> tuple[HouseWorld, str]:
    thing = _find_thing(world, command.thing)
    if thing is None or world.where[thing] != world.house.hands_place:
        return world, "not_held"
    place = world.room if command.verb == "drop" else _find_place(world, command.target)
    if place is None:
        return world, "absent"
    if place == world.room:
        return _move_thing(world, thing, place), "dropped"
    kind = container_state(world, place)
    return (
        (world, "shut")
        if kind == CLOSED
        else (_move_thing(world, thing, place), "put_on" if kind == SURFACE else "put")
    )


def _eat_thing(world: HouseWorld, command: Command) -> tuple[HouseWorld, str]:
    thing = _find_thing(world, command.thing)
    if thing is None or world.where[thing] != world.house.hands_place:
        return world, "absent" if thing is None and not _within_reach(world, command.thing) else "not_held"
    if command.thing not in EDIBLE:
        return world, "inedible"
    return _move_thing(world, thing, world.house.nowhere), "eaten"


def _move_thing(world: HouseWorld, thing: int, place: int) -> HouseWorld:
    where = world.where
    return world._replace(where=where[:thing] + bytes((place,)) + where[thing + 1 :])


def _find_furniture(world: HouseWorld, name: str) -> int | None:
    """The place of the furniture of that name in this room."""
    house = world.house
    return next((p for p in house.furniture_places[world.room] if house.furniture_at(p).name == name), None)


def _find_place(world: HouseWorld, name: str) -> int | None:
    """The place in this room with that name: furniture or the floor."""
    return world.room if name == FLOOR else _find_furniture(world, name)


def _find_thing(world: HouseWorld, name: str) -> int | None:
    """The thing of that name within reach: carried, on the floor, or in this room outside closed containers."""
    house = world.house
    if name not in house.things:
        return None
    thing = house.things.index(name)
    place = world.where[thing]
    if place in (house.hands_place, world.room):
        return thing
    return thing if place in house.furniture_places[world.room] and container_state(world, place) != CLOSED else None


def _within_reach(world: HouseWorld, name: str) -> bool:
    return _find_furniture(world, name) is not None or _find_thing(world, name) is not None
