"""The exact filter of Minesweeper against brute force, numbers by hand and frequencies."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest

from sonde.core import Episode, Rng, TabularEnv, TabularFilter, UserError, entropy
from sonde.envs._shared.bitgrid import shared_grid
from sonde.envs.minesweeper.env import State, flood_cells, format_board
from sonde.envs.minesweeper.filter import MineFilter, flood_numbers, move_first_mine
from tests.cases import each

from .test_env import ENV, board, play_episode


def brute_force(public: dict[str, int]) -> TabularFilter:
    known = TabularEnv.filter(ENV, public)
    assert isinstance(known, TabularFilter)
    return known


def mine_filter(public: Any) -> MineFilter:
    known = ENV.filter(public)
    assert known is not None
    return known


def assert_equal(fast: MineFilter, slow: TabularFilter, legal: list[str]) -> None:
    mine, other = fast.belief(), slow.belief()
    assert dict(zip(mine.hypotheses, mine.probs, strict=True)) == pytest.approx(
        dict(zip(other.hypotheses, other.probs, strict=True))
    )
    assert fast.entropy == pytest.approx(slow.entropy, abs=1e-9)
    slow_gains = {answer: slow.expected_gain(ENV.say(answer)) for answer in legal}
    assert dict(fast.expected_gains) == pytest.approx(slow_gains, abs=1e-9)
    assert fast.best_question()[1] == pytest.approx(max(slow_gains.values()), abs=1e-9)


@pytest.mark.thorough
@each("rows, cols, mines", [(4, 4, 1), (4, 4, 2), (4, 5, 2), (4, 4, 13)])
def test_filter_equals_brute_force(rows: int, cols: int, mines: int) -> None:
    """Random games, played on after wasted turns and up to a mine, checked at every turn."""
    public = {"rows": rows, "cols": cols, "mines": mines}
    for game in range(4):
        rng = Rng(game, "game", rows, cols, mines)
        hidden = ENV.draw(public, rng)
        ep = Episode.begin(ENV, ENV.task(hidden))
        slow = brute_force(public)
        while ep.to_act is not None:
            legal = list(ENV.actions(ep.state) or ())
            fast = ep.filter()
            assert isinstance(fast, MineFilter)
            assert_equal(fast, slow, legal)
            ep = ep.step(ENV.say(rng.choice([*legal, "reveal 9 9", "hello"])))
            slow = slow.observe(ep.turns[-1])
        fast = ep.filter()
        assert fast is not None and fast.entropy == pytest.approx(slow.entropy, abs=1e-9)


def test_mine_probabilities_by_hand() -> None:
    """After the example's first reveal the two mines are certain."""
    known = play_episode(["2 2"]).filter()
    assert isinstance(known, MineFilter)
    assert dict(known.mine_probabilities()) == {"reveal 0 0": 0.0, "reveal 0 1": 1.0, "reveal 4 2": 1.0}
    assert known.best_question() == ("reveal 0 0", 0.0)
    assert known.belief().top(1) == [(((0, 1), (4, 2)), 1.0)] and known.prob(((0, 1), (4, 2))) == 1.0


def test_a_moved_mine_is_reckoned_with() -> None:
    """One mine on 4x4: a 1 at row 2, column 2 puts it on one of the 8 cells around, the last one among them, where it
    lies if it was under the reveal."""
    public = {"rows": 4, "cols": 4, "mines": 1}
    known = play_episode(["2 2"], {"rows": 4, "cols": 4, "mines": [[2, 2]]}).filter()
    assert isinstance(known, MineFilter) and known.entropy == pytest.approx(3.0)
    assert known.prob(((2, 2),)) == 1 / 8 and known.prob(((3, 3),)) == 0.0
    risks = known.mine_probabilities()
    assert risks["reveal 3 3"] == risks["reveal 1 1"] == 1 / 8 and sum(risks.values()) == 1.0
    far = play_episode(["0 0"], {"rows": 4, "cols": 4, "mines": [[0, 0]]})
    known = far.filter()
    assert far.outcome is not None and far.outcome.success
    assert known is not None and dict(known.belief().top(3)) == {((0, 0),): 1.0}
    assert sum(mine_filter(public).mine_probabilities().values()) == 0.0, "the first reveal is safe"


