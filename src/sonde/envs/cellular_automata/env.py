"""Cellular automata: find a rule that turns the given rows of cells into the given outputs.

Source: PAPRIKA, table 1 and appendix B.4.6: one of the 256 elementary rules, 3 input rows of 3 to 10 cells, wrapped,
with their outputs shown from the start; a guess wins if it gives all the outputs, whether or not it is the hidden rule;
6 turns, 1000 training and 500 test tasks. Rewards: 1 on the winning turn, otherwise 0. Departures: the rows of a task
differ from each other and no two tasks are equal; a guess needs all eight neighborhoods with states 0 or 1, otherwise
it costs a turn (the paper's code accepts any character as a state).

Answers, apart from their syntax, are rules by their number from 0 to 255 (Wolfram's): bit b of the number is the new
state of neighborhood b. The agent could compute the reply to any guess, so no turn carries information: the posterior
is uniform over the rules that fit, from the first turn to the last, every expected gain is 0, and efficiency is
undefined. The environment tests deduction, which the success rate measures.
"""

from __future__ import annotations

import random
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar, NamedTuple, cast

from sonde.core import (
    AGENT,
    Belief,
    CertainEnv,
    Filter,
    Frozen,
    Outcome,
    Spec,
    Step,
    Task,
    TaskList,
    Turn,
    derive,
    invalid,
)
from sonde.core.tools import text_schema
from sonde.core.types import Json

from .._shared.answer import AnswerTags, parse_answer, read_answer, tag_answer

_SIZES = {"train": 1000, "test": 500}
_N_ROWS, _LENGTHS = 3, (3, 10)
_WIN = Frozen({AGENT: 1.0})

NEIGHBORHOODS = ("111", "110", "101", "100", "011", "010", "001", "000")
"""Left, centre and right cell; the order in which the digits of a rule's number are written."""


class State(NamedTuple):
    """The hidden rule, its input rows, their outputs, and the number of guesses made."""

    rule: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    turn: int = 0


def rule_table(rule: int) -> Mapping[str, str]:
    """The new cell state for every neighborhood.

    >>> rule_table(110)["011"], rule_table(110)["111"]
    ('1', '0')
    """
    return dict(zip(NEIGHBORHOODS, f"{rule:08b}", strict=True))


def apply_rule(states: Mapping[str, str], row: str) -> str:
    """The row after one step of the rule.

    >>> apply_rule(rule_table(110), "10110")
    '11111'
    """
    ring = row[-1] + row + row[0]
    return "".join([states[ring[i : i + 3]] for i in range(len(row))])


def rule_fits(rule: int, inputs: Sequence[str], outputs: Sequence[str]) -> bool:
    """Whether a rule maps every input to its output."""
    states = rule_table(rule)
    return all(apply_rule(states, i) == o for i, o in zip(inputs, outputs, strict=True))


_RULE = re.compile(r"<rule>([01]{3}):([01])</rule>")


def read_rule(answer: str) -> Mapping[str, str] | None:
    """The states in the `<rule> 111: 0 </rule>` tags of an answer; None unless they form one complete rule.

    Case, white space, text outside the tags and duplicate tags are ignored.
    """
    compact = "".join(answer.split()).lower()
    pairs: list[tuple[str, str]] = _RULE.findall(compact)
    states = dict(pairs)
    whole = len(states) == len(set(pairs)) == len(NEIGHBORHOODS) and len(pairs) == compact.count("<rule>")
    return states if whole else None


