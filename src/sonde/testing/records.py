"""A scripted model that uses only the records in its prompt: it reads them without mistakes and adds nothing.

It answers the sub-calls of `agents:icrl`, `agents:icpi` and `agents:reflexion`, which show a model what has happened
and leave the rest to it. So an agent's result with this model depends on the agent alone: what it shows, what it keeps,
and how chance makes it explore. The steps come from the fenced JSON blocks `experience` and `examples`; the block
`situation` names the call:

    transition      what followed the same observation and action, sampled from all that did
    reward          the mean of the rewards there
    rollout_policy  an action that was taken at the same observation, sampled likewise
    policy          the best action in a world that behaves like the records; ties are broken at random
    reflection      the records themselves

If no record exists, the model predicts no change and no reward, so it never explores by itself. Samples depend on the
seed of the call, at any temperature.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from sonde.core import Capabilities, Completion, Message, Model, Rng, Sampling, Usage, UserError
from sonde.models.remote.retry import CallStats

_BLOCK = re.compile(r"```json\n(.*?)\n```", re.DOTALL)
_ACTIONS = re.compile(r"^The available actions: (.*?)\.?$", re.MULTILINE)
_SAME = 1e-9

Step = Mapping[str, Any]
"""A record: `observation`, `action`, and if the call provides them `next` and `reward`."""


@dataclass(frozen=True, kw_only=True)
class Records(Model):
    """See the module."""

    stats: CallStats = field(default_factory=CallStats, init=False, repr=False, compare=False)

    capabilities: ClassVar[Capabilities] = Capabilities(deterministic=True)

    async def generate(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        return await self.stats.count_call(self._answer_messages(messages, sampling))

    async def _answer_messages(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        text = answer_prompt(
            "\n".join(m.content for m in messages if m.role != "assistant"), Rng(sampling.seed, "records")
        )
        asked = sum(len(m.content.encode("utf-8", "replace")) for m in messages)
        return Completion(text=text, model="records", usage=Usage(prompt=asked, completion=len(text)))


def answer_prompt(prompt: str, rng: Rng) -> str:
    """The answer to a sub-call."""
    situation, steps = read_steps(prompt)
    call, listed = situation.get("call"), _ACTIONS.findall(prompt)
    actions: list[str] = listed[-1].split(", ") if listed else []
    here, action = situation.get("simulated"), situation.get("action")
    match call:
        case "transition":
            return f"Next: {_pick_value([s['next'] for s in _steps_at(steps, here, action)] or [here], rng)}"
        case "reward":
            return f"Reward: {_mean_of([s['reward'] for s in _steps_at(steps, here, action)])!r}"
        case "rollout_policy":
            return f"Action: {_pick_value([s['action'] for s in steps if s['observation'] == here] or actions, rng)}"
        case "policy":
            world, left = World(steps, actions), situation.get("horizon", 1) - situation.get("step", 0)
            worth = {a: world.action_value(situation.get("state"), a, left) for a in actions}
            top = max(worth.values(), default=0.0)
            return f"Action: {_pick_value([a for a, value in worth.items() if value >= top - _SAME], rng)}"
        case "reflection":
            kept = [{key: s[key] for key in ("observation", "action", "next", "reward")} for s in steps]
            return f"Note: ```json\n{json.dumps({'experience': kept}, ensure_ascii=False)}\n```"
        case _:
            allowed = "transition, reward, rollout_policy, policy, reflection"
            raise UserError(f"records: call: got {call!r}, allowed: {allowed}")


def read_steps(prompt: str) -> tuple[Mapping[str, Any], list[Step]]:
    """The situation, and all steps that a prompt shows, in order; steps without an action are omitted."""
    situation: dict[str, Any] = {}
    steps: list[Step] = []
    for text in _BLOCK.findall(prompt):
        value = _json_object(text)
        situation |= value.get("situation", {})
        before: Any = None
        for row in (*value.get("experience", ()), *value.get("examples", ())):
            # A long text is not repeated as the observation of the next step.
            steps.append({"observation": before, **row})
            before = row.get("next")
    return situation, [step for step in steps if step["action"] is not None]


def _json_object(text: str) -> Mapping[str, Any]:
    """The JSON object in a text; empty if there is none, for example in a truncated note."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


class World:
    """Predicts the results of actions, assuming that the world behaves as in the records."""

    def __init__(self, steps: Sequence[Step], actions: Sequence[str]) -> None:
        self._actions = actions
        self._seen: dict[tuple[Any, str], list[tuple[float, Any]]] = {}
        self._best: dict[tuple[Any, int], float] = {}
        for s in steps:
            self._seen.setdefault((s["observation"], s["action"]), []).append((s["reward"], s["next"]))

    def action_value(self, observation: Any, action: str, left: int) -> float:
        """The expected return of an action followed by the best ones, with `left` steps left."""
        seen = self._seen.get((observation, action), [(0.0, observation)])
        return _mean_of([reward + self.best_value(after, left - 1) for reward, after in seen])

    def best_value(self, observation: Any, left: int) -> float:
        """The expected return of the best actions."""
        if left <= 0:
            return 0.0
        key = (observation, left)
        if key not in self._best:
            self._best[key] = max((self.action_value(observation, a, left) for a in self._actions), default=0.0)
        return self._best[key]


def _steps_at(steps: Sequence[Step], observation: Any, action: Any) -> list[Step]:
    return [s for s in steps if s["observation"] == observation and s["action"] == action]


def _mean_of(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _pick_value(values: Sequence[Any], rng: Rng) -> Any:
    return values[rng.randrange(len(values))] if values else ""
