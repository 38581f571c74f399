"""Beliefs about the world as a text that a language model keeps: where they begin, and how they are updated.

In the memory: `beliefs`, and `absorbed`, the number of turns they rest on. An update takes every turn since, so one
that could not be read loses nothing: the next one gets its turns too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from sonde.core import UserError

from ._calls import KEPT, Calls, Role, after, pieces, size
from ._episodes import experiences
from ._priors import well_specified
from ._prompting import Scene, listed, trajectory

UNKNOWN = "Nothing is known."
"""The prior where a model was asked for one and could not be read."""


class Beliefs(NamedTuple):
    """A text and the number of turns it rests on."""

    text: str
    absorbed: int = 0

    def to_memory(self) -> dict[str, Any]:
        return {"beliefs": self.text, "absorbed": self.absorbed}


async def beliefs_now(
    at: Scene, calls: Calls, updater: Role, prior: str, memory: Mapping[str, Any], *, due: bool
) -> Beliefs:
    """The beliefs that the memory holds, or the prior; updated by what has happened since, where that is `due`."""
    if "beliefs" not in memory:
        text = await _prior(at, calls, updater._replace(name="prior"), prior)
        if size(text) > KEPT:
            raise UserError(f"agents: prior: got {size(text):,} bytes of JSON, allowed: at most {KEPT:,}")
        return Beliefs(text, at.view.turn)
    held = Beliefs(memory["beliefs"], memory["absorbed"])
    return await _updated(at, calls, updater, held) if due else held


async def _prior(at: Scene, calls: Calls, role: Role, prior: str) -> str:
    if prior in ("well-specified", "worlds"):
        return well_specified(at.view, worlds=prior == "worlds")
    if prior != "model":
        return prior
    say = pieces("beliefs")
    user = say["prior-user"].format(problem=at.described(), situation=at.situation("prior"))
    return await calls.ask(role, say["prior-system"], user, after("Beliefs:")) or UNKNOWN


async def _updated(at: Scene, calls: Calls, role: Role, held: Beliefs) -> Beliefs:
    rows = experiences(at.view, held.absorbed)
    if not rows:
        return held
    say, one = pieces("beliefs"), len(rows) == 1
    shown = {"experience": listed(rows)} if one else {"trajectory": trajectory(rows)}
    user = say["update-step" if one else "update-trajectory"].format(
        posterior=held.text, situation=at.situation(role.name), **shown
    )
    found = await calls.ask(role, say["update-system"].format(problem=at.described()), user, after("Beliefs:"))
    return held if found is None else Beliefs(found, held.absorbed + len(rows))
