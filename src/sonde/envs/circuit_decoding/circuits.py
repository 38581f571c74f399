"""Boolean circuits built from a fixed total of gates: tables, construction, and its exact distribution.

Source: Multi-Turn Puzzles (MTP), appendix A.2. A truth table is a whole number whose bit i is the output for input i in
counting order; as text, it is the outputs in that order: AND of two inputs is `0001`, as a number 8.

Published: all gates are used; each circuit gets enough AND and OR gates to join its inputs into one output; circuits
are built layer by layer. In a layer, one gate joins two randomly drawn signals or inverts one, and all other signals
pass through. A joining gate consumes two signals and produces one, so a circuit with n inputs takes exactly n - 1 of
them: the totals must satisfy AND + OR = circuits * (n - 1), and every input is used exactly once. Ours, because the
paper names no distribution: AND and OR gates are shuffled and dealt n - 1 to a circuit; every NOT gate goes to a
uniformly drawn circuit; the gates of a circuit are placed in a uniformly drawn order.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from itertools import combinations, product
from math import comb, factorial, prod
from operator import index
from re import compile as pattern
from typing import Any, NamedTuple

from sonde.core import Rng

from .._shared.frames import join_symbols, split_words

NAMES = "abcd"
"""The inputs in expressions, in the order of their bits."""


class Gates(NamedTuple):
    """The number of gates of each kind."""

    ands: int
    ors: int
    nots: int


class Shape(NamedTuple):
    """The number of circuits, and the number of inputs of each."""

    circuits: int
    inputs: int

    @property
    def row_count(self) -> int:
        """Rows of a truth table."""
        return 1 << self.inputs


Tables = tuple[int, ...]
"""The truth table of every circuit."""
Deal = tuple[Gates, ...]
"""The gates of every circuit."""


# --- tables ----------------------------------------------------------------------------------------------------------


@cache
def input_columns(inputs: int) -> Tables:
    """The truth table of each input alone.

    >>> [format_table(column, 2) for column in input_columns(2)]
    ['0011', '0101']
    """
    rows = range(1 << inputs)
    return tuple(sum(1 << row for row in rows if row >> place & 1) for place in reversed(range(inputs)))


@lru_cache(maxsize=1 << 16)
def format_table(table: int, inputs: int) -> str:
    """Format a truth table as its outputs in counting order."""
    return f"{table:0{1 << inputs}b}"[::-1]


def parse_table(outputs: str) -> int:
    """The inverse of `format_table`."""
    return int(outputs[::-1], 2)


# --- construction ----------------------------------------------------------------------------------------------------


def draw_tables(rng: random.Random | Rng, shape: Shape, gates: Gates) -> Tables:
    """The truth tables of circuits that use exactly these gates."""
    return tuple(build_circuit(rng, shape.inputs, hand) for hand in deal_gates(rng, shape, gates))


def deal_gates(rng: random.Random | Rng, shape: Shape, gates: Gates) -> Deal:
    """The gates of every circuit."""
    joins = [True] * gates.ands + [False] * gates.ors
    rng.shuffle(joins)
    each, nots = shape.inputs - 1, [0] * shape.circuits
    for _ in range(gates.nots):
        nots[rng.randrange(shape.circuits)] += 1
    ands = [sum(joins[c * each : (c + 1) * each]) for c in range(shape.circuits)]
    return tuple(Gates(a, each - a, m) for a, m in zip(ands, nots, strict=True))


def build_circuit(rng: random.Random | Rng, inputs: int, gates: Gates) -> int:
    """The truth table of one circuit built from its gates."""
    full, signals = (1 << (1 << inputs)) - 1, list(input_columns(inputs))
    order = ["and"] * gates.ands + ["or"] * gates.ors + ["not"] * gates.nots
    rng.shuffle(order)
    for gate in order:
        if gate == "not":
            signals[rng.randrange(len(signals))] ^= full
        else:
            i, j = sorted(rng.sample(range(len(signals)), 2))
            second, first = signals.pop(j), signals.pop(i)
            signals.append(first & second if gate == "and" else first | second)
    return signals[0]


# --- exact distribution of the construction --------------------------------------------------------------------------


def table_distribution(inputs: int, gates: Gates) -> Mapping[int, Fraction]:
    """The probability of every truth table that `build_circuit` can produce, sorted by table."""
    found = _distribution_from(tuple(sorted(input_columns(inputs))), gates, (1 << (1 << inputs)) - 1)
    return dict(sorted(found.items()))


@cache
def _distribution_from(signals: Tables, gates: Gates, full: int) -> Mapping[int, Fraction]:
    """The distribution of the table, given a layer of signals (sorted, because their order does not matter) and the
    gates still to be placed."""
    if not sum(gates):
        return {signals[0]: Fraction(1)}
    found: dict[int, Fraction] = {}
    for p, layer, left in _gate_layers(signals, gates, full):
        for table, q in _distribution_from(layer, left, full).items():
            found[table] = found.get(table, Fraction(0)) + p * q
    return found


def _gate_layers(signals: Tables, gates: Gates, full: int) -> Iterator[tuple[Fraction, Tables, Gates]]:
    """Every way to place one more gate, with its probability."""
    (ands, ors, nots), n = gates, len(signals)
    for i, j in combinations(range(n), 2):
        rest, p = signals[:i] + signals[i + 1 : j] + signals[j + 1 :], Fraction(1, sum(gates) * comb(n, 2))
        if ands:
            yield p * ands, _insert_sorted(rest, signals[i] & signals[j]), Gates(ands - 1, ors, nots)
        if ors:
            yield p * ors, _insert_sorted(rest, signals[i] | signals[j]), Gates(ands, ors - 1, nots)
    for i in range(n if nots else 0):
        layer = _insert_sorted(signals[:i] + signals[i + 1 :], signals[i] ^ full)
        yield Fraction(nots, sum(gates) * n), layer, Gates(ands, ors, nots - 1)


def _insert_sorted(rest: Tables, new: int) -> Tables:
    return tuple(sorted((*rest, new)))


def gate_hands(inputs: int, nots: int) -> tuple[Gates, ...]:
    """Every set of gates that one circuit may be dealt if there are `nots` NOT gates in total."""
    return tuple(Gates(a, inputs - 1 - a, m) for a in range(inputs) for m in range(nots + 1))


def gate_deals(shape: Shape, gates: Gates) -> Iterator[tuple[Deal, Fraction]]:
    """Every result of `deal_gates`, with its probability."""
    each = shape.inputs - 1
    ways = comb(shape.circuits * each, gates.ands) * shape.circuits**gates.nots
    for ands in product(range(each + 1), repeat=shape.circuits):
        for nots in product(range(gates.nots + 1), repeat=shape.circuits):
            if (sum(ands), sum(nots)) == (gates.ands, gates.nots):
                n = prod(comb(each, a) for a in ands) * factorial(gates.nots) // prod(factorial(m) for m in nots)
                yield tuple(Gates(a, each - a, m) for a, m in zip(ands, nots, strict=True)), Fraction(n, ways)


def prior(shape: Shape, gates: Gates) -> Mapping[Tables, Fraction]:
    """Probability of every result of `draw_tables`; feasible only for small shapes."""
    found: dict[Tables, Fraction] = {}
    for dealt, p in gate_deals(shape, gates):
        parts = [table_distribution(shape.inputs, hand).items() for hand in dealt]
        for rows in product(*parts):
            tables = tuple(table for table, _ in rows)
            found[tables] = found.get(tables, Fraction(0)) + p * prod(q for _, q in rows)
    return found


# --- reading circuits ------------------------------------------------------------------------------------------------


def parse_expression(expression: str, inputs: int) -> tuple[int, Gates] | None:
    """The truth table and the gates of an expression such as `a and not (b or c)`; None if it is not one.

    It must use every input exactly once. `a and b and c` are two AND gates.
    """
    if len(expression) > 200 or expression.strip("abcdnotr() "):
        return None
    try:
        body = ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, RecursionError, MemoryError):
        return None
    used = sorted(node.id for node in ast.walk(body) if isinstance(node, ast.Name))
    return _evaluate_node(body, inputs) if used == list(NAMES[:inputs]) else None


def _evaluate_node(node: ast.expr, inputs: int) -> tuple[int, Gates] | None:
    full = (1 << (1 << inputs)) - 1
    if isinstance(node, ast.Name):
        return input_columns(inputs)[NAMES.index(node.id)], Gates(0, 0, 0)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = _evaluate_node(node.operand, inputs)
        return inner and (inner[0] ^ full, inner[1]._replace(nots=inner[1].nots + 1))
    if not isinstance(node, ast.BoolOp):
        return None
    parts = [part for value in node.values if (part := _evaluate_node(value, inputs))]
    if len(parts) < len(node.values):
        return None
    joins, is_and = len(parts) - 1, isinstance(node.op, ast.And)
    table = parts[0][0]
    for other, _ in parts[1:]:
        table = table & other if is_and else table | other
    ands, ors, nots = (sum(counts) for counts in zip(*(gates for _, gates in parts), strict=True))
    return table, Gates(ands + joins * is_and, ors + joins * (not is_and), nots)


# --- reading answers -------------------------------------------------------------------------------------------------


class CircuitProbe(NamedTuple):
    """A circuit (from 0) and the input to probe, as a number."""

    circuit: int
    row: int


def read_turn(shape: Shape, answer: str) -> CircuitProbe | Tables | None:
    """The probe or the tables in an answer; None if it is neither."""
    return read_probe(answer, shape) or read_tables(answer, shape)


_BREAKS = str.maketrans(",:;=", "    ")
_FILLERS = frozenset(("circuit", "input", "inputs"))
_TABLE_ENDS = pattern(r"[;\n]|,(?=[ \"'A-Za-z]{0,12}[0-9][\"']? ?:)")
_AROUND_TABLE = " \t\r-*_`\"'•.,[](){}"


def read_probe(answer: str, shape: Shape) -> CircuitProbe | None:
    """The probe in an answer such as `probe 2 101`; None if there is none.

    >>> read_probe("probe 2 101", Shape(circuits=3, inputs=3)), read_probe("Probe(2, 101)", Shape(circuits=3, inputs=3))
    (CircuitProbe(circuit=1, row=5), CircuitProbe(circuit=1, row=5))
    """
    words = [word for word in split_words(answer.lower().translate(_BREAKS)) if word not in _FILLERS]
    if len(words) < 3 or words[0] != "probe" or len(words[1]) != 1:
        return None
    circuit, bits = "123456789".find(words[1]), "".join(words[2:])
    known = 0 <= circuit < shape.circuits and len(bits) == shape.inputs and _is_binary(bits)
    return CircuitProbe(circuit, int(bits, 2)) if known else None


def read_tables(answer: str, shape: Shape) -> Tables | None:
    """The tables in an answer such as `1: 0001 ; 2: 0111`: every circuit once, separated by `;`, commas or new lines.

    >>> read_tables("2: 0111 ; 1: 0001", Shape(circuits=2, inputs=2))
    (8, 14)
    """
    found: dict[str, int] = {}
    parts = [part for part in _TABLE_ENDS.split(answer) if part.strip()]
    for part in parts if len(parts) == shape.circuits else ():
        name, _, rest = part.partition(":")
        outputs = "".join(join_symbols(rest.strip(_AROUND_TABLE)).split())
        if len(outputs) == shape.row_count and _is_binary(outputs):
            found[name.strip(_AROUND_TABLE).lower().removeprefix("circuit").strip()] = parse_table(outputs)
    names = [str(c + 1) for c in range(shape.circuits)]
    return tuple(found[name] for name in names) if sorted(found) == names else None


def _is_binary(text: str) -> bool:
    return not text.strip("01")


def probe_answer(circuit: int, row: int, inputs: int) -> str:
    """The answer that `read_probe` reads."""
    return f"probe {circuit + 1} {row:0{inputs}b}"


def tables_answer(tables: Tables, inputs: int) -> str:
    """The answer that `read_tables` reads."""
    return " ; ".join([f"{c}: {format_table(table, inputs)}" for c, table in enumerate(tables, 1)])


class Fitting(Sequence[str]):
    """Every set of tables that agrees with the observed outputs, as answers; computed lazily, because there may be
    many.

    `seen` holds, for every circuit, the probed inputs and the observed outputs, as bits.

    >>> list(Fitting(((0b1111, 0b1000), (0b0111, 0b0110)), 2))
    ['1: 0001 ; 2: 0110', '1: 0001 ; 2: 0111']
    """

    def __init__(self, seen: Sequence[tuple[int, int]], inputs: int) -> None:
        self._seen, self._inputs, rows = seen, inputs, range(1 << inputs)
        self._free = [[x for x in rows if not asked >> x & 1] for asked, _ in seen]

    def __len__(self) -> int:
        return 1 << sum(len(free) for free in self._free)

    def __getitem__(self, i: Any) -> Any:
        rows = range(len(self))
        return [self._nth_answer(k) for k in rows[i]] if isinstance(i, slice) else self._nth_answer(rows[index(i)])

    def _nth_answer(self, k: int) -> str:
        """The k-th answer: the bits of k fill in the unseen outputs."""
        tables: list[int] = []
        for free, (_, ones) in zip(self._free, self._seen, strict=True):
            tables.append(ones | sum((k >> n & 1) << x for n, x in enumerate(free)))
            k >>= len(free)
        return tables_answer(tuple(tables), self._inputs)

    def __contains__(self, answer: object) -> bool:
        shape = Shape(len(self._seen), self._inputs)
        tables = read_tables(answer, shape) if isinstance(answer, str) else None
        if tables is None or tables_answer(tables, self._inputs) != answer:
            return False
        return all(not (table ^ ones) & asked for table, (asked, ones) in zip(tables, self._seen, strict=True))
