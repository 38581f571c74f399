"""The rule user of customer service: a customer without technical knowledge, who answers and tries what is proposed.

Source: PAPRIKA (arXiv 2502.17543), B.4.3 (the simulated customer). The answer follows from the reading of the message,
the hidden cause and the drawn findings (`people/service/`); no other words of the message matter, so it cannot be
talked into anything. Of a foreign scenario it knows nothing, and says so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sonde.core import UNKNOWN, View, unknown

from .._shared.rule_user import Ruled
from .answering import reply, told
from .products import Product, products
from .reading import read


@dataclass(frozen=True, kw_only=True)
class Customer(Ruled):
    """See the module. Hypotheses are
    `product/cause`."""

    needs: ClassVar[tuple[str, ...]] = ("product", "cause", "values", "question")

    def reply(self, facts: Mapping[str, Any]) -> str:
        name, said = facts["product"], facts["question"]
        return reply(products()[name], read(name, said), facts["cause"], facts["values"], said) if name else UNKNOWN

    def answers(self, view: View) -> bool:
        product, said = view.private["product"], view.private["question"]
        return bool(product) and read(product, said).kind not in ("unknown", "unclear")

    def likelihood(self, view: View, reply: str, hypotheses: Sequence[Any]) -> Sequence[float]:
        """As for a first message about its subject: the findings are unknown."""
        return [_replies(str(h), view.private["question"]).get(reply, 0.0) for h in hypotheses]


def _replies(hypothesis: str, said: str) -> Mapping[str, float]:
    """The replies of a customer with this cause, with their probabilities."""
    name, _, cause = hypothesis.partition("/")
    if name not in products():
        raise unknown("users:customer: hypothesis", hypothesis, [f"{p}/..." for p in products()])
    product = products()[name]
    query, number = read(name, said), _number(product, cause)
    if query.kind != "finding":
        return {reply(product, query, number, (), said): 1.0}
    found: defaultdict[str, float] = defaultdict(float)
    for value, p in enumerate(product.causes[number].likelihood[query.target]):
        found[told(product, query, value)] += p
    return found


def _number(product: Product, cause: str) -> int:
    names = [c.id for c in product.causes]
    if cause not in names:
        raise unknown("users:customer: hypothesis", f"{product.id}/{cause}", [f"{product.id}/{n}" for n in names])
    return names.index(cause)
