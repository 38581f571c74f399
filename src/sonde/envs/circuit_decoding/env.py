"""Circuit decoding: probe hidden boolean circuits, then write down all their truth tables.

Source: Multi-Turn Puzzles (MTP), sections 2.1 and 3.1 and appendix A.2. Published: several circuits of some inputs and
one output each, built layer by layer from a fixed total of AND, OR and NOT gates that the agent knows; 18 probes, each
of one circuit with one input, then the joint truth table on turn 19; the score is the share of circuits whose whole
table is right; 300 test configurations. The HTML text of the paper has lost the constants, and gives no syntax. Ours: 3
circuits of 3 inputs, 3 AND, 3 OR and 3 NOT gates in total (so 24 table bits for 18 probes); how gates are dealt and
placed (`circuits.py`); the answers `probe 2 101` and `1: 01101001 ; 2: ... ; 3: ...`; tables count on any turn and end
the episode; at the end the agent learns how many were right; 300 training configurations; no two tasks have the same
tables. A win is all tables right; the reward of the last turn is the score. Every circuit has exactly inputs - 1 AND
and OR gates together, because each of them consumes two signals and produces one, so the number of OR gates follows
from the other totals.

Legal answers are the probes that were not made yet, and on the last turn the tables that agree with every observed
output. The rules accept other answers too: they answer a repeated probe again, and tables count on any turn.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

from sonde.core import AGENT, CertainEnv, Frozen, Outcome, Rng, Spec, Step, Task, TaskList, derive, invalid
from sonde.core.tools import text_schema
from sonde.core.types import Json

from .._shared.answer import AnswerTags, parse_answer, read_answer, tag_answer
from . import circuits as rules
from .circuits import Gates, Shape, Tables

if TYPE_CHECKING:
    from .filter import CircuitFilter

_SIZES = {"train": 300, "test": 300}
_MOST_NOTS, _MOST_ROWS, _MOST_LISTED = 6, 48, 10_000
_TRIES = 200
"""Attempts to draw a task that differs from all others; if all fail, there are no more tasks."""


class State(NamedTuple):
    """The gate totals, each circuit's truth table, its probed inputs as bits, and the turns taken."""

    gates: Gates
    tables: Tables
    asked: tuple[int, ...]
    turn: int = 0