@dataclass(frozen=True, kw_only=True)
class CellularAutomata(CertainEnv[State], AnswerTags):
    """See the module docstring."""

    presets: ClassVar[tuple[str, ...]] = ("paprika",)

    preset: str = "paprika"
    max_turns: int = 6

    @cached_property
    def spec(self) -> Spec:
        return Spec(
            name="cellular_automata",
            version="2",
            summary="find a rule of an elementary cellular automaton that gives the outputs shown",
            preset=self.preset,
            max_turns=self.max_turns,
            reward_range=(0.0, 1.0),
            support="the rules among all 256 that fit the inputs and outputs shown",
            source="PAPRIKA (arXiv 2502.17543), table 1 and appendix B.4.6",
            reference="entropy",
            departures=(
                "the rows of a task are distinct, and so are the tasks",
                "states other than 0 and 1 cost a turn",
                *self.paprika_departures,
            ),
        )

    def split(self, split: str) -> Sequence[Task]:
        return TaskList(_SIZES[split], lambda i: self._generate_task(split, i))

    def _generate_task(self, split: str, index: int) -> Task:
        rng = random.Random(derive(0, "task", "cellular_automata", self.preset, split, index))
        rows: dict[str, None] = {}
        while len(rows) < _N_ROWS:
            n = rng.randint(*_LENGTHS)
            rows[f"{rng.getrandbits(n):0{n}b}"] = None
        return self._task(rng.randrange(256), tuple(rows), split, index)

    def task(self, hidden: Json) -> Task:
        """`{"rule": 110, "inputs": ["0101", ...]}`: a rule from 0 to 255, and 1 to 5 rows of 3 to 32 cells. In the
        place of the rule, `outputs` may give the rows that it makes; the first rule that makes them is then hidden."""
        setup = cast("Mapping[Any, Any]", hidden) if isinstance(hidden, Mapping) else Frozen[Any]()
        if set(setup) not in ({"rule", "inputs"}, {"outputs", "inputs"}):
            allowed = '{"rule": 110, "inputs": ["0101", ...]}, or outputs in the place of the rule'
            raise invalid("cellular_automata: hidden", cast("object", hidden), allowed)
        inputs = _check_rows("inputs", setup["inputs"])
        rule = setup["rule"] if "rule" in setup else _first_rule(inputs, _check_rows("outputs", setup["outputs"]))
        if isinstance(rule, bool) or not isinstance(rule, int) or not 0 <= rule <= 255:
            raise invalid("cellular_automata: rule", rule, "0 to 255")
        return self._task(rule, inputs, "custom", 0)

    def _task(self, rule: int, inputs: tuple[str, ...], split: str, index: int) -> Task:
        states = rule_table(rule)
        public = Frozen[Any](inputs=inputs, outputs=tuple(apply_rule(states, row) for row in inputs))
        return self.make_listed_task(split, index, public, Frozen[Any](rule=rule, inputs=inputs))

    # --- rules -------------------------------------------------------------------------------------------------------

    def start(self, public: Mapping[str, Json], hidden: Json) -> State:
        return State(hidden["rule"], public["inputs"], public["outputs"])

    def prior(self, public: Mapping[str, Json]) -> Sequence[tuple[float, Json]]:
        rules = _fitting_rules(public["inputs"], public["outputs"])
        return [(1.0 / len(rules), Frozen[Any](rule=rule, inputs=public["inputs"])) for rule in rules]

    def to_act(self, state: State) -> str | None:
        return AGENT if state.turn < self.max_turns else None

    def hypothesis(self, state: State) -> int:
        return state.rule

    def in_words(self, hypothesis: Hashable) -> str:
        """The rule's number, which is a legal answer."""
        return str(hypothesis)

    def intro(self, state: State, seat: str) -> str:
        say = self.prompt_pieces("cellular_automata")
        rows = "\n".join(_format_examples(say["row"], state.inputs, state.outputs))
        return say["intro"].format(rows=rows, turns=self.max_turns, form=_answer_form("s" * 8, "\n"))

    def next_step(self, state: State, text: str) -> Step:
        say, over = self.prompt_pieces("cellular_automata"), state._replace(turn=self.max_turns)
        states = parse_answer(text, read_rule, which=self.which_answer)
        if states is None:
            if read_answer(text) is not None:
                return self._end_turn(state, say["invalid"], Frozen(result="invalid"))
            return Step(
                over, Frozen({AGENT: say["format"]}), info=Frozen(result="unreadable"), outcome=Outcome("unreadable")
            )
        outputs = tuple(apply_rule(states, row) for row in state.inputs)
        correct = tuple(mine == theirs for mine, theirs in zip(outputs, state.outputs, strict=True))
        result = "win" if all(correct) else "wrong"
        info = Frozen[Any](result=result, outputs=outputs, correct=correct)
        if result == "win":
            return Step(over, Frozen({AGENT: say["win"]}), _WIN, info, Outcome("win", 1.0))
        return self._end_turn(state, _compare_outputs(say, state, outputs), info)

    def _end_turn(self, state: State, told: str, info: Frozen[Any]) -> Step:
        after, say = state._replace(turn=state.turn + 1), self.prompt_pieces("cellular_automata")
        left = self.max_turns - after.turn
        if left == 0:
            told = f"{told}\n{say['timeout']}"
            return Step(after, Frozen({AGENT: told}), info=info, outcome=Outcome("out_of_turns", truncated="turns"))
        told = f"{told}\n{say['next'].format(left=left, form=_answer_form('s' * 8, ' '))}"
        return Step(after, Frozen({AGENT: told}), info=info)

    def actions(self, state: State) -> Sequence[str] | None:
        return _RULES

    def answer_schema(self, public: Mapping[str, Json]) -> Mapping[str, Json] | None:
        order = "111, 110, 101, 100, 011, 010, 001, 000"
        return text_schema(f"The rule: the new states for the neighborhoods {order}, in this order.", "[01]{8}")

    def say(self, answer: str) -> str:
        """The `<rule>` tags of a rule given by its number or its eight states; any other answer unchanged."""
        states = f"{int(answer):08b}" if answer in _RULES else answer
        return tag_answer(_answer_form(states, "\n") if re.fullmatch("[01]{8}", states) else answer)

    # --- exact beliefs -----------------------------------------------------------------------------------------------

    def filter(self, public: Mapping[str, Json]) -> RuleFilter:
        return RuleFilter(_fitting_rules(public["inputs"], public["outputs"]))


