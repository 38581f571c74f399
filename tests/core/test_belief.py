"""Beliefs and gains: values worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.core import Act, Action, Belief, Frozen, Gain, Step, TabularFilter, Turn, entropy, information_gains
from sonde.core.belief import KEPT

H3 = -(0.75 * math.log2(0.75) + 0.25 * math.log2(0.25))
"""Entropy of a 3:1 bet: 0.8113 bits."""


def turn(text: str, told: str) -> Turn:
    return Turn(0, (Act("agent", Action(text), Frozen(agent=told), Frozen(), Frozen()),))


def say(told: str, state: Any) -> Step:
    return Step(state, Frozen(agent=told))


def noisy(state: str, text: str) -> list[tuple[float, Step]]:
    """Asked "ask", coin `a` says yes three times in four, `b` once in four; asked anything else, both say nothing."""
    if text != "ask":
        return [(1.0, say("", state))]
    p = 0.75 if state == "a" else 0.25
    return [(p, say("yes", state)), (1 - p, say("no", state))]


def coins() -> TabularFilter:
    return TabularFilter([(1, "a"), (1, "b")], noisy, lambda s: s, lambda s: ("ask", "wait"), lambda a: a)


def test_entropy_in_bits() -> None:
    assert entropy([1.0]) == 0.0
    assert math.copysign(1.0, entropy([1.0])) == 1.0
    assert entropy([0.5, 0.5]) == 1.0
    assert entropy([0.25] * 4) == 2.0
    assert entropy([0.75, 0.25, 0.0]) == pytest.approx(H3)
    assert entropy([]) == 0.0


def test_a_belief_answers_by_hypothesis() -> None:
    belief = Belief(("x", "y", "z"), (0.25, 0.5, 0.25))
    assert belief.prob("y") == 0.5
    assert belief.prob("other") == 0.0
    assert belief.entropy == 1.5
    assert belief.top(2) == [("y", 0.5), ("x", 0.25)]
    assert belief.top(99) == [("y", 0.5), ("x", 0.25), ("z", 0.25)]
    assert len(belief) == 3


def test_a_belief_takes_the_entropy_that_its_filter_knows() -> None:
    assert Belief(("x",), (1.0,), bits=0.125).entropy == 0.125
    assert Belief(("x", "y"), (0.5, 0.5), bits=0.0).entropy == 0.0


def test_bayes_rule_by_hand() -> None:
    known = coins()
    assert known.prob("a") == 0.5
    known = known.observe(turn("ask", "yes"))
    assert known.prob("a") == pytest.approx(0.75)
    assert known.entropy == pytest.approx(H3)
    known = known.observe(turn("ask", "yes"))
    assert known.prob("a") == pytest.approx(0.9)
    known = known.observe(turn("ask", "no")).observe(turn("ask", "no"))
    assert known.prob("a") == pytest.approx(0.5)


def test_expected_gain_by_hand() -> None:
    assert coins().expected_gain("ask") == pytest.approx(1 - H3)
    assert coins().expected_gain("wait") == 0.0
    assert coins().best_question() == ("ask", pytest.approx(1 - H3))


def test_weights_need_not_be_normalised_and_zeros_are_dropped() -> None:
    known = TabularFilter([(3, "a"), (1, "b"), (0, "c")], noisy, lambda s: s, lambda s: None, lambda a: a)
    assert dict(zip(known.belief().hypotheses, known.belief().probs, strict=True)) == {"a": 0.75, "b": 0.25}


def colours(state: tuple[str, str], text: str) -> list[tuple[float, Step]]:
    return [(1.0, say(state[1] if text == "colour" else state[0], state))]


def test_a_hypothesis_may_stand_for_many_setups() -> None:
    """Two setups of `x` (red, blue) and one of `y` (red), equally likely; only the first letter counts."""
    setups = [("x", "red"), ("x", "blue"), ("y", "red")]
    known = TabularFilter([(1, s) for s in setups], colours, lambda s: s[0], lambda s: ("colour", "name"), lambda a: a)
    assert known.prob("x") == pytest.approx(2 / 3)
    prior = entropy([2 / 3, 1 / 3])
    # Red (2 in 3) leaves x and y equally likely, one bit; blue (1 in 3) proves x.
    assert known.expected_gain("colour") == pytest.approx(prior - 2 / 3)
    assert known.expected_gain("name") == pytest.approx(prior)
    assert known.best_question()[0] == "name"
    assert known.observe(turn("colour", "red")).prob("y") == pytest.approx(0.5)
    assert known.observe(turn("colour", "blue")).belief().hypotheses == ("x",)


def test_an_impossible_turn_is_an_error() -> None:
    with pytest.raises(ValueError, match="impossible under every hidden setup"):
        coins().observe(turn("ask", "perhaps"))


def test_no_list_of_answers_means_no_best_question() -> None:
    known = TabularFilter([(1, "a")], noisy, lambda s: s, lambda s: None, lambda a: a)
    with pytest.raises(ValueError, match="no legal actions"):
        known.best_question()


def test_gains_by_hand() -> None:
    rows = information_gains(coins(), [turn("ask", "yes"), turn("wait", ""), turn("ask", "no")], "a", expected=True)
    assert [r.realised for r in rows] == pytest.approx([1 - H3, 0.0, H3 - 1])
    assert [r.truth for r in rows] == pytest.approx([math.log2(1.5), 0.0, -math.log2(1.5)])
    assert rows[0].expected == rows[0].best == pytest.approx(1 - H3)
    assert rows[0].efficiency == pytest.approx(1.0)
    assert rows[1].efficiency == 0.0
    # At 3:1 the answer is yes with probability 5/8, and then it is 9:1; else 1:1.
    expected = H3 - (5 / 8 * entropy([0.9, 0.1]) + 3 / 8)
    assert rows[2].expected == pytest.approx(expected)


def test_gains_leave_out_what_was_not_asked_for() -> None:
    (row,) = information_gains(coins(), [turn("ask", "yes")], "a")
    assert (row.expected, row.best, row.efficiency) == (None, None, None)


def test_a_turn_that_rules_out_the_truth_is_minus_infinity() -> None:
    known = TabularFilter(
        [(1, "a"), (1, "b")], lambda s, t: [(1.0, say(s, s))], lambda s: s, lambda s: None, lambda a: a
    )
    assert information_gains(known, [turn("", "b")], "a")[0].truth == -math.inf
    assert information_gains(known, [turn("", "b")], "outside")[0].truth == -math.inf


def test_efficiency_is_clipped_and_undefined_when_nothing_is_left() -> None:
    assert Gain(0, 0, 0.5, 1.0).efficiency == 0.5
    assert Gain(0, 0, 1.0 + 1e-12, 1.0).efficiency == 1.0
    assert Gain(0, 0, -1e-12, 1.0).efficiency == 0.0
    assert Gain(0, 0, 0.0, 0.0).efficiency is None


def test_free_text_does_not_fill_the_memory() -> None:
    known = coins()
    for n in range(2 * KEPT):
        known.observe(turn(f"thought {n}", ""))
    assert len(known._successors) <= KEPT  # pyright: ignore[reportPrivateUsage]
    assert known.observe(turn("ask", "yes")) is known.observe(turn("ask", "yes"))


def number_guess(state: tuple[int, int], text: str) -> list[tuple[float, Step]]:
    """A number and a turn; "3" is answered with whether the number is below, which is wrong one time in five."""
    number, at = state
    told = ("below", "above") if number < int(text) else ("above", "below")
    return [(p, say(f"{word}, turn {at}", (number, at + 1))) for p, word in zip((0.8, 0.2), told, strict=True)]


def numbers(memoryless: bool) -> TabularFilter:
    rows = [(1 + n % 3, (n, 0)) for n in range(6)]
    return TabularFilter(rows, number_guess, lambda s: s[0] // 2, lambda s: [str(n) for n in range(6)], str, memoryless)


def gain_by_definition(known: TabularFilter, text: str) -> float:
    """H(h) - sum over o of P(o) H(h | o), from the states one by one; a hypothesis is a number divided by two."""
    joint: dict[str, dict[int, float]] = {}
    for p, state in known.weighted_states:
        for q, step in number_guess(state, text):  # type: ignore[arg-type]
            mass = joint.setdefault(step.told["agent"], {})
            mass[state[0] // 2] = mass.get(state[0] // 2, 0.0) + p * q  # type: ignore[index]
    after = sum(sum(m.values()) * entropy(p / sum(m.values()) for p in m.values()) for m in joint.values())
    return known.entropy - after


def test_gains_of_several_setups_per_hypothesis_agree_with_the_definition() -> None:
    for memoryless in (False, True):
        known = numbers(memoryless)
        for text, told in (("3", "below, turn 0"), ("1", "above, turn 1"), ("3", "above, turn 2")):
            gains = {str(n): known.expected_gain(str(n)) for n in range(6)}
            assert gains == pytest.approx({text: gain_by_definition(known, text) for text in gains}, abs=1e-12)
            best, bits = known.best_question()
            assert bits == pytest.approx(max(gains.values()))
            assert best == next(text for text, gain in gains.items() if gain > bits - 1e-12)
            known = known.observe(turn(text, told))


def test_a_state_that_another_history_has_met_is_not_asked_again() -> None:
    calls: list[str] = []

    def count(state: tuple[int, int], text: str) -> list[tuple[float, Step]]:
        calls.append(text)
        return number_guess(state, text)

    prior = TabularFilter([(1, (n, 0)) for n in range(6)], count, lambda s: s[0], lambda s: ["2", "4"], str)
    first, other = (prior.observe(turn("3", f"{word}, turn 0")) for word in ("below", "above"))
    first.best_question()
    met = len(calls)
    other.best_question()
    assert met > 12 and len(calls) == met


def compute_gain(rows: list[tuple[float, int, dict[str, float]]]) -> float:
    """I(h; o) = sum over h, o of P(h, o) log2 P(h, o) / (P(h) P(o)), from the definition."""
    joint: dict[tuple[int, str], float] = {}
    total = sum(p for p, _, _ in rows)
    for p, h, law in rows:
        for told, q in law.items():
            joint[h, told] = joint.get((h, told), 0.0) + p * q / total
    of_h, of_told = dict[int, float](), dict[str, float]()
    for (h, told), p in joint.items():
        of_h[h], of_told[told] = of_h.get(h, 0.0) + p, of_told.get(told, 0.0) + p
    return sum(p * math.log2(p / (of_h[h] * of_told[told])) for (h, told), p in joint.items() if p > 0.0)


LAWS = st.dictionaries(st.sampled_from("abcd"), st.integers(1, 5), min_size=1).map(
    lambda shares: {told: n / sum(shares.values()) for told, n in shares.items()}
)


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 3), st.lists(LAWS, min_size=3, max_size=3)), min_size=1))
def test_gains_of_all_answers_equal_the_definition(setups: list[tuple[int, int, list[dict[str, float]]]]) -> None:
    """For setups of which several may have one hypothesis, and answers with several replies."""

    def outcomes(state: int, text: str) -> list[tuple[float, Step]]:
        return [(q, say(told, state)) for told, q in setups[state][2][int(text)].items()]

    rows = [(p, i) for i, (p, _, _) in enumerate(setups)]
    known = TabularFilter(rows, outcomes, lambda i: setups[i][1], lambda i: ("0", "1", "2"), lambda a: a)
    gains = [compute_gain([(p, h, laws[a]) for p, h, laws in setups]) for a in range(3)]
    assert [known.expected_gain(str(a)) for a in range(3)] == pytest.approx(gains, abs=1e-12)
    assert known.best_question()[1] == pytest.approx(max(gains), abs=1e-12)


def test_a_table_of_replies_that_begins_anew_gives_the_same_gains(monkeypatch: pytest.MonkeyPatch) -> None:
    """States of all histories and endless texts do not fill the memory."""
    from sonde.core import reply_table

    def outcomes(state: tuple[str, int], text: str) -> list[tuple[float, Step]]:
        return [(q, step._replace(state=(state[0], state[1] + 1))) for q, step in noisy(state[0], text)]

    def follow() -> list[float]:
        known = TabularFilter([(1, ("a", 0)), (1, ("b", 0))], outcomes, lambda s: s[0], lambda s: ("ask",), lambda a: a)
        path = [known]
        for t in range(12):
            path.append(path[-1].observe(turn("ask", "yes" if t % 3 else "no")))
        return [one.expected_gain(text) for text in ("ask", "wait", "ask") for one in (*path, *path[::-1])]

    whole = follow()
    monkeypatch.setattr(reply_table, "KEPT", 5)
    assert follow() == whole and max(whole) > 0.1