@dataclass(frozen=True, kw_only=True)
class CircuitDecoding(CertainEnv[State], AnswerTags):
    """See the module docstring. `circuits` in 1..4 and `inputs` in 2..4 with at most 48 table bits in total; `ands` is
    the number of AND gates among the circuits * (inputs - 1) joining gates, the others being OR, and `nots` in 0..6.
    `max_turns=n` means n - 1 probes."""

    presets: ClassVar[tuple[str, ...]] = ("mtp",)

    preset: str = "mtp"
    circuits: int = 3
    inputs: int = 3
    ands: int = 3
    nots: int = 3
    max_turns: int = 19

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.circuits <= 4:
            raise invalid("circuit_decoding: circuits", self.circuits, "1 to 4")
        if not 2 <= self.inputs <= 4 or self.circuits << self.inputs > _MOST_ROWS:
            allowed = f"2 to 4, with circuits * 2**inputs at most {_MOST_ROWS}"
            raise invalid("circuit_decoding: inputs", self.inputs, allowed)
        if not 0 <= self.ands <= self._join_count:
            raise invalid("circuit_decoding: ands", self.ands, f"0 to circuits * (inputs - 1) = {self._join_count}")
        if not 0 <= self.nots <= _MOST_NOTS:
            raise invalid("circuit_decoding: nots", self.nots, f"0 to {_MOST_NOTS}")

    @property
    def _join_count(self) -> int:
        return self.circuits * (self.inputs - 1)

    @cached_property
    def circuit_shape(self) -> Shape:
        return Shape(self.circuits, self.inputs)

    @cached_property
    def gate_total(self) -> Gates:
        """The gate totals of every task of the splits."""
        return Gates(self.ands, self._join_count - self.ands, self.nots)

    @cached_property
    def spec(self) -> Spec:
        return Spec(
            name="circuit_decoding",
            version="2",
            summary="probe hidden boolean circuits, then write down their truth tables",
            preset=self.preset,
            max_turns=self.max_turns,
            reward_range=(0.0, 1.0),
            support="every set of circuits that the gates build, with the probability of being built",
            source="Multi-Turn Puzzles (MTP), sections 2.1 and 3.1 and appendix A.2",
            reference="circuit_decoding",
            departures=(
                "the numbers of circuits, inputs and gates are ours: the HTML text of the paper has lost them",
                "gates are dealt and placed uniformly at random",
                "no two tasks have the same tables",
                "the agent is told at the end how many tables are right",
            ),
        )

    def split(self, split: str) -> Sequence[Task]:
        found = _draw_setups(self.preset, self.circuit_shape, self.gate_total)[split]
        return TaskList(len(found), lambda i: self._task(found[i], self.gate_total, split, i))

    def task(self, hidden: Json) -> Task:
        """`{"circuits": ["not (a and b) or c", "00010111", ...], "gates": {"and": 3, "or": 3, "not": 3}}`.

        A circuit is an expression that uses every input once, `a` being the first bit, or a truth table. Together they
        must use exactly `gates`, by default those of the configuration.
        """
        setup = cast("Mapping[Any, Any]", hidden) if isinstance(hidden, Mapping) else Frozen[Any]()
        if not {"circuits"} <= set(setup) <= {"circuits", "gates"}:
            raise invalid("circuit_decoding: hidden", cast("object", hidden), "a mapping with circuits and gates")
        gates = self._check_gates(setup["gates"]) if "gates" in setup else self.gate_total
        return self._task(self._check_tables(setup["circuits"], gates), gates, "custom", 0)

    def _check_gates(self, given: Json) -> Gates:
        counts: Mapping[Any, Any] = cast("Mapping[Any, Any]", given) if isinstance(given, Mapping) else {}
        numbers: list[Any] = [counts.get(key) for key in ("and", "or", "not")]
        known = len(counts) == 3 and all(type(n) is int and n >= 0 for n in numbers)
        if not known or numbers[0] + numbers[1] != self._join_count or numbers[2] > _MOST_NOTS:
            allowed = f'{{"and": a, "or": b, "not": c}} with a + b = {self._join_count} and c at most {_MOST_NOTS}'
            raise invalid("circuit_decoding: gates", cast("object", given), allowed)
        return Gates(*numbers)

    def _check_tables(self, given: Json, gates: Gates) -> Tables:
        names = cast("Sequence[Any]", given) if isinstance(given, list | tuple) else ()
        if len(names) != self.circuits:
            raise invalid("circuit_decoding: circuits", cast("object", given), f"a list of {self.circuits}")
        tables: list[int] = []
        sums = {(0, 0)}
        for name in names:
            table, uses = self._read_circuit(name, gates.nots)
            tables.append(table)
            sums = {(a + use.ands, m + use.nots) for a, m in sums for use in uses}
        if (gates.ands, gates.nots) not in sums:
            allowed = f"circuits that together use exactly {_gate_list(gates)}"
            raise invalid("circuit_decoding: circuits", cast("object", given), allowed)
        return tuple(tables)

    def _read_circuit(self, name: Any, nots: int) -> tuple[int, Sequence[Gates]]:
        """A circuit's table, and every set of gates, with at most `nots` NOT gates, that can build it."""
        if isinstance(name, str) and len(name) == self.circuit_shape.row_count and not name.strip("01"):
            table = rules.parse_table(name)
            hands = rules.gate_hands(self.inputs, nots)
            return table, [hand for hand in hands if table in rules.table_distribution(self.inputs, hand)]
        found = rules.parse_expression(name, self.inputs) if isinstance(name, str) else None
        if found is None:
            inputs = ", ".join(rules.NAMES[: self.inputs])
            allowed = (
                f"a table of {self.circuit_shape.row_count} bits, or an expression of and, or, not with each of "
                f"{inputs} once"
            )
            raise invalid("circuit_decoding: circuits: circuit", name, allowed)
        return found[0], [found[1]]

    def _task(self, tables: Tables, gates: Gates, split: str, index: int) -> Task:
        total = Frozen[Any]({"and": gates.ands, "or": gates.ors, "not": gates.nots})
        public = Frozen[Any](circuits=self.circuits, inputs=self.inputs, gates=total)
        hidden = Frozen[Any](circuits=tuple(rules.format_table(t, self.inputs) for t in tables), gates=total)
        return self.make_listed_task(split, index, public, hidden)

    # --- rules -------------------------------------------------------------------------------------------------------

    def start(self, public: Mapping[str, Json], hidden: Json) -> State:
        return State(_read_gates(public), tuple(rules.parse_table(t) for t in hidden["circuits"]), (0,) * self.circuits)

    def draw(self, public: Mapping[str, Json], rng: Rng) -> Json:
        return self._task(
            rules.draw_tables(rng, self.circuit_shape, _read_gates(public)), _read_gates(public), "", 0
        ).hidden

    def prior(self, public: Mapping[str, Json]) -> Sequence[tuple[float, Json]]:
        """Every set of tables, if there are few; otherwise use `filter`."""
        gates = _read_gates(public)
        n = self._support_bound(gates)
        if n > _MOST_LISTED:
            allowed = f"at most {_MOST_LISTED:,} to be listed; use filter(public)"
            raise invalid("circuit_decoding: sets of tables", n, allowed)
        rows = rules.prior(self.circuit_shape, gates)
        return [(float(p), self._task(tables, gates, "", 0).hidden) for tables, p in rows.items()]

    def _support_bound(self, gates: Gates) -> int:
        """A lower bound on the number of sets of tables that the gates can build."""
        hands = rules.gate_hands(self.inputs, gates.nots)
        return len({table for hand in hands for table in rules.table_distribution(self.inputs, hand)}) ** self.circuits

    def to_act(self, state: State) -> str | None:
        return AGENT if state.turn < self.max_turns else None

    def hypothesis(self, state: State) -> tuple[str, ...]:
        """The truth table of every circuit: outputs in counting order."""
        return tuple(rules.format_table(table, self.inputs) for table in state.tables)

    def intro(self, state: State, seat: str) -> str:
        joins, rows, say = self.inputs - 1, self.circuit_shape.row_count, self.prompt_pieces("circuit_decoding")
        intro = say["intro"].format(
            circuits=_count_noun(self.circuits, "circuit"),
            inputs=self.inputs,
            gates=_gate_list(state.gates),
            joins=joins,
            noun="gates" if joins > 1 else "gate",
            probes=_count_noun(self.max_turns - 1, "probe"),
            rows=rows,
            order=", ".join(f"{row:0{self.inputs}b}" for row in range(rows)),
            last="1" * self.inputs,
            example=f"{1:0{rows}b}",
            **_answer_forms(self.circuit_shape),
        )
        return f"{intro}\n\n{say['first'] if self.max_turns > 1 else self._request_text(0)}"

    def _request_text(self, left: int) -> str:
        """The request before a turn with `left` probes still to be made."""
        before, after = _request_parts(self.prompt_pieces("circuit_decoding")["next"], self.circuit_shape)
        return (
            f"{before}{left}{after}"
            if left
            else self.prompt_pieces("circuit_decoding")["last"].format(**_answer_forms(self.circuit_shape))
        )

    def next_step(self, state: State, text: str) -> Step:
        said = parse_answer(text, partial(rules.read_turn, self.circuit_shape), which=self.which_answer)
        if isinstance(said, rules.CircuitProbe):
            return self._probe_circuit(state, *said)
        if said is not None:
            return self._judge_tables(state, said)
        if read_answer(text) is None:
            told, info = self.prompt_pieces("circuit_decoding")["format"], Frozen[Any](result="unreadable")
            return Step(self._end_game(state), Frozen({AGENT: told}), info=info, outcome=Outcome("unreadable"))
        told = self.prompt_pieces("circuit_decoding")["invalid"].format(
            circuits=f"1 to {self.circuits}", inputs=self.inputs, rows=self.circuit_shape.row_count
        )
        return self._end_turn(state, state.asked, told, Frozen[Any](result="invalid"))

    def _probe_circuit(self, state: State, c: int, row: int) -> Step:
        say = self.prompt_pieces("circuit_decoding")
        if state.turn == self.max_turns - 1:
            return self._end_turn(state, state.asked, say["late"], Frozen[Any](result="late"))
        asked, output, bits = state.asked, state.tables[c] >> row & 1, f"{row:0{self.inputs}b}"
        asked = (*asked[:c], asked[c] | 1 << row, *asked[c + 1 :])
        info = Frozen[Any](result="output", circuit=c + 1, input=bits, output=output)
        return self._end_turn(state, asked, say["output"].format(circuit=c + 1, output=output, bits=bits), info)

    def _end_turn(self, state: State, asked: tuple[int, ...], told: str, info: Frozen[Any]) -> Step:
        after = State(state.gates, state.tables, asked, state.turn + 1)
        if after.turn == self.max_turns:
            told = f"{told}\n{self.prompt_pieces('circuit_decoding')['timeout']}"
            return Step(after, Frozen({AGENT: told}), info=info, outcome=Outcome("out_of_turns", truncated="turns"))
        told = f"{told}\n{self._request_text(self.max_turns - 1 - after.turn)}"
        return Step(after, Frozen({AGENT: told}), info=info)

    def _judge_tables(self, state: State, tables: Tables) -> Step:
        correct = sum(mine == theirs for mine, theirs in zip(tables, state.tables, strict=True))
        result = "win" if correct == self.circuits else "loss"
        told = self.prompt_pieces("circuit_decoding")[result].format(correct=correct, circuits=self.circuits)
        said, score = tuple(rules.format_table(table, self.inputs) for table in tables), correct / self.circuits
        info = Frozen[Any](result=result, tables=said, correct=correct)
        return Step(self._end_game(state), Frozen({AGENT: told}), Frozen({AGENT: score}), info, Outcome(result, score))

    def _end_game(self, state: State) -> State:
        return state._replace(turn=self.max_turns)

    def probe_answer(self, circuit: int, row: int) -> str:
        """The answer that asks a circuit for its output in a row of its table, both counted from 0."""
        return rules.probe_answer(circuit, row, self.inputs)

    def actions(self, state: State) -> Sequence[str] | None:
        """The probes that were not made yet; after the last one, the tables that agree with every observed output."""
        rows = range(self.circuit_shape.row_count)
        if state.turn < self.max_turns - 1:
            free = [(c, row) for c, asked in enumerate(state.asked) for row in rows if not asked >> row & 1]
            if free:
                return [rules.probe_answer(c, row, self.inputs) for c, row in free]
        seen = [(asked, table & asked) for asked, table in zip(state.asked, state.tables, strict=True)]
        return rules.Fitting(seen, self.inputs)

    def answer_schema(self, public: Mapping[str, Json]) -> Mapping[str, Json] | None:
        return text_schema("A probe, or the truth tables of all circuits, in the form that the rules give.")

    def say(self, answer: str) -> str:
        return tag_answer(answer)

    # --- exact beliefs -----------------------------------------------------------------------------------------------

    def filter(self, public: Mapping[str, Json]) -> CircuitFilter:
        from .filter import start_filter

        return start_filter(self.circuit_shape, _read_gates(public), self.max_turns, self.which_answer)


