"""Battleship: rules by hand-made boards, answers, tasks, and the exact filter against brute force."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.core import Episode, Rng, TabularEnv, TabularFilter, UserError
from sonde.envs.battleship.env import SHIPS, Battleship, State, cell_names, format_board, list_layouts, parse_cell
from tests.cases import each

ENV = Battleship()
PAPER = {
    "size": 5,
    "carrier": ["A1", "A2", "A3", "A4", "A5"],
    "battleship": ["B1", "C1", "D1", "E1"],
    "destroyer": ["D3", "D4"],
}
"""The example board of the paper's appendix B.4.8."""


def play_episode(answers: list[str], hidden: object = PAPER, env: Battleship = ENV) -> Episode:
    ep = Episode.begin(env, env.task(hidden))
    for answer in answers:
        ep = ep.step(env.say(answer))
    return ep


def list_results(ep: Episode) -> list[str]:
    return [turn.info["result"] for turn in ep.turns]


# --- rules -----------------------------------------------------------------------------------------------------------


def test_board_after_the_two_shots_of_the_paper() -> None:
    ep = play_episode(["C2", "A1"])
    assert ep.turns[-1].info["board"] == "  1 2 3 4 5\nA X . . . .\nB . . . . .\nC . M . . .\nD . . . . .\nE . . . . ."
    assert ep.turns[-1].info["board"] in ep.turns[-1].told


def test_results_and_ships() -> None:
    ep = play_episode(["d3", "D 4", "D3", "F1", "A6", "A0", "up", "B1", "B2"])
    assert list_results(ep) == ["hit", "sunk", "repeat", "outside", "outside", "outside", "invalid", "hit", "miss"]
    ships = [turn.info["ship"] for turn in ep.turns]
    assert ships == ["destroyer", "destroyer", None, None, None, None, None, "battleship", None]
    assert [turn.info["cell"] for turn in ep.turns] == ["D3", "D4", "D3", "F1", "A6", "A0", None, "B1", "B2"]
    assert ep.outcome is None and ep.state.turn == 9


def test_the_last_ship_wins() -> None:
    ships = [cell for ship in SHIPS for cell in PAPER[ship]]
    ep = play_episode(ships)
    assert ep.outcome is not None and ep.outcome.success and ep.outcome.score == 1.0
    assert list_results(ep) == ["hit"] * 4 + ["sunk"] + ["hit"] * 3 + ["sunk", "hit", "sunk"]
    assert [turn.rewards.get("agent", 0.0) for turn in ep.turns] == [0.0] * 10 + [1.0]
    assert ep.to_act is None


def test_winning_with_the_last_shot_is_a_win_and_one_shot_less_a_timeout() -> None:
    ships = [cell for ship in SHIPS for cell in PAPER[ship]]
    won, lost = (
        play_episode(ships, env=Battleship(max_turns=11)),
        play_episode(ships[:10], env=Battleship(max_turns=10)),
    )
    assert won.outcome is not None and won.outcome.kind == "win"
    assert lost.outcome is not None and (lost.outcome.kind, lost.outcome.truncated) == ("out_of_turns", "turns")


def test_no_answer_ends_the_episode() -> None:
    ep = Episode.begin(ENV, ENV.task(PAPER)).step("A1")
    assert ep.outcome is not None and (ep.outcome.kind, ep.outcome.score) == ("unreadable", 0.0)


def test_legal_answers_are_the_cells_not_shot_at() -> None:
    legal = play_episode(["A1", "B2", "Q1"]).view().legal
    assert legal is not None and set(cell_names(5)) - set(legal) == {"A1", "B2"} and len(legal) == 23


def test_render_holds_board_hits_and_shots_left() -> None:
    text = play_episode(["A1", "A2", "C3"]).view().rendered
    assert text is not None
    assert "A X X . . ." in text and "carrier (5 cells) at A1 A2" in text and "Shots left: 17" in text


def test_board_signs_on_six_rows() -> None:
    state = State(6, (0b11111, 0b1111 << 30, 0b11 << 12), shots=1 | 1 << 35 | 1 << 13)
    assert format_board(state).splitlines() == [
        "  1 2 3 4 5 6", "A X . . . . .", "B . . . . . .", "C . X . . . .", "D . . . . . .", "E . . . . . .",
        "F . . . . . M",
    ]  # fmt: skip


# --- answers ---------------------------------------------------------------------------------------------------------


