"""Reflexion: after each sub-episode a critic writes a note, and the actor reads all notes before each act.

Source: Shinn et al. (2024), as played in Toward Efficient Exploration by LLM Agents (section 4 and appendix H.7.2): one
`reflection` on the whole trajectory of every finished sub-episode, one `policy` call per step with the full history of
notes. K H + K - 1 calls: there is no note after the last sub-episode. `cache=True` makes one policy call per state and
sub-episode (appendix C).

Fallbacks, counted in `memory["calls"]` and in the names of completions: an unreadable note is left out; for an
unreadable action a legal one is drawn. Notes are cut to `note_limit` characters each; if they do not all fit into the
memory, the oldest are dropped, and `memory["dropped"]` counts them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sonde.core import Action, Model, View, invalid
from sonde.envs._shared.sub_episodes import episode_length, list_experiences

from ._shared.calls import KEPT, Calls, ComposedAgent, json_size, text_reader
from ._shared.prompting import ActContext, PolicyCache, choose_action, finish_act, read_scene, trajectory_text


@dataclass(frozen=True, kw_only=True)
class Reflexion(ComposedAgent):
    """See the module docstring. Memory: the notes."""

    prompt_files = ("reflexion", "calls")

    reflection_model: Model | None = None
    temperature: float = 1.0
    reflection_temperature: float = 1.0
    cache: bool = False
    note_limit: int = 1_000

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.note_limit < 1:
            raise invalid("agents:reflexion: note_limit", self.note_limit, "1 or more")

    async def act(self, view: View) -> Action:
        memory: Mapping[str, Any] = view.memory or {}
        calls, at = self.start_calls(view.seed, memory), read_scene(view, self.prompt_pieces)
        begins = at.now.step == 0
        notes, dropped = [*memory.get("notes", ())], memory.get("dropped", 0)
        if begins and at.view.turn:
            notes += await self._write_note(at, calls)
        while sum(map(json_size, notes)) > 2 * KEPT:
            notes, dropped = notes[1:], dropped + 1
        cached = PolicyCache.from_memory(self.cache, memory, begins)
        chosen = cached.cached_action(at) or await self._choose_action(at, calls, notes)
        return finish_act(
            view,
            chosen,
            calls,
            notes=notes,
            **({"dropped": dropped} if dropped else {}),
            **cached.to_memory(at, chosen),
        )

    async def _write_note(self, at: ActContext, calls: Calls) -> list[str]:
        """The note on the sub-episode that has just ended; none if the reply could not be parsed."""
        say, rows = at.say("reflexion"), list_experiences(at.view, at.view.turn - at.horizon)
        role = self.make_role("reflection", "reflection")
        user = say["reflect-user"].format(
            trajectory=trajectory_text(rows, at.say), situation=at.situation_block(role.name)
        )
        note = await calls.ask_model(
            role, say["reflect-system"].format(problem=at.problem_text()), user, text_reader("Note:")
        )
        return [note[: min(self.note_limit, KEPT // 12)]] if note else []

    async def _choose_action(self, at: ActContext, calls: Calls, notes: Sequence[str]) -> str:
        say, role = at.say("reflexion"), self.make_role("policy")
        listed = "\n".join(f"{i}. {note}" for i, note in enumerate(notes, 1)) or say["no-notes"]
        user = say["policy-user"].format(notes=listed, **at.prompt_fields())
        return await choose_action(at, calls, role, say["policy-system"].format(problem=at.problem_text()), user)

    def most_calls(self, view: View) -> Mapping[str, int]:
        sub_episodes, steps = episode_length(view)
        return {"": steps, "reflection": sub_episodes - 1}
