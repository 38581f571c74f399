"""The reference support agent: asks useful questions in plain English, and proposes a fix as soon as that is quicker.

It looks ahead to the end (`filter.py`), exactly, and takes the message, a question or a fix, with the fewest expected
messages to the end, where a case that is lost because the customer gives up costs a thousand; among equally good
messages, the one with the highest expected gain on the posterior (`View.filter`). `View.seed` chooses among the
wordings that the customer understands. For a household of several products it assumes that a message about one product
reveals about the others only whether one of them gives trouble.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from sonde.core import Action, ProgramPolicy, Rng, View

from .._shared.english.tokens import read_rows
from .._shared.needs import require_filter
from .filter import CaseFilter, cause_gain, finding_gain, rank_moves, round_weights
from .household_filter import HouseholdFilter, Move
from .households import WHAT
from .products import load_products
from .reading import read_support_message


@dataclass(frozen=True, kw_only=True)
class CustomerServiceSolver(ProgramPolicy):
    """See the module. Plays `customer_service` and `customer_service_bandit`."""

    def act_now(self, view: View) -> Action:
        if isinstance(view.filter, HouseholdFilter):
            return _act_at_home(view, view.filter)
        known = require_filter(view, CaseFilter, "customer_service", "over causes of a product")
        kind, target = next_move(known)
        if kind == "fix":
            return Action(view.say(known.fix[target]))
        return Action(Rng(view.seed).choice(question_wordings(known.product.id, target)))


def _act_at_home(view: View, known: HouseholdFilter) -> Action:
    move = next_household_move(known)
    if move.kind == "what":
        return Action(WHAT)
    if move.kind == "fix":
        return Action(view.say(known.game.fix[move.product][move.target]))
    return Action(Rng(view.seed).choice(question_wordings(move.product, move.target)))


def next_household_move(known: HouseholdFilter) -> Move:
    """The next move in a household."""
    rows = known.rank_moves()
    fewest = min(cost for _, cost in rows)
    best = [move for move, cost in rows if cost < fewest + 1e-6]
    return max(best, key=lambda move: known.expected_gain(_listed_text(known, move)))


def _listed_text(known: HouseholdFilter, move: Move) -> str:
    if move.kind == "what":
        return WHAT
    return (known.game.fix if move.kind == "fix" else known.game.ask)[move.product][move.target]


def next_move(known: CaseFilter) -> tuple[str, int]:
    """The next move ("finding" or "fix") and its number."""
    rows = rank_moves(known.product.id, round_weights(known.weights), known.asked, known.patience)
    fewest = min(cost for _, _, cost in rows)
    best = [(kind, i) for kind, i, cost in rows if cost < fewest + 1e-6]
    return max(best, key=lambda row: _move_gain(known, *row))


def _move_gain(known: CaseFilter, kind: str, target: int) -> float:
    if kind == "fix":
        return cause_gain(known.weights, target)
    return finding_gain(known.product, known.weights, target, known.error_rate)


@lru_cache(maxsize=1 << 12)
def question_wordings(name: str, finding: int) -> tuple[str, ...]:
    """The wordings of a question about a finding that the customer understands, including the canonical one."""
    found = load_products()[name].findings[finding]
    forms = {kind: ways for kind, *ways in read_rows("customer_service", "wordings.txt")}
    texts = [form.format(found.asks) for form in forms["about"]] + list(found.questions)
    texts += [form.format(question) for form in forms["asks"] for question in found.questions[:2]]
    meant = [text for text in texts if read_support_message(name, text)[:2] == ("finding", finding)]
    return tuple(text for text in meant if text.count("?") < 2)