@each(
    "answer, cell",
    [
        ("C2", "C2"), ("c2", "C2"), ("C 2", "C2"), ("F10", "F10"), ("A02", "A2"), ("z0", "Z0"), ("C-2", "C2"),
        ("C\n2", "C2"),
    ]
    + [(bad, None) for bad in ["", "C", "2", "2C", "C2 D3", "C2.", "C123", "C²", "Ｃ2", "CC2", "C٢"]],
)  # fmt: skip
def test_parse_cell(answer: str, cell: str | None) -> None:
    assert parse_cell(answer) == cell


@pytest.mark.thorough
@given(st.text(max_size=12) | st.text("ABFabf 01256-", max_size=4))
def test_a_shot_is_at_the_cell_that_was_written(text: str) -> None:
    state = ENV.start({"size": 5}, ENV.task(PAPER).hidden)
    step = ENV.step(state, f"<Answer>{text}</Answer>", Rng(0, "unused"))
    assert step.info["result"] in ("hit", "miss", "outside", "invalid") and step.outcome is None
    if step.info["result"] in ("hit", "miss"):
        written = "".join(letter for letter in text if letter.isalnum())  # without the frame around it
        assert step.info["cell"] in cell_names(5) and step.info["cell"] == written.upper().replace("0", "")


# --- tasks -----------------------------------------------------------------------------------------------------------


def test_counts_and_sizes_of_the_paper() -> None:
    train, test = ENV.tasks("train"), ENV.tasks("test")
    assert (len(train), len(test)) == (1000, 200)
    assert sum(t.public["size"] == 5 for t in train) == 504 and sum(t.public["size"] == 5 for t in test) == 111
    assert len({t.hidden for t in train} | {t.hidden for t in test}) == 1200
    assert {t.public["size"] for t in test[:8]} == {5, 6}


def test_cells_may_come_in_any_order_and_case() -> None:
    shuffled = {**PAPER, "carrier": ["a3", "A1", "a5", "A 2", "A4"]}
    assert ENV.task(shuffled).id == ENV.task(PAPER).id


@each(
    "change, field",
    [
        ({"size": 7}, "size"), ({"size": True}, "size"), ({"size": "5"}, "size"),
        ({"carrier": ["A1", "A2", "A3", "A4"]}, "carrier"), ({"carrier": ["A1", "A2", "A3", "A4", "A4"]}, "carrier"),
        ({"carrier": ["A1", "A2", "A3", "A4", "B5"]}, "carrier"),
        ({"carrier": ["A2", "A3", "A4", "A5", "A6"]}, "carrier"), ({"carrier": "A1A2A3A4A5"}, "carrier"),
        ({"battleship": ["B1", "C1", "D1", "F1"]}, "battleship"),
        ({"battleship": ["B1", "C2", "D3", "E4"]}, "battleship"), ({"destroyer": ["D3", "D5"]}, "destroyer"),
        ({"destroyer": ["A5", "B1"]}, "destroyer"), ({"destroyer": [3, None]}, "destroyer"),
        ({"destroyer": ["A1", "A2"]}, "overlap"), ({"destroyer": ["D1", "D2"]}, "overlap"),
        ({"submarine": ["D1", "D2"]}, "hidden"),
    ],
)  # fmt: skip
def test_bad_setups_name_the_field(change: dict[str, object], field: str) -> None:
    with pytest.raises(UserError, match=field):
        ENV.task({**PAPER, **change})


@each("hidden", [None, 3, "A1", [], {}, {"size": 5, "carrier": []}])
def test_setups_that_are_not_objects_are_refused(hidden: object) -> None:
    with pytest.raises(UserError, match="battleship: hidden"):
        ENV.task(hidden)


# --- placements and beliefs ------------------------------------------------------------------------------------------


@each("size, count", [(5, 1968), (6, 20584)])
def test_layouts_are_all_placements(size: int, count: int) -> None:
    """Counted once more, cell by cell, without bitboards."""

    def lines(length: int) -> list[frozenset[tuple[int, int]]]:
        grid = list(itertools.product(range(size), repeat=2))
        across = [frozenset((r, c + i) for i in range(length)) for r, c in grid if c + length <= size]
        return across + [frozenset((r + i, c) for i in range(length)) for r, c in grid if r + length <= size]

    triples = itertools.product(lines(5), lines(4), lines(2))
    assert sum(1 for a, b, c in triples if a.isdisjoint(b) and c.isdisjoint(a | b)) == count
    assert len(set(list_layouts(size))) == len(list_layouts(size)) == count


