"""Battleship for one: sink three hidden ships; every shot is answered with a miss or the name of the ship hit.

Source: PAPRIKA (arXiv 2502.17543), table 1 and appendix B.4.8: a square board, a carrier of 5 cells, a battleship of 4
and a destroyer of 2, straight, without overlap (they may touch), 20 turns, 1000 training and 200 test boards. Sizes 5
and 6 in the proportions of the paper's data. Rewards: 1 on the turn that sinks the last ship, otherwise 0. Departures:
boards are uniform over all placements (the paper says "randomly", without a distribution); lower case and a space are
accepted (`c 2`); an answer that names no cell costs a turn.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from string import ascii_uppercase
from typing import TYPE_CHECKING, ClassVar, NamedTuple, cast

from sonde.core import AGENT, CertainEnv, Frozen, Outcome, Spec, Step, Task, TaskList, derive, invalid
from sonde.core.tools import text_schema
from sonde.core.types import Json

from .._shared.answer import AnswerTags, Which, parse_answer, read_answer, tag_answer
from .._shared.frames import split_cell

if TYPE_CHECKING:
    from .filter import Fleets, ShipFilter

Layout = tuple[int, int, int]
"""The cells of carrier, battleship and destroyer as bitboards: bit `row * size + column`, both from 0."""

SHIPS = Frozen(carrier=5, battleship=4, destroyer=2)
"""The number of cells of each ship."""

SIZES = (5, 6)
_COUNTS = {"train": {5: 504, 6: 496}, "test": {5: 111, 6: 89}}
_WIN = Frozen({AGENT: 1.0})


class State(NamedTuple):
    """The ships, the cells shot at (a bitboard), and the number of turns used."""

    size: int
    ships: Layout
    shots: int = 0
    turn: int = 0

    @property
    def fleet_cells(self) -> int:
        """The cells of all ships."""
        carrier, battleship, destroyer = self.ships
        return carrier | battleship | destroyer


def parse_cell(answer: str) -> str | None:
    """The name of a cell, perhaps outside any board; None if `answer` names no cell.

    >>> parse_cell("C2"), parse_cell("z 0"), parse_cell("(C, 2)"), parse_cell("row C, column 2"), parse_cell("2C")
    ('C2', 'Z0', 'C2', 'C2', None)
    """
    row, column = split_cell(answer) or ("", "")
    return f"{row.upper()}{int(column)}" if row.isalpha() and column.isdecimal() else None


def format_board(state: State) -> str:
    """The agent's view of the board: `.` not shot at, `X` hit, `M` miss, with row letters and column numbers."""
    size, row_mask = state.size, (1 << state.size) - 1
    hits, misses = state.shots & state.fleet_cells, state.shots & ~state.fleet_cells
    rows = ["  " + " ".join("123456"[:size])]
    for row in range(size):
        rows.append(_format_row(row, size, hits & row_mask, misses & row_mask))
        hits >>= size
        misses >>= size
    return "\n".join(rows)


@cache
def _format_row(row: int, size: int, hits: int, misses: int) -> str:
    signs = ("X" if hits >> c & 1 else "M" if misses >> c & 1 else "." for c in range(size))
    return " ".join(("ABCDEF"[row], *signs))


