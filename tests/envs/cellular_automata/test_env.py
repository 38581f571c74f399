"""Cellular automata: rules by hand, reading of answers, tasks, and the posterior that no guess changes."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sonde
from sonde.core import Episode, TabularFilter, UserError
from sonde.envs.cellular_automata.env import (
    NEIGHBORHOODS,
    CellularAutomata,
    apply_rule,
    read_rule,
    rule_fits,
    rule_table,
)
from tests.cases import each

ENV = CellularAutomata()
HIDDEN = {"rule": 110, "inputs": ["0101", "10110"]}


def say_rule(number: int) -> str:
    return ENV.say(str(number))


def begin_episode(hidden: Any = HIDDEN, **config: Any) -> Episode:
    env = CellularAutomata(**config)
    return Episode.begin(env, env.task(hidden))


# --- the automaton ---------------------------------------------------------------------------------------------------


def test_the_example_of_the_paper() -> None:
    """B.4.6: under 110 the row 10110 becomes 11111."""
    assert rule_table(110) == dict(zip(NEIGHBORHOODS, "01101110", strict=True))
    assert apply_rule(rule_table(110), "10110") == "11111"


@each(
    "number, row, expected",
    [
        (0, "10110", "00000"),
        (255, "10110", "11111"),
        (204, "10110", "10110"),  # the identity
        (51, "10110", "01001"),  # its complement
        (170, "10110", "01101"),  # takes the right neighbor: shifts to the left
        (240, "10110", "01011"),  # takes the left neighbor: shifts to the right
        (90, "0001000", "0010100"),  # left xor right
        (30, "0001000", "0011100"),  # left xor (centre or right)
        (184, "1101001", "1010101"),  # traffic: a 1 moves right onto a 0
        (90, "100", "011"),
    ],
)
def test_rows_by_hand(number: int, row: str, expected: str) -> None:
    assert apply_rule(rule_table(number), row) == expected


@given(st.integers(0, 255), st.text("01", min_size=3, max_size=32))
def test_bits_say_the_same_as_strings(number: int, row: str) -> None:
    """The same map in arithmetic: bit 4 * left + 2 * centre + right of the number."""
    cells = [int(c) for c in row]
    n = len(cells)
    expected = [number >> (4 * cells[i - 1] + 2 * cells[i] + cells[(i + 1) % n]) & 1 for i in range(n)]
    assert apply_rule(rule_table(number), row) == "".join(map(str, expected))


# --- answers ---------------------------------------------------------------------------------------------------------


@given(st.integers(0, 255), st.permutations(NEIGHBORHOODS), st.sampled_from(["", " ", "\n", " and "]))
def test_whole_rules_are_read_in_any_order(number: int, order: list[str], between: str) -> None:
    states = rule_table(number)
    assert read_rule(between.join(f"<rule> {w}: {states[w]} </rule>" for w in order)) == states
    assert read_rule("".join(f"<RULE>{w} :{states[w]}</Rule>" for w in order)) == states


WHOLE = "".join(f"<rule> {w}: 0 </rule>" for w in NEIGHBORHOODS)


@each(
    "answer",
    [
        "", "0", "00000000", WHOLE.replace("<rule> 101: 0 </rule>", ""), WHOLE.replace("101: 0", "101: 2"),
        WHOLE.replace("101: 0", "101: s"), WHOLE.replace("101: 0", "101:"), WHOLE.replace("101: 0", "101"),
        WHOLE.replace("101: 0", "1010: 0"), WHOLE.replace("101: 0", "10: 0"), WHOLE + "<rule> 101: 1 </rule>",
        WHOLE + "<rule> 101: x </rule>", WHOLE + "<rule>",
    ],
)  # fmt: skip
def test_rules_that_are_not_whole(answer: str) -> None:
    assert read_rule(answer) is None


def test_a_tag_may_be_repeated() -> None:
    assert read_rule(WHOLE + "<rule> 101: 0 </rule>") == rule_table(0)


# --- episodes --------------------------------------------------------------------------------------------------------


def test_the_hidden_rule_wins() -> None:
    ep = begin_episode().step(say_rule(110))
    assert ep.outcome == sonde.Outcome("win", 1.0) and ep.turns[0].rewards == {"agent": 1.0}
    assert ep.turns[0].info == {"result": "win", "outputs": ("1111", "11111"), "correct": (True, True)}


def test_any_rule_that_fits_wins() -> None:
    """Neither 111 nor 000 occurs, so their states do not matter."""
    for bits in ("01101110", "11101110", "01101111", "11101111"):
        assert begin_episode().step(say_rule(int(bits, 2))).outcome == sonde.Outcome("win", 1.0)
    assert begin_episode().step(say_rule(0b01101010)).outcome is None


def test_a_wrong_rule_is_shown_what_it_does() -> None:
    ep = begin_episode({"rule": 204, "inputs": ["0111", "000"]}).step(say_rule(0))
    assert ep.turns[0].info == {"result": "wrong", "outputs": ("0000", "000"), "correct": (False, True)}
    told = ep.turns[0].told
    assert "Output 1: 0 1 1 1\nYour rule gives: 0 0 0 0 (wrong)" in told
    assert "Output 2: 0 0 0\nYour rule gives: 0 0 0 (right)" in told
    assert "Guesses left: 5" in told


def test_an_invalid_rule_costs_a_turn_and_a_missing_answer_ends_the_game() -> None:
    ep = begin_episode(max_turns=3).step("<Answer>110</Answer>")
    assert ep.turns[0].info == {"result": "invalid"} and "Guesses left: 2" in ep.turns[0].told
    assert ep.step(WHOLE).outcome == sonde.Outcome("unreadable")
    ep = ep.step("<Answer></Answer>").step(say_rule(0))
    assert ep.outcome == sonde.Outcome("out_of_turns", truncated="turns") and ep.turns[-1].info["result"] == "wrong"


# --- tasks -----------------------------------------------------------------------------------------------------------


def test_tasks_are_as_many_as_in_the_paper_and_all_differ() -> None:
    train, test = ENV.tasks("train"), ENV.tasks("test")
    assert (len(train), len(test)) == (1000, 500)
    rows = [frozenset(t.public["inputs"]) for t in (*train, *test)]
    assert len(set(rows)) == 1500 and {len(r) for r in rows} == {3}
    lengths = [len(row) for task in (*train, *test) for row in task.public["inputs"]]
    # 4500 lengths, 562.5 expected each; distinct rows make the shortest a little rarer. Standard deviation 22.
    assert set(lengths) == set(range(3, 11)) and all(470 < lengths.count(n) < 650 for n in range(3, 11))
    assert all(rule_fits(t.hidden["rule"], t.public["inputs"], t.public["outputs"]) for t in (*train[:50], *test[:50]))
    assert len({t.hidden["rule"] for t in train}) > 240


def test_custom_tasks_show_their_outputs() -> None:
    task = ENV.task(HIDDEN)
    assert task.public == {"inputs": ("0101", "10110"), "outputs": ("1111", "11111")} and task.hidden["rule"] == 110


@each(
    "hidden",
    [
        None, 110, {"rule": 110}, {"rule": 110, "inputs": ["0101"], "more": 1}, {"rule": 256, "inputs": ["0101"]},
        {"rule": -1, "inputs": ["0101"]}, {"rule": True, "inputs": ["0101"]}, {"rule": "110", "inputs": ["0101"]},
        {"rule": 110, "inputs": []}, {"rule": 110, "inputs": ["0101"] * 6}, {"rule": 110, "inputs": "0101"},
        {"rule": 110, "inputs": ["01"]}, {"rule": 110, "inputs": ["0" * 33]}, {"rule": 110, "inputs": ["0102"]},
        {"rule": 110, "inputs": [101]}, {"inputs": ["000"], "outputs": ["010"]},
        {"inputs": ["0101"], "outputs": ["111"]},
        {"inputs": ["0101"], "outputs": ["1111"], "rule": 110},
    ],
)  # fmt: skip
def test_bad_hidden_setups_are_refused(hidden: Any) -> None:
    with pytest.raises(UserError, match=r"^cellular_automata: "):
        ENV.task(hidden)


# --- beliefs ---------------------------------------------------------------------------------------------------------


def test_filter_equals_brute_force_and_guesses_tell_nothing() -> None:
    public = ENV.task({"rule": 110, "inputs": ["0101", "0011"]}).public
    rows = [(1.0, ENV.start(public, {"rule": number})) for number in range(256)]
    # Core's filter from all 256 rules, told the outputs as the first message tells them.
    shown = [(p, s) for p, s in rows if rule_fits(s.rule, s.inputs, s.outputs)]
    brute = TabularFilter(shown, ENV.outcomes, ENV.hypothesis, ENV.actions, ENV.say)
    exact = ENV.filter(public)
    ep = begin_episode({"rule": 110, "inputs": ["0101", "0011"]})
    for answer in ("0", "110"):
        assert list(exact.belief().hypotheses) == list(brute.belief().hypotheses) and len(exact.belief()) == 4
        assert exact.belief().probs == pytest.approx(brute.belief().probs)
        for guess in ("0", "110", "255"):
            assert exact.expected_gain(say_rule(int(guess))) == pytest.approx(
                brute.expected_gain(say_rule(int(guess))), abs=1e-12
            )
        ep = ep.step(say_rule(int(answer)))
        exact, brute = exact.observe(ep.turns[-1]), brute.observe(ep.turns[-1])
    gains = ep.gains(expected=True)
    assert (
        gains is not None and [(g.realised, g.truth, g.expected, g.efficiency) for g in gains] == [(0, 0, 0, None)] * 2
    )


def test_prompts_show_no_rule_that_could_be_copied() -> None:
    told = begin_episode().messages["agent"][0].content
    answers = re.findall(r"<Answer>(.*?)</Answer>", told, re.DOTALL)
    assert answers and all(read_rule(a) is None for a in answers)
