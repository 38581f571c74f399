"""The rules of circuits: tables, construction and its exact distribution, expressions and answers read from text."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.envs.circuit_decoding import circuits as rules
from sonde.envs.circuit_decoding.circuits import Fitting, Gates, Shape
from tests.cases import each

SHAPE, GATES = Shape(circuits=3, inputs=3), Gates(ands=3, ors=3, nots=3)


def outputs(expression: str, inputs: int) -> str:
    """A truth table by Python's own rules."""
    rows = itertools.product((False, True), repeat=inputs)
    return "".join(str(int(eval(expression, dict(zip("abcd", row, strict=False))))) for row in rows)


def name_tables(distribution: dict[int, Fraction], inputs: int) -> dict[str, Fraction]:
    return {rules.format_table(table, inputs): p for table, p in distribution.items()}


# --- tables and construction -----------------------------------------------------------------------------------------


def test_tables_by_hand() -> None:
    assert [rules.format_table(column, 3) for column in rules.input_columns(3)] == ["00001111", "00110011", "01010101"]
    assert rules.format_table(8, 2) == "0001"
    assert rules.parse_table("0001") == 8


@each(
    "gates, expected",
    [
        (Gates(1, 0, 0), {"0001": 1}),
        (Gates(0, 1, 0), {"0111": 1}),
        # The NOT gate comes first with probability 1/2, and then inverts one of the two inputs.
        (Gates(1, 0, 1), {"0010": Fraction(1, 4), "0100": Fraction(1, 4), "1110": Fraction(1, 2)}),
        # AND last (1/3): NOTs on one input (1/2) cancel, on two NOR. Between them (1/3), or first (1/3).
        (
            Gates(1, 0, 2),
            {"0001": Fraction(1, 2), "1000": Fraction(1, 6), "1011": Fraction(1, 6), "1101": Fraction(1, 6)},
        ),
    ],
)
def test_distributions_by_hand(gates: Gates, expected: dict[str, Fraction]) -> None:
    assert name_tables(dict(rules.table_distribution(2, gates)), 2) == expected


def test_three_inputs_by_hand() -> None:
    """(a and b) or c needs the AND first: three pairs out of six ways; else (a or b) and c."""
    found = name_tables(dict(rules.table_distribution(3, Gates(1, 1, 0))), 3)
    and_first = ["(a and b) or c", "(a and c) or b", "(b and c) or a"]
    or_first = ["(a or b) and c", "(a or c) and b", "(b or c) and a"]
    assert found == {outputs(e, 3): Fraction(1, 6) for e in and_first + or_first}


@each("inputs, n_tables", [(2, 8), (3, 64), (4, 832)])
def test_every_table_that_uses_each_input_once_can_be_built(inputs: int, n_tables: int) -> None:
    """8, 64 and 832 is how many read-once functions depend on all of 2, 3 and 4 inputs."""
    found: set[int] = set()
    for hand in rules.gate_hands(inputs, inputs):
        distribution = rules.table_distribution(inputs, hand)
        assert sum(distribution.values()) == 1
        found |= set(distribution)
    assert len(found) == n_tables


def test_deals_by_hand() -> None:
    one, other = Gates(1, 0, 0), Gates(0, 1, 0)
    found = dict(rules.gate_deals(Shape(2, 2), Gates(1, 1, 1)))
    quarter = Fraction(1, 4)
    assert found == {
        (one._replace(nots=1), other): quarter,
        (one, other._replace(nots=1)): quarter,
        (other._replace(nots=1), one): quarter,
        (other, one._replace(nots=1)): quarter,
    }


@each("shape, gates", [(SHAPE, GATES), (Shape(2, 4), Gates(2, 4, 3))])
def test_deals_are_a_distribution_over_all_gates(shape: Shape, gates: Gates) -> None:
    found = list(rules.gate_deals(shape, gates))
    assert sum(p for _, p in found) == 1
    for hands, _ in found:
        assert Gates(*(sum(counts) for counts in zip(*hands, strict=True))) == gates
        assert all(hand.ands + hand.ors == shape.inputs - 1 for hand in hands)


def check_sample(sample: Counter[object], expected: dict[object, float]) -> None:
    """Pearson's statistic within five standard deviations of its mean, the degrees of freedom."""
    n, free = sample.total(), len(expected) - 1
    assert set(sample) <= set(expected)
    statistic = sum((sample[k] - n * p) ** 2 / (n * p) for k, p in expected.items())
    assert statistic < free + 5 * (2 * free) ** 0.5


@each("gates", [Gates(2, 0, 1), Gates(1, 1, 1), Gates(1, 1, 3), Gates(0, 2, 2)])
def test_the_distribution_matches_random_construction(gates: Gates) -> None:
    rng = random.Random(1)
    sample: Counter[object] = Counter(rules.build_circuit(rng, 3, gates) for _ in range(20_000))
    check_sample(sample, {t: float(p) for t, p in rules.table_distribution(3, gates).items()})