def test_prior_covers_the_tasks_and_sums_to_one() -> None:
    for size in (5, 6):
        prior = ENV.prior({"size": size})
        assert math.isclose(sum(p for p, _ in prior), 1.0)
        support = {hidden for _, hidden in prior}
        tasks = [t for split in ("train", "test") for t in ENV.tasks(split) if t.public["size"] == size]
        assert all(t.hidden in support for t in tasks)


def test_hypothesis_reads_well_and_is_in_the_belief() -> None:
    ep = play_episode(["D3", "C2"])
    name = "carrier A1-A5, battleship B1-E1, destroyer D3-D4"
    belief, known = ep.posterior(), ep.filter()
    assert ENV.hypothesis(ep.state) == name and belief is not None and known is not None
    assert name in belief.hypotheses and belief.prob(name) == known.prob(name) == 1 / len(belief)
    assert known.prob("carrier A1-E1, battleship B1-E1, destroyer D3-D4") == 0.0
    assert belief.top(1)[0][0] in belief.hypotheses


@each("seed", range(3))
def test_filter_equals_brute_force(seed: int) -> None:
    """Every number of the array filter against one state per board, along a game with wasted shots."""
    task = next(t for t in ENV.tasks("train")[seed * 50 :] if t.public["size"] == 5)
    oracle, exact = TabularEnv.filter(ENV, task.public), ENV.filter(task.public)
    assert isinstance(oracle, TabularFilter)
    ep, rng = Episode.begin(ENV, task), Rng(seed, "test")
    for answer in [*rng.sample(cell_names(5), 5), "Z9", "no"]:
        assert math.isclose(exact.expected_gain(ENV.say(answer)), oracle.expected_gain(ENV.say(answer)), abs_tol=1e-9)
        ep = ep.step(ENV.say(answer))
        exact, oracle = exact.observe(ep.turns[-1]), oracle.observe(ep.turns[-1])
        mine, theirs = exact.belief(), oracle.belief()
        assert set(mine.hypotheses) == set(theirs.hypotheses) and len(mine) == len(theirs)
        assert math.isclose(exact.entropy, oracle.entropy, abs_tol=1e-9)
        assert math.isclose(sum(mine.probs), 1.0)
    shot, bits = exact.best_question()
    assert math.isclose(bits, oracle.best_question()[1], abs_tol=1e-9)
    assert math.isclose(bits, oracle.expected_gain(ENV.say(shot)), abs_tol=1e-9)


def test_hit_probabilities_by_counting_on_six_rows() -> None:
    task = next(t for t in ENV.tasks("test") if t.public["size"] == 6)
    ep = Episode.begin(ENV, task)
    for cell in ("C3", "A1", "E5", "B4"):
        ep = ep.step(ENV.say(cell))
    known = ENV.filter(task.public)
    for turn in ep.turns:
        known = known.observe(turn)
    bits, alive = {cell: 1 << i for i, cell in enumerate(cell_names(6))}, list(list_layouts(6))
    for info in (turn.info for turn in ep.turns):
        bit = bits[info["cell"]]
        alive = [a for a in alive if next((s for s, m in zip(SHIPS, a, strict=True) if m & bit), None) == info["ship"]]
    assert len(alive) == len(known.belief())
    by_hand = {c: sum(1 for a in alive if any(m & bits[c] for m in a)) / len(alive) for c in ep.view().legal or ()}
    assert known.hit_probabilities() == pytest.approx(by_hand)


def test_a_shot_known_in_advance_gains_nothing() -> None:
    ep = play_episode(["B1", "C1", "D1"])
    known = ENV.filter({"size": 5})
    for turn in ep.turns:
        known = known.observe(turn)
    assert 1.0 not in known.hit_probabilities().values(), "the fourth cell may be A1 or E1"
    known = known.observe(ep.step(ENV.say("A1")).turns[-1])
    assert known.hit_probabilities()["E1"] == 1.0
    assert known.expected_gain(ENV.say("E1")) == 0.0 and known.expected_gain(ENV.say("A1")) == 0.0
    assert known.expected_gain("no answer") == 0.0


def test_an_impossible_turn_is_an_error() -> None:
    other = {**PAPER, "carrier": ["E1", "E2", "E3", "E4", "E5"], "battleship": ["A1", "B1", "C1", "D1"]}
    hit, other_hit = play_episode(["A1"]).turns[0], play_episode(["A1"], other).turns[0]
    with pytest.raises(ValueError, match="A1"):
        ENV.filter({"size": 5}).observe(hit).observe(other_hit)
