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
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from sonde._util.argument_checks import explain_wrong_argument
from sonde._util.by_name import call_by_name
from sonde._util.frozen import Frozen

from .types import AGENT, Step, Turn

if TYPE_CHECKING:
    from .reply_table import Asked, ReplyTable

Hypothesis = Hashable
KEPT = 256
"""Maximum number of posteriors that `Successors` caches."""


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

    def __repr__(self) -> str:
        likely = ", ".join(f"{_shorten(repr(hypothesis))} {p:.3g}" for hypothesis, p in self.top(3))
        more = ", ..." if len(self) > 3 else ""
        return f"<Belief over {len(self):,} hypotheses, {self.entropy:.2f} bits: {likely}{more}>"

    def _repr_html_(self) -> str:
        """For notebooks: the likeliest hypotheses."""
        return call_by_name("viewer.notebook:show_belief", self)


def _shorten(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:39]}…"


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

    def find_best_questions(self, later: Sequence[Filter]) -> Sequence[tuple[str, float]]:
        """`best_question` of several posteriors that follow from the same prior as this one, here one by one."""
        return [one.best_question() for one in later]

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


F = TypeVar("F", bound=Filter)


class Successors(Generic[F]):
    """The posteriors that follow from one, by the fact observed: episodes that share a history share its posteriors."""

    def __init__(self) -> None:
        self._known: dict[Hashable, F] = {}

    def __len__(self) -> int:
        return len(self._known)

    def find(self, fact: Hashable, condition: Callable[[], F]) -> F:
        """The posterior after a fact, computed by `condition` when it is first observed."""
        if fact not in self._known:
            if len(self._known) == KEPT:  # free text rarely repeats, and a prior may live as long as the process
                self._known.clear()
            self._known[fact] = condition()
        return self._known[fact]


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

    `truth` is `-inf` when a turn rules out the truth, which an exact filter never does. `expected=True` also compares
    each action with the best question, which costs one search per turn.
    """
    path = [filter]
    for turn in turns:
        path.append(path[-1].observe(rule_reply(turn)))
    asked = [float(f.expected_gain(turn.text)) if expected else None for f, turn in zip(path, turns, strict=False)]
    best = _find_best_gains(path[:-1]) if expected else [None] * len(turns)
    truth = [_log_ratio(after.prob(hypothesis), before.prob(hypothesis)) for before, after in pairwise(path)]
    realised = [float(before.entropy - after.entropy) for before, after in pairwise(path)]
    return tuple(map(Gain, realised, truth, asked, best))


def _log_ratio(after: float, before: float) -> float:
    return math.log2(after / before) if before > 0 and after > 0 else -math.inf


def _find_best_gains(filters: Sequence[Filter]) -> Sequence[float | None]:
    """The gain of the best question under each posterior; None where answers cannot be listed."""
    able = [one for one in filters if one.has_questions]
    found = iter(able[0].find_best_questions(able) if able else ())
    return [float(next(found)[1]) if one.has_questions else None for one in filters]


class TabularFilter(Filter):
    """The posterior of any environment whose `outcomes` can be listed, with one state per hidden setup.

    Exact and general. `hypothesis` maps a state to what the agent must identify. Every hidden setup has its own weight,
    so several setups may map to one hypothesis. All posteriors of one prior share a cache of outcomes, so a state seen
    in another history costs one look-up (a few milliseconds for 120 setups and as many questions). Environments with a
    large support provide an array filter instead and test it against this one.

    `memoryless`: the text that the agent is told, apart from words about the progress of the episode, depends on the
    hidden setup and the agent's text alone (`TabularEnv.memoryless`). Gains are then computed from the first states,
    for any history.
    """

    def __init__(
        self,
        rows: Sequence[tuple[float, Hashable]],
        outcomes: Callable[[Any, str], Sequence[tuple[float, Step]]],
        hypothesis: Callable[[Any], Hypothesis],
        actions: Callable[[Any], Sequence[str] | None],
        say: Callable[[str], str],
        memoryless: bool = False,
    ) -> None:
        from .reply_table import ReplyTable  # numpy takes a third of the time of `import sonde`

        self._rules = _Rules(outcomes, hypothesis, actions, say, memoryless, ReplyTable(outcomes))
        self._set_rows([(p, state, state) for p, state in rows])

    def _set_rows(self, rows: Sequence[tuple[float, Hashable, Hashable]]) -> None:
        """Set the weights of states; each comes with the first state of its hidden setup."""
        total = sum(p for p, _, _ in rows)
        self._rows = tuple((p / total, state, first) for p, state, first in rows if p > 0.0)
        self._successors = Successors[TabularFilter]()
        self._best: tuple[str, float] | None = None

    def _with_rows(self, rows: Sequence[tuple[float, Hashable, Hashable]]) -> TabularFilter:
        after = object.__new__(TabularFilter)
        after._rules = self._rules
        after._set_rows(rows)
        return after

    def observe(self, turn: Turn) -> TabularFilter:
        return self._successors.find((turn.text, turn.told), lambda: self._condition_on(turn))

    def _condition_on(self, turn: Turn) -> TabularFilter:
        rows: list[tuple[float, Hashable, Hashable]] = []
        for p, state, first in self._rows:
            for q, step in self._rules.outcomes(state, turn.text):
                if q > 0.0 and step.told.get(AGENT, "") == turn.told:
                    rows.append((p * q, step.state, first))
        if not rows:
            raise ValueError("the turn is impossible under every hidden setup of the prior")
        return self._with_rows(rows)

    def belief(self) -> Belief:
        mass: dict[Hypothesis, float] = {}
        for (p, _, _), h in zip(self._rows, self._hypotheses, strict=True):
            mass[h] = mass.get(h, 0.0) + p
        return Belief(tuple(mass), tuple(mass.values()))

    @property
    def weighted_states(self) -> tuple[tuple[float, Hashable], ...]:
        """The posterior over states; several states may belong to one hypothesis."""
        return tuple((p, state) for p, state, _ in self._rows)

    @cached_property
    def _hypotheses(self) -> tuple[Hypothesis, ...]:
        return tuple(self._rules.hypothesis(state) for _, state, _ in self._rows)

    @cached_property
    def _asked_states(self) -> tuple[Hashable, ...]:
        """The states that determine what the agent may be told next."""
        return tuple(first if self._rules.memoryless else state for _, state, first in self._rows)

    @cached_property
    def _asked(self) -> Asked:
        return self._rules.replies.number_states(self._asked_states, [p for p, _, _ in self._rows], self._hypotheses)

    def _compute_gains(self, texts: Sequence[str]) -> list[float]:
        return self._rules.replies.compute_gains(texts, self._asked)

    def expected_gain(self, action: str) -> float:
        return self._compute_gains([action])[0]

    @property
    def has_questions(self) -> bool:
        return bool(self._rules.actions(self._rows[0][1]))

    def best_question(self) -> tuple[str, float]:
        if self._best is None:
            self._best = self._search_best()
        return self._best

    def _search_best(self) -> tuple[str, float]:
        """The first answer whose gain equals the largest up to rounding."""
        answers = self._rules.actions(self._rows[0][1])
        if not answers:
            raise ValueError("this environment lists no legal actions, so it has no best question")
        best, gain = answers[0], -1.0
        gains = self._compute_gains([self._rules.say(answer) for answer in answers])
        for answer, found in zip(answers, gains, strict=True):
            if found > gain + 1e-12:
                best, gain = answer, found
        return best, gain


class _Rules(NamedTuple):
    """Data shared by all posteriors of a prior."""

    outcomes: Callable[[Any, str], Sequence[tuple[float, Step]]]
    hypothesis: Callable[[Any], Hypothesis]
    actions: Callable[[Any], Sequence[str] | None]
    say: Callable[[str], str]
    memoryless: bool
    replies: ReplyTable
