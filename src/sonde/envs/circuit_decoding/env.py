"""Circuit decoding: probe hidden boolean circuits, then write down all their truth tables.

Source: Multi-Turn Puzzles (MTP), sections 2.1 and 3.1 and appendix A.2. Published: several circuits of some inputs and
one output each, built layer by layer from a fixed total of AND, OR and NOT gates that the agent is told; 18 probes,
each one input for one circuit, then the joint truth table on turn 19; the score is the share of circuits whose whole
table is right; 300 test configurations. The HTML text of the paper has lost the constants, and gives no syntax.
Ours: 3 circuits of 3 inputs, 3 AND, 3 OR and 3 NOT gates in all (so 24 table bits for 18 probes); how gates are dealt
and placed (`circuits.py`); the answers `probe 2 101` and `1: 01101001 ; 2: ... ; 3: ...`; tables may be given on
any turn and end the episode; the agent is told at the end how many were right; 300 training configurations; no two
tasks have the same tables. A win is all tables right; the reward of the last turn is the score.
Every circuit has exactly inputs - 1 AND and OR gates together, because each of them uses up two signals and gives one,
so the number of OR gates follows from the rest.

Legal answers are the probes not made yet, and on the last turn the tables that have every output seen. Others are read
too: a probe made again is answered again, and tables count on any turn.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

from sonde.core import AGENT, CertainEnv, Frozen, Outcome, Rng, Spec, Step, Task, TaskList, derive, invalid
from sonde.core.types import Json

from .._shared.answer import AnswerTags, parse_answer, read_answer, tagged
from .._shared.prompts import pieces
from . import circuits as rules
from .circuits import Gates, Shape, Tables

if TYPE_CHECKING:
    from .filter import CircuitFilter

_SIZES = {"train": 300, "test": 300}
_MOST_NOTS, _MOST_ROWS, _MOST_LISTED = 6, 48, 10_000
_TRIES = 200
"""Attempts to draw a task that differs from all others; if all fail, there are no more tasks."""


class State(NamedTuple):
    """The gate totals, each circuit's truth table, the inputs probed on each as bits, and the turns taken."""

    gates: Gates
    tables: Tables
    asked: tuple[int, ...]
    turn: int = 0


