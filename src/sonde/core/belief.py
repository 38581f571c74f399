"""Exact beliefs: the posterior over the hidden hypothesis, and the information in bits that each turn brings.

Notation: b_t is the posterior after t turns, h* the true hypothesis. All information is in bits.

    realised gain   H(b_{t-1}) - H(b_t)           can be negative
    truth gain      log2 b_t(h*) / b_{t-1}(h*)    sums to log2 1/b_0(h*) when the hypothesis is found
    expected gain   I(h; o | a) under b_{t-1}     never negative
    efficiency      expected gain of the action played / of the best question at the same belief
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sonde._util.argument_checks import explain_wrong_argument
from sonde._util.frozen import Frozen

from .types import AGENT, Step, Turn

Hypothesis = Hashable
KEPT = 256
"""Maximum number of posteriors that a `TabularFilter` caches for its successors."""


def entropy(probs: Iterable[float]) -> float:
    """Shannon entropy in bits of a distribution given by its probabilities.

    >>> entropy([0.5, 0.25, 0.25])
    1.5
    """
    return -sum(p * math.log2(p) for p in probs if p > 0.0) + 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Belief:
    """A distribution over hypotheses: two parallel sequences, possibly arrays, without zero-probability entries.

    >>> b = Belief(("blue", "red"), (0.25, 0.75))
    >>> b.prob("red"), round(b.entropy, 3), b.top(1)
    (0.75, 0.811, [('red', 0.75)])
    """

    hypotheses: Sequence[Any]
    probs: Sequence[float]
    bits: float | None = None
    """The entropy, if the filter has already computed it."""

    @property
    def entropy(self) -> float:
        """Shannon entropy in bits."""
        return entropy(self.probs) if self.bits is None else self.bits

    def prob(self, hypothesis: Hypothesis) -> float:
        """The probability of `hypothesis`; 0.0 outside the support."""
        try:
            return float(self.probs[self.hypotheses.index(hypothesis)])
        except ValueError:
            return 0.0

    def top(self, n: int) -> list[tuple[Any, float]]:
        """The n most probable hypotheses, most probable first; ties keep the order of the support."""
        order = sorted(range(len(self.probs)), key=lambda i: -self.probs[i])[:n]
        return [(self.hypotheses[i], float(self.probs[i])) for i in order]

    def __len__(self) -> int:
        return len(self.hypotheses)


class Filter(ABC):
    """The exact posterior over hypotheses, updated one finished turn at a time. Immutable: `observe` returns a new
    filter.

    A filter sees the task's public part and what the agent said and was told (`turn.text`, `turn.told`,
    `turn.info`), nothing else.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        explain_wrong_argument(cls, "observe", Turn)

    @abstractmethod
    def observe(self, turn: Turn) -> Filter:
        """The filter after this turn. An invalid turn carries no information and changes nothing."""

    @abstractmethod
    def belief(self) -> Belief:
        """The current posterior."""

    @abstractmethod
    def expected_gain(self, action: str) -> float:
        """I(hypothesis; observation | action) in bits, for the text an agent might say. Unreadable text gives 0."""

    @abstractmethod
    def best_question(self) -> tuple[str, float]:
        """The answer (without answer syntax) with the highest expected gain, and that gain in bits."""

    @property
    def has_questions(self) -> bool:
        """Whether `best_question` is available; False if the environment cannot list its answers."""
        return True

    def prob(self, hypothesis: Hypothesis) -> float:
        """Posterior probability of one hypothesis; subclasses override it where that is cheaper than `belief()`."""
        return self.belief().prob(hypothesis)

    @property
    def entropy(self) -> float:
        """Entropy of the posterior in bits."""
        return self.belief().entropy


@dataclass(frozen=True, slots=True)
class Gain:
    """The information in one turn, in bits; the formulas are in the module docstring."""

    realised: float
    truth: float
    expected: float | None = None
    best: float | None = None

    @property
    def efficiency(self) -> float | None:
        """In [0, 1]; None if nothing was left to learn or expected gains were not requested."""
        if self.expected is None or self.best is None or self.best <= 1e-9:
            return None
        return min(1.0, max(0.0, self.expected / self.best))


RULES = "rules"
"""Key of `Action.memory` under which a policy in a user's seat records what the filter's own user would have said."""


def rule_reply(turn: Turn) -> Turn:
    """The turn as the filter's own user would have played it: a reply by another policy is replaced by the recorded
    rule reply (`users/hybrid.py`)."""
    last = turn.acts[-1]
    memory = None if last.seat == AGENT else last.action.memory
    if not isinstance(memory, Mapping) or RULES not in memory or turn.info.get("result") != "answer":
        return turn
    info = Frozen[Any]({**last.info, "reply": memory[RULES]})
    return Turn(turn.index, (*turn.acts[:-1], last._replace(info=info)))


