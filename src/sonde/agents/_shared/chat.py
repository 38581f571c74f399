"""What a language model in the agent's seat is shown: the base of agents that ask a model for a whole turn.

The settings are explained in `agents/llm.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from sonde.core import AGENT, Message, Model, Policy, UserError, View, invalid
from sonde.core.playthrough import golden_playthroughs

_NEW_GAME = "The game is over. Here is a new one."


@dataclass(frozen=True, kw_only=True)
class ChatAgent(Policy):
    """See the module docstring."""

    model: Model
    context: str = "full"
    examples: int = 0
    answer_only: bool = False
    system: str = ""
    keep_thinking: bool = False

    def __post_init__(self) -> None:
        last = self.context.removeprefix("last:")
        if self.context not in ("full", "render", "told") and not (last.isdecimal() and int(last) > 0):
            raise invalid(f"{self.called}: context", self.context, "full, render, told or last:K with K of 1 or more")
        if self.examples < 0:
            raise invalid(f"{self.called}: examples", self.examples, "0 or more")

    def build_prompt(self, view: View) -> tuple[Message, ...]:
        """The messages for the model: alternating, starting with a user message after an optional system message."""
        history = self.render_history(view)
        shown = (
            _golden_examples(self.called, view.spec.name, view.spec.preset, self.examples, self.answer_only)
            if self.examples
            else ()
        )
        system = (Message("system", self.system),) if self.system else ()
        return (*system, *_join_examples(shown, history))

    def render_history(self, view: View) -> tuple[Message, ...]:
        """The messages of this game, as the model sees them."""
        return tuple(map(self.render_message, self._context_messages(view)))

    def _context_messages(self, view: View) -> tuple[Message, ...]:
        if self.context == "full":
            return view.messages
        if self.context == "render":
            rendered = view.rendered
            if rendered is None:
                raise UserError(f"{self.called}: context: {view.spec.name} renders no summary; use full or last:K")
            return (Message("user", rendered),)
        if self.context == "told":
            return view.messages[-1:]
        kept = 2 * int(self.context.removeprefix("last:"))
        return view.messages if len(view.messages) <= kept + 1 else (view.messages[0], *view.messages[-kept:])

    def render_message(self, message: Message) -> Message:
        """A past message as the model sees it again: with its reasoning, token for token, or as the others heard it.
        The completion stays attached in either case, because it holds the previous call's tokens."""
        completion = message.completion
        return message._replace(content=completion.text) if completion and self.keep_thinking else message

    async def close(self) -> None:
        await self.model.close()


def _join_examples(shown: Sequence[Message], history: Sequence[Message]) -> tuple[Message, ...]:
    """Examples, then the game: the last message of the examples and the new opening share one user message."""
    if not shown:
        return tuple(history)
    first = history[0]._replace(content=f"{shown[-1].content}\n\n{_NEW_GAME}\n\n{history[0].content}")
    return (*shown[:-1], first, *history[1:])


@cache
def _golden_examples(agent: str, env: str, preset: str, n: int, answer_only: bool) -> tuple[Message, ...]:
    """The first n won golden playthroughs, as one chat."""
    chat: tuple[Message, ...] = ()
    episodes = [told.replay_episode() for told in golden_playthroughs(env, preset)]
    won = [ep for ep in episodes if ep.outcome is not None and ep.outcome.success]
    if len(won) < n:
        raise UserError(f"{agent}: examples: got {n}, allowed: at most {len(won)} for {env}, preset {preset}")
    for ep in won[:n]:
        game = ep.messages[AGENT]
        chat = _join_examples(chat, tuple(map(_without_thinking, game)) if answer_only else game)
    return chat


def _without_thinking(message: Message) -> Message:
    """What was said, without a leading `<Think>...</Think>`."""
    if message.role != "assistant":
        return message
    return message._replace(content=message.content.rpartition("</Think>")[2].strip())
