"""Minesweeper: rules by hand-made boards, answers, tasks, and the exact filter against brute force."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sonde
from sonde.core import Episode, Rng, UserError
from sonde.envs._shared.bitgrid import shared_grid
from sonde.envs.minesweeper.env import Minesweeper, State, flood_cells, format_board, parse_reveal
from sonde.runs.rollout import Plan, collect_trajectories
from tests.cases import each

ENV = Minesweeper()
PAPER = {"rows": 5, "cols": 5, "mines": [[0, 1], [4, 2]]}
"""The example of the paper's appendix B.4.9."""
AFTER = ("##1**", "111**", "*****", "*111*", "*1#1*")
"""Its board once row 2, column 2 is revealed."""


def play_episode(cells: list[str], hidden: object = PAPER, env: Minesweeper = ENV) -> Episode:
    ep = Episode.begin(env, env.task(hidden))
    for cell in cells:
        ep = ep.step(env.say(f"reveal {cell}"))
    return ep


def list_results(ep: Episode) -> list[str]:
    return [turn.info["result"] for turn in ep.turns]


def board(ep: Episode) -> tuple[str, ...]:
    return ep.turns[-1].info["board"]


# --- rules -----------------------------------------------------------------------------------------------------------


def test_the_example_of_the_paper() -> None:
    ep = play_episode(["2 2"])
    assert board(ep) == AFTER and list_results(ep) == ["safe"] and ep.turns[-1].info["cell"] == (2, 2)
    assert "# # 1 * *\n1 1 1 * *\n* * * * *\n* 1 1 1 *\n* 1 # 1 *\n" in ep.turns[-1].told
    ep = ep.step(ENV.say("reveal 0 0"))
    assert ep.outcome is not None and ep.outcome.success and ep.outcome.score == 1.0
    assert list_results(ep) == ["safe", "win"] and [t.rewards.get("agent", 0.0) for t in ep.turns] == [0.0, 1.0]
    assert board(ep) == ("1#1**", *AFTER[1:]) and ep.to_act is None


def test_a_mine_loses_and_no_other_mine_is_shown() -> None:
    ep = play_episode(["2 2", "4 2"])
    assert ep.outcome is not None and (ep.outcome.kind, ep.outcome.score) == ("loss", 0.0)
    assert list_results(ep) == ["safe", "mine"] and board(ep) == AFTER
    assert ep.turns[-1].told.count("X") == 2 and "* 1 X 1 *" in ep.turns[-1].told
    assert ep.turns[-1].told.count("#") == 2


def test_wasted_turns_change_nothing_and_cost_a_turn() -> None:
    ep = play_episode(["2 2", "2 2", "5 0", "0 5", "-1 0", "0 -1", "there"])
    assert list_results(ep) == ["safe", "repeat", "outside", "outside", "outside", "outside", "invalid"]
    assert board(ep) == AFTER and ep.state.turn == 7 and ep.outcome is None
    assert [t.info["cell"] for t in ep.turns][1:] == [(2, 2), (5, 0), (0, 5), (-1, 0), (0, -1), None]
    assert "rows go from 0 to 4, columns from 0 to 4" in ep.turns[2].told


def test_turns_run_out() -> None:
    ep = play_episode(["2 2", "9 9"], env=Minesweeper(max_turns=2))
    assert ep.outcome is not None and (ep.outcome.kind, ep.outcome.truncated) == ("out_of_turns", "turns")
    assert play_episode(["2 2", "0 0"], env=Minesweeper(max_turns=2)).outcome is not None
    assert play_episode(["2 2", "0 0"], env=Minesweeper(max_turns=2)).outcome.kind == "win"  # type: ignore[union-attr]


def test_an_answer_that_cannot_be_read_ends_the_game() -> None:
    ep = Episode.begin(ENV, ENV.task(PAPER)).step("reveal 2 2")
    assert ep.outcome is not None and ep.outcome.kind == "unreadable"
    assert dict(ep.turns[0].info) == {"result": "unreadable"}


def test_a_mine_under_the_first_reveal_moves_to_the_last_cell() -> None:
    ep = play_episode(["1 1"], {"rows": 4, "cols": 4, "mines": [[0, 0], [0, 1], [1, 1]]})
    assert ep.state == State(4, 4, layout=0b100011, mines=1 << 15 | 0b11, opened=1 << 5, turn=1)
    assert board(ep) == ("####", "#2##", "####", "####")
    assert ENV.hypothesis(ep.state) == ((0, 0), (0, 1), (1, 1)), "the hypothesis stays the layout as drawn"
    assert list_results(ep.step(ENV.say("reveal 3 3"))) == ["safe", "mine"]


