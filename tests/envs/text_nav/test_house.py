"""Houses: every command can be read and does what it says; nothing that is said does harm; only food is ever lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sonde.core.env import load_pieces
from sonde.envs.text_nav.commands import WORDS, Command, read_command
from sonde.envs.text_nav.generate import FURNITURE, ROOMS, THINGS
from sonde.envs.text_nav.plan import HOUSES, LMRL, build_house, check_plan
from sonde.envs.text_nav.words import WORDINGS, answer_text, join_names, turn_style
from sonde.envs.text_nav.world import HouseWorld, admissible_commands, initial_world, obey_command, visible_scene
from tests.cases import each

HOUSE = build_house(LMRL)
NAMES = st.sampled_from(sorted({*HOUSE.things, *(f.name for f in HOUSE.furniture)}))


@each("said, meant",
    [
        ("go north", Command("go", "north")), ("  Walk  WEST. ", Command("go", "west")), ("s", Command("go", "south")),
        ("> go east", Command("go", "east")), ("look", Command("look")), ("L", Command("look")),
        ("Inventory!", Command("inventory")), ("`open the fridge`", Command("open", "fridge")),
        ("shut a chest", Command("close", "chest")), ("eat the fruit", Command("eat", "fruit")),
        ("look at the table", Command("examine", "table")),
        ("pick up the stale food", Command("take", "stale food")),
        ("take the stale food from the table", Command("take", "stale food", "table")),
        ("remove the cup from the box", Command("take", "cup", "box")),
        ("get cup out of the box", Command("take", "cup", "box")),
        ("put the coffee cup on top of the table", Command("put", "coffee cup", "table")),
        ("insert stale food into fridge", Command("put", "stale food", "fridge")),
        ("place it inside an oven", Command("put", "it", "oven")), ("put down the bowl", Command("drop", "bowl")),
        ("<think>go east</think> go west", Command("go", "west")), ("<Answer>look</Answer>", Command("look")),
        ("", None), ("go", None), ("go up", None), ("north east", None), ("take", None), ("put cup", None),
        ("open", None), ("look for food", None), ("go west\ngo west", None), ("<think>go west", None),
        ("go west, then go east", None), ("I go west", None), ("<Answer></Answer>go west", None),
        ("look" + " " * 5000, Command("look")), ("take " + "a" * 500, None),
    ],
)  # fmt: skip
def test_commands_by_hand(said: str, meant: Command | None) -> None:
    assert read_command(said) == meant


@given(NAMES, NAMES, st.sampled_from(["", "the ", "a "]), st.sampled_from(["in", "into", "on", "onto", "inside"]))
def test_names_are_read_whole(thing: str, target: str, article: str, word: str) -> None:
    assert read_command(f"Put {article}{thing} {word} {article}{target}.") == Command("put", thing, target)
    assert read_command(f"take {article}{thing} from {article}{target}") == Command("take", thing, target)
    for verb in ("open", "close", "examine", "drop"):
        assert read_command(f"{verb.upper()} {article}{thing}") == Command(verb, thing)


worlds = st.builds(
    HouseWorld,
    st.just(HOUSE),
    st.integers(0, len(HOUSE.rooms) - 1),
    st.lists(st.integers(0, HOUSE.nowhere), min_size=len(HOUSE.things), max_size=len(HOUSE.things)).map(bytes),
    st.sets(st.sampled_from([len(HOUSE.rooms) + i for i, f in enumerate(HOUSE.furniture) if f.kind != "surface"])).map(
        lambda some: sum(1 << place for place in some)
    ),
)
"""The paper's house with its things anywhere and its containers open or closed."""


@given(worlds)
def test_every_admissible_command_changes_something_and_what_is_told_with_it(world: HouseWorld) -> None:
    commands = admissible_commands(world)
    assert len(set(commands)) == len(commands)
    for text in commands:
        after, result = obey_command(world, read_command(text) or Command("look"))
        assert result in {"moved", "opened", "closed_now", "taken", "put", "put_on", "dropped", "eaten"}
        moves = result == "dropped" and visible_scene(world, True) == visible_scene(after, True)
        assert after != world and not moves
        assert len(after.where) == len(world.where) and max(after.where) <= HOUSE.nowhere


@given(
    worlds,
    st.text(alphabet="abcdefghilnoprstuwx ", max_size=40),
    st.sampled_from(sorted({*WORDS, "go", "open", "put"})),
)
def test_no_text_breaks_a_world(world: HouseWorld, text: str, word: str) -> None:
    command = read_command(f"{word} {text}")
    after, result = obey_command(world, command) if command else (world, "invalid")
    for full in (True, False):
        assert answer_text(after, command, result, full, 3)
    assert sum(a != b for a, b in zip(world.where, after.where, strict=True)) <= 1


@given(worlds, NAMES, NAMES)
def test_only_visible_or_carried_things_are_within_reach(world: HouseWorld, thing: str, target: str) -> None:
    scene = visible_scene(world, full=True)
    lying = {name for _, _, content in scene.furniture for name in content} | set(scene.floor)
    _, taken = obey_command(world, Command("take", thing))
    assert (taken == "taken") == (thing in lying) and (taken == "held") == (thing in scene.carried)
    _, put = obey_command(world, Command("put", thing, target))
    here = {name: how for name, how, _ in scene.furniture}
    assert (put in ("put", "put_on")) == (thing in scene.carried and here.get(target, "closed") != "closed")
    assert visible_scene(world, full=False) == scene._replace(room="", carried=())


def test_doors_lead_back_and_every_room_can_be_reached() -> None:
    for room, row in enumerate(HOUSE.exits):
        assert set(HOUSE.room_distances[room]) == set(range(10))
        for way, there in enumerate(row):
            assert there < 0 or HOUSE.exits[there][(way + 2) % 4] == room
    kitchen = HOUSE.rooms.index("kitchen")
    by_hand = {"kitchen": 0, "garden": 1, "backyard": 1, "dining room": 1, "living room": 2, "bedroom": 3, "office": 3,
               "nursery": 4, "bathroom": 4, "storeroom": 4}  # fmt: skip
    assert {HOUSE.rooms[room]: steps for room, steps in HOUSE.room_distances[kitchen].items()} == by_hand
    assert all(check_plan("plan", plan) == plan for plan in HOUSES.values())


def test_first_worlds() -> None:
    world = initial_world(HOUSE, 0, HOUSE.spots[0][0])
    assert visible_scene(world, full=True).furniture == (("fridge", "closed", ()),)
    opened, _ = obey_command(world, Command("open", "fridge"))
    assert visible_scene(opened, full=True).furniture == (("fridge", "open", ("fruit",)),)


def test_names_and_variants_fit_together() -> None:
    furniture = {name for names in FURNITURE.values() for name in names}
    assert not furniture & set(THINGS) and len(set(ROOMS)) == len(ROOMS) and len(set(THINGS)) == len(THINGS)
    assert not WORDS & {word for name in (*furniture, *ROOMS, *THINGS) for word in name.split()}
    variants = {name: len(text.split("\n")) for name, text in load_pieces("text_nav").items() if name != "plan"}
    assert set(variants.values()) == {1, 3, 4}
    assert len({tuple(turn_style(wording, turn) for turn in range(3)) for wording in range(WORDINGS)}) == WORDINGS
    assert join_names(["cup"]) == "the cup" and join_names(["cup", "pen", "map"], "or") == "the cup, the pen or the map"
