"""The reference of twenty questions: asks the most informative questions in plain English, then guesses.

It asks the question with the highest expected gain on the exact posterior over topics (`View.filter`); the view's seed
chooses among equivalent wordings (`answering.py`). It guesses in the last turn, and in any turn in which no question
gains more than a guess.
"""

from __future__ import annotations

from dataclasses import dataclass

from sonde.core import Action, ProgramPolicy, Rng, UserError, View

from .._shared.partition import PartitionFilter
from .answering import TopicAnswers, question_phrasings


@dataclass(frozen=True, kw_only=True)
class TwentyQuestionsSolver(ProgramPolicy):
    """See the module. With `plain=True` it always asks in the first wording."""

    plain: bool = False

    def act_now(self, view: View) -> Action:
        known = view.filter
        if not isinstance(known, PartitionFilter) or not isinstance(known.answers, TopicAnswers):
            raise UserError(f"agents:twenty_questions: this task of {view.spec.name} has no filter over topics")
        best, _ = known.best_question()
        if view.turn == view.spec.max_turns - 1 and best in known.answers.questions:
            best = str(known.belief().top(1)[0][0])
        if best not in known.answers.questions or self.plain:
            return Action(view.say(best))
        # Where naming the secret ends the game, "psychology" and "the mind" are two questions: one may win, and neither
        # counts as asked when the other was.
        forms = [form for form in question_phrasings(best) if known.splits_alike(best, form)]
        return Action(forms[Rng(view.seed).randrange(len(forms))])