@each("rows, cols, mines", [(4, 4, 1), (4, 4, 2), (4, 5, 2)])
def test_after_any_first_reveal_the_mines_are_uniform_over_the_other_cells(rows: int, cols: int, mines: int) -> None:
    """All layouts of the prior: every arrangement without a mine on the first cell comes from exactly one of them."""
    public = {"rows": rows, "cols": cols, "mines": mines}
    for first in range(rows * cols):
        after: dict[int, float] = {}
        for p, hidden in ENV.prior(public):
            now = play_episode(["{} {}".format(*divmod(first, cols))], hidden).state.mines
            after[now] = after.get(now, 0.0) + p
        others = [1 << i for i in range(rows * cols) if i != first]
        assert set(after) == {sum(chosen) for chosen in combinations(others, mines)}
        assert list(after.values()) == pytest.approx([1 / math.comb(rows * cols - 1, mines)] * len(after))


def test_only_the_first_reveal_moves_a_mine() -> None:
    ep = play_episode(["nowhere", "9 9", "0 1"])
    assert list_results(ep) == ["invalid", "outside", "safe"], "wasted turns reveal nothing"
    assert list_results(ep.step(ENV.say("reveal 4 4"))) == ["invalid", "outside", "safe", "mine"]


@each("cell", ["0 0", "3 3"])
def test_the_first_reveal_may_win(cell: str) -> None:
    ep = play_episode(
        [cell], {"rows": 4, "cols": 4, "mines": [[r, c] for r, c in product(range(4), range(4)) if (r, c) != (3, 3)]}
    )
    assert ep.outcome is not None and ep.outcome.success
    assert play_episode(["3 3"], {"rows": 4, "cols": 4, "mines": [[0, 0]]}).outcome is not None


def test_a_flood_stops_at_digits_and_goes_round_corners() -> None:
    """A wall of mines in column 2 leaves a gap at the bottom: the flood passes it."""
    ep = play_episode(["0 0"], {"rows": 7, "cols": 7, "mines": [[r, 3] for r in range(4)]})
    assert board(ep) == ("**2#2**", "**3#3**", "**3#3**", "**2#2**", "**111**", "*******", "*******")
    assert ep.outcome is not None and ep.outcome.success
    walled = play_episode(["0 0"], {"rows": 7, "cols": 7, "mines": [[r, 3] for r in range(7)]})
    assert board(walled) == ("**2####", *["**3####"] * 5, "**2####")


def test_eight_mines_around_a_cell() -> None:
    ring = [[r, c] for r, c in product(range(3), range(3)) if (r, c) != (1, 1)]
    assert board(play_episode(["1 1"], {"rows": 4, "cols": 4, "mines": ring}))[1] == "#8##"


def reference_flood(rows: int, cols: int, mines: set[tuple[int, int]], cell: tuple[int, int]) -> set[tuple[int, int]]:
    """The rule as one says it, with a stack."""
    opened, stack = {cell}, [cell]
    while stack:
        r, c = stack.pop()
        around = {(r + i, c + j) for i, j in product((-1, 0, 1), repeat=2) if 0 <= r + i < rows and 0 <= c + j < cols}
        if not around & mines:
            stack += around - opened
            opened |= around
    return opened


boards = st.tuples(st.integers(4, 7), st.integers(4, 7)).flatmap(
    lambda size: st.tuples(st.just(size), st.integers(0, 2 ** (size[0] * size[1]) - 1), st.integers(0, 2**49))
)


@given(boards)
def test_flood_and_numbers_are_those_of_plain_code(case: tuple[tuple[int, int], int, int]) -> None:
    (rows, cols), some, more = case
    size = shared_grid(rows, cols)
    mines = some & more  # about a quarter of the cells
    cells = set(size.cells_of(mines))
    assert size.board_of(cells) == mines
    digits = size.neighbour_counts(mines)
    for i in range(size.cell_count):
        r, c = divmod(i, cols)
        near = {(r + a, c + b) for a, b in product((-1, 0, 1), repeat=2)} - {(r, c)}
        assert sum((d >> i & 1) << k for k, d in enumerate(digits)) == len(near & cells)
        if (r, c) not in cells:
            assert set(size.cells_of(flood_cells(size, mines, i))) == reference_flood(rows, cols, cells, (r, c))
    many = size.neighbour_counts(np.array([mines, 0], np.uint64))
    assert [int(d[0]) for d in many] == list(digits) and not any(int(d[1]) for d in many)


def test_show_on_a_hand_made_board() -> None:
    assert format_board(State(4, 4, 1, 1, 0xFFFE)) == ("#1**", "11**", "****", "****")
    assert format_board(State(4, 5, 1, 1)) == ("#####",) * 4


def test_render_is_the_opening_with_the_board_of_now() -> None:
    ep = play_episode(["2 2"])
    now = ENV.render(ep.state, "agent")
    assert now is not None and "# # 1 * *\n1 1 1 * *" in now and "Turns left: 19" in now and "with 2 mines" in now
    assert ENV.render(Episode.begin(ENV, ENV.task(PAPER)).state, "agent") == ep.messages["agent"][0].content