@dataclass(frozen=True, kw_only=True)
class CircuitDecoding(CertainEnv[State], AnswerTags):
    """See the module docstring. `circuits` in 1..4 and `inputs` in 2..4 with at most 48 table bits in all; `ands` AND
    gates of the circuits * (inputs - 1) that join signals, the rest being OR, and `nots` in 0..6. `max_turns=n` means n
    - 1 probes."""

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
        if not 0 <= self.ands <= self._joins:
            raise invalid("circuit_decoding: ands", self.ands, f"0 to circuits * (inputs - 1) = {self._joins}")
        if not 0 <= self.nots <= _MOST_NOTS:
            raise invalid("circuit_decoding: nots", self.nots, f"0 to {_MOST_NOTS}")

    @property
    def _joins(self) -> int:
        return self.circuits * (self.inputs - 1)

    @cached_property
    def shape(self) -> Shape:
        return Shape(self.circuits, self.inputs)

    @cached_property
    def gates(self) -> Gates:
        """The gate totals of every task of the splits."""
        return Gates(self.ands, self._joins - self.ands, self.nots)

    @cached_property
    def spec(self) -> Spec:
        return Spec(
            name="circuit_decoding",
            version="2",
            summary="probe hidden boolean circuits, then write down their truth tables",
            preset=self.preset,
            max_turns=self.max_turns,
            reward_range=(0.0, 1.0),
            support="every set of circuits that the gates build, with the chance of being built",
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
        found = _setups(self.preset, self.shape, self.gates)[split]
        return TaskList(len(found), lambda i: self._task(found[i], self.gates, split, i))

    def task(self, hidden: Json) -> Task:
        """`{"circuits": ["not (a and b) or c", "00010111", ...], "gates": {"and": 3, "or": 3, "not": 3}}`.

        A circuit is an expression that uses every input once, `a` being the first bit, or a truth table. Together they
        must use exactly the gates, by default those of the configuration.
        """
        setup = cast("Mapping[Any, Any]", hidden) if isinstance(hidden, Mapping) else Frozen[Any]()
        if not {"circuits"} <= set(setup) <= {"circuits", "gates"}:
            raise invalid("circuit_decoding: hidden", cast("object", hidden), "a mapping with circuits and gates")
        gates = self._checked_gates(setup["gates"]) if "gates" in setup else self.gates
        return self._task(self._checked_tables(setup["circuits"], gates), gates, "custom", 0)

    def _checked_gates(self, given: Json) -> Gates:
        counts: Mapping[Any, Any] = cast("Mapping[Any, Any]", given) if isinstance(given, Mapping) else {}
        numbers: list[Any] = [counts.get(key) for key in ("and", "or", "not")]
        known = len(counts) == 3 and all(type(n) is int and n >= 0 for n in numbers)
        if not known or numbers[0] + numbers[1] != self._joins or numbers[2] > _MOST_NOTS:
            allowed = f'{{"and": a, "or": b, "not": c}} with a + b = {self._joins} and c at most {_MOST_NOTS}'
            raise invalid("circuit_decoding: gates", cast("object", given), allowed)
        return Gates(*numbers)

    def _checked_tables(self, given: Json, gates: Gates) -> Tables:
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
            allowed = f"circuits that together use exactly {_listed(gates)}"
            raise invalid("circuit_decoding: circuits", cast("object", given), allowed)
        return tuple(tables)

    def _read_circuit(self, name: Any, nots: int) -> tuple[int, Sequence[Gates]]:
        """A circuit's table, and every set of gates, with at most `nots` NOT gates, that can build it."""
        if isinstance(name, str) and len(name) == self.shape.rows and not name.strip("01"):
            table = rules.table_of(name)
            hands = rules.hands(self.inputs, nots)
            return table, [hand for hand in hands if table in rules.distribution(self.inputs, hand)]
        found = rules.parse(name, self.inputs) if isinstance(name, str) else None
        if found is None:
            inputs = ", ".join(rules.NAMES[: self.inputs])
            allowed = f"a table of {self.shape.rows} bits, or an expression of and, or, not with each of {inputs} once"
            raise invalid("circuit_decoding: circuits: circuit", name, allowed)
        return found[0], [found[1]]

    def _task(self, tables: Tables, gates: Gates, split: str, index: int) -> Task:
        total = Frozen[Any]({"and": gates.ands, "or": gates.ors, "not": gates.nots})
        public = Frozen[Any](circuits=self.circuits, inputs=self.inputs, gates=total)
        hidden = Frozen[Any](circuits=tuple(rules.shown(t, self.inputs) for t in tables), gates=total)
        return self.listed(split, index, public, hidden)

    # --- rules -------------------------------------------------------------------------------------------------------

    def start(self, public: Mapping[str, Json], hidden: Json) -> State:
        return State(_gates(public), tuple(rules.table_of(t) for t in hidden["circuits"]), (0,) * self.circuits)

    def draw(self, public: Mapping[str, Json], rng: Rng) -> Json:
        return self._task(rules.draw(rng, self.shape, _gates(public)), _gates(public), "", 0).hidden

    def prior(self, public: Mapping[str, Json]) -> Sequence[tuple[float, Json]]:
        """Every set of tables, if there are few; `filter` handles the others."""
        gates = _gates(public)
        n = self._support(gates)
        if n > _MOST_LISTED:
            allowed = f"at most {_MOST_LISTED:,} to be listed; use filter(public)"
            raise invalid("circuit_decoding: sets of tables", n, allowed)
        rows = rules.prior(self.shape, gates)
        return [(float(p), self._task(tables, gates, "", 0).hidden) for tables, p in rows.items()]

    def _support(self, gates: Gates) -> int:
        """A lower bound on the number of sets of tables that the gates can build."""
        hands = rules.hands(self.inputs, gates.nots)
        return len({table for hand in hands for table in rules.distribution(self.inputs, hand)}) ** self.circuits

    def to_act(self, state: State) -> str | None:
        return AGENT if state.turn < self.max_turns else None

    def hypothesis(self, state: State) -> tuple[str, ...]:
        """The truth table of every circuit: outputs in counting order."""
        return tuple(rules.shown(table, self.inputs) for table in state.tables)

    def intro(self, state: State, seat: str) -> str:
        joins, rows, say = self.inputs - 1, self.shape.rows, pieces("circuit_decoding")
        intro = say["intro"].format(
            circuits=_count(self.circuits, "circuit"), inputs=self.inputs, gates=_listed(state.gates), joins=joins,
            noun="gates" if joins > 1 else "gate", probes=_count(self.max_turns - 1, "probe"), rows=rows,
            order=", ".join(f"{row:0{self.inputs}b}" for row in range(rows)), last="1" * self.inputs,
            example=f"{1:0{rows}b}", **_forms(self.shape),
        )  # fmt: skip
        return f"{intro}\n\n{say['first'] if self.max_turns > 1 else self._asked(0)}"

    def _asked(self, left: int) -> str:
        """The request before a turn with `left` probes still to be made."""
        before, after = _next(self.shape)
        return f"{before}{left}{after}" if left else pieces("circuit_decoding")["last"].format(**_forms(self.shape))

    def after(self, state: State, text: str) -> Step:
        said = parse_answer(text, partial(rules.read_turn, self.shape), which=self.which_answer)
        if isinstance(said, rules.Probe):
            return self._probed(state, *said)
        if said is not None:
            return self._judged(state, said)
        if read_answer(text) is None:
            told, info = pieces("circuit_decoding")["format"], Frozen[Any](result="format")
            return Step(self._over(state), Frozen({AGENT: told}), info=info, outcome=Outcome("format"))
        told = pieces("circuit_decoding")["invalid"].format(
            circuits=f"1 to {self.circuits}", inputs=self.inputs, rows=self.shape.rows
        )
        return self._after(state, state.asked, told, Frozen[Any](result="invalid"))

    def _probed(self, state: State, c: int, row: int) -> Step:
        say = pieces("circuit_decoding")
        if state.turn == self.max_turns - 1:
            return self._after(state, state.asked, say["late"], Frozen[Any](result="late"))
        asked, output, bits = state.asked, state.tables[c] >> row & 1, f"{row:0{self.inputs}b}"
        asked = (*asked[:c], asked[c] | 1 << row, *asked[c + 1 :])
        info = Frozen[Any](result="output", circuit=c + 1, input=bits, output=output)
        return self._after(state, asked, say["output"].format(circuit=c + 1, output=output, bits=bits), info)

    def _after(self, state: State, asked: tuple[int, ...], told: str, info: Frozen[Any]) -> Step:
        after = State(state.gates, state.tables, asked, state.turn + 1)
        if after.turn == self.max_turns:
            told = f"{told}\n{pieces('circuit_decoding')['timeout']}"
            return Step(after, Frozen({AGENT: told}), info=info, outcome=Outcome("timeout", truncated="turns"))
        told = f"{told}\n{self._asked(self.max_turns - 1 - after.turn)}"
        return Step(after, Frozen({AGENT: told}), info=info)

    def _judged(self, state: State, tables: Tables) -> Step:
        correct = sum(mine == theirs for mine, theirs in zip(tables, state.tables, strict=True))
        result = "win" if correct == self.circuits else "loss"
        told = pieces("circuit_decoding")[result].format(correct=correct, circuits=self.circuits)
        said, score = tuple(rules.shown(table, self.inputs) for table in tables), correct / self.circuits
        info = Frozen[Any](result=result, tables=said, correct=correct)
        return Step(self._over(state), Frozen({AGENT: told}), Frozen({AGENT: score}), info, Outcome(result, score))

    def _over(self, state: State) -> State:
        return state._replace(turn=self.max_turns)

    def probe_answer(self, circuit: int, row: int) -> str:
        """The answer that asks a circuit for its output in a row of its table, both counted from 0."""
        return rules.probe_answer(circuit, row, self.inputs)

    def actions(self, state: State) -> Sequence[str] | None:
        """The probes not made yet; after the last one, the tables that agree with every output seen."""
        rows = range(self.shape.rows)
        if state.turn < self.max_turns - 1:
            free = [(c, row) for c, asked in enumerate(state.asked) for row in rows if not asked >> row & 1]
            if free:
                return [rules.probe_answer(c, row, self.inputs) for c, row in free]
        seen = [(asked, table & asked) for asked, table in zip(state.asked, state.tables, strict=True)]
        return rules.Fitting(seen, self.inputs)

    def say(self, answer: str) -> str:
        return tagged(answer)

    # --- exact beliefs -----------------------------------------------------------------------------------------------

    def filter(self, public: Mapping[str, Json]) -> CircuitFilter:
        from .filter import start

        return start(self.shape, _gates(public), self.max_turns, self.which_answer)


def _gates(public: Mapping[str, Json]) -> Gates:
    total = public["gates"]
    return Gates(total["and"], total["or"], total["not"])


@cache
def _setups(preset: str, shape: Shape, gates: Gates) -> Mapping[str, Sequence[Tables]]:
    """The tables of all tasks, without duplicates; the splits alternate, so that small shapes give both equally
    many."""
    found: dict[str, list[Tables]] = {"test": [], "train": []}
    seen: set[Tables] = set()
    for index in range(max(_SIZES.values())):
        for split, tables in found.items():
            rng = random.Random(derive(0, "task", "circuit_decoding", preset, split, index))
            drawn = (rules.draw(rng, shape, gates) for _ in range(_TRIES))
            new = next((t for t in drawn if t not in seen), None)
            if new is None:
                return found
            seen.add(new)
            tables.append(new)
    return found


# --- words -----------------------------------------------------------------------------------------------------------


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'s' * (n != 1)}"


def _listed(gates: Gates) -> str:
    """`3 AND, 3 OR and 3 NOT gates`."""
    return f"{gates.ands} AND, {gates.ors} OR and {gates.nots} NOT gates"


@lru_cache(maxsize=64)
def _forms(shape: Shape) -> Mapping[str, str]:
    """The answer syntax: an example probe, its bits, and the tables with b for every bit."""
    probe = rules.probe_answer(min(1, shape.circuits - 1), int("1010"[: shape.inputs], 2), shape.inputs)
    tables = " ; ".join(f"{c + 1}: {'b' * shape.rows}" for c in range(shape.circuits))
    return {"probe": probe, "bits": "b" * shape.inputs, "tables": tables}


@lru_cache(maxsize=64)
def _next(shape: Shape) -> tuple[str, str]:
    """The text before and after the number of probes left."""
    before, _, after = pieces("circuit_decoding")["next"].partition("{left}")
    return before, after.format(**_forms(shape))