def information_gains(
    filter: Filter, turns: Sequence[Turn], hypothesis: Hypothesis, *, expected: bool = False
) -> tuple[Gain, ...]:
    """The information of every turn, starting from the prior `filter`.

    `truth` is `-inf` when a turn rules out the truth, which an exact filter never does.
    With `expected=True` each action is also weighed against the best question, which costs a search per turn.
    """
    rows: list[Gain] = []
    for turn in turns:
        after = filter.observe(rule_reply(turn))
        before_p, after_p = filter.prob(hypothesis), after.prob(hypothesis)
        truth = math.log2(after_p / before_p) if before_p > 0 and after_p > 0 else -math.inf
        best = float(filter.best_question()[1]) if expected and filter.has_questions else None
        asked = float(filter.expected_gain(turn.text)) if expected else None
        rows.append(Gain(float(filter.entropy - after.entropy), truth, asked, best))
        filter = after
    return tuple(rows)


class TabularFilter(Filter):
    """The posterior of any environment whose `outcomes` can be listed, with one state per hidden setup.

    Exact and general, and as slow as the support is large: small supports use it as it is, large ones bring an array
    filter and are tested against this one. `hypothesis` maps a state to what is to be identified. Hidden setups are
    weighed one by one, so a hypothesis may stand for many of them.
    """

    def __init__(
        self,
        rows: Sequence[tuple[float, Hashable]],
        outcomes: Callable[[Any, str], Sequence[tuple[float, Step]]],
        hypothesis: Callable[[Any], Hypothesis],
        actions: Callable[[Any], Sequence[str] | None],
        say: Callable[[str], str],
    ) -> None:
        total = sum(p for p, _ in rows)
        self._rows = tuple((p / total, s) for p, s in rows if p > 0.0)
        self._seen: dict[tuple[str, str], TabularFilter] = {}
        self._best: tuple[str, float] | None = None
        self._outcomes, self._hypothesis, self._actions, self._say = outcomes, hypothesis, actions, say

    def _with_rows(self, rows: Sequence[tuple[float, Hashable]]) -> TabularFilter:
        return TabularFilter(rows, self._outcomes, self._hypothesis, self._actions, self._say)

    def observe(self, turn: Turn) -> TabularFilter:
        fact = (turn.text, turn.told)
        if fact not in self._seen:
            if len(self._seen) == KEPT:  # free text rarely comes twice, and this filter may live as long as the process
                self._seen.clear()
            self._seen[fact] = self._condition_on(turn)
        return self._seen[fact]

    def _condition_on(self, turn: Turn) -> TabularFilter:
        rows: list[tuple[float, Hashable]] = []
        for p, state in self._rows:
            for q, step in self._outcomes(state, turn.text):
                if q > 0.0 and step.told.get(AGENT, "") == turn.told:
                    rows.append((p * q, step.state))
        if not rows:
            raise ValueError("the turn is impossible under every hidden setup of the prior")
        return self._with_rows(rows)

    def belief(self) -> Belief:
        mass = self._sum_mass(self._rows)
        return Belief(tuple(mass), tuple(mass.values()))

    def _sum_mass(self, rows: Iterable[tuple[float, Hashable]]) -> dict[Hypothesis, float]:
        mass: dict[Hypothesis, float] = {}
        for p, state in rows:
            h = self._hypothesis(state)
            mass[h] = mass.get(h, 0.0) + p
        return mass

    def expected_gain(self, action: str) -> float:
        seen: dict[str, list[tuple[float, Hashable]]] = {}
        for p, state in self._rows:
            for q, step in self._outcomes(state, action):
                seen.setdefault(step.told.get(AGENT, ""), []).append((p * q, state))
        after = 0.0
        for rows in seen.values():
            total = sum(p for p, _ in rows)
            if total > 0.0:
                after += total * entropy(p / total for p in self._sum_mass(rows).values())
        return max(0.0, self.entropy - after)

    @property
    def has_questions(self) -> bool:
        return bool(self._actions(self._rows[0][1]))

    def best_question(self) -> tuple[str, float]:
        if self._best is None:
            self._best = self._search_best()
        return self._best

    def _search_best(self) -> tuple[str, float]:
        answers = self._actions(self._rows[0][1])
        if not answers:
            raise ValueError("this environment lists no legal actions, so it has no best question")
        scored: Mapping[str, float] = {a: self.expected_gain(self._say(a)) for a in answers}
        best = max(scored, key=lambda a: scored[a])
        return best, scored[best]
