from __future__ import annotations

from dataclasses import dataclass

from sonde.core import Action, ProgramPolicy, UserError, View


@dataclass(frozen=True, kw_only=True)
class Sweeper(ProgramPolicy):
    def act_now(self, view: View) -> Action:
        known = view.filter
        risk, gains = known.mine_probabilities, known.gains
        row, col = min(known.closed, key=lambda c: (risk[c], -gains[c]))
        return Action(view.say(f"reveal {row} {col}"))
