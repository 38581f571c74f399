"""Exact beliefs over all causes of a household, and the moves that need the fewest messages.

With r_t the reply to message a_t, P(r | a, c) from the customer's rules (`households.py`), and v the values of findings
that the customer has stated,

    b(c) ~ P(product of c) * weight(c) * prod over t of P(r_t | a_t, c, v)

All products of the household are equally likely. The answer to a repeated question is certain. A reply that no cause
explains, such as one by a language model, carries no information, except that a proposed fix or cause that did not
solve the case is not the right one. `error_rate` e: an answer about a finding names a wrong value with probability e,
all wrong values being equally likely.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from sonde.core import Belief, Filter, Turn, entropy
from sonde.core.belief import Successors

from .answering import GOAL, answer_finding
from .filter import Weights, prior_weights, rank_moves, round_weights, turns_left, value_chances
from .households import Household, read_at_home, reply_chances
from .products import load_products
from .reading import Query

Answers = Mapping[tuple[str, int], int]
"""The values of findings that the customer has stated, by product and finding."""


class Move(NamedTuple):
    """A message to send: a question about a finding, a fix, or, with the kind "what", the question about the
    trouble."""

    kind: str
    product: str = ""
    target: int = -1


@dataclass(frozen=True, eq=False)
class HouseholdGame:
    """What all posteriors of one household share. `hear` turns a text into the message that the customer hears, "" if
    it fails a check; `listed` maps the listed answers to the messages that the customer hears; `names` are the
    hypotheses, and `ask` and `fix` the listed answers for findings and causes, by product."""

    household: Household
    hear: Callable[[str], str]
    listed: Mapping[str, str]
    names: Mapping[str, Sequence[str]]
    ask: Mapping[str, Sequence[str]]
    fix: Mapping[str, Sequence[str]]
    error_rate: float

    def start(self) -> HouseholdFilter:
        """The prior."""
        names, n = self.household.products, len(self.household.products)
        weights = {name: tuple(p / n for p in prior_weights(load_products()[name])) for name in names}
        return HouseholdFilter(self, weights, {})

    @cached_property
    def representatives(self) -> Mapping[str, str]:
        """Map each listed answer to the first one with the same meaning: the same replies under every cause and
        value."""
        first: dict[Hashable, str] = {}
        return {
            answer: first.setdefault(self._read_meaning(message), answer) for answer, message in self.listed.items()
        }

    def _read_meaning(self, message: str) -> Hashable:
        return tuple(_read_meaning(name, message) for name in self.household.products) if message else ()


def _read_meaning(name: str, message: str) -> Hashable:
    query = read_at_home(name, message)
    return query if query.kind == "finding" else tuple(reply for row in reply_chances(name, message) for reply in row)


class HouseholdFilter(Filter):
    """The posterior over the causes of a household's products; see the module. Make it with `HouseholdGame.start`."""

    def __init__(self, game: HouseholdGame, weights: Mapping[str, Weights], answers: Answers) -> None:
        self.game, self.weights, self.answers = game, weights, answers
        self._successors = Successors[HouseholdFilter]()

    def observe(self, turn: Turn) -> HouseholdFilter:
        fact = (turn.text, turn.info.get("result"), turn.info.get("reply"))
        return self._successors.find(fact, lambda: self._observe_reply(*fact))

    def _observe_reply(self, text: str, result: object, heard: object) -> HouseholdFilter:
        message = self.game.hear(text)
        if result not in ("goal", "answer", "default") or not message:
            return self
        reply = str(GOAL if result == "goal" else heard)
        after = {
            name: tuple(w * row.get(reply, 0.0) for w, row in zip(own, self._replies(name, message), strict=True))
            for name, own in self.weights.items()
        }
        if not any(map(any, after.values())):
            after = {name: self._exclude_proposed(name, message) for name in self.weights}
        if not any(map(any, after.values())):
            return self
        return HouseholdFilter(self.game, _normalise_weights(after), self._add_answers(message, reply))

    def _replies(self, name: str, message: str) -> Sequence[Mapping[str, float]]:
        """The probabilities of the replies under each cause of a product, given the answers so far."""
        query, product = read_at_home(name, message), load_products()[name]
        if query.kind != "finding":
            return reply_chances(name, message)
        if (value := self.answers.get((name, query.target))) is not None:
            return [{answer_finding(product, query, value): 1.0}] * len(product.causes)
        if not self.game.error_rate:
            return reply_chances(name, message)
        rows = value_chances(product, query.target, self.game.error_rate)
        return [{answer_finding(product, query, value): p for value, p in enumerate(row)} for row in rows]

    def _exclude_proposed(self, name: str, message: str) -> Weights:
        query, own = read_at_home(name, message), self.weights[name]
        wrong = query.target if query.kind in ("fix", "cause") else -1
        return tuple(0.0 if i == wrong else w for i, w in enumerate(own))

    def _add_answers(self, message: str, reply: str) -> Answers:
        answers = dict(self.answers)
        for name, query in self._find_asked_findings(message):
            product = load_products()[name]
            values = range(len(product.findings[query.target].values))
            replies = [answer_finding(product, query, value) for value in values]
            if reply in replies:
                answers.setdefault((name, query.target), replies.index(reply))
        return answers

    def _find_asked_findings(self, message: str) -> Iterator[tuple[str, Query]]:
        for name in self.weights:
            if (query := read_at_home(name, message)).kind == "finding":
                yield name, query

    def belief(self) -> Belief:
        rows = [
            (name, w)
            for product, own in self.weights.items()
            for name, w in zip(self.game.names[product], own, strict=True)
            if w > 0.0
        ]
        return Belief(tuple(name for name, _ in rows), tuple(w for _, w in rows))

    def expected_gain(self, action: str) -> float:
        message = self.game.hear(action)
        return max(0.0, self.entropy - self._entropy_after(message)) if message else 0.0

    def _entropy_after(self, message: str) -> float:
        """The expected entropy in bits after the reply to a message."""
        joint: defaultdict[str, list[float]] = defaultdict(list)
        for name, own in self.weights.items():
            if any(own):
                for w, row in zip(own, self._replies(name, message), strict=True):
                    for reply, p in row.items():
                        joint[reply].append(w * p)
        after = 0.0
        for parts in joint.values():
            if (mass := sum(parts)) > 0.0:
                after += mass * entropy(part / mass for part in parts)
        return after

    def best_question(self) -> tuple[str, float]:
        return self._best_question

    @cached_property
    def _best_question(self) -> tuple[str, float]:
        """The listed answer with the highest expected gain; if nothing is left to learn, the most likely fix."""
        product, cause = most_likely(self.weights)
        game, before = self.game, self.entropy
        gains = {
            answer: max(0.0, before - self._entropy_after(message)) if message else 0.0
            for answer, message in game.listed.items()
            if game.representatives[answer] == answer
        }
        answers = (game.fix[product][cause], *game.listed)
        best = max(answers, key=lambda answer: round(gains[game.representatives[answer]], 12))
        return best, gains[game.representatives[best]]

    def rank_moves(self) -> list[tuple[Move, float]]:
        """The possible next moves with the expected number of messages to the end."""
        return _rank_household_moves(
            _round_household({name: own for name, own in self.weights.items() if any(own)}), frozenset(self.answers)
        )


