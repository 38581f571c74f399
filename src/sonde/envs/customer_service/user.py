"""The rule user of customer service: a customer without technical knowledge, who answers and tries every proposed fix.

Source: PAPRIKA (arXiv 2502.17543), B.4.3 (the simulated customer). An answer depends only on the reading of the
message, the hidden cause and the drawn findings (`data/`), so no message can talk the customer into anything. The
environment says when it has lost patience (`env.py`). In `customer_service_bandit` it owns a household of products
(`households.py`). It knows nothing about foreign scenarios, and says so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sonde.core import UNKNOWN, View, unknown

from .._shared.rule_user import Ruled
from .answering import answer_finding, answer_message
from .households import answer_at_home, has_meaning_at_home, reply_chances
from .products import Product, load_products
from .reading import UNANSWERED, read_support_message


@dataclass(frozen=True, kw_only=True)
class Customer(Ruled):
    """See the module. Hypotheses are `product/cause`."""

    needs: ClassVar[tuple[str, ...]] = ("product", "cause", "values", "question")

    def compose_reply(self, facts: Mapping[str, Any]) -> str:
        name, said = facts["product"], facts["question"]
        if name and facts.get("household"):
            return answer_at_home(name, facts["cause"], facts["values"], said)
        if not name:
            return UNKNOWN
        query = read_support_message(name, said)
        return answer_message(load_products()[name], query, facts["cause"], facts["values"], said)

    def has_answer(self, view: View) -> bool:
        """Whether the message has a meaning for the product, or, in a household, for another one."""
        product, said = view.private["product"], view.private["question"]
        if product and view.private.get("household"):
            return has_meaning_at_home(product, said)
        return bool(product) and read_support_message(product, said).kind not in UNANSWERED

    def likelihood(self, view: View, reply: str, hypotheses: Sequence[Any]) -> Sequence[float]:
        """The likelihoods of the reply to a first message about its subject, while no finding is known."""
        at_home = bool(view.private.get("household"))
        return [_reply_probabilities(str(h), view.private["question"], at_home).get(reply, 0.0) for h in hypotheses]


def _reply_probabilities(hypothesis: str, said: str, at_home: bool) -> Mapping[str, float]:
    """The possible replies of a customer with this cause, with their probabilities."""
    name, _, cause = hypothesis.partition("/")
    if name not in load_products():
        raise unknown("users:customer: hypothesis", hypothesis, [f"{p}/..." for p in load_products()])
    product = load_products()[name]
    number = _cause_number(product, cause)
    if at_home:
        return reply_chances(name, said)[number]
    query = read_support_message(name, said)
    if query.kind != "finding":
        return {answer_message(product, query, number, (), said): 1.0}
    found: defaultdict[str, float] = defaultdict(float)
    for value, p in enumerate(product.causes[number].likelihood[query.target]):
        found[answer_finding(product, query, value)] += p
    return found


def _cause_number(product: Product, cause: str) -> int:
    names = [c.id for c in product.causes]
    if cause not in names:
        raise unknown("users:customer: hypothesis", f"{product.id}/{cause}", [f"{product.id}/{n}" for n in names])
    return names.index(cause)
