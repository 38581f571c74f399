"""Maze: walk to the goal of a maze, a move at a time.

Source: LMRL-Gym (arXiv 2311.18232), 4.2 and appendices B.2, D.1, F.1 and H: a fully observed maze, in which the agent
sees its place, and a partially observed one, in which it must infer its place from the history; 100 moves, reward -1
per move and 0 for the one that reaches the goal. The map of its tables is `double_t`: goal (8, 6), 25 starts, optimal
mean return -6.84. Presets:

    lmrl           double_t, fully observed; test: the 25 starts to the paper's goal; train: every other goal
    lmrl_partial   the same by history alone: the agent sees only the open ways, not its place, the goal or the map
    umaze          the paper's small map, goal (3, 3), fully observed; test: its 6 starts; train: every other goal
    generated      ours: a maze of its own for every task, 7 to 13 rows and columns, shown in the first message
    pairs          ours, for small models: eight named maps, every start and goal 2 to 14 steps apart, 20 moves;
                   for every goal, a hash cuts a tenth of the cells that are not close to it; test: the pairs with a
                   shortest path through a cut cell; train: the rest; a hash orders both

So the start of a test pair lies on no shortest path of a training pair with the same goal: an agent that has memorised
the training pairs knows at most the last part of a test path.

What the agent sees (`observed`):

    full      its place, the goal and the open ways
    map       the goal and the open ways, and the map in the first message: easier than the paper's partial view
    history   the open ways; only on named maps, because agents learn map and goal from other walks

With full observation nothing is hidden: there is no filter, so gains are n/a. Of a named map, the agent gets only the
name, and learns the map by walking or by training; the first message draws a map without a name. Otherwise the
hypothesis is the cell where the walk began. The filter knows map and goal, whether the agent sees them or not. The ways
that are open at the start appear first, so they are public; the prior is uniform over the cells that have them. By
history alone, training tasks do not show their goals either, so an agent trains on the tasks of its test, as in the
paper (`sonde dataset lmrl maze_partial` does so).

Departures: a text that is no move costs a move at -1, and the answer lists the possible moves; by history alone, the
paper's text has "the history of actions", its code also the walls, as here; the paper trains on the starts that it
tests; coordinates are plain numbers; observations state open ways, not walls. `rules="code"` treats replies as the
paper's code does: a move is one of four exact texts, small letters with one blank and a line end (`"move up\n"`); any
other text costs -4, and its answer is the observation alone; and there is one call more than there are moves, which
costs -1 whatever it says. The agent's instructions then state the line end, which the paper leaves to its training
data.

Even without the history one can beat the paper's best by history (table 7: -25.75): one fixed sequence of 23 moves
reaches its goal from all 25 starts and returns -14.12 on average (`solver.FIXED_WALK`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

from sonde.core import AGENT, CertainEnv, Frozen, Outcome, Spec, Step, Task, TaskList, derive, invalid, unknown
from sonde.core.tools import choice_schema
from sonde.core.types import Json, Rules, content_hash

from .grid import (
    MAPS,
    MOVES,
    Cell,
    Layout,
    check_cell,
    check_layout,
    free_cells,
    generate,
    goal_distances,
    move_cell,
    open_directions,
    read_move,
    wall_directions,
)

if TYPE_CHECKING:
    from sonde.core import Filter


class _Preset(NamedTuple):
    grid: str
    observed: str
    moves: int
    source: str


_LMRL = "LMRL-Gym (arXiv 2311.18232), 4.2, appendices B.2, D.1, F.1 and H"
_PRESETS = {
    "lmrl": _Preset("double_t", "full", 100, _LMRL),
    "lmrl_partial": _Preset("double_t", "history", 100, _LMRL),
    "umaze": _Preset("umaze", "full", 100, _LMRL),
    "generated": _Preset("generated", "full", 100, f"ours, after {_LMRL}"),
    "pairs": _Preset("all", "full", 20, f"ours, after {_LMRL}"),
}
_PUBLISHED = ("lmrl", "lmrl_partial", "umaze")
_OBSERVED = ("full", "map", "history")
_GOALS: Mapping[str, Cell] = {"double_t": (8, 6), "umaze": (3, 3)}
"""The paper's goals."""
_SIDES = (7, 9, 11, 13)
_LARGEST = 15
_GENERATED = {"train": 1000, "test": 100}
_NEAREST, _FARTHEST = 2, 14
_DATA = "walks of the data go on to the goal or the limit: 77 moves, 31 % at the goal (table 1: 19.7, 11 %, so cut)"
_CUT = 10
"""One in this many cells is cut."""
_EXACT = Frozen({f"{move}\n": move.removeprefix("move ") for move in MOVES})
"""The replies that the paper's code reads as moves, with their directions."""
_MOVED, _AT_GOAL, _NO_MOVE = (Frozen({AGENT: r}) for r in (-1.0, 0.0, -4.0))