def test_the_deals_match_random_dealing() -> None:
    rng = random.Random(2)
    sample: Counter[object] = Counter(rules.deal_gates(rng, SHAPE, GATES) for _ in range(20_000))
    check_sample(sample, {hands: float(p) for hands, p in rules.gate_deals(SHAPE, GATES)})


def test_the_prior_matches_random_draws() -> None:
    shape, gates, rng = Shape(2, 2), Gates(1, 1, 2), random.Random(3)
    prior = rules.prior(shape, gates)
    assert sum(prior.values()) == 1
    check_sample(
        Counter(rules.draw_tables(rng, shape, gates) for _ in range(20_000)), {t: float(p) for t, p in prior.items()}
    )


# --- reading circuits and answers ------------------------------------------------------------------------------------


@each("expression, gates",
    [("a and b and c", (2, 0, 0)), ("not (a and (b or c))", (1, 1, 1)), ("not not a or not b or c", (0, 2, 3)),
     ("(c and b) or a", (1, 1, 0))],
)  # fmt: skip
def test_expressions_by_hand(expression: str, gates: tuple[int, int, int]) -> None:
    found = rules.parse_expression(expression, 3)
    assert found is not None
    assert rules.format_table(found[0], 3) == outputs(expression, 3)
    assert found[1] == Gates(*gates)


@each("text", ["", "a and b", "a and b and d", "a and a and b and c", "a + b + c", "a and b and", "a if b else c",
             "(" * 99 + "a and b and c" + ")" * 99, "a == b == c", "a(b, c)", "lambda: a and b and c",
             "a and b and c\n1", "not " * 50 + "a and b and c", "a and (b, c)", "True and a and b and c"],
)  # fmt: skip
def test_invalid_expressions(text: str) -> None:
    assert rules.parse_expression(text, 3) is None


@given(st.text("abcdnotr() ", max_size=40))
def test_expressions_agree_with_python(text: str) -> None:
    found = rules.parse_expression(text, 2)
    assert found is None or rules.format_table(found[0], 2) == outputs(text.strip(), 2)


@each("answer, probe",
    [("probe 2 101", (1, 5)), (" Probe 3 0 0 0 ", (2, 0)), ("probe 1 11\n1", (0, 7)), ("probe 4 101", None),
     ("probe 0 101", None), ("probe 2 10", None), ("probe 2 1011", None), ("probe 2 102", None), ("probe 2", None),
     ("2 101", None), ("probe 2 ١٠١", None), ("probe ² 101", None), ("probe 12 101", None), ("probe -1 101", None),
     ("probe 2 -11", None), ("", None)],
)  # fmt: skip
def test_probes_by_hand(answer: str, probe: tuple[int, int] | None) -> None:
    assert rules.read_probe(answer, SHAPE) == probe


@each("answer, tables",
    [("1: 0001 ; 2: 0111", (8, 14)), ("2: 0 1 1 1\n1: 0001\n", (8, 14)), ("1:0001;2:0111;", (8, 14)),
     ("1: 0001", None), ("1: 0001 ; 1: 0111", None), ("1: 0001 ; 2: 0111 ; 3: 0000", None), ("1: 0001 ; 3: 0111", None),
     ("1: 0001 ; 2: 011", None), ("1: 0001 ; 2: 01112", None), ("0001 ; 0111", None), ("1: 0001 2: 0111", None),
     ("1: bbbb ; 2: bbbb", None), ("1: 0001 ; 2: 0111 ; 2: 0110", None), ("", None), (";", None)],
)  # fmt: skip
def test_tables_read_by_hand(answer: str, tables: tuple[int, int] | None) -> None:
    assert rules.read_tables(answer, Shape(2, 2)) == tables


@given(st.tuples(*[st.integers(0, 255)] * 3), st.integers(0, 2), st.integers(0, 7))
def test_answers_survive_a_round_trip(tables: tuple[int, int, int], circuit: int, row: int) -> None:
    assert rules.read_tables(rules.tables_answer(tables, 3), SHAPE) == tables
    assert rules.read_probe(rules.probe_answer(circuit, row, 3), SHAPE) == (circuit, row)


def test_fitting_lists_the_tables_that_agree() -> None:
    fitting = Fitting(((0b1011, 0b1000), (0b1111, 0b0110)), 2)
    assert list(fitting) == ["1: 0001 ; 2: 0110", "1: 0011 ; 2: 0110"]
    assert list(fitting[1:]) == ["1: 0011 ; 2: 0110"]
    assert fitting[-1] in fitting
    assert "1: 0011 ; 2: 0111" not in fitting
    assert "1:0011;2:0110" not in fitting
    assert len(Fitting(((0, 0),) * 3, 4)) == 2**48
    assert Fitting(((0, 0),) * 3, 4)[2**48 - 1] == " ; ".join(f"{c}: {'1' * 16}" for c in (1, 2, 3))
    with pytest.raises(IndexError):
        fitting[2]
