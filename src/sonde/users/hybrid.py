"""Rules answer what they understand, a language model the rest: the user for evaluating real models.

Our own design. The rules are the environment's own user. If they have an answer, it is used and no model is called.
Otherwise the model receives its role and the question, as `users:llm` does in its first turn, and replies under the
same restrictions (`envs/_shared/dialogue.py`). It sees no other turn, so its reply depends only on the hidden setup and
the question, and is cached: the same question about the same secret gets the same answer in every episode, at the cost
of one call. If the rules know a reply to be untrue (`View.denies`), the rules' answer replaces it.

`Action.memory`, which is recorded, holds `by` (`rules`, `model`, or `denied` for an untrue reply of the model), `rules`
(the rules' answer; posteriors use it as if it had been the reply) and the position where the turn began.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from sonde.core import (
    RULES,
    Action,
    Completion,
    Message,
    UserError,
    UserModel,
    View,
    content_hash,
    derive,
    make,
)

from ._modelled import Modelled

_Key = tuple[asyncio.AbstractEventLoop, str]
_Reply = tuple[Completion, str]


@dataclass(frozen=True, kw_only=True)
class Hybrid(Modelled):
    """See the module docstring. For seats whose default policy is a rule user that answers questions."""

    _kept: dict[str, _Reply] = field(default_factory=dict[str, _Reply], init=False, repr=False, compare=False)
    _asked: dict[_Key, asyncio.Task[_Reply]] = field(
        default_factory=dict[_Key, asyncio.Task[_Reply]], init=False, repr=False, compare=False
    )

    async def act(self, view: View) -> Action:
        rules, begun = _rule_user_of(view), _turn_start(view)
        known = rules.reply_probs(view)
        (said,) = known
        noted = {RULES: said, "turn": view.turn, "begun": begun}
        if rules.has_answer(view):
            return Action(said, {**noted, "by": "rules"})
        completion, answer = await self._cached_reply(_pending_messages(view, begun))
        if view.denies(answer):
            return Action(said, {**noted, "by": "denied"}, (completion,))
        return Action(answer, {**noted, "by": "model"}, (completion,))

    async def _cached_reply(self, messages: Sequence[Message]) -> _Reply:
        """The model's reply to these messages. Concurrent callers wait for the same call."""
        key = content_hash([[m.role, m.content] for m in messages])
        if key in self._kept:
            return self._kept[key]
        flight = (asyncio.get_running_loop(), key)
        task = self._asked.get(flight)
        if task is None:
            task = self._asked[flight] = asyncio.create_task(self.generate_reply(messages, derive(0, "hybrid", key)))
            task.add_done_callback(lambda done: self._store_reply(flight, done))
        return await asyncio.shield(task)

    def _store_reply(self, flight: _Key, done: asyncio.Task[_Reply]) -> None:
        del self._asked[flight]
        if not done.cancelled() and done.exception() is None:
            self._kept.setdefault(flight[1], done.result())

    async def close(self) -> None:
        """Cancel pending calls of this event loop, and close the model."""
        here = asyncio.get_running_loop()
        flights = [task for (loop, _), task in self._asked.items() if loop is here]
        for task in flights:
            task.cancel()
        await asyncio.gather(*flights, return_exceptions=True)
        await self.model.close()


@cache
def _rule_user(name: str) -> Any:
    return make(name)


def _rule_user_of(view: View) -> UserModel:
    """The rule user of this seat. Raises `UserError` if there is none."""
    name = view.spec.seats.get(view.seat)
    own = _rule_user(name) if name else None
    if not (isinstance(own, UserModel) and "question" in view.private):
        raise UserError(
            f"users:hybrid: {view.spec.name}, seat {view.seat}: got {name or 'no policy of its own'}, allowed: an "
            f"environment whose own user answers questions by rules, such as twenty_questions; else users:llm"
        )
    return own


def _turn_start(view: View) -> int:
    """The index of the seat's message with the pending question; unusable replies may have followed it."""
    noted = view.memory
    if isinstance(noted, Mapping) and noted.get("turn") == view.turn:
        return int(noted["begun"])
    return len(view.messages) - 1


def _pending_messages(view: View, begun: int) -> Sequence[Message]:
    """The messages for the model: its role, the question, and the results of its earlier replies to it."""
    question = view.messages[begun].content.removeprefix(f"{view.intro}\n\n")
    return Message("user", f"{view.intro}\n\n{question}"), *view.messages[begun + 1 :]
