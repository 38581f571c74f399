"""Minesweeper: open every safe cell of a small board without stepping on a mine.

Source: PAPRIKA, table 1 and appendix B.4.9, sizes and mine counts from its code: 4 to 7 rows and columns, one mine per
ten cells (at least one), 20 turns, 1000 training and 200 test tasks. A task is a size. As in the paper, the first
reveal is safe and every arrangement of the mines on the other cells is equally likely. Rewards: 1 on the winning turn,
otherwise 0.

The paper draws the mines once the first cell is chosen; here the world seed fixes them before, so that there is a
hidden setup from the start and samples that begin alike share a board. They are drawn uniformly from all cells but the
last one (bottom right), and a mine under the first reveal moves there. For every first reveal this maps the layouts one
to one onto the arrangements without a mine on it, so the agent sees the paper's distribution, and whoever knows the
mines knows the layout. Departures: the agent is told the number of mines. The board is shown after every turn, with an
X where a mine was hit; other mines are never shown.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import combinations
from math import comb
from re import IGNORECASE
from re import compile as pattern
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

from sonde.core import AGENT, CertainEnv, Frozen, Outcome, Rng, Spec, Step, Task, TaskList, derive, invalid
from sonde.core.tools import fields_schema
from sonde.core.types import Json

from .._shared.answer import AnswerTags, Which, parse_answer, read_answer, tag_answer
from .._shared.bitgrid import BitGrid, shared_grid
from .._shared.frames import split_cell

if TYPE_CHECKING:
    from .filter import MineFilter, Reveal

_SIZES = {"train": 1000, "test": 200}
_SIDES = range(4, 8)
_MOST_FILTERED = 250_000
_MOST_LISTED = 10_000
"""Maximum number of layouts that a filter may hold and `prior` may list."""
_WIN = Frozen({AGENT: 1.0})
_REVEAL = pattern(r"reveal\b\s*:?\s*(?:(?:the\s+)?(?:cell|square)\s+)?", IGNORECASE)


class State(NamedTuple):
    """A game: bitboards with bit `row * cols + col`.

    `layout` holds the mines as drawn, `mines` their current positions (they differ if the first reveal moved one).
    """

    rows: int
    cols: int
    layout: int
    mines: int
    opened: int = 0
    turn: int = 0


def flood_cells(size: BitGrid, mines: int, cell: int) -> int:
    """The cells opened by revealing the safe `cell`: itself, and all neighbours of every empty cell among them."""
    opened = 1 << cell
    empty = size.full_board & ~size.spread_cells(mines)
    while (grown := opened | size.spread_cells(opened & empty)) != opened:
        opened = grown
    return opened


def format_board(state: State) -> tuple[str, ...]:
    """The board as rows of `#` (closed), `*` (no adjacent mines) and digits.

    >>> format_board(State(rows=4, cols=4, layout=1, mines=1, opened=0xFFFE))
    ('#1**', '11**', '****', '****')
    """
    return shared_grid(state.rows, state.cols).format_rows(state.mines, state.opened)


@dataclass(frozen=True, kw_only=True)
class Minesweeper(CertainEnv[State], AnswerTags):
    """See the module docstring. A world with more than 250,000 layouts can be played, but has no filter."""

    presets: ClassVar[tuple[str, ...]] = ("paprika",)

    preset: str = "paprika"
    max_turns: int = 20

    @cached_property
    def spec(self) -> Spec:
        return Spec(
            name="minesweeper",
            version="3",
            summary="open every safe cell of a small board without stepping on a mine",
            preset=self.preset,
            max_turns=self.max_turns,
            reward_range=(0.0, 1.0),
            support="all layouts of the board's mines, at most 194,580 (7 by 7 with 4 mines)",
            source="PAPRIKA (arXiv 2502.17543), table 1 and appendix B.4.9",
            reference="minesweeper",
            departures=(
                *self.paprika_departures,
                "the agent is told the number of mines",
                "the mines are drawn from the world seed, before the first reveal, with the same distribution after it",
                "the board is also shown after a mine, without the other mines",
            ),
        )

    def split(self, split: str) -> Sequence[Task]:
        return TaskList(_SIZES[split], lambda i: self._generate_task(split, i))

    def _generate_task(self, split: str, index: int) -> Task:
        rng = random.Random(derive(0, "task", "minesweeper", self.preset, split, index))
        return self._open_task(rng.choice(_SIDES), rng.choice(_SIDES), split, index)

    def _open_task(self, rows: int, cols: int, split: str, index: int) -> Task:
        """A board whose mines, a tenth of the cells, are drawn in every episode."""
        return self._task(rows, cols, max(1, rows * cols // 10), None, split, index)

    def task(self, hidden: Json) -> Task:
        """`{"rows": 5, "cols": 5, "mines": [[0, 1], [4, 2]]}`: the last cell stays free, because a mine under the first
        reveal moves there. Without `mines`, every episode draws them, on a tenth of the cells."""
        field = "minesweeper: hidden"
        setup: Mapping[Any, Any] = cast("Mapping[Any, Any]", hidden) if isinstance(hidden, Mapping) else {}
        if set(setup) not in ({"rows", "cols", "mines"}, {"rows", "cols"}):
            raise invalid(field, cast("object", hidden), "a mapping with rows, cols and mines, or rows and cols alone")
        rows, cols = (_check_side(f"{field}[{k!r}]", setup[k]) for k in ("rows", "cols"))
        if "mines" not in setup:
            return self._open_task(rows, cols, "custom", 0)
        mines = _read_mines(f"{field}['mines']", setup["mines"], rows, cols)
        return self._task(rows, cols, len(mines), Frozen(rows=rows, cols=cols, mines=mines), "custom", 0)

    def _task(self, rows: int, cols: int, mines: int, hidden: Json, split: str, index: int) -> Task:
        public = Frozen(rows=rows, cols=cols, mines=mines)
        return self.make_listed_task(split, index, public, hidden, difficulty=f"{rows}x{cols}")

    # --- rules -------------------------------------------------------------------------------------------------------

    def start(self, public: Mapping[str, Json], hidden: Json) -> State:
        rows, cols = hidden["rows"], hidden["cols"]
        layout = shared_grid(rows, cols).board_of(hidden["mines"])
        return State(rows, cols, layout, layout)

    def prior(self, public: Mapping[str, Json]) -> Sequence[tuple[float, Json]]:
        """Every layout, up to 10,000 of them; `filter` handles the others."""
        (rows, cols, mines), n = _read_sizes(public), _count_layouts(public)
        if n > _MOST_LISTED:
            raise invalid("minesweeper: layouts", n, f"at most {_MOST_LISTED:,} to be listed; use filter(public)")
        cells = shared_grid(rows, cols).cells_of(shared_grid(rows, cols).full_board)[:-1]
        return [(1.0 / n, Frozen(rows=rows, cols=cols, mines=chosen)) for chosen in combinations(cells, mines)]

    def draw(self, public: Mapping[str, Json], rng: Rng) -> Json:
        rows, cols, mines = _read_sizes(public)
        cells = sorted(rng.sample(range(rows * cols - 1), mines))
        return Frozen(rows=rows, cols=cols, mines=tuple(divmod(i, cols) for i in cells))

    def to_act(self, state: State) -> str | None:
        return AGENT if state.turn < self.max_turns else None

    def hypothesis(self, state: State) -> tuple[tuple[int, int], ...]:
        """The mines as drawn, as (row, column) in reading order."""
        return shared_grid(state.rows, state.cols).cells_of(state.layout)

    def intro(self, state: State, seat: str) -> str:
        mines = state.mines.bit_count()
        row, col = state.rows // 2, state.cols - 1
        return self.prompt_pieces("minesweeper")["intro"].format(
            rows=state.rows,
            cols=state.cols,
            mines=f"{mines} mine{'s' * (mines > 1)}",
            turns=self.max_turns,
            example=f"{row} {col}",
            row=row,
            col=col,
            board=_board_text(format_board(state)),
            left=self.max_turns - state.turn,
        )

    def render(self, state: State, seat: str) -> str | None:
        return self.intro(state, seat)

    def next_step(self, state: State, text: str) -> Step:
        cell = _read_reveal(self.which_answer, text)
        if cell is None:
            if read_answer(text) is not None:
                return self._waste_turn(state, "invalid")
            told, info = self.prompt_pieces("minesweeper")["format"], Frozen(result="unreadable")
            return Step(self._end_game(state), Frozen({AGENT: told}), info=info, outcome=Outcome("unreadable"))
        row, col = cell
        if not (0 <= row < state.rows and 0 <= col < state.cols):
            return self._waste_turn(state, "outside", cell)
        index = row * state.cols + col
        if state.opened >> index & 1:
            return self._waste_turn(state, "repeat", cell)
        return self._reveal_cell(state, cell, index)

    def _waste_turn(self, state: State, result: str, cell: tuple[int, int] | None = None) -> Step:
        board = format_board(state)
        row, col = cell or (None, None)
        told = self.prompt_pieces("minesweeper")[result].format(
            row=row, col=col, rows=state.rows - 1, cols=state.cols - 1, board=_board_text(board)
        )
        return self._end_turn(state, told, Frozen(result=result, cell=cell, board=board))

    def _reveal_cell(self, state: State, cell: tuple[int, int], index: int) -> Step:
        size, mines = shared_grid(state.rows, state.cols), state.mines
        if mines >> index & 1:
            if state.opened:
                return self._hit_mine(state, cell)
            mines = mines ^ 1 << index | 1 << size.cell_count - 1
        opened = state.opened | flood_cells(size, mines, index)
        after = State(state.rows, state.cols, state.layout, mines, opened, state.turn)
        board = format_board(after)
        if opened | mines != size.full_board:
            info = Frozen(result="safe", cell=cell, board=board)
            return self._end_turn(
                after, self.prompt_pieces("minesweeper")["safe"].format(board=_board_text(board)), info
            )
        told = self.prompt_pieces("minesweeper")["win"].format(board=_board_text(board))
        info = Frozen(result="win", cell=cell, board=board)
        return Step(self._end_game(after), Frozen({AGENT: told}), _WIN, info, Outcome("win", 1.0))

    def _hit_mine(self, state: State, cell: tuple[int, int]) -> Step:
        (row, col), board = cell, format_board(state)
        rows = list(board)
        rows[row] = rows[row][:col] + "X" + rows[row][col + 1 :]
        told = self.prompt_pieces("minesweeper")["mine"].format(row=row, col=col, board=_board_text(rows))
        info = Frozen(result="mine", cell=cell, board=board)
        return Step(self._end_game(state), Frozen({AGENT: told}), info=info, outcome=Outcome("loss"))

    def _end_game(self, state: State) -> State:
        return state._replace(turn=self.max_turns)

    def _end_turn(self, state: State, told: str, info: Frozen[Json]) -> Step:
        turn, say = state.turn + 1, self.prompt_pieces("minesweeper")
        after = State(state.rows, state.cols, state.layout, state.mines, state.opened, turn)
        left = self.max_turns - turn
        if left == 0:
            told = f"{told}\n\n{say['timeout']}"
            return Step(after, Frozen({AGENT: told}), info=info, outcome=Outcome("out_of_turns", truncated="turns"))
        return Step(after, Frozen({AGENT: f"{told}\n\n{say['next'].format(left=left)}"}), info=info)

    def actions(self, state: State) -> Sequence[str] | None:
        """The cells still closed, in reading order."""
        closed = shared_grid(state.rows, state.cols).full_board & ~state.opened
        return [f"reveal {row} {col}" for row, col in shared_grid(state.rows, state.cols).cells_of(closed)]

    def answer_schema(self, public: Mapping[str, Json]) -> Mapping[str, Json] | None:
        cell = {"type": "integer", "minimum": 0}
        row = {**cell, "maximum": public["rows"] - 1, "description": "Row of the cell to reveal, from 0 at the top."}
        column = {**cell, "maximum": public["cols"] - 1, "description": "Its column, from 0 at the left."}
        return fields_schema(row=row, column=column)

    def compose_answer(self, fields: Mapping[str, str]) -> str:
        return f"reveal {fields['row']} {fields['column']}"

    def say(self, answer: str) -> str:
        return tag_answer(answer)

    # --- exact beliefs -----------------------------------------------------------------------------------------------

    def filter(self, public: Mapping[str, Json]) -> MineFilter | None:
        if _count_layouts(public) > _MOST_FILTERED:
            return None
        from .filter import shared_layouts

        return shared_layouts(*_read_sizes(public), _shared_reader(self.which_answer)).start


def _read_sizes(public: Mapping[str, Json]) -> tuple[int, int, int]:
    return public["rows"], public["cols"], public["mines"]


def _count_layouts(public: Mapping[str, Json]) -> int:
    rows, cols, mines = _read_sizes(public)
    return comb(rows * cols - 1, mines)


def parse_reveal(answer: str) -> tuple[int, int] | None:
    """The (row, column) of an answer; None if it has none. Naming a cell reveals it, because there is no other move.

    >>> parse_reveal("reveal 2 3"), parse_reveal("Row 2, column 3"), parse_reveal("(2, 3)"), parse_reveal("flag 2 3")
    ((2, 3), (2, 3), (2, 3), None)
    """
    answer = answer.strip()
    found = _REVEAL.match(answer)
    row, column = split_cell(answer[found.end() :] if found else answer) or ("", "")
    return None if not row or row.isalpha() else (int(row), int(column))


@cache
def _shared_reader(which: Which) -> Reveal:
    """The same object for each rule, because layouts are cached by it."""
    return partial(_read_reveal, which)


def _read_reveal(which: Which, text: str) -> tuple[int, int] | None:
    return parse_answer(text, parse_reveal, which=which)


def _board_text(board: Sequence[str]) -> str:
    return "\n".join([" ".join(row) for row in board])


def _check_side(field: str, value: Json) -> int:
    if type(value) is not int or value not in _SIDES:
        raise invalid(field, value, "4 to 7")
    return value


def _read_mines(field: str, value: Json, rows: int, cols: int) -> tuple[tuple[int, int], ...]:
    given = cast("Sequence[Any]", value) if isinstance(value, list | tuple) else ()
    last = (rows - 1, cols - 1)
    cells = {(cell[0], cell[1]) for cell in given if _is_cell(cell, rows, cols)} - {last}
    if len(cells) != len(given) or not cells:
        cell = f"[row, column] with row in 0..{rows - 1} and column in 0..{cols - 1}"
        allowed = f"1 to {rows * cols - 1} different {cell}, {list(last)} not among them"
        raise invalid(field, cast("object", value), allowed)
    return tuple(sorted(cells))


def _is_cell(cell: Any, rows: int, cols: int) -> bool:
    if not isinstance(cell, list | tuple) or len(cast("Sequence[Any]", cell)) != 2:
        return False
    row, col = cast("Sequence[Any]", cell)
    return type(row) is int and type(col) is int and 0 <= row < rows and 0 <= col < cols