def test_legal_answers_are_the_closed_cells() -> None:
    assert ENV.actions(play_episode(["2 2"]).state) == ["reveal 0 0", "reveal 0 1", "reveal 4 2"]
    assert len(ENV.actions(Episode.begin(ENV, ENV.task(PAPER)).state) or ()) == 25


# --- answers ---------------------------------------------------------------------------------------------------------


@each("text", ["reveal 2 3", "Reveal 2, 3", "REVEAL (2,3)", " reveal\n02  3 ", "reveal (2) (3)", "2 3"])
def test_ways_to_write_an_answer(text: str) -> None:
    assert parse_reveal(text) == (2, 3)


@each("text",
    ["", "23", "flag 2 3", "reveal", "reveal 2", "reveal 2 3 4", "reveal a b", "reveal ² 3", "reveal ٢ 3",
     "reveal 2.0 3", "open 2 3", "reveal 23", "reveal2 3", "reveal 1234567 0"],
)  # fmt: skip
def test_invalid_answers(text: str) -> None:
    assert parse_reveal(text) is None


# --- tasks -----------------------------------------------------------------------------------------------------------


def test_tasks_are_sizes_and_nothing_more() -> None:
    train, test = ENV.tasks("train"), ENV.tasks("test")
    assert (len(train), len(test)) == (1000, 200)
    sizes = Counter((t.public["rows"], t.public["cols"]) for t in train)
    assert set(sizes) == set(product(range(4, 8), repeat=2)) and min(sizes.values()) > 30
    for task in (*train, *test):
        rows, cols = task.public["rows"], task.public["cols"]
        assert dict(task.public) == {"rows": rows, "cols": cols, "mines": max(1, rows * cols // 10)}
        assert task.hidden is None
    assert len({t.id for t in (*train, *test)}) == 1200


def test_mines_are_uniform_over_layouts() -> None:
    public = {"rows": 4, "cols": 5, "mines": 2}
    n = 17_100
    drawn = Counter(ENV.draw(public, Rng(k, "x"))["mines"] for k in range(n))
    assert len(drawn) == 171
    chi2 = sum((count - 100) ** 2 / 100 for count in drawn.values())
    assert chi2 < 170 + 5 * math.sqrt(2 * 170)


def test_a_custom_task_keeps_its_setup() -> None:
    task = ENV.task({"rows": 5, "cols": 5, "mines": [[4, 2], [0, 1]]})
    assert dict(task.public) == {"rows": 5, "cols": 5, "mines": 2}
    assert task.hidden["mines"] == ((0, 1), (4, 2)) and ENV.task(task.hidden) == task
    assert ENV.hypothesis(Episode.begin(ENV, task).state) == ((0, 1), (4, 2))


@each("change, field",
    [
        ({"rows": 3}, "rows"), ({"cols": 8}, "cols"), ({"rows": True}, "rows"), ({"rows": "5"}, "rows"),
        ({"mines": []}, "mines"), ({"mines": 2}, "mines"), ({"mines": [[0, 1], [0, 1]]}, "mines"),
        ({"mines": [[5, 0]]}, "mines"), ({"mines": [[0, -1]]}, "mines"), ({"mines": [[0, 1, 2]]}, "mines"),
        ({"mines": ["01"]}, "mines"), ({"mines": [[0.0, 1]]}, "mines"), ({"more": 1}, "hidden"),
        ({"mines": [list(c) for c in product(range(5), repeat=2)]}, "mines"), ({"mines": [[0, 1], [4, 4]]}, "mines"),
    ],
)  # fmt: skip
def test_bad_setups_name_the_field(change: dict[str, Any], field: str) -> None:
    with pytest.raises(UserError, match=f"{field}.*allowed"):
        ENV.task(PAPER | change)


def test_the_share_of_first_cells_with_a_mine_and_of_games_won_at_random() -> None:
    """Of 4x4 boards with one mine, 1 in 15 has it in the corner after a first reveal elsewhere (the paper's rule; .130
    if a moved mine took the first free cell). Random play of the test split: .185 (.197 then), here within 4 standard
    errors of 800 games."""
    public = {"rows": 4, "cols": 4, "mines": 1}
    corner = [play_episode(["2 1"], hidden).state.mines == 1 for _, hidden in ENV.prior(public)]
    assert sum(corner) / len(corner) == pytest.approx(1 / 15)
    games = collect_trajectories(ENV, {"agent": sonde.make("agents:random")}, ENV.tasks("test"), Plan(k=4))
    won = sum(t.outcome is not None and t.outcome.success for t in games) / len(games)
    assert abs(won - 0.185) < 4 * math.sqrt(0.185 * 0.815 / len(games))
