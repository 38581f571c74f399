"""Exact beliefs over all causes of a household, and the moves that need the fewest messages.

With r_t the reply to message a_t, P(r | a, c) from the rules by which the customer replies (`households.py`), and v the
values that the customer has told,

    b(c) ~ P(product of c) * weight(c) * prod over t of P(r_t | a_t, c, v)

Every product of the household is equally likely. The answer to a question that was asked before is certain. A reply
that none of the causes explains, as a language model writes, carries no information, except that a proposed fix or
cause that did not solve the case is not the right one. `error_rate` e: an answer about a finding names a wrong value
with probability e, all wrong values being equally likely.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from sonde.core import Belief, Filter, Turn, entropy
from sonde.core.belief import KEPT

from .answering import GOAL, answer_finding
from .filter import Weights, prior_weights, rank_moves, turns_left, value_chances
from .households import Household, read_at_home, reply_chances
from .products import load_products
from .reading import Query

Told = Mapping[tuple[str, int], int]
"""The values that the customer has told, by product and finding."""


class Move(NamedTuple):
    """What to say next: a question about a finding, a fix, or (`kind` is "what") the question about the trouble."""

    kind: str
    product: str = ""
    target: int = -1


class HouseholdFilter(Filter):
    """The posterior over the causes of a household's products; see the module. `hear` turns a text into the message
    that the customer hears, empty if it fails a check; `listed` are the listed answers with the texts in which they
    are said; `names` are the hypotheses, and `ask` and `fix` the listed answers for findings and causes, by product.
    """

    def __init__(
        self,
        household: Household,
        hear: Callable[[str], str],
        listed: Mapping[str, str],
        names: Mapping[str, Sequence[str]],
        ask: Mapping[str, Sequence[str]],
        fix: Mapping[str, Sequence[str]],
        *,
        error_rate: float = 0.0,
        weights: Mapping[str, Weights] | None = None,
        told: Told | None = None,
    ) -> None:
        self.household, self.hear, self.listed = household, hear, listed
        self.names, self.ask, self.fix = names, ask, fix
        self.error_rate, self.told = error_rate, told or {}
        self.weights = weights or _prior(household)
        self._seen: dict[tuple[str, object, object], HouseholdFilter] = {}

    def _with(self, weights: Mapping[str, Weights], told: Told) -> HouseholdFilter:
        return HouseholdFilter(
            self.household, self.hear, self.listed, self.names, self.ask, self.fix,
            error_rate=self.error_rate, weights=weights, told=told,
        )  # fmt: skip

    def observe(self, turn: Turn) -> HouseholdFilter:
        fact = (turn.text, turn.info.get("result"), turn.info.get("reply"))
        if fact not in self._seen:
            if len(self._seen) == KEPT:
                self._seen.clear()
            self._seen[fact] = self._observe_reply(*fact)
        return self._seen[fact]

    def _observe_reply(self, text: str, result: object, heard: object) -> HouseholdFilter:
        said = self.hear(text)
        if result not in ("goal", "answer", "default") or not said:
            return self
        reply = GOAL if result == "goal" else heard
        after = {
            name: tuple(w * row.get(str(reply), 0.0) for w, row in zip(own, self._replies(name, said), strict=True))
            for name, own in self.weights.items()
        }
        if not any(map(any, after.values())):
            after = {name: self._exclude_proposed(name, said) for name in self.weights}
        return (
            self._with(_normalise(after), self._add_told(said, str(reply))) if any(map(any, after.values())) else self
        )

    def _replies(self, name: str, said: str) -> Sequence[Mapping[str, float]]:
        """The chances of the replies under each cause of a product, given what was told."""
        query, product = read_at_home(name, said), load_products()[name]
        if query.kind != "finding":
            return reply_chances(name, said)
        if (known := self.told.get((name, query.target))) is not None:
            return [{answer_finding(product, query, known): 1.0}] * len(product.causes)
        if not self.error_rate:
            return reply_chances(name, said)
        rows = value_chances(product, query.target, self.error_rate)
        return [{answer_finding(product, query, value): p for value, p in enumerate(row)} for row in rows]

    def _exclude_proposed(self, name: str, said: str) -> Weights:
        query, own = read_at_home(name, said), self.weights[name]
        wrong = query.target if query.kind in ("fix", "cause") else -1
        return tuple(0.0 if i == wrong else w for i, w in enumerate(own))

    def _add_told(self, said: str, reply: str) -> Told:
        found = dict(self.told)
        for name, query in self._findings_asked(said):
            replies = [answer_finding(load_products()[name], query, v) for v in range(_size(name, query.target))]
            if reply in replies:
                found.setdefault((name, query.target), replies.index(reply))
        return found

    def _findings_asked(self, said: str) -> Iterator[tuple[str, Query]]:
        for name in self.weights:
            if (query := read_at_home(name, said)).kind == "finding":
                yield name, query

    def belief(self) -> Belief:
        rows = [
            (name, w)
            for product, own in self.weights.items()
            for name, w in zip(self.names[product], own, strict=True)
            if w > 0.0
        ]
        return Belief(tuple(name for name, _ in rows), tuple(w for _, w in rows))

    def expected_gain(self, action: str) -> float:
        if not (said := self.hear(action)):
            return 0.0
        joint: defaultdict[str, list[float]] = defaultdict(list)
        for name, own in self.weights.items():
            if any(own):
                for w, row in zip(own, self._replies(name, said), strict=True):
                    for reply, p in row.items():
                        joint[reply].append(w * p)
        after = 0.0
        for parts in joint.values():
            if (mass := sum(parts)) > 0.0:
                after += mass * entropy(part / mass for part in parts)
        return max(0.0, self.entropy - after)

    def best_question(self) -> tuple[str, float]:
        """The listed answer with the highest expected gain; if nothing is left to learn, the most likely fix."""
        product, cause = most_likely(self.weights)
        texts = dict.fromkeys((self.fix[product][cause], *self.listed))
        rows = ((text, self.expected_gain(self.listed[text])) for text in texts)
        return max(rows, key=lambda row: round(row[1], 12))

    def rank_moves(self) -> list[tuple[Move, float]]:
        """The possible next moves with the expected number of messages to the end."""
        return _rank_household_moves(
            _freeze({name: own for name, own in self.weights.items() if any(own)}), frozenset(self.told)
        )


def most_likely(weights: Mapping[str, Weights]) -> tuple[str, int]:
    """The product and the number of the most likely cause."""
    return max(
        ((name, i) for name, own in weights.items() for i in range(len(own))), key=lambda at: weights[at[0]][at[1]]
    )


def _size(name: str, finding: int) -> int:
    return len(load_products()[name].findings[finding].values)


def _prior(household: Household) -> Mapping[str, Weights]:
    n = len(household.products)
    return {name: tuple(p / n for p in prior_weights(load_products()[name])) for name in household.products}


def _normalise(weights: Mapping[str, Weights]) -> Mapping[str, Weights]:
    total = sum(map(sum, weights.values()))
    return {name: tuple(w / total for w in own) for name, own in weights.items()}


# --- the fewest messages ---------------------------------------------------------------------------------------------

Frozen = tuple[tuple[str, Weights], ...]
"""The weights of each product that is still possible, rounded."""


def _freeze(weights: Mapping[str, Weights]) -> Frozen:
    return tuple((name, tuple(round(w, 9) for w in own)) for name, own in _normalise(weights).items())


@lru_cache(maxsize=1 << 14)
def _rank_household_moves(state: Frozen, asked: frozenset[tuple[str, int]]) -> list[tuple[Move, float]]:
    """One product left: the exact solution of `filter.py`. Several: ask about the trouble, which tells the product; or
    begin with one product as if it were the only one, after which it is solved or known to be the one, or not to be."""
    shares = [(name, sum(own), tuple(w / sum(own) for w in own)) for name, own in state]
    if len(state) == 1:
        return _rank_product_moves(*state[0], asked)
    tell = 1.0 + sum(mass * _left(name, own, asked) for name, mass, own in shares)
    rows = [(Move("what"), tell)]
    for name, mass, own in shares:
        rest = _freeze({other: w for other, w in state if other != name})
        without = min(cost for _, cost in _rank_household_moves(rest, asked))
        rows += [
            (move, mass * cost + (1.0 - mass) * (1.0 + without)) for move, cost in _rank_product_moves(name, own, asked)
        ]
    return rows


def _left(name: str, own: Weights, asked: frozenset[tuple[str, int]]) -> float:
    return turns_left(name, _rounded(own), _own(name, asked))


def _rank_product_moves(name: str, own: Weights, asked: frozenset[tuple[str, int]]) -> list[tuple[Move, float]]:
    return [(Move(kind, name, i), cost) for kind, i, cost in rank_moves(name, _rounded(own), _own(name, asked))]


def _own(name: str, asked: frozenset[tuple[str, int]]) -> frozenset[int]:
    return frozenset(f for product, f in asked if product == name)


def _rounded(own: Weights) -> Weights:
    return tuple(round(w, 9) for w in own)