class State(NamedTuple):
    """The maze (its name, "" if it has none), goal and start, the current place and the turns taken.

    >>> State("umaze", MAPS["umaze"], (3, 3), (3, 1), (3, 1)).place
    (3, 1)
    """

    name: str
    layout: Layout
    goal: Cell
    begun: Cell
    place: Cell
    turn: int = 0


@dataclass(frozen=True, kw_only=True)
class Maze(CertainEnv[State]):
    """See the module docstring. None takes the preset's value. `grid` is one of the named maps (in `pairs` it selects
    that map's pairs; not for `generated`); `observed` is `full`, `map` or `history` (`history` not for `generated` and
    `pairs`); `rules` is `paper`, or `code` for the rules of the paper's code; `size`, odd, 7 to 15, fixes both sides of
    generated mazes; `max_turns` is the number of moves, by the code's rules the number of calls."""

    presets: ClassVar[tuple[str, ...]] = tuple(_PRESETS)

    preset: str = "lmrl"
    grid: str | None = None
    observed: str | None = None
    size: int | None = None
    rules: Rules = "paper"
    max_turns: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.grid is not None and self.preset == "generated":
            raise invalid("maze: grid", self.grid, "None in the preset generated")
        if self.grid is not None and self.grid not in MAPS:
            raise unknown("maze: grid", self.grid, MAPS)
        if self.observed is not None and self.observed not in _OBSERVED:
            raise unknown("maze: observed", self.observed, _OBSERVED)
        if self.observed == "history" and self.preset not in _PUBLISHED:
            raise invalid("maze: observed", self.observed, f"full or map, except in {', '.join(_PUBLISHED)}")
        if self._by_code and self.preset not in _PUBLISHED:
            raise invalid("maze: rules", self.rules, f"paper, except in {', '.join(_PUBLISHED)}")
        self._check_size()

    def _check_size(self) -> None:
        if self.size is None:
            return
        if self.preset != "generated":
            raise invalid("maze: size", self.size, "None, except in the preset generated")
        if self.size not in range(_SIDES[0], _LARGEST + 1, 2):
            raise invalid("maze: size", self.size, f"an odd number from {_SIDES[0]} to {_LARGEST}")

    @property
    def _by_code(self) -> bool:
        return self.rules == "code"

    @cached_property
    def turns(self) -> int:
        """The number of moves; by the code's rules, of calls, the last of which does not move."""
        return self.max_turns or _PRESETS[self.preset].moves + self._by_code

    @cached_property
    def view_kind(self) -> str:
        """What the agent sees: `full`, `map` or `history`."""
        return self.observed or _PRESETS[self.preset].observed

    @property
    def _is_full(self) -> bool:
        return self.view_kind == "full"

    @cached_property
    def _grid_name(self) -> str:
        return self.grid or _PRESETS[self.preset].grid

    @cached_property
    def spec(self) -> Spec:
        return Spec(
            name="maze",
            version="5",
            summary="walk to the goal of a maze, a move at a time",
            preset=self.preset,
            max_turns=self.turns,
            reward_range=(-4.0 if self._by_code else -1.0, 0.0),
            support="the setup itself: nothing is hidden"
            if self._is_full
            else "starts with the ways open that are told",
            source=_PRESETS[self.preset].source,
            reference="maze",
            max_new_tokens=512,
            departures=(
                "training tasks have other goals, mazes or pairs than test tasks",
                "open ways are told, not walls; coordinates are plain numbers",
                "by history alone open ways are told, as in the paper's code; its text tells the actions only",
                "not told, goal and map are known to beliefs",
                "a text that is no move costs -4" if self._by_code else "a text that is no move costs -1",
                *((_DATA,) if self.preset in ("lmrl", "lmrl_partial") else ()),
            ),
        )

    # --- tasks -------------------------------------------------------------------------------------------------------

    def split(self, split: str) -> Sequence[Task]:
        if self.preset == "generated":
            return TaskList(_GENERATED[split], lambda i: self._generate_task(split, i))
        found = _split_pairs(self._grid_name, split) if self.preset == "pairs" else _map_trips(self._grid_name, split)
        return TaskList(len(found), lambda i: self._task(*found[i], split, i))

    def _generate_task(self, split: str, index: int) -> Task:
        """Generate a task. The hash of the maze decides its split, so no maze is in both."""
        rng = Random(derive(0, "task", "maze", self.preset, split, index))
        while True:
            rows, cols = (self.size or rng.choice(_SIDES) for _ in range(2))
            layout = generate(rows, cols, rng)
            if _in_share(list(layout), 2) == (split == "test"):
                return self._task("", layout, *_distant_pair(layout, rng), split, index)

    def task(self, hidden: Json) -> Task:
        """`{"start": [1, 1]}`, with `goal` if the map has none of its own, and with `map` (a name) or `grid` (rows of
        `#` and `.`) for another map than the preset's."""
        setup: Mapping[str, Any] = cast("Mapping[str, Any]", hidden) if isinstance(hidden, Mapping) else Frozen()
        if "start" not in setup or set(setup) - {"start", "goal", "map", "grid"} or {"map", "grid"} <= set(setup):
            allowed = 'a mapping with start, and goal, map or grid if needed: {"start": [1, 1], "goal": [8, 6]}'
            raise invalid("maze: hidden", cast("object", hidden), allowed)
        name, layout = self._read_map(setup)
        start = check_cell("maze: hidden: start", setup["start"], layout)
        goal = check_cell("maze: hidden: goal", setup.get("goal", _GOALS.get(name)), layout)
        if start == goal or start not in goal_distances(layout, goal):
            raise invalid("maze: hidden: goal", goal, f"a cell other than the start {start} that a path joins to it")
        return self._task(name, layout, start, goal, "custom", 0)

    def _read_map(self, setup: Mapping[str, Any]) -> tuple[str, Layout]:
        if "grid" in setup:
            return "", check_layout("maze: hidden: grid", setup["grid"])
        name = setup.get("map", self._grid_name)
        if not isinstance(name, str) or name not in MAPS:
            raise invalid("maze: hidden: map", name, f"{', '.join(MAPS)}, or a grid instead")
        return name, MAPS[name]

    def _task(self, name: str, layout: Layout, start: Cell, goal: Cell, split: str, index: int) -> Task:
        shape = Frozen[Any](map=name) if name else Frozen[Any](grid=layout)
        seen = {"start": start} if self._is_full else {"open": open_directions(layout, start)}
        hidden = Frozen[Any]({**shape, "start": start, "goal": goal})
        tags = {"group": name} if name else {"group": "generated", "size": f"{len(layout)}x{len(layout[0])}"}
        public = Frozen[Any]({**shape, "goal": goal, **seen})
        return self.make_listed_task(
            split, index, public, hidden, distance=str(goal_distances(layout, goal)[start]), **tags
        )

    # --- rules -------------------------------------------------------------------------------------------------------

    def start(self, public: Mapping[str, Json], hidden: Json) -> State:
        name, start = hidden.get("map", ""), tuple(hidden["start"])
        return State(name, read_layout(hidden), tuple(hidden["goal"]), start, start)

    def prior(self, public: Mapping[str, Json]) -> Sequence[tuple[float, Json]]:
        shape = {key: public[key] for key in ("map", "grid") if key in public}
        starts = (
            (public["start"],)
            if "start" in public
            else _matching_starts(read_layout(public), public["goal"], public["open"])
        )
        return [(1.0 / len(starts), Frozen[Any]({**shape, "start": s, "goal": public["goal"]})) for s in starts]

    def to_act(self, state: State) -> str | None:
        return AGENT if state.turn < self.turns and state.place != state.goal else None

    def hypothesis(self, state: State) -> Cell:
        """Where the walk began."""
        return state.begun

    def intro(self, state: State, seat: str) -> str:
        say = self.prompt_pieces("maze")
        parts = [say[f"{self.view_kind}_intro"].format(turns=self.turns - self._by_code)]
        if self._by_code:
            parts[0] = f"{parts[0]} {say['exact']}"
        if self.view_kind == "map" or not state.name:
            parts.append(say["picture"].format(rows="\n".join(state.layout)))
        return "\n\n".join([*parts, self._observation_text(state)])

    def render(self, state: State, seat: str) -> str | None:
        """With full observation, the first message for the current place, which is the complete information."""
        return self.intro(state, seat) if self._is_full else None

    def _observation_text(self, state: State) -> str:
        """The observation of every turn, always in the same form."""
        say = self.prompt_pieces("maze")
        return _format_observation(say, state.name, state.layout, state.goal, state.place, self.view_kind)

    def next_step(self, state: State, text: str) -> Step:
        if self._by_code and state.turn == self.turns - 1:
            return self._end_turn(state, "over", None, _MOVED)
        direction = _EXACT.get(text) if self._by_code else read_move(text)
        if direction is None:
            return self._end_turn(state, "invalid", None, _NO_MOVE if self._by_code else _MOVED)
        place = move_cell(state.layout, state.place, direction)
        if place == state.goal:
            return self._win_step(state, direction)
        result = "blocked" if place == state.place else "moved"
        return self._end_turn(state._replace(place=place), result, direction, _MOVED)

    def _end_turn(self, state: State, result: str, direction: str | None, rewards: Frozen[float]) -> Step:
        after = state._replace(turn=state.turn + 1)
        told, info = self._answer_reply(state, result, direction)
        if after.turn < self.turns:
            return Step(after, told, rewards, info)
        told = Frozen({AGENT: f"{told[AGENT]} {self.prompt_pieces('maze')['timeout']}"})
        return Step(after, told, rewards, info, Outcome("out_of_turns", truncated="turns"))

    def _win_step(self, state: State, direction: str) -> Step:
        after = state._replace(place=state.goal, turn=state.turn + 1)
        told, info = self._answer_reply(after, "win", direction)
        return Step(after, told, _AT_GOAL, info, Outcome("win", 1.0))

    def _answer_reply(self, state: State, result: str, direction: str | None) -> tuple[Frozen[str], Frozen[Any]]:
        name, layout, goal, _, place, _ = state
        blame = result == "invalid" and not self._by_code
        say = self.prompt_pieces("maze")
        return _reply_text(say, name, layout, goal, place, self.view_kind, result, direction, blame)

    def actions(self, state: State) -> Sequence[str] | None:
        """The four moves; moving into a wall is legal."""
        return MOVES

    def answer_schema(self, public: Mapping[str, Json]) -> Mapping[str, Json] | None:
        return choice_schema(MOVES, "The move.")

    def say(self, answer: str) -> str:
        return f"{answer}\n" if self._by_code else answer

    def action_values(self, state: State, discount: float) -> Mapping[str, float] | None:
        """The value of each move if the shortest path follows, discounted per move, without a limit of moves; None if
        the agent does not see its place."""
        if not self._is_full:
            return None
        paths = goal_distances(state.layout, state.goal)
        after = {move: move_cell(state.layout, state.place, move.removeprefix("move ")) for move in MOVES}
        rest = {cell: -sum(discount**i for i in range(steps - 1)) for cell, steps in paths.items()}
        return {move: 0.0 if cell == state.goal else -1.0 + discount * rest[cell] for move, cell in after.items()}

    # --- exact beliefs -----------------------------------------------------------------------------------------------

    def filter(self, public: Mapping[str, Json]) -> Filter | None:
        """The posterior over the cells where the walk may have begun; None if the agent sees the start."""
        return None if "start" in public else super().filter(public)


