"""A language model in the agent's seat: chat history in, one completion out.

`context` chooses what the model sees of the history: all of it (`full`), the opening and the last K turns (`last:K`),
the environment's own summary in one message (`render`), or only the last message to it (`told`: enough if that is the
whole state, as LMRL-Gym shows mazes and positions to its models). `examples` prepends that many golden playthroughs of
won games, as earlier chat turns: small models need them to find the answer syntax. `answer_only` shows these games
without their thinking, which the smallest models would only copy.

Reasoning models think before they answer, in `<think>...</think>` or other marks (`models/chat/reasoning.py`). Thoughts
never reach the environment, so an answer that is only considered cannot count; `keep_thinking` keeps them in the
model's own history.

With `tools` the model acts by calls of the environment's tool (`core.tools`), on backends that read them: the answer in
a call goes to the environment in its own answer syntax, so the rules are those of an agent that writes. A reply without
exactly one usable call stands for the empty text. The completion keeps calls and defect, and where the game goes on the
model is told the defect before what the environment says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from sonde.core import AGENT, Action, Message, Model, Policy, Sampling, UserError, View, derive, invalid
from sonde.core.playthrough import golden_playthroughs
from sonde.core.prompts import OPTIONAL
from sonde.core.tools import Tool, explain_defect
from sonde.models.chat.reasoning import split_completion

SHOWN = ("context", "system", "examples", "answer_only", "keep_thinking")
"""Settings that decide what the model is shown."""

_ONLY_CALLS = (
    "You act by calling the tool {tool}, once per turn; what you write beside the call is not read. Where these rules "
    "ask you to write something, put it into the arguments of the call, without tags."
)
_NEW_GAME = "The game is over. Here is a new one."


@dataclass(frozen=True, kw_only=True)
class LLM(Policy):
    """See the module docstring. Sampling defaults are those of PAPRIKA's evaluation; `max_new_tokens=None` takes the
    env's."""

    model: Model
    context: str = "full"
    examples: int = 0
    answer_only: bool = False
    system: str = ""
    keep_thinking: bool = False
    temperature: float = 0.7
    top_p: float = 1.0
    min_p: float = 0.3
    max_new_tokens: int | None = None
    stop: tuple[str, ...] = ()
    tools: bool = field(default=False, metadata=OPTIONAL)

    def __post_init__(self) -> None:
        last = self.context.removeprefix("last:")
        if self.context not in ("full", "render", "told") and not (last.isdecimal() and int(last) > 0):
            raise invalid("agents:llm: context", self.context, "full, render, told or last:K with K of 1 or more")
        if self.examples < 0:
            raise invalid("agents:llm: examples", self.examples, "0 or more")
        if self.max_new_tokens is not None and self.max_new_tokens < 1:
            raise invalid("agents:llm: max_new_tokens", self.max_new_tokens, "1 or more, or none for the environment's")
        self._sampling(1, 0)
        if self.tools:
            self.model.require_capabilities("tools")
        if self.tools and self.examples:
            raise invalid("agents:llm: examples", self.examples, "0 with tools: the examples write their answers")

    def _sampling(self, max_new_tokens: int, seed: int) -> Sampling:
        return Sampling(
            max_new_tokens=self.max_new_tokens or max_new_tokens,
            temperature=self.temperature,
            top_p=self.top_p,
            min_p=self.min_p,
            stop=tuple(self.stop),
            seed=seed,
        )

    async def act(self, view: View) -> Action:
        sampling = self._sampling(view.spec.max_new_tokens, derive(view.seed, "call", 0))
        if self.tools:
            sampling = replace(sampling, tools=(view.tool,))
        completion, answer = split_completion(await self.model.generate(self.build_prompt(view), sampling))
        if self.tools:
            answer, defect = view.read_calls(completion.calls)
            completion = replace(completion, call_defect=defect)
        return Action(answer, completions=(completion,))

    def build_prompt(self, view: View) -> tuple[Message, ...]:
        """The messages for the model: alternating, starting with a user message after an optional system message."""
        history = tuple(map(self._render_message, self._context_messages(view)))
        if self.tools:
            history = _announce_tool(_explain_defects(history, view.tool), view.tool)
        shown = (
            _golden_examples(view.spec.name, view.spec.preset, self.examples, self.answer_only) if self.examples else ()
        )
        system = (Message("system", self.system),) if self.system else ()
        return (*system, *_join_examples(shown, history))

    def _context_messages(self, view: View) -> tuple[Message, ...]:
        if self.context == "full":
            return view.messages
        if self.context == "render":
            rendered = view.rendered
            if rendered is None:
                raise UserError(f"agents:llm: context: {view.spec.name} renders no summary; use full or last:K")
            return (Message("user", rendered),)
        if self.context == "told":
            return view.messages[-1:]
        kept = 2 * int(self.context.removeprefix("last:"))
        return view.messages if len(view.messages) <= kept + 1 else (view.messages[0], *view.messages[-kept:])

    def _render_message(self, message: Message) -> Message:
        """A past message as the model sees it again: with its reasoning, token for token, or as the others heard it.
        The completion stays attached in either case, because it holds the previous call's tokens."""
        completion = message.completion
        if completion is None or not (self.keep_thinking or self.tools):
            return message
        return message._replace(content=completion.text if self.keep_thinking else split_completion(completion)[1])

    async def close(self) -> None:
        await self.model.close()


def _announce_tool(history: Sequence[Message], tool: Tool) -> tuple[Message, ...]:
    """The messages, the first of which says how to act."""
    first, *rest = history
    return (first._replace(content=f"{first.content}\n\n{_ONLY_CALLS.format(tool=tool.name)}"), *rest)


def _explain_defects(history: Sequence[Message], tool: Tool) -> tuple[Message, ...]:
    """The messages; what follows a reply without a usable call begins with the reason."""
    shown: list[Message] = []
    for message in history:
        said = shown[-1].completion if shown else None
        why = explain_defect(tool, said.call_defect) if said else ""
        shown.append(message._replace(content=f"{why}\n\n{message.content}") if why else message)
    return tuple(shown)


def _join_examples(shown: Sequence[Message], history: Sequence[Message]) -> tuple[Message, ...]:
    """Examples, then the game: the last message of the examples and the new opening share one user message."""
    if not shown:
        return tuple(history)
    first = history[0]._replace(content=f"{shown[-1].content}\n\n{_NEW_GAME}\n\n{history[0].content}")
    return (*shown[:-1], first, *history[1:])


@cache
def _golden_examples(env: str, preset: str, n: int, answer_only: bool) -> tuple[Message, ...]:
    """The first n won golden playthroughs, as one chat."""
    chat: tuple[Message, ...] = ()
    episodes = [told.replay_episode() for told in golden_playthroughs(env, preset)]
    won = [ep for ep in episodes if ep.outcome is not None and ep.outcome.success]
    if len(won) < n:
        raise UserError(f"agents:llm: examples: got {n}, allowed: at most {len(won)} for {env}, preset {preset}")
    for ep in won[:n]:
        game = ep.messages[AGENT]
        chat = _join_examples(chat, tuple(map(_without_thinking, game)) if answer_only else game)
    return chat


def _without_thinking(message: Message) -> Message:
    """What was said, without a leading `<Think>...</Think>`."""
    if message.role != "assistant":
        return message
    return message._replace(content=message.content.rpartition("</Think>")[2].strip())
