"""The floor of games in which legal play cannot fail: any listed word, legal or not."""

from __future__ import annotations

from dataclasses import dataclass

from sonde.core import Action, ProgramPolicy, Rng, UserError, View


@dataclass(frozen=True, kw_only=True)
class Careless(ProgramPolicy):
    """Says a word of the public `lexicon`, drawn uniformly."""

    def act_now(self, view: View) -> Action:
        words = view.public.get("lexicon")
        if not words:
            raise UserError(f"agents:careless: env: got {view.spec.name}, allowed: word_chaining")
        return Action(view.say(words[Rng(view.seed).randrange(len(words))]))
