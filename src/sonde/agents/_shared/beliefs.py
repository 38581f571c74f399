"""Beliefs about the world as a text that a language model maintains: the prior and its updates.

In the memory: `beliefs`, and `absorbed`, the number of turns they rest on. An update takes every turn since, so one
that could not be read loses nothing: the next one gets its turns too, as it does those that somebody else played before
this agent took over.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from sonde.core import UserError
from sonde.envs._shared.sub_episodes import experiences

from .calls import KEPT, Calls, Role, after, pieces, size
from .priors import well_specified
from .prompting import Scene, listed, trajectory

UNKNOWN = "Nothing is known."
"""The prior if a model was asked for one and its reply could not be parsed."""


WRITTEN = ("model", "hinted")
"""Priors that a model writes, which costs one more call."""


def _hint(at: Scene) -> str:
    """The true hypothesis, for environments that offer it to the writer of a prior."""
    hint = at.view.private.get("hint")
    if not isinstance(hint, str):
        raise UserError(f"agents: prior: got 'hinted', allowed: where there is a hint; {at.view.spec.name} gives none")
    return hint


class Beliefs(NamedTuple):
    """A text, and the number of turns that it accounts for."""

    text: str
    absorbed: int = 0

    def to_memory(self) -> dict[str, Any]:
        return {"beliefs": self.text, "absorbed": self.absorbed}


class Keeper(NamedTuple):
    """Maintains the beliefs; `prior` and `alpha` are those of `agents:llm_psrl`."""

    role: Role
    prior: str
    alpha: float | None = None

    async def beliefs(self, at: Scene, calls: Calls, memory: Mapping[str, Any], *, due: bool) -> Beliefs:
        """The beliefs in memory, or the prior; updated with the turns since, if an update is `due`."""
        if "beliefs" in memory:
            held = Beliefs(memory["beliefs"], memory["absorbed"])
        else:
            held = Beliefs(await self._first(at, calls))
            if size(held.text) > KEPT:
                raise UserError(f"agents: prior: got {size(held.text):,} bytes of JSON, allowed: at most {KEPT:,}")
        return await self._updated(at, calls, held) if due else held

    async def _first(self, at: Scene, calls: Calls) -> str:
        if self.prior in ("well-specified", "worlds"):
            return well_specified(at.view, worlds=self.prior == "worlds", alpha=self.alpha)
        if self.prior not in WRITTEN:
            return self.prior
        say = pieces("beliefs")
        hint = say["prior-hint"].format(hint=_hint(at)) + "\n\n" if self.prior == "hinted" else ""
        user = say["prior-user"].format(problem=at.described(), hint=hint, situation=at.situation("prior"))
        role = self.role._replace(name="prior")
        return await calls.ask(role, say["prior-system"], user, after("Beliefs:")) or UNKNOWN

    async def _updated(self, at: Scene, calls: Calls, held: Beliefs) -> Beliefs:
        rows = experiences(at.view, held.absorbed)
        if not rows:
            return held
        say, one = pieces("beliefs"), len(rows) == 1
        shown = {"experience": listed(rows)} if one else {"trajectory": trajectory(rows)}
        user = say["update-step" if one else "update-trajectory"].format(
            posterior=held.text, situation=at.situation(self.role.name), **shown
        )
        system = say["update-system"].format(problem=at.described())
        found = await calls.ask(self.role, system, user, after("Beliefs:"))
        return held if found is None else Beliefs(found, held.absorbed + len(rows))
