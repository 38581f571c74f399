"""The walker of houses: lengths by hand, and no plan by any admissible commands beats its own."""

from __future__ import annotations

from random import Random
from typing import Any

from sonde.core import Episode, Task
from sonde.envs.text_nav.commands import read_command
from sonde.envs.text_nav.env import State, TextNav
from sonde.envs.text_nav.plan import build_house, first_world, list_setups
from sonde.envs.text_nav.search import group_alike, steps_left, total_steps
from sonde.envs.text_nav.solver import TextNavSolver
from sonde.envs.text_nav.world import HouseWorld, admissible_commands, obey_command, visible_scene
from tests.cases import each

WALKER = TextNavSolver()
FO, PO, MADE = (TextNav(preset=preset) for preset in TextNav.presets)
LOST = TextNav(preset="generated", observed="partial")

FEWEST = {"kitchen": 7, "dining room": 6, "garden": 8, "backyard": 8, "living room": 5, "bedroom": 6, "office": 6,
          "bathroom": 7, "nursery": 7, "storeroom": 7}  # fmt: skip
"""By hand: to the living room, take, two doors west, open, put."""


def finish_episode(ep: Episode) -> Episode:
    while ep.to_act is not None:
        ep = ep.step(WALKER.act_now(ep.view()))
    return ep


@each("env", [FO, PO], ids=["fo", "po"])
def test_in_the_papers_house_it_needs_what_a_hand_counts(env: TextNav) -> None:
    for task in env.tasks("test")[:20]:
        ep = finish_episode(Episode.begin(env, task))
        assert ep.outcome is not None and ep.outcome.success
        assert len(ep.turns) == FEWEST[task.hidden["start"]]


@each("env", [MADE, LOST], ids=["generated", "lost"])
def test_it_wins_in_generated_houses_and_needs_what_its_plan_says_on_average(env: TextNav) -> None:
    for task in env.tasks("test")[:12]:
        every = list_setups(task.public)
        worlds = frozenset(first_world(build_house(task.public["plan"]), setup) for setup in every)
        shape = {key: task.hidden[key] for key in ("plan", "wording")}
        total = 0
        for start, place in every:
            ep = finish_episode(Episode.begin(env, env.task({**shape, "start": start, "place": place})))
            assert ep.outcome is not None and ep.outcome.success
            total += len(ep.turns)
        whole = total_steps(worlds, env is MADE)[worlds] if len(worlds) > 1 else steps_left(*worlds)
        assert total == whole


# --- no plan is better -----------------------------------------------------------------------------------------------


def known_by_search(world: HouseWorld) -> int:
    """The fewest admissible commands to the goal, by trying them all."""
    found, layer = {world}, [world]
    for depth in range(40):
        if any(now.is_done for now in layer):
            return depth
        after = {
            obey_command(now, command)[0]
            for now in layer
            for text in admissible_commands(now)
            if (command := read_command(text))
        }
        layer = list(after - found)
        found |= after
    raise AssertionError("no way to the goal")


TOWER: dict[str, Any] = {
    "rooms": [
        ["hall", "attic", "den", "", ""], ["attic", "", "", "hall", ""], ["den", "", "", "", "hall"],
    ],
    "furniture": [["box", "hall", "closed"], ["chest", "attic", "closed"], ["shelf", "den", "surface"]],
    "things": [["key", ["hall", "box"], ["den", "shelf"], ["hall", ""]], ["cup", ["den", ""]]],
    "goal": ["key", ["attic", "chest"], True],
}  # fmt: skip
"""A thing to find in three places, and a container that must be closed."""

TWINS: dict[str, Any] = {
    "rooms": [
        ["hall", "", "east wing", "", "west wing"], ["west wing", "cellar", "hall", "", ""],
        ["east wing", "", "", "cove", "hall"], ["cellar", "", "", "west wing", ""], ["cove", "east wing", "", "", ""],
    ],
    "furniture": [["box", "east wing", "closed"], ["box", "cellar", "closed"], ["box", "cove", "closed"]],
    "things": [["key", ["cellar", "box"], ["cove", "box"]]],
    "goal": ["key", ["east wing", "box"], False],
}  # fmt: skip
"""No room looks alike, but boxes do: which of them has the key is all that is not known."""

ALIKE: dict[str, Any] = {
    "rooms": [
        ["first", "", "second", "", ""], ["second", "", "third", "", "first"], ["third", "", "fourth", "", "second"],
        ["fourth", "", "", "", "third"],
    ],
    "furniture": [["box", "second", "closed"], ["box", "third", "closed"]],
    "things": [["key", ["first", ""]], ["cup", ["second", "box"]]],
    "goal": ["key", ["third", "box"], False],
}  # fmt: skip
"""Two rooms look alike until their boxes are opened, or one goes on."""