def read_layout(setup: Mapping[str, Json]) -> Layout:
    """The map of a public part or a hidden setup."""
    return tuple(setup["grid"]) if "grid" in setup else MAPS[setup["map"]]


def _matching_starts(layout: Layout, goal: Cell, ways: Sequence[str]) -> tuple[Cell, ...]:
    """The cells from which the goal is reachable and exactly these directions are open."""
    paths = goal_distances(layout, goal)
    return tuple(c for c in free_cells(layout) if c in paths and c != goal and open_directions(layout, c) == ways)


@lru_cache(maxsize=1 << 14)
def _reply_text(
    say: Frozen[str],
    name: str,
    layout: Layout,
    goal: Cell,
    place: Cell,
    told: str,
    result: str,
    direction: str | None,
    blame: bool,
) -> tuple[Frozen[str], Frozen[Any]]:
    """The text and `info` facts that answer a reply; `blame` also lists the available moves."""
    text = say["win"] if result == "win" else _format_observation(say, name, layout, goal, place, told)
    seen = {"position": place} if told == "full" else {}
    info = Frozen[Any]({"result": result, "move": direction, **seen, "walls": wall_directions(layout, place)})
    return Frozen({AGENT: f"{say['invalid']} {text}" if blame else text}), info


def _format_observation(say: Mapping[str, str], name: str, layout: Layout, goal: Cell, place: Cell, told: str) -> str:
    ways = ", ".join(open_directions(layout, place))
    row_col = {"goal": f"{goal[0]} {goal[1]}", "place": f"{place[0]} {place[1]}"}
    now = say[told].format(open=ways, **row_col)
    return say["named"].format(name=name, now=now) if name and told != "history" else now


