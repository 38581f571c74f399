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
from dataclasses import dataclass, field, fields, replace

from sonde.core import Action, Message, Sampling, View, derive, invalid
from sonde.core.prompts import OPTIONAL
from sonde.core.tools import Tool, explain_defect
from sonde.models.chat.reasoning import split_completion

from ._shared.chat import ChatAgent

SHOWN = tuple(f.name for f in fields(ChatAgent) if f.name != "model")
"""Settings that decide what the model is shown."""

_ONLY_CALLS = (
    "You act by calling the tool {tool}, once per turn; what you write beside the call is not read. Where these rules "
    "ask you to write something, put it into the arguments of the call, without tags."
)


@dataclass(frozen=True, kw_only=True)
class LLM(ChatAgent):
    """See the module docstring. Sampling defaults are those of PAPRIKA's evaluation; `max_new_tokens=None` takes the
    env's."""

    temperature: float = 0.7
    top_p: float = 1.0
    min_p: float = 0.3
    max_new_tokens: int | None = None
    stop: tuple[str, ...] = ()
    tools: bool = field(default=False, metadata=OPTIONAL)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_new_tokens is not None and self.max_new_tokens < 1:
            raise invalid(
                f"{self.called}: max_new_tokens", self.max_new_tokens, "1 or more, or none for the environment's"
            )
        self._sampling(1, 0)
        if self.tools:
            self.model.require_capabilities("tools")
        if self.tools and self.examples:
            raise invalid(f"{self.called}: examples", self.examples, "0 with tools: the examples write their answers")

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

    def render_history(self, view: View) -> tuple[Message, ...]:
        history = super().render_history(view)
        if not self.tools:
            return history
        unseen = view.messages[-2:-1] if self.context in ("render", "told") else ()  # the reply before the only message
        return _announce_tool(_explain_defects((*unseen, *history), view.tool)[len(unseen) :], view.tool)

    def render_message(self, message: Message) -> Message:
        if self.tools and message.completion and not self.keep_thinking:  # as written, beside the calls
            return message._replace(content=split_completion(message.completion)[1])
        return super().render_message(message)


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
