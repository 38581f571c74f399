"""Exact beliefs over the causes of a product's failure, given a customer's answers.

Own design. The findings of a case are drawn once, independently, from the likelihoods of its cause; so asking again
gives the same answer and no information. With the answers x_f about the findings F asked so far, and the set D of the
causes that were proposed in vain,

    b(c) ~ weight(c) * prod over f in F of P(x_f | c) * [c not in D]

`error_rate` e: a reply names a wrong value with probability e, all wrong values being equally likely.

How many more wrong proposals the customer puts up with is known from the messages, so it changes no probability, but
it does change which message is best (`rank_moves`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from sonde.core import Belief, Filter, Turn, entropy
from sonde.core.belief import Successors

from .answering import answer_finding
from .products import Product, load_products
from .reading import Query

Weights = tuple[float, ...]
LOST = 1000.0
"""What a lost case costs, in messages: so much that no saved message is worth a risk."""


def prior_weights(product: Product) -> Weights:
    total = sum(c.weight for c in product.causes)
    return tuple(c.weight / total for c in product.causes)


def value_chances(product: Product, finding: int, error_rate: float = 0.0) -> tuple[tuple[float, ...], ...]:
    """P(value | cause) of the observed value, one row per cause."""
    n = len(product.findings[finding].values)
    other = error_rate / (n - 1)
    return tuple(tuple((1 - error_rate) * p + other * (1 - p) for p in c.likelihood[finding]) for c in product.causes)


def normalise_weights(weights: Sequence[float]) -> Weights:
    total = sum(weights)
    return tuple(w / total for w in weights) if total > 0.0 else tuple(weights)


def observe_value(product: Product, weights: Weights, finding: int, value: int, error_rate: float = 0.0) -> Weights:
    """The posterior after the finding has shown this value; all zeros if that is impossible."""
    rows = value_chances(product, finding, error_rate)
    return normalise_weights([w * row[value] for w, row in zip(weights, rows, strict=True)])


def exclude_cause(weights: Weights, cause: int) -> Weights:
    """The posterior after a cause has turned out to be wrong."""
    return normalise_weights([0.0 if i == cause else w for i, w in enumerate(weights)])


def finding_gain(product: Product, weights: Weights, finding: int, error_rate: float = 0.0) -> float:
    """The expected gain, in bits, of asking about a finding for the first time."""
    rows, after = value_chances(product, finding, error_rate), 0.0
    for v in range(len(product.findings[finding].values)):
        joint = [w * row[v] for w, row in zip(weights, rows, strict=True)]
        if (mass := sum(joint)) > 0.0:
            after += mass * entropy(normalise_weights(joint))
    return max(0.0, entropy(weights) - after)


def cause_gain(weights: Weights, cause: int) -> float:
    """The expected gain, in bits, of proposing this cause."""
    p = weights[cause]
    if p <= 0.0 or p >= 1.0:
        return 0.0
    return max(0.0, entropy(weights) - (1.0 - p) * entropy(exclude_cause(weights, cause)))


@lru_cache(maxsize=1 << 16)
def turns_left(name: str, weights: Weights, asked: frozenset[int], patience: int | None = None) -> float:
    """The expected number of messages until the case is solved, under optimal play among these moves: propose the most
    likely fix, or ask about an informative finding. With the `patience`-th wrong proposal the case is lost, which costs
    `LOST`; None is endless patience."""
    return min(cost for _, _, cost in rank_moves(name, weights, asked, patience))


def rank_moves(
    name: str, weights: Weights, asked: frozenset[int], patience: int | None = None
) -> list[tuple[str, int, float]]:
    """The possible next moves: "fix" or "finding", its number, and the expected number of messages to the end."""
    product, lead = load_products()[name], max(range(len(weights)), key=lambda i: weights[i])
    rest = 1.0 - weights[lead]
    if rest < 1e-9:
        return [("fix", lead, 1.0)]
    if patience is not None and sum(w > 0.0 for w in weights) <= patience:
        patience = None
    rows = [("fix", lead, 1.0 + rest * _turns_after_failure(name, exclude_cause(weights, lead), asked, patience))]
    for f in range(len(product.findings)):
        if f not in asked and finding_gain(product, weights, f) > 1e-9:
            rows.append(("finding", f, 1.0 + _turns_after_question(product, weights, asked, f, patience)))
    return rows


def _turns_after_failure(name: str, weights: Weights, asked: frozenset[int], patience: int | None) -> float:
    """The expected number of messages after a wrong proposal; `patience` is that before it."""
    if patience == 1:
        return LOST
    return turns_left(name, round_weights(weights), asked, None if patience is None else patience - 1)


def _turns_after_question(
    product: Product, weights: Weights, asked: frozenset[int], finding: int, patience: int | None
) -> float:
    """The expected number of messages after the answer to a question about this finding."""
    total = 0.0
    for v in range(len(product.findings[finding].values)):
        mass = sum(w * c.likelihood[finding][v] for w, c in zip(weights, product.causes, strict=True))
        if mass > 0.0:
            total += mass * turns_left(
                product.id, round_weights(observe_value(product, weights, finding, v)), asked | {finding}, patience
            )
    return total


def round_weights(weights: Weights) -> Weights:
    """Round the weights to nine digits, so that they can be keys of caches."""
    return tuple(round(w, 9) for w in weights)


class CaseFilter(Filter):
    """The posterior over the causes of one product; see the module. `read` turns a message into a `Query`, `names` are
    the hypotheses, `ask[i]` and `fix[i]` the legal answers about the i-th finding and cause. With `patience` further
    wrong proposals the customer gives up; None if it never does.

    A message that proposes a cause and does not end the game rules that cause out, whatever the reply. A reply about a
    finding carries no information if it is not one of the customer's sentences, or if no remaining cause explains it.
    """

    def __init__(
        self,
        product: Product,
        read: Callable[[str], Query],
        names: Sequence[str],
        ask: Sequence[str],
        fix: Sequence[str],
        *,
        error_rate: float = 0.0,
        weights: Weights = (),
        asked: frozenset[int] = frozenset(),
        patience: int | None = None,
    ) -> None:
        self.product, self.names, self.ask, self.fix = product, names, ask, fix
        self.read, self.error_rate = read, error_rate
        self.weights, self.asked, self.patience = weights or prior_weights(product), asked, patience
        self._successors = Successors[CaseFilter]()

    def _with_weights(self, weights: Weights, asked: frozenset[int], patience: int | None) -> CaseFilter:
        return CaseFilter(
            self.product, self.read, self.names, self.ask, self.fix,
            error_rate=self.error_rate, weights=weights, asked=asked, patience=patience,
        )  # fmt: skip

    def observe(self, turn: Turn) -> CaseFilter:
        fact = (turn.text, turn.info.get("result"), turn.info.get("reply"))
        return self._successors.find(fact, lambda: self._observe_reply(*fact))

    def _observe_reply(self, said: str, result: object, heard: object) -> CaseFilter:
        query = self.read(said)
        if query.kind in ("fix", "cause"):
            return self._observe_fix(query.target, result)
        if query.kind == "finding" and result == "answer" and query.target not in self.asked:
            return self._observe_answer(query, heard)
        return self

    def _observe_fix(self, cause: int, result: object) -> CaseFilter:
        if result == "goal":
            solved = tuple(float(i == cause) for i in range(len(self.weights)))
            return self._with_weights(solved, self.asked, self.patience)
        if result not in ("answer", "default"):
            return self
        after = self.weights if self.weights[cause] >= 1.0 else exclude_cause(self.weights, cause)
        return self._with_weights(after, self.asked, None if self.patience is None else self.patience - 1)

    def _observe_answer(self, query: Query, heard: object) -> CaseFilter:
        sentences = self.product.findings[query.target].answers
        value = next((i for i in range(len(sentences)) if answer_finding(self.product, query, i) == heard), None)
        if value is None:
            return self
        after = observe_value(self.product, self.weights, query.target, value, self.error_rate)
        return self._with_weights(after, self.asked | {query.target}, self.patience) if any(after) else self

    def belief(self) -> Belief:
        rows = [(name, w) for name, w in zip(self.names, self.weights, strict=True) if w > 0.0]
        return Belief(tuple(name for name, _ in rows), tuple(w for _, w in rows))

    def expected_gain(self, action: str) -> float:
        query = self.read(action)
        if query.kind in ("fix", "cause"):
            return cause_gain(self.weights, query.target)
        return self._query_gain(query.target) if query.kind == "finding" else 0.0

    def _query_gain(self, finding: int) -> float:
        return 0.0 if finding in self.asked else finding_gain(self.product, self.weights, finding, self.error_rate)

    def best_question(self) -> tuple[str, float]:
        """The most informative question about a finding, unless a fix is more informative; if nothing is left to learn,
        the most likely fix."""
        lead = max(range(len(self.weights)), key=lambda i: self.weights[i])
        rows = [(text, cause_gain(self.weights, i)) for i, text in enumerate(self.fix)]
        rows = [rows[lead], *((text, self._query_gain(i)) for i, text in enumerate(self.ask)), *rows]
        return max(rows, key=lambda row: round(row[1], 12))