@dataclass(frozen=True, kw_only=True)
class Battleship(CertainEnv[State], AnswerTags):
    """See the module docstring. The task sets the size of the board (5 or 6)."""

    presets: ClassVar[tuple[str, ...]] = ("paprika",)

    preset: str = "paprika"
    max_turns: int = 20

    @cached_property
    def spec(self) -> Spec:
        return Spec(
            name="battleship",
            version="2",
            summary="sink three hidden ships; every hit names the ship",
            preset=self.preset,
            max_turns=self.max_turns,
            reward_range=(0.0, 1.0),
            support="all placements of the three ships: 1,968 on 5x5, 20,584 on 6x6",
            source="PAPRIKA (arXiv 2502.17543), table 1 and appendix B.4.8",
            reference="battleship",
            departures=("boards are uniform over all placements", *self.paprika_departures),
        )

    def split(self, split: str) -> Sequence[Task]:
        setups = _split_setups(split)
        return TaskList(len(setups), lambda i: self._task(*setups[i], split, i))

    def task(self, hidden: Json) -> Task:
        """`{"size": 6, "carrier": ["A1", ...], "battleship": [...], "destroyer": [...]}`: the cells of every ship. With
        the size alone, every episode draws them."""
        if _mapping_keys(hidden) not in ({"size", *SHIPS}, {"size"}):
            raise invalid(
                "battleship: hidden", hidden, f"an object with exactly size, {', '.join(SHIPS)}, or size alone"
            )
        size = hidden["size"]
        if type(size) is not int or size not in SIZES:
            raise invalid("battleship: size", size, "5 or 6")
        if len(hidden) == 1:
            return self._task(size, None, "custom", 0)
        layout = _read_layout(size, hidden)
        if State(size, layout).fleet_cells.bit_count() != sum(SHIPS.values()):
            raise invalid("battleship: hidden", hidden, "ships that do not overlap")
        return self._task(size, layout, "custom", 0)

    def _task(self, size: int, layout: Layout | None, split: str, index: int) -> Task:
        hidden = None if layout is None else _hidden_setup(size, layout)
        return self.make_listed_task(split, index, Frozen(size=size), hidden, difficulty=f"{size}x{size}")

    # --- rules -------------------------------------------------------------------------------------------------------

    def start(self, public: Mapping[str, Json], hidden: Json) -> State:
        return State(public["size"], _read_layout(public["size"], hidden))

    def prior(self, public: Mapping[str, Json]) -> Sequence[tuple[float, Json]]:
        size: int = public["size"]
        return [(1.0 / len(list_layouts(size)), _hidden_setup(size, layout)) for layout in list_layouts(size)]

    def to_act(self, state: State) -> str | None:
        return AGENT if state.turn < self.max_turns else None

    def hypothesis(self, state: State) -> str:
        """For example `carrier A1-A5, battleship B1-E1, destroyer D3-D4`."""
        return describe_placement(state.size, state.ships)

    def intro(self, state: State, seat: str) -> str:
        return f"{self._rules_text(state.size)}\n\n{format_board(state)}\n\n{self.prompt_pieces('battleship')['first']}"

    def _rules_text(self, size: int) -> str:
        return self.prompt_pieces("battleship")["intro"].format(
            size=size, last="ABCDEF"[size - 1], turns=self.max_turns
        )

    def render(self, state: State, seat: str) -> str | None:
        say = self.prompt_pieces("battleship")
        hits = say["hits"].format(hits=", ".join(_hit_summary(state)) or "none")
        left = say["next"].format(left=self.max_turns - state.turn)
        return f"{self._rules_text(state.size)}\n\n{format_board(state)}\n{hits}\n{left}"

    def next_step(self, state: State, text: str) -> Step:
        cell = parse_answer(text, parse_cell, which=self.which_answer)
        if cell is None:
            if read_answer(text) is not None:
                return self._end_turn(state, "invalid")
            told, info = self.prompt_pieces("battleship")["format"], Frozen(result="unreadable")
            return Step(self._end_game(state), Frozen({AGENT: told}), info=info, outcome=Outcome("unreadable"))
        index = _cell_indices(state.size).get(cell)
        if index is None:
            return self._end_turn(state, "outside", cell)
        if state.shots >> index & 1:
            return self._end_turn(state, "repeat", cell)
        return self._shoot_cell(state, cell, 1 << index)

    def _shoot_cell(self, state: State, cell: str, bit: int) -> Step:
        after = state._replace(shots=state.shots | bit)
        for ship, mask in zip(SHIPS, state.ships, strict=True):
            if mask & bit:
                return self._end_turn(after, "hit" if mask & ~after.shots else "sunk", cell, ship)
        return self._end_turn(after, "miss", cell)

    def _end_turn(self, state: State, result: str, cell: str | None = None, ship: str | None = None) -> Step:
        """The step that ends this turn; `state` already has the shot on its board, but does not count the turn yet."""
        say, size, seen = self.prompt_pieces("battleship"), state.size, format_board(state)
        length = SHIPS[ship] if ship else None
        what = say[result].format(cell=cell, ship=ship, length=length, size=size, last="ABCDEF"[size - 1])
        info = Frozen(result=result, cell=cell, ship=ship, board=seen)
        left = self.max_turns - state.turn - 1
        if not state.fleet_cells & ~state.shots:
            told = Frozen({AGENT: f"{what}\n{seen}\n{say['win']}"})
            return Step(self._end_game(state), told, _WIN, info, Outcome("win", 1.0))
        more = say["next"].format(left=left) if left else say["timeout"]
        outcome = None if left else Outcome("out_of_turns", truncated="turns")
        after = state._replace(turn=state.turn + 1)
        return Step(after, Frozen({AGENT: f"{what}\n{seen}\n{more}"}), info=info, outcome=outcome)

    def _end_game(self, state: State) -> State:
        return state._replace(turn=self.max_turns)

    def actions(self, state: State) -> Sequence[str] | None:
        """The cells not shot at, in reading order."""
        return [cell for i, cell in enumerate(cell_names(state.size)) if not state.shots >> i & 1]

    def answer_schema(self, public: Mapping[str, Json]) -> Mapping[str, Json] | None:
        size = public["size"]
        cell = f"[A-{ascii_uppercase[size - 1]}][1-9]{'[0-9]?' if size > 9 else ''}"
        return text_schema("The cell to shoot at: row letter, then column number, such as C2.", cell)

    def say(self, answer: str) -> str:
        return tag_answer(answer)

    # --- exact beliefs -----------------------------------------------------------------------------------------------

    def filter(self, public: Mapping[str, Json]) -> ShipFilter:
        return _shared_fleets(public["size"], self.which_answer).start


