"""Generate random houses: rooms that grow over a grid, a few extra doors, furniture, things, and a thing to find."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from sonde.core import Frozen

from .world import CLOSED, DIRECTIONS, KINDS, OPEN, SURFACE

FEWEST, MOST = 8, 20
"""The minimum and maximum number of rooms of a generated house."""
ROOMS = (
    "attic", "backyard", "balcony", "bathroom", "bedroom", "cellar", "conservatory", "dining room", "garage", "garden",
    "guest room", "hall", "kitchen", "landing", "larder", "laundry", "library", "living room", "music room", "nursery",
    "office", "pantry", "playroom", "porch", "storeroom", "studio", "study", "sunroom", "terrace", "workshop",
)  # fmt: skip
FURNITURE = {
    SURFACE: ("table", "shelf", "bench", "desk", "sideboard", "stool", "windowsill", "counter"),
    OPEN: ("basket", "crate", "bucket", "tray"),
    CLOSED: ("chest", "cupboard", "drawer", "wardrobe", "cabinet", "trunk", "locker", "box"),
}
THINGS = (
    "apple", "ball", "bell", "blanket", "book", "bowl", "brush", "candle", "clock", "coffee cup", "coin", "comb",
    "compass", "dictionary", "flute", "fork", "glove", "hammer", "hat", "jar", "kettle", "lamp", "letter", "magnet",
    "map", "mirror", "mug", "needle", "newspaper", "notebook", "pear", "pen", "pillow", "plate", "radio", "ribbon",
    "ring", "rope", "ruler", "saw", "scarf", "shoe", "soap", "spoon", "stamp", "torch", "towel", "umbrella",
    "vase", "whistle",
)  # fmt: skip
_SHIFTS = ((-1, 0), (0, 1), (1, 0), (0, -1))
_DOOR = 0.3
"""Probability of a door between two adjacent rooms without one."""
_CLUES = 3
"""The number of rooms among which the thing to find is placed."""

Cell = tuple[int, int]


def generate(names: Sequence[str], rng: Random) -> Frozen[Any]:
    """Generate a plan with these rooms. The thing to find is in one of three rooms, on or in any furniture there. It
    belongs to a piece of furniture in another room: on a surface, or in a container, which the goal may require to be
    closed."""
    doors = _find_doors(_grow_rooms(len(names), rng), rng)
    last, *clues = rng.sample(names, 1 + _CLUES)
    furniture = _draw_furniture(names, {last, *clues}, rng)
    every = [(room, name) for name, room, _ in furniture]
    sought, *others = rng.sample(THINGS, rng.randint(len(names) // 2, len(names)) + 1)
    places = every + [(room, "") for room in names]
    things: list[tuple[Any, ...]] = [(name, rng.choice(places)) for name in others]
    things.insert(rng.randrange(len(things) + 1), (sought, *(p for p in every if p[0] in clues)))
    target, kind = rng.choice([(name, kind) for name, room, kind in furniture if room == last])
    shut = kind != SURFACE and rng.random() < 0.5
    listed = [(name, *(names[i] if i >= 0 else "" for i in row)) for name, row in zip(names, doors, strict=True)]
    goal = (sought, (last, target), shut)
    return Frozen[Any](rooms=tuple(listed), furniture=tuple(furniture), things=tuple(things), goal=goal)


def _grow_rooms(rooms: int, rng: Random) -> list[tuple[Cell, int]]:
    """Draw the cells of the rooms, each with the number of the room from which it grew (-1 for the first)."""
    found: list[tuple[Cell, int]] = [((0, 0), -1)]
    while len(found) < rooms:
        i = rng.randrange(len(found))
        (row, col), (down, right) = found[i][0], rng.choice(_SHIFTS)
        cell = (row + down, col + right)
        if all(cell != other for other, _ in found):
            found.append((cell, i))
    return found


def _find_doors(cells: Sequence[tuple[Cell, int]], rng: Random) -> list[list[int]]:
    """The rooms in the four directions of each room, -1 where there is no door."""
    number = {cell: i for i, (cell, _) in enumerate(cells)}
    doors = [[-1] * len(DIRECTIONS) for _ in cells]
    for i, ((row, col), joined) in enumerate(cells):
        for d, (down, right) in enumerate(_SHIFTS):
            there = number.get((row + down, col + right), -1)
            if 0 <= there < i and (there == joined or rng.random() < _DOOR):
                doors[i][d], doors[there][(d + 2) % 4] = there, i
    return doors


def _draw_furniture(names: Sequence[str], needed: set[str], rng: Random) -> list[tuple[str, str, str]]:
    """Draw one or two pieces for each room that needs some, and none to two for the others."""
    found: list[tuple[str, str, str]] = []
    for room in names:
        kinds = rng.choices(KINDS, (4, 1, 3), k=rng.randint(room in needed, 2))
        pieces = {rng.choice(FURNITURE[kind]): kind for kind in kinds}
        found += [(name, room, kind) for name, kind in pieces.items()]
    return found
