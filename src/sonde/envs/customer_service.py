"""Customer service: find out by asking what ails a customer's product, and suggest what helps, in at most 20 messages.

Source: PAPRIKA (arXiv 2502.17543), table 1 and appendices B.4.3, D and E: an agent for a company, a customer with
little knowledge of technology who knows the solution and gives nothing away, "Goal reached" when the agent suggests it
or guesses the underlying problem, a judge; 628 training and 200 test scenarios, 20 turns. ΔBelief-RL (arXiv
2602.12342), appendix B.2.2: one question per message (the check `single_inquiry`).

Ours: its scenarios, written by a language model, are replaced by 88 products with 392 causes whose findings have exact
probabilities (`_rules/diagnosis/products.py`, `data/build/customer_service.py`), so that beliefs are exact. The test
split has causes that the training split never has; the prior covers all causes of a product. A task is a product, a
cause, one of the product's three openings, which depends on the symptom alone, and the findings drawn for it.

A scenario of one's own, `{"scenario": ..., "solution": ...}`, needs a language model as the customer, and has no exact
beliefs; without a seated judge nobody decides about it: a claimed goal ends the game with `judged` None.

`turn.info`: `finding` (asked about) and `fix_tried` (suggested), each an id or None, besides those of `Dialogue`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from sonde.core import Spec

from ._rules.diagnosis.service import Service

_NAME = "customer_service"
_USER = "users:customer"


@dataclass(frozen=True, kw_only=True)
class CustomerService(Service):
    """See the module."""

    name_of_prompts: ClassVar[str] = _NAME
    presets: ClassVar[tuple[str, ...]] = ("paprika",)

    preset: str = "paprika"

    @cached_property
    def spec(self) -> Spec:
        return Spec(
            name=_NAME,
            version="1",
            summary="find out what ails a customer's product, and suggest what helps",
            preset=self.preset,
            max_turns=self.max_turns,
            reward_range=(0.0, 1.0),
            support="all causes of the product at hand, 3 to 6, by their weights",
            source="PAPRIKA, appendix B.4.3; ΔBelief-RL, appendix B.2.2",
            seats=self.seats(_USER),
            assumes=self.assumed(_USER),
            reference="technician",
            max_new_tokens=1024,
            departures=(
                "products, causes and findings are ours, with exact probabilities",
                "the default customer and judge are rules instead of language models",
                "training and test tasks share products, but no causes",
                "prompts are ours",
            ),
        )