@dataclass(frozen=True)
class RuleFilter(Filter):
    """Uniform over the rules that fit the examples; no guess changes it, so every gain is 0."""

    rules: tuple[int, ...]

    def observe(self, turn: Turn) -> RuleFilter:
        return self

    def belief(self) -> Belief:
        return Belief(self.rules, (1.0 / len(self.rules),) * len(self.rules))

    def expected_gain(self, action: str) -> float:
        return 0.0

    def best_question(self) -> tuple[str, float]:
        """A rule that fits: no answer has a gain, but this one wins."""
        return str(self.rules[0]), 0.0


_RULES = tuple(str(rule) for rule in range(256))


def _check_rows(name: str, rows: object) -> tuple[str, ...]:
    """Rows of cells, or a `UserError` that names the field."""
    if not isinstance(rows, list | tuple) or not 1 <= len(cast("Sequence[Any]", rows)) <= 5:
        raise invalid(f"cellular_automata: {name}", cast("object", rows), "a list of 1 to 5 rows")
    for row in cast("Sequence[Any]", rows):
        if not isinstance(row, str) or not 3 <= len(row) <= 32 or set(row) - {"0", "1"}:
            raise invalid(f"cellular_automata: {name}: row", row, "3 to 32 cells, each 0 or 1, as text")
    return tuple(cast("Sequence[str]", rows))


def _first_rule(inputs: tuple[str, ...], outputs: tuple[str, ...]) -> int:
    """The lowest rule that makes these outputs."""
    lengths = [[len(row) for row in rows] for rows in (inputs, outputs)]
    rules = _fitting_rules(inputs, outputs) if lengths[0] == lengths[1] else ()
    if not rules:
        raise invalid("cellular_automata: outputs", outputs, "what one rule makes of the inputs, row by row")
    return rules[0]


@lru_cache(maxsize=4096)
def _fitting_rules(inputs: tuple[str, ...], outputs: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(rule for rule in range(256) if rule_fits(rule, inputs, outputs))


# --- words -----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def _answer_form(states: str, between: str) -> str:
    """The answer syntax of a rule, states in the order of `NEIGHBORHOODS`."""
    return between.join(f"<rule> {where}: {state} </rule>" for where, state in zip(NEIGHBORHOODS, states, strict=True))


def _space_cells(row: str) -> str:
    return " ".join(row)


@lru_cache(maxsize=4096)
def _format_examples(row: str, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> tuple[str, ...]:
    """Each input with its output, as shown to the agent."""
    pairs = enumerate(zip(inputs, outputs, strict=True), 1)
    return tuple(row.format(i=i, input=_space_cells(a), output=_space_cells(b)) for i, (a, b) in pairs)


def _compare_outputs(say: Mapping[str, str], state: State, outputs: tuple[str, ...]) -> str:
    """A guess's outputs for the inputs, next to the required ones."""
    rows = _format_examples(say["row"], state.inputs, state.outputs)
    lines: list[str] = []
    for row, mine, theirs in zip(rows, outputs, state.outputs, strict=True):
        lines += [row, say["guess"].format(guess=_space_cells(mine), verdict="right" if mine == theirs else "wrong")]
    return "\n".join((say["wrong"], *lines))
