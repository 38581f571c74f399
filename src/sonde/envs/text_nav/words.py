"""Texts about a house: scenes, answers, goals and plans, each in several wordings.

A wording is a number below 144. It encodes the first of 12 styles, and the step from one turn's style to the next. So
the words differ between tasks in the same house, and from turn to turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from sonde.core.env import load_pieces

from .commands import Command
from .plan import place_in
from .world import CLOSED, DIRECTIONS, SURFACE, House, HouseWorld, RoomView, carried_things, visible_scene

_STYLES = 12
"""A multiple of the numbers of variants, which are three and four."""
WORDINGS = _STYLES**2


def turn_style(wording: int, turn: int) -> int:
    """The style of a turn."""
    first, length = divmod(wording, _STYLES)
    return (first + length * turn) % _STYLES


def _say(name: str, way: int) -> str:
    """A piece in one of its variants, one per line."""
    lines = load_pieces("text_nav")[name].split("\n")
    return lines[way % len(lines)]


def join_names(names: Sequence[str], last: str = "and") -> str:
    """`the cup, the plate and the bowl`"""
    every = [f"the {name}" for name in names]
    return every[0] if len(every) == 1 else f"{', '.join(every[:-1])} {last} {every[-1]}"


def _with_article(name: str) -> str:
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


@lru_cache(maxsize=1 << 15)
def scene_in_words(scene: RoomView, full: bool, way: int) -> str:
    """Everything visible, in one paragraph."""
    said = [_say("room", way).format(room=scene.room) if full else _say("some_room", way)]
    said += [_furniture_text(name, how, content, way) for name, how, content in scene.furniture]
    if scene.floor:
        said.append(_say("floor", way).format(things=join_names(scene.floor)))
    said.append(_ways_text(scene.ways, way))
    if full:
        said.append(carried_in_words(scene.carried, way))
    return " ".join(said)


def _furniture_text(name: str, how: str, content: Sequence[str], way: int) -> str:
    kind = how if how == CLOSED else f"{how}_{'with' if content else 'bare'}"
    things = join_names(content) if content else ""
    return _say(kind, way).format(name=name, one=_with_article(name), things=things)


def _ways_text(ways: Sequence[str], way: int) -> str:
    if len(ways) == 1:
        return _say("only_way", way).format(way=ways[0])
    return _say("ways", way).format(ways=f"{', '.join(ways[:-1])} {_say('or', way)} {ways[-1]}")


def carried_in_words(things: Sequence[str], way: int) -> str:
    return _say("carried", way).format(things=join_names(things)) if things else _say("empty_hands", way)


@lru_cache(maxsize=1 << 15)
def answer_text(world: HouseWorld, command: Command | None, result: str, full: bool, way: int) -> str:
    """The answer to a command: its result, and what is visible now. Without a command: the list of commands."""
    scene = scene_in_words(visible_scene(world, full), full, way)
    if result == "looked":
        return scene
    if command is None:
        return f"{_say('invalid', way)} {scene}"
    if result == "carried":
        return scene if full else f"{carried_in_words(carried_things(world), way)} {scene}"
    return f"{_say(result, way).format(thing=command.thing, target=command.target)} {scene}"


# --- the first message -----------------------------------------------------------------------------------------------


def goal_in_words(house: House) -> str:
    """The task, and where the thing is: its place, or the rooms it may be in."""
    goal, spots = house.goal, house.spots[house.goal.thing]
    thing, (room, target) = house.things[goal.thing], place_in(house, goal.place)
    kind = "goal_shut" if goal.shut else "goal_on" if house.furniture_at(goal.place).kind == SURFACE else "goal_in"
    rooms = list(dict.fromkeys(house.rooms[house.room_of(spot)] for spot in spots))
    where = _say("where", 0).format(thing=thing, rooms=join_names(rooms, "or"))
    return f"{_say(kind, 0).format(thing=thing, target=target, room=room)} {where}"


@lru_cache(maxsize=256)
def plan_in_words(house: House) -> str:
    """The whole house, one line per room, without the thing to find."""
    return "\n".join(_room_text(house, room) for room in range(len(house.rooms)))


def _room_text(house: House, room: int) -> str:
    doors = [(d, there) for d, there in zip(DIRECTIONS, house.exits[room], strict=True) if there >= 0]
    ways = ", ".join(_say("plan_door", 0).format(way=d, room=house.rooms[there]) for d, there in doors)
    there = [
        _contents_text(house, place, house.furniture_at(place).name, house.furniture_at(place).kind)
        for place in house.furniture_places[room]
    ]
    floor = _initial_things(house, room)
    there += [_say("plan_floor", 0).format(things=join_names(floor))] if floor else []
    line = _say("plan_room", 0).format(room=house.rooms[room], ways=ways)
    return f"{line} {_say('plan_there', 0).format(furniture='; '.join(there))}" if there else line


def _contents_text(house: House, place: int, name: str, kind: str) -> str:
    things = _initial_things(house, place)
    piece = _say(f"plan_{kind}", 0).format(one=_with_article(name))
    return f"{piece} {_say('plan_with', 0).format(things=join_names(things))}" if things else piece


def _initial_things(house: House, place: int) -> list[str]:
    """The initial contents of a place, without the goal's thing, which the goal text covers."""
    rows = zip(house.things, house.spots, strict=True)
    return [name for i, (name, spots) in enumerate(rows) if spots[0] == place and i != house.goal.thing]
