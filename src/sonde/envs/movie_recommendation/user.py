"""A movie fan who answers every question truthfully, in one sentence.

Source: Multi-Turn Puzzles, section 2.1 and appendix A.1: the simulated user of movie recommendation answers from a
preference function of its own. The environment works the true answer out from that function and tells it to this seat
alone (`View.private`), so that simulator and posterior cannot disagree; here it is put into words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sonde.core import Action, ProgramPolicy, UserError, View


@dataclass(frozen=True, kw_only=True)
class MovieFan(ProgramPolicy):
    """See the module docstring. Needs the private facts `question`, `truth` and `stars`."""

    kind: ClassVar[str] = "users"

    def act_now(self, view: View) -> Action:
        facts = view.private
        if "truth" not in facts:
            raise UserError(f"users:movie_fan: seat {view.seat!r} of {view.spec.name} is told no true answer")
        return Action(answer_sentence(facts["question"], facts["truth"], facts["stars"]))


def answer_sentence(question: str, truth: str | int, stars: int) -> str:
    """The true answer in a person's words.

    >>> answer_sentence("compare M3 M7", "less", 5), answer_sentence("rate M3", 4, 5)
    ('No, I like M7 more than M3.', 'I give M3 4 of 5 stars.')
    """
    _, first, *rest = question.split()
    if truth == "more":
        return f"Yes, I like {first} more than {rest[0]}."
    if truth == "less":
        return f"No, I like {rest[0]} more than {first}."
    if truth == "equal":
        return f"Equally: I like {first} as much as {rest[0]}."
    return f"I give {first} {truth} of {stars} stars."
