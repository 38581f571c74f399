"""Beliefs about the world as a text that a language model maintains: the prior and its updates.

In the memory: `current_beliefs`, and `absorbed`, the number of turns they rest on. An update takes every turn since,
so one that could not be read loses nothing: the next one gets its turns too, as it does those that somebody else
played before this agent took over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from sonde.core import Model, UserError, View
from sonde.envs._shared.sub_episodes import list_experiences

from .calls import KEPT, Calls, ComposedAgent, Role, json_size, text_reader
from .priors import well_specified_prior
from .prompting import ActContext, read_scene, steps_block, trajectory_text

UNKNOWN = "Nothing is known."
"""The prior if a model was asked for one and its reply could not be parsed."""


WRITTEN = ("model", "hinted")
"""Priors that a model writes, which costs one more call."""


def _format_hint(at: ActContext) -> str:
    """The true hypothesis, for environments that offer it to the writer of a prior."""
    hint = at.view.private.get("hint")
    if not isinstance(hint, str):
        raise UserError(f"agents: prior: got 'hinted', allowed: where there is a hint; {at.view.spec.name} gives none")
    return hint


class BeliefText(NamedTuple):
    """A text, and the number of turns that it accounts for."""

    text: str
    absorbed: int = 0

    def to_memory(self) -> dict[str, Any]:
        return {"beliefs": self.text, "absorbed": self.absorbed}


class BeliefKeeper(NamedTuple):
    """Maintains the beliefs; `prior` and `alpha` are those of `agents:llm_psrl`."""

    role: Role
    prior: str
    alpha: float | None = None

    async def current_beliefs(
        self, at: ActContext, calls: Calls, memory: Mapping[str, Any], *, due: bool
    ) -> BeliefText:
        """The beliefs in memory, or the prior; updated with the turns since, if an update is `due`."""
        if "beliefs" in memory:
            held = BeliefText(memory["beliefs"], memory["absorbed"])
        else:
            held = BeliefText(await self._write_prior(at, calls))
            if json_size(held.text) > KEPT:
                raise UserError(f"agents: prior: got {json_size(held.text):,} bytes of JSON, allowed: at most {KEPT:,}")
        return await self._update_beliefs(at, calls, held) if due else held

    async def _write_prior(self, at: ActContext, calls: Calls) -> str:
        if self.prior in ("well-specified", "worlds"):
            return well_specified_prior(at.view, worlds=self.prior == "worlds", alpha=self.alpha, say=at.say("priors"))
        if self.prior not in WRITTEN:
            return self.prior
        say = at.say("beliefs")
        hint = say["prior-hint"].format(hint=_format_hint(at)) + "\n\n" if self.prior == "hinted" else ""
        user = say["prior-user"].format(problem=at.problem_text(), hint=hint, situation=at.situation_block("prior"))
        role = self.role._replace(name="prior")
        return await calls.ask_model(role, say["prior-system"], user, text_reader("Beliefs:")) or UNKNOWN

    async def _update_beliefs(self, at: ActContext, calls: Calls, held: BeliefText) -> BeliefText:
        rows = list_experiences(at.view, held.absorbed)
        if not rows:
            return held
        say, one = at.say("beliefs"), len(rows) == 1
        shown = {"experience": steps_block(rows)} if one else {"trajectory": trajectory_text(rows, at.say)}
        user = say["update-step" if one else "update-trajectory"].format(
            posterior=held.text, situation=at.situation_block(self.role.name), **shown
        )
        system = say["update-system"].format(problem=at.problem_text())
        found = await calls.ask_model(self.role, system, user, text_reader("Beliefs:"))
        return held if found is None else BeliefText(found, held.absorbed + len(rows))


@dataclass(frozen=True, kw_only=True)
class BeliefAgent(ComposedAgent):
    """An agent that keeps its beliefs as a text. The role `updater` writes and updates them."""

    updater_model: Model | None = None
    updater_temperature: float = 1.0
    prior: str = "well-specified"

    @property
    def belief_keeper(self) -> BeliefKeeper:
        return BeliefKeeper(self.make_role("posterior_update", "updater"), self.prior)

    async def finish(self, view: View) -> None:
        """Update the beliefs with the end of the episode."""
        if view.memory:
            at, calls = read_scene(view, self.prompt_pieces), self.start_calls(view.seed)
            await self.belief_keeper.current_beliefs(at, calls, view.memory, due=True)
