"""Plans of houses as JSON, their checks, and the house of LMRL-Gym.

    rooms      [name, and the names of the rooms north, east, south and west of it, "" where there is no door]
    furniture  [name, room, "surface", "open" or "closed"]
    things     [name, and its possible initial places]; a place is [room, furniture], or [room, ""] for the floor
    goal       [thing, the place where it belongs, whether that must be closed then]

The paper (arXiv 2311.18232, D.2) counts ten rooms and names two. Eight rooms, their doors, the tables, chest and fridge
and the first seven things are those of its repository (`llm_rl_scripts/text_nav/env/make_game.py`). Nursery, storeroom,
desk, wardrobe, cabinet and their contents are ours: the two rooms look like garden and backyard until the walk
continues.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from re import compile as pattern
from typing import Any, NamedTuple, cast

from sonde._util.frozen import freeze
from sonde.core import Frozen, invalid
from sonde.core.types import Json

from .commands import WORDS
from .world import (
    CLOSED,
    DIRECTIONS,
    FLOOR,
    KINDS,
    SURFACE,
    Furniture,
    Goal,
    House,
    HouseWorld,
    initial_world,
    visible_scene,
)

LMRL: Frozen[Any] = freeze(
    {
        "rooms": [
            ["kitchen", "garden", "dining room", "", "backyard"],
            ["dining room", "", "living room", "", "kitchen"],
            ["garden", "", "", "kitchen", ""],
            ["backyard", "", "kitchen", "", ""],
            ["living room", "", "bedroom", "office", "dining room"],
            ["bedroom", "nursery", "", "bathroom", "living room"],
            ["office", "living room", "bathroom", "", "storeroom"],
            ["bathroom", "bedroom", "", "", "office"],
            ["nursery", "", "", "bedroom", ""],
            ["storeroom", "", "office", "", ""],
        ],
        "furniture": [
            ["fridge", "kitchen", CLOSED],
            ["table", "dining room", SURFACE],
            ["table", "living room", SURFACE],
            ["table", "bedroom", SURFACE],
            ["chest", "office", CLOSED],
            ["desk", "office", SURFACE],
            ["wardrobe", "bedroom", CLOSED],
            ["cabinet", "bathroom", CLOSED],
        ],
        "things": [
            ["stale food", ["living room", "table"]],
            ["fresh food", ["living room", "table"]],
            ["fruit", ["kitchen", "fridge"]],
            ["coffee cup", ["dining room", "table"]],
            ["plate", ["dining room", "table"]],
            ["bowl", ["bedroom", "table"]],
            ["utensils", ["office", "chest"]],
            ["letter", ["office", "desk"]],
            ["lamp", ["office", "desk"]],
            ["blanket", ["bedroom", "wardrobe"]],
            ["towel", ["bathroom", "cabinet"]],
            ["soap", ["bathroom", "cabinet"]],
        ],
        "goal": ["stale food", ["kitchen", "fridge"], False],
    }
)
HOUSES: Mapping[str, Frozen[Any]] = {"lmrl": LMRL}
"""The houses with a name."""

Place = tuple[str, str]
"""A room and a piece of furniture in it."""
_NAME = pattern("[a-z]+(?: [a-z]+)*")
_MOST_ROOMS, _MOST = 40, 60


class Setup(NamedTuple):
    """The part of a task that may be hidden: the room where the walk begins, and the initial place of the goal's thing.

    >>> Setup("garden", ("living room", "table")).start
    'garden'
    """

    start: str
    place: Place


@lru_cache(maxsize=1 << 12)
def build_house(plan: Mapping[str, Any]) -> House:
    """The house of a checked plan."""
    rooms = tuple(row[0] for row in plan["rooms"])
    number = {name: i for i, name in enumerate(rooms)} | {"": -1}
    exits = tuple(tuple(number[name] for name in row[1:]) for row in plan["rooms"])
    furniture = tuple(Furniture(name, number[room], kind) for name, room, kind in plan["furniture"])
    places = {(name, ""): i for i, name in enumerate(rooms)}
    places |= {(room, name): len(rooms) + i for i, (name, room, _) in enumerate(plan["furniture"])}
    things = tuple(row[0] for row in plan["things"])
    spots = tuple(tuple(places[place] for place in row[1:]) for row in plan["things"])
    thing, place, shut = plan["goal"]
    return House(rooms, exits, furniture, things, spots, Goal(things.index(thing), places[place], shut))


def find_house(setup: Mapping[str, Any]) -> House:
    """The house of a public part or a hidden setup."""
    return build_house(setup["plan"] if "plan" in setup else HOUSES[setup["house"]])


def place_in(house: House, place: int) -> Place:
    """A place that is neither hands nor beyond: room and furniture, or room and nothing for its floor."""
    return house.rooms[house.room_of(place)], "" if place < len(house.rooms) else house.furniture_at(place).name


def first_world(house: House, setup: Setup) -> HouseWorld:
    """The world at the start of an episode with this setup."""
    place = next(p for p in house.spots[house.goal.thing] if place_in(house, p) == setup.place)
    return initial_world(house, house.rooms.index(setup.start), place)


def list_setups(public: Mapping[str, Any]) -> Sequence[Setup]:
    """Every setup that shows the scene in `public`: with any start, or with the start that the agent knows."""
    house, full = find_house(public), "start" in public
    starts = (public["start"],) if full else house.rooms
    spots = house.spots[house.goal.thing]
    every = [Setup(start, place_in(house, spot)) for start in starts for spot in spots]
    return [setup for setup in every if visible_scene(first_world(house, setup), full) == public["seen"]]


# --- checking --------------------------------------------------------------------------------------------------------


def check_plan(field: str, value: Json) -> Frozen[Any]:
    """Check a plan from outside; an error names the field."""
    plan: Any = freeze(value)
    if not isinstance(plan, Frozen) or set(cast("Frozen[Any]", plan)) != {"rooms", "furniture", "things", "goal"}:
        raise invalid(field, value, "a mapping with rooms, furniture, things and goal")
    rooms = _check_rooms(f"{field}: rooms", plan["rooms"])
    kinds = _check_furniture(f"{field}: furniture", plan["furniture"], rooms)
    spots = _check_things(f"{field}: things", plan["things"], rooms, kinds)
    _check_goal(f"{field}: goal", plan["goal"], spots, kinds)
    return cast("Frozen[Any]", plan)


def _check_rows(field: str, value: Json, least: int, most: int, shape: str) -> list[tuple[Any, ...]]:
    """The rows of a list, each of which begins with a name."""
    rows = cast("tuple[Any, ...]", value) if isinstance(value, tuple) else ()
    found = [cast("tuple[Any, ...]", row) for row in rows if isinstance(row, tuple) and row]
    if not least <= len(found) <= most or len(found) < len(rows):
        raise invalid(field, cast("object", value), f"{least} to {most} lists: {shape}")
    for name, *_ in found:
        if not _is_name(name):
            allowed = f"names in small letters, words separated by one blank, without {', '.join(sorted(WORDS))}"
            raise invalid(field, name, allowed)
    return found


def _is_name(name: object) -> bool:
    if not isinstance(name, str) or len(name) > 30 or not _NAME.fullmatch(name):
        return False
    return name != FLOOR and not WORDS & set(name.split())


def _check_rooms(field: str, value: Json) -> tuple[str, ...]:
    rows = _check_rows(field, value, 2, _MOST_ROOMS, "[name, rooms north, east, south and west of it]")
    exits: dict[str, tuple[Any, ...]] = {row[0]: row[1:] for row in rows}
    allowed = 'rooms with distinct names, each with four neighbours ("" for none), doors that lead back, all connected'
    if len(exits) < len(rows):
        raise invalid(field, [row[0] for row in rows], allowed)
    for room, row in exits.items():
        if len(row) != len(DIRECTIONS) or not all(_leads_back(exits, room, d) for d in range(len(DIRECTIONS))):
            raise invalid(field, (room, *row), allowed)
    found, waiting = {rows[0][0]}, [rows[0][0]]
    while waiting:
        near = set(exits[waiting.pop()]) - found - {""}
        found |= near
        waiting += near
    if len(found) < len(rows):
        raise invalid(field, sorted(set(exits) - found), allowed)
    return tuple(exits)


def _leads_back(exits: Mapping[str, tuple[Any, ...]], room: str, way: int) -> bool:
    """Whether there is no door that way, or one to another room whose opposite door leads back."""
    there = exits[room][way]
    back = exits.get(there, ())
    return there == "" or (there != room and len(back) == len(DIRECTIONS) and back[(way + 2) % 4] == room)


def _check_furniture(field: str, value: Json, rooms: Sequence[str]) -> dict[Place, str]:
    rows = _check_rows(field, value, 1, _MOST, "[name, room, kind]")
    for row in rows:
        if len(row) != 3 or row[1] not in rooms or row[2] not in KINDS:
            raise invalid(field, row, f"[name, one of the rooms, one of {', '.join(KINDS)}]")
    kinds = {(room, name): kind for name, room, kind in rows}
    if len(kinds) < len(rows):
        raise invalid(field, [row[:2] for row in rows], "names that differ within a room")
    return kinds


def _check_things(
    field: str, value: Json, rooms: Sequence[str], kinds: Mapping[Place, str]
) -> dict[str, tuple[Place, ...]]:
    rows = _check_rows(field, value, 1, _MOST, "[name, place, ...]")
    places, taken = {*kinds, *((room, "") for room in rooms)}, {name for _, name in kinds}
    for row in rows:
        if len(row) < 2 or len(set(row)) < len(row) or not set(row[1:]) <= places or row[0] in taken:
            raise invalid(field, row, '[a name that no furniture has, then distinct places as [room, furniture or ""]]')
    if len({row[0] for row in rows}) < len(rows):
        raise invalid(field, [row[0] for row in rows], "things with distinct names")
    return {row[0]: row[1:] for row in rows}


def _check_goal(field: str, value: Json, spots: Mapping[str, tuple[Place, ...]], kinds: Mapping[Place, str]) -> None:
    allowed = "[one of the things, furniture as [room, name] that is none of its initial places, true or false]"
    goal = cast("tuple[Any, ...]", value) if isinstance(value, tuple) else ()
    if len(goal) != 3 or goal[0] not in spots or goal[1] not in kinds or not isinstance(goal[2], bool):
        raise invalid(field, goal, allowed)
    thing, place, shut = goal
    if place in spots[thing]:
        raise invalid(field, goal, allowed)
    if shut and kinds[place] == SURFACE:
        raise invalid(field, goal, "a container as the place, if it must be closed")
    several = [name for name, some in spots.items() if len(some) > 1 and name != thing]
    if several:
        raise invalid(field, several, "one initial place for each thing other than the goal's")