@each("plan", [TOWER, TWINS, ALIKE], ids=["tower", "twins", "alike"])
def test_when_all_is_known_nothing_is_shorter(plan: dict[str, Any]) -> None:
    task = FO.task({"plan": plan, "start": plan["rooms"][0][0], "place": plan["things"][0][1]})
    world, rng = Episode.begin(FO, task).state.world, Random(0)
    for _ in range(25):
        if world.is_done:
            break
        assert steps_left(world) == known_by_search(world)
        world, _ = obey_command(world, read_command(rng.choice(admissible_commands(world))))  # type: ignore[arg-type]


def everything(env: TextNav, task: Task) -> int:
    """The fewest commands, summed over all setups that may be, by every plan of admissible commands there is, with the
    environment's own answers: worlds are told apart by what is told."""
    first = frozenset(env.start(task.public, hidden)._replace(turn=0) for _, hidden in env.prior(task.public))
    below: dict[frozenset[State], list[list[frozenset[State]]]] = {}
    waiting = [first]
    while waiting:
        states = waiting.pop()
        if states in below:
            continue
        some = next(iter(states))
        below[states] = [told_apart(env, states, text) for text in env.actions(some) or ()]
        waiting += [part for parts in below[states] for part in parts]
    values = {states: sum(steps_left(state.world) for state in states) for states in below}
    changed = True
    while changed:
        changed = False
        for states, rest in below.items():
            value = len(states) + min(sum(values[part] for part in parts) for parts in rest)
            if value > values[states]:
                values[states], changed = value, True
    return values[first]


def told_apart(env: TextNav, states: frozenset[State], text: str) -> list[frozenset[State]]:
    groups: dict[str, set[State]] = {}
    for state in states:
        ((_, step),) = env.outcomes(state, text)
        if step.outcome is None:
            groups.setdefault(step.told["agent"], set()).add(step.state._replace(turn=0))  # type: ignore[attr-defined]
    return [frozenset(group) for group in groups.values()]


@each("plan, start, place, observed",
    [
        (TOWER, "hall", ["hall", "box"], "full"), (TOWER, "attic", ["den", "shelf"], "full"),
        (TWINS, "hall", ["cove", "box"], "full"), (TWINS, "cellar", ["cove", "box"], "partial"),
        (ALIKE, "second", ["first", ""], "partial"), (ALIKE, "third", ["first", ""], "partial"),
    ],
)  # fmt: skip
def test_when_much_is_hidden_no_plan_at_all_is_shorter(plan: Any, start: str, place: list[str], observed: str) -> None:
    """Plans that move other things, too, and that close what is open."""
    env = TextNav(preset="generated", observed=observed)
    task = env.task({"plan": plan, "start": start, "place": place})
    full, every = observed == "full", list_setups(task.public)
    worlds = frozenset(first_world(build_house(env.task(task.hidden).public["plan"]), setup) for setup in every)
    assert total_steps(worlds, full)[worlds] == everything(env, task)


def test_a_small_plan_by_hand() -> None:
    """In the second or the third room, all looks alike. East: from the third, the fourth room, where one door leads on,
    from the second, the third. West tells as well, and gains two commands where it leads to the key."""
    task = LOST.task({"plan": ALIKE, "start": "second", "place": ["first", ""]})
    worlds = frozenset(first_world(build_house(task.public["plan"]), setup) for setup in list_setups(task.public))
    assert len(worlds) == 2 and len(group_alike(worlds, full=False)) == 1 and len(group_alike(worlds, full=True)) == 2
    assert {world.room for world in worlds} == {1, 2}
    # Known: west, take, east, east, open, put from the second room; a door more from the third.
    assert sorted(map(steps_left, worlds)) == [6, 7]
    assert total_steps(worlds, full=False)[worlds] == 13
    assert WALKER.act_now(Episode.begin(LOST, task).view()).text == "go west"


def test_it_goes_on_after_replies_that_were_not_its_own() -> None:
    rng = Random(1)
    for env in (FO, PO, MADE, LOST):
        long = TextNav(preset=env.preset, observed=env.observed, max_turns=200)
        ep = Episode.begin(long, long.tasks("test")[3])
        for _ in range(20):
            legal = ep.view().legal
            assert legal is not None
            ep = ep.step(rng.choice([*legal, "look", "help", "go up"]))
        known, state = ep.filter(), ep.state
        assert known is None or known.prob(long.hypothesis(state)) > 0.0
        assert visible_scene(state.world, full=True).room
        ep = finish_episode(ep)
        assert ep.outcome is not None and ep.outcome.success
