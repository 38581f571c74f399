"""The reference of guess_my_city: asks the most informative questions in plain English, then proposes a city.

It asks the question with the highest expected gain on the exact posterior (`View.filter`), in a wording that the view's
seed chooses, and proposes a city when no question gains more. It never asks a question with more than `most_replies`
different replies: "What is your city famous for?" identifies a city at once for an agent that knows every reply by
heart, which no human player does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sonde.core import Action, ProgramPolicy, Rng, UserError, View, invalid

from .._shared.english.tokens import read_rows
from .._shared.needs import require_filter
from .._shared.partition import PartitionFilter


@dataclass(frozen=True, kw_only=True)
class GuessMyCitySolver(ProgramPolicy):
    """See the module."""

    most_replies: int = 40

    def __post_init__(self) -> None:
        if self.most_replies < 2:
            raise invalid("agents:guess_my_city: most_replies", self.most_replies, "2 or more")

    def act_now(self, view: View) -> Action:
        known, rng = require_filter(view, PartitionFilter, "guess_my_city", "over cities"), Rng(view.seed)
        question, gain = self._best_question(known)
        city = view.say(known.answers.guess(known.lead))
        if view.turn == view.spec.max_turns - 1 or known.expected_gain(city) >= gain:
            return Action(city)
        return Action(word_question(question, rng, first=view.turn == 0))

    def _best_question(self, known: PartitionFilter) -> tuple[str, float]:
        gains = known.question_gains()
        plain = [q for q in known.answers.questions if len(known.answers.split(q)) <= self.most_replies]
        best = max(plain, key=lambda q: round(gains.get(q, 0.0), 9))
        return best, gains.get(best, 0.0)


_LEADS = ("", "", "", "Okay. ", "Thanks! ", "I see. ")


def word_question(question: str, rng: Rng, *, first: bool = False) -> str:
    """One of the ways to ask a canonical question; the words mean the same to the resident.

    >>> word_question("Is it an ancient city?", Rng(0)).endswith("?")
    True
    """
    lead = rng.choice(_LEADS)
    return ("" if first else lead) + rng.choice(question_wordings(question))


def question_wordings(question: str) -> Sequence[str]:
    """All ways to ask a canonical question, itself included (`data/wordings.txt`)."""
    for forms in read_rows("guess_my_city", "wordings.txt"):
        start, slot, end = forms[0].partition("{}")
        if question == start:
            return forms
        if slot and question.startswith(start) and question.endswith(end) and len(question) > len(start) + len(end):
            return tuple(form.format(question.removeprefix(start).removesuffix(end)) for form in forms)
    raise UserError(f"agents:guess_my_city: got {question!r}, allowed: a question that ends with a question mark")