def _hit_summary(state: State) -> list[str]:
    """The hit cells of every ship: `carrier (5 cells) at A1 A2`."""
    hit = {ship: _cells_of(state.size, mask & state.shots) for ship, mask in zip(SHIPS, state.ships, strict=True)}
    return [f"{ship} ({SHIPS[ship]} cells) at {' '.join(found)}" for ship, found in hit.items() if found]


# --- placements ------------------------------------------------------------------------------------------------------


@cache
def cell_names(size: int) -> tuple[str, ...]:
    """The names of all cells in reading order: `A1`, `A2`, ..."""
    return tuple(f"{row}{column + 1}" for row in "ABCDEF"[:size] for column in range(size))


def _cells_of(size: int, mask: int) -> tuple[str, ...]:
    return tuple(cell for i, cell in enumerate(cell_names(size)) if mask >> i & 1)


def describe_placement(size: int, layout: Layout) -> str:
    """A placement in words: each ship by its two end cells."""
    ends = (_span_text(size, mask) for mask in layout)
    return ", ".join(f"{ship} {span}" for ship, span in zip(SHIPS, ends, strict=True))


@cache
def _span_text(size: int, mask: int) -> str:
    names = _cells_of(size, mask)
    return f"{names[0]}-{names[-1]}"


@cache
def _ship_positions(size: int, length: int) -> tuple[int, ...]:
    """Every straight line of `length` cells: horizontal ones, then vertical ones."""
    across = sum(1 << i for i in range(length))
    down = sum(1 << i * size for i in range(length))
    starts, ends = range(size), range(size - length + 1)
    return (
        *(across << r * size + c for r in starts for c in ends),
        *(down << r * size + c for r in ends for c in starts),
    )


@cache
def list_layouts(size: int) -> tuple[Layout, ...]:
    """Every placement of the three ships without overlap."""
    carriers, battleships, destroyers = (_ship_positions(size, length) for length in SHIPS.values())
    pairs = [(a, b) for a in carriers for b in battleships if not a & b]
    return tuple((a, b, c) for a, b in pairs for c in destroyers if not (a | b) & c)


@cache
def _split_setups(split: str) -> tuple[tuple[int, Layout], ...]:
    """The boards of a split, sizes mixed. Per size, train and test are slices of one fixed shuffle."""
    rows: list[tuple[int, Layout]] = []
    for size in SIZES:
        order = list(list_layouts(size))
        random.Random(derive(0, "task", "battleship", "paprika", size)).shuffle(order)
        first = 0 if split == "train" else _COUNTS["train"][size]
        rows += [(size, layout) for layout in order[first : first + _COUNTS[split][size]]]
    random.Random(derive(0, "task", "battleship", "paprika", split)).shuffle(rows)
    return tuple(rows)


def _hidden_setup(size: int, layout: Layout) -> Frozen[Json]:
    ships = {ship: _cells_of(size, mask) for ship, mask in zip(SHIPS, layout, strict=True)}
    return Frozen({"size": size, **ships})


def _mapping_keys(value: Json) -> set[str]:
    return set(cast("Mapping[str, Json]", value)) if isinstance(value, Mapping) else set()


def _read_layout(size: int, hidden: Mapping[str, Json]) -> Layout:
    carrier, battleship, destroyer = (_read_ship(size, ship, hidden[ship]) for ship in SHIPS)
    return carrier, battleship, destroyer


def _read_ship(size: int, ship: str, names: Json) -> int:
    """The bitboard of a ship given by its cells in any order."""
    listed: list[Json] = list(names) if type(names) in (list, tuple) else []
    found = {_cell_indices(size).get(parse_cell(name) or "") if isinstance(name, str) else None for name in listed}
    mask = sum(1 << i for i in found if i is not None)
    lines = _ship_positions(size, SHIPS[ship])
    if len(listed) != SHIPS[ship] or mask not in lines:
        example = list(_cells_of(size, lines[0]))
        allowed = f"{SHIPS[ship]} cells in a straight line on a {size}x{size} board, such as {example}"
        raise invalid(f"battleship: {ship}", names, allowed)
    return mask


@cache
def _cell_indices(size: int) -> Mapping[str, int]:
    return {name: i for i, name in enumerate(cell_names(size))}


# --- exact beliefs ---------------------------------------------------------------------------------------------------


@cache
def _shared_fleets(size: int, which: Which) -> Fleets:
    from .filter import Fleets

    return Fleets(
        size, tuple(SHIPS), list_layouts(size), cell_names(size), partial(_parse_cell, which), describe_placement
    )


def _parse_cell(which: Which, size: int, text: str) -> int | None:
    """The cell that a text shoots at, as a bit number; None if it names no cell of the board."""
    return _cell_indices(size).get(parse_answer(text, parse_cell, which=which) or "")