def test_mine_probabilities_sum_to_the_number_of_mines() -> None:
    for task in ENV.tasks("train")[:20]:
        ep = Episode.begin(ENV, task)
        for cell in ("0 0", "3 3", "1 2"):
            ep = ep if ep.to_act is None else ep.step(ENV.say(f"reveal {cell}"))
            known = ep.filter()
            assert isinstance(known, MineFilter)
            assert math.fsum(known.mine_probabilities().values()) == pytest.approx(task.public["mines"])


def test_unreadable_and_open_cells_gain_nothing() -> None:
    known = play_episode(["2 2"]).filter()
    assert known is not None
    for text in ("", "reveal 0 0", ENV.say("reveal 2 2"), ENV.say("reveal 5 5"), ENV.say("reveal -1 0"), ENV.say("hi")):
        assert known.expected_gain(text) == 0.0
    assert mine_filter({"rows": 5, "cols": 5, "mines": 2}).expected_gain(ENV.say("reveal 2 2")) > 1.0


def test_an_impossible_turn_is_an_error() -> None:
    known = mine_filter({"rows": 5, "cols": 5, "mines": 1})
    with pytest.raises(ValueError, match="impossible"):
        known.observe(play_episode(["2 2"]).turns[0])


def test_the_largest_prior_and_what_is_outside_it() -> None:
    known = mine_filter({"rows": 7, "cols": 7, "mines": 4})
    belief = known.belief()
    assert len(belief) == 194_580 and known.entropy == pytest.approx(math.log2(194_580))
    assert known.prob(((0, 0), (0, 1), (0, 2), (6, 5))) == pytest.approx(1 / 194_580)
    beyond, last = ((0, 0), (0, 1), (0, 2), (6, 7)), ((0, 0), (0, 1), (0, 2), (6, 6))
    for outside in ((), ((0, 0),), beyond, last, ((-1, 0), (0, 1), (0, 2), (6, 5))):
        assert known.prob(outside) == 0.0
    assert belief.hypotheses[1:3] == [belief.hypotheses[1], belief.hypotheses[2]]
    assert next(iter(belief.hypotheses)) == belief.hypotheses[0] == ((0, 0), (0, 1), (0, 2), (0, 3))


def test_worlds_too_large_to_list_have_no_filter() -> None:
    public = {"rows": 7, "cols": 7, "mines": 5}
    assert ENV.filter(public) is None
    with pytest.raises(UserError, match="layouts"):
        ENV.prior({"rows": 7, "cols": 7, "mines": 4})
    ep = play_episode(["6 6"], {"rows": 7, "cols": 7, "mines": [[r, c] for r in range(3) for c in range(7)]})
    assert ep.posterior() is None and board(ep)[3] == "2333332"


@each("cell", [0, 9, 24, 48])
def test_no_two_outcomes_of_a_first_reveal_share_a_number(cell: int) -> None:
    """The 64-bit numbers against whole boards, over some 3000 layouts of the largest size."""
    size = shared_grid(7, 7)
    mines = move_first_mine(mine_filter({"rows": 7, "cols": 7, "mines": 4}).alive, cell, 48)
    empty = mines[mines & (size.neighbour_boards[cell] | 1 << cell) == 0]
    empty = empty[:: len(empty) // 3000]
    opened = [flood_cells(size, int(m), cell) for m in empty]
    shown = [format_board(State(7, 7, int(m), int(m), o)) for m, o in zip(empty, opened, strict=True)]
    pairs = set(zip(shown, flood_numbers(size, empty, cell).tolist(), strict=True))
    assert len(pairs) == len(set(shown)) == len({number for _, number in pairs}) > 20


def test_gain_of_a_first_reveal_from_frequencies() -> None:
    """Over all 276 layouts of the paper's size, the entropy of what the simulator shows."""
    public = {"rows": 5, "cols": 5, "mines": 2}
    seen = Counter(board(play_episode(["1 3"], hidden)) for _, hidden in ENV.prior(public))
    bits = entropy(n / 276 for n in seen.values())
    assert mine_filter(public).expected_gain(ENV.say("reveal 1 3")) == pytest.approx(bits, abs=1e-9)