def most_likely(weights: Mapping[str, Weights]) -> tuple[str, int]:
    """The product and the number of the most likely cause."""
    return max(
        ((name, i) for name, own in weights.items() for i in range(len(own))), key=lambda at: weights[at[0]][at[1]]
    )


def _normalise_weights(weights: Mapping[str, Weights]) -> Mapping[str, Weights]:
    total = sum(map(sum, weights.values()))
    return {name: tuple(w / total for w in own) for name, own in weights.items()}


# --- the fewest messages ---------------------------------------------------------------------------------------------

ProductWeights = tuple[tuple[str, Weights], ...]
"""The weights of each product that is still possible, rounded."""


def _round_household(weights: Mapping[str, Weights]) -> ProductWeights:
    return tuple((name, round_weights(own)) for name, own in _normalise_weights(weights).items())


@lru_cache(maxsize=1 << 14)
def _rank_household_moves(state: ProductWeights, asked: frozenset[tuple[str, int]]) -> list[tuple[Move, float]]:
    """Of one product: the exact solution of `filter.py`. Of several: ask about the trouble, which tells the product; or
    begin with one product as if it were the only one, after which either this product or another gives the trouble."""
    shares = [(name, sum(own), tuple(w / sum(own) for w in own)) for name, own in state]
    if len(state) == 1:
        return _rank_product_moves(*state[0], asked)
    cost_of_what = 1.0 + sum(mass * _product_turns_left(name, own, asked) for name, mass, own in shares)
    rows = [(Move("what"), cost_of_what)]
    for name, mass, own in shares:
        rest = _round_household({other: w for other, w in state if other != name})
        without = min(cost for _, cost in _rank_household_moves(rest, asked))
        rows += [
            (move, mass * cost + (1.0 - mass) * (1.0 + without)) for move, cost in _rank_product_moves(name, own, asked)
        ]
    return rows


def _product_turns_left(name: str, own: Weights, asked: frozenset[tuple[str, int]]) -> float:
    return turns_left(name, round_weights(own), _asked_findings(name, asked))


def _rank_product_moves(name: str, own: Weights, asked: frozenset[tuple[str, int]]) -> list[tuple[Move, float]]:
    return [
        (Move(kind, name, i), cost)
        for kind, i, cost in rank_moves(name, round_weights(own), _asked_findings(name, asked))
    ]


def _asked_findings(name: str, asked: frozenset[tuple[str, int]]) -> frozenset[int]:
    return frozenset(f for product, f in asked if product == name)