def _read_gates(public: Mapping[str, Json]) -> Gates:
    total = public["gates"]
    return Gates(total["and"], total["or"], total["not"])


@cache
def _draw_setups(preset: str, shape: Shape, gates: Gates) -> Mapping[str, Sequence[Tables]]:
    """The tables of all tasks, without duplicates; the splits alternate, so that small shapes give both equally
    many."""
    found: dict[str, list[Tables]] = {"test": [], "train": []}
    seen: set[Tables] = set()
    for index in range(max(_SIZES.values())):
        for split, tables in found.items():
            rng = random.Random(derive(0, "task", "circuit_decoding", preset, split, index))
            drawn = (rules.draw_tables(rng, shape, gates) for _ in range(_TRIES))
            new = next((t for t in drawn if t not in seen), None)
            if new is None:
                return found
            seen.add(new)
            tables.append(new)
    return found


# --- words -----------------------------------------------------------------------------------------------------------


def _count_noun(n: int, noun: str) -> str:
    return f"{n} {noun}{'s' * (n != 1)}"


def _gate_list(gates: Gates) -> str:
    """`3 AND, 3 OR and 3 NOT gates`."""
    return f"{gates.ands} AND, {gates.ors} OR and {gates.nots} NOT gates"


@lru_cache(maxsize=64)
def _answer_forms(shape: Shape) -> Mapping[str, str]:
    """The answer syntax: an example probe, its bits, and the tables with b for every bit."""
    probe = rules.probe_answer(min(1, shape.circuits - 1), int("1010"[: shape.inputs], 2), shape.inputs)
    tables = " ; ".join(f"{c + 1}: {'b' * shape.row_count}" for c in range(shape.circuits))
    return {"probe": probe, "bits": "b" * shape.inputs, "tables": tables}


@lru_cache(maxsize=64)
def _request_parts(text: str, shape: Shape) -> tuple[str, str]:
    """The text before and after the number of probes left."""
    before, _, after = text.partition("{left}")
    return before, after.format(**_answer_forms(shape))
