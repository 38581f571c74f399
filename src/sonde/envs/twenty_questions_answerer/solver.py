"""Answer truthfully about a word picked in secret: the ceiling of `twenty_questions_answerer`.

The word is drawn from the seed of the first answer and kept in the policy's memory, so every answer fits it and no
contradiction is possible.
"""

from __future__ import annotations

from dataclasses import dataclass

from sonde.core import Action, ProgramPolicy, Rng, UserError, View


@dataclass(frozen=True, kw_only=True)
class TwentyQuestionsAnswererSolver(ProgramPolicy):
    """See the module docstring. Needs the private facts `words`, `kinds` (maps each hypernym to a mask of words) and
    `question`."""

    def act_now(self, view: View) -> Action:
        facts = view.private
        if any(name not in facts for name in ("words", "kinds", "question")):
            raise UserError(
                f"agents:twenty_questions_answerer: env: got {view.spec.name}, allowed: twenty_questions_answerer"
            )
        secret: int = Rng(view.seed).randrange(len(facts["words"])) if view.memory is None else view.memory
        what, term = facts["question"]
        true = facts["words"][secret] == term if what == "word" else facts["kinds"].get(term, 0) >> secret & 1
        return Action(view.say("yes" if true else "no"), memory=secret)