# --- splits ----------------------------------------------------------------------------------------------------------

_Trip = tuple[str, Layout, Cell, Cell]


def _in_share(key: Json, parts: int) -> bool:
    """Whether the hash of a setup puts it into the first of this many equal parts."""
    return int(content_hash(key), 16) % parts == 0


@lru_cache(maxsize=32)
def _map_trips(name: str, split: str) -> tuple[_Trip, ...]:
    """Every start, in reading order: for the test to the paper's goal (on other maps, to the last free cell), for
    training to every other goal."""
    layout = MAPS[name]
    cells = free_cells(layout)
    tested = _GOALS.get(name, cells[-1])
    goals = [tested] if split == "test" else [cell for cell in cells if cell != tested]
    return tuple((name, layout, start, goal) for goal in goals for start in cells if start != goal)


@lru_cache(maxsize=32)
def _split_pairs(which: str, split: str) -> tuple[_Trip, ...]:
    """The pairs of a split, on one map or on all maps."""
    names = MAPS if which == "all" else (which,)
    every = [(name, MAPS[name], start, goal) for name in names for start, goal in _near_pairs(MAPS[name])]
    keys = {trip: [trip[0], trip[2], trip[3]] for trip in every}
    chosen = [trip for trip in every if (trip[2] in _severed_cells(trip[0], trip[3])) == (split == "test")]
    return tuple(sorted(chosen, key=lambda trip: content_hash(["order", *keys[trip]])))


