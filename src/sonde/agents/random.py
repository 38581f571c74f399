"""The floor of every environment that lists legal answers: a legal answer, drawn uniformly."""

from __future__ import annotations

from dataclasses import dataclass

from sonde.core import Action, ProgramPolicy, Rng, UserError, View


@dataclass(frozen=True, kw_only=True)
class Random(ProgramPolicy):
    """Plays `View.legal` uniformly at random."""

    def act_now(self, view: View) -> Action:
        legal = view.legal
        if not legal:
            raise UserError(
                f"agents:random: env: got {view.spec.name}, allowed: environments that list their legal answers"
            )
        return Action(view.say(legal[Rng(view.seed).randrange(len(legal))]))
