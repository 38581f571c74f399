"""Customer service: ask what is wrong with a customer's product, and suggest a fix, in at most 20 messages.

Sources and presets:
    paprika       PAPRIKA (arXiv 2502.17543), table 1 and appendices B.4.3, D and E: an agent for a company, a customer
                  with little knowledge of technology who knows the solution and does not reveal it, "Goal reached"
                  when the agent suggests it or guesses the underlying problem, a judge; 628 training and 200 test
                  scenarios, 20 turns; no message is checked
    delta_belief  ΔBelief-RL (arXiv 2602.12342), appendices B.2.2 and C.3, and its code: the 200 test scenarios of
                  PAPRIKA. A message with several questions uses up its turn (single inquiry), as the agent learns
                  beforehand; 100 new tokens

Ours: 88 products with 392 causes, whose findings have exact probabilities (`filter.py`, `sources/compile.py`), replace
PAPRIKA's scenarios, which a language model wrote, so beliefs are exact. The test split has causes that the training
split never has; the prior covers all causes of a product. A task is a product, a cause, one of the product's three
openings, which depends on the symptom alone, and the findings drawn for it.

ΔBelief-RL only tests on this game: the tasks of its preset are those of `paprika`, for training and, all 200, for
testing. In both presets the rule customer answers one thing at a time; to a message that asks several, it says only
that.

A customer loses patience: with the `patience`-th suggestion or diagnosis that turns out wrong it gives up, and the case
is lost. None is the customer of both papers, who tries everything. There, listing wins: the listed messages in random
order win .95 of the test tasks, the fixes alone all. With the default of 2 they win .47 and .44. The reference still
wins all, in 2.7 messages in place of 2.5, and an agent that asks two questions at random, then suggests what is most
likely and asks once more if it was wrong, wins .97. (With 3, the fixes win .69; with 1, that agent .70.) The
environment counts, by what the rules read in the agent's messages, whoever plays the customer. A question, a step that
is nobody's fix, and a message with several suggestions count nothing. The customer of a custom scenario does not give
up, because no rule can tell what is wrong there.

A custom scenario, `{"scenario": ..., "solution": ...}`, needs a language model as the customer, and has no exact
beliefs; no rule can tell what solves it, so it needs a judge (`judge="seat"`).

`turn.info`: `finding` (asked about) and `fix_tried` (suggested), each an id or None, besides those of `Dialogue`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from sonde.core import Frozen, Spec, invalid

from .world import Service

_NAME = "customer_service"
_USER = "users:customer"
_SOURCES = {"paprika": "PAPRIKA, appendix B.4.3", "delta_belief": "ΔBelief-RL, appendices B.2.2 and C.3"}
_DELTA_BELIEF = (
    "the paper's 200 scenarios are PAPRIKA's; here they are the 200 test tasks of preset paprika, all of them",
    "the training tasks are those of preset paprika: the paper has none",
    "question marks in a row count as one",
)


@dataclass(frozen=True, kw_only=True)
class CustomerService(Service):
    """See the module."""

    name_of_prompts: ClassVar[str] = _NAME
    presets: ClassVar[tuple[str, ...]] = tuple(_SOURCES)
    default_checks: ClassVar[Mapping[str, tuple[str, ...]]] = Frozen(delta_belief=("single_inquiry",))

    preset: str = "paprika"
    patience: int | None = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.patience is not None and self.patience < 1:
            raise invalid(f"{_NAME}: patience", self.patience, "1 or more, or none for a customer who never gives up")

    @property
    def most_failed(self) -> int | None:
        return self.patience

    @cached_property
    def spec(self) -> Spec:
        return Spec(
            name=_NAME,
            version="6",
            summary="find out what is wrong with a customer's product, and suggest a fix",
            preset=self.preset,
            max_turns=self.turns,
            reward_range=(0.0, 1.0),
            support="all causes of the product, 3 to 6, by their weights",
            source=_SOURCES[self.preset],
            seats=self.seats(_USER),
            assumes=self.assumed_users(_USER),
            reference="customer_service",
            max_new_tokens=100 if self.preset == "delta_belief" else 1024,
            departures=(
                "products, causes and findings are ours, with exact probabilities",
                "the default customer and judge are rules instead of language models",
                "the customer answers one thing at a time, and none of several in one message",
                *(
                    ()
                    if self.patience is None
                    else (f"the customer gives up with wrong suggestion or diagnosis number {self.patience}",)
                ),
                "only the first 2,000 characters of a message are read",
                "training and test tasks share products, but no causes",
                "prompts are ours",
                *(_DELTA_BELIEF if self.preset == "delta_belief" else ()),
            ),
        )