@lru_cache(maxsize=1 << 10)
def _severed_cells(name: str, goal: Cell) -> frozenset[Cell]:
    """The cells of a map whose shortest paths to the goal pass through a cut cell, and the cut cells themselves."""
    layout = MAPS[name]
    left = goal_distances(layout, goal)
    severed = set[Cell]()
    for cell in sorted(left, key=left.__getitem__):
        ways = (move_cell(layout, cell, way) for way in open_directions(layout, cell))
        cut = left[cell] > _NEAREST and _in_share(["cut", name, cell, goal], _CUT)
        if cut or any(left[way] < left[cell] and way in severed for way in ways):
            severed.add(cell)
    return frozenset(severed)


def _near_pairs(layout: Layout) -> list[tuple[Cell, Cell]]:
    """Starts and goals that are neither too close nor too far apart."""
    cells = free_cells(layout)
    return [(s, g) for g in cells for s in cells if _NEAREST <= goal_distances(layout, g)[s] <= _FARTHEST]


def _distant_pair(layout: Layout, rng: Random) -> tuple[Cell, Cell]:
    """Draw a start and a goal that are at least half as far apart as the goal and the cell farthest from it."""
    goal = rng.choice(free_cells(layout))
    paths = goal_distances(layout, goal)
    return rng.choice([cell for cell, steps in paths.items() if 2 * steps >= max(paths.values())]), goal
