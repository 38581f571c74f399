"""A scripted model that answers sub-calls of exploration agents exactly: posterior, sample, plan, regret, information.

It reads the fenced JSON blocks in the prompts of `agents:llm_psrl` and `agents:llm_ids` (`situation`, `belief`,
`experience`, `hypothesis`) and answers in the requested form. It represents a language model that makes no mistakes:
with it, an agent made of calls must behave like the classic algorithm, which tests and recipes check, and any loss of a
real model relative to it is that model's own fault. It cannot invent a prior, and does not read prose.

The forms of beliefs are in `models/_shared/json_beliefs.py`. A sampler's temperature is honoured: below 1 evidence
counts for more than it should, at 0 the sample is the mean or the likeliest world, above 1 for less. Every other call
has one right answer, which no temperature moves.

Each role can be made worse on purpose, which gives the paper's figures their shapes without an endpoint (sections 4.1.1
and appendices B to D name these failures):

    greedy   the chance that a sample is the mean or the likeliest world, at any temperature
    forgets  the chance that an update overlooks a step, for each step
    sight    how many steps ahead a plan looks, by default to the end of the sub-episode; 1 sees only the next reward

`malformed` is the share of replies that are noise, to try out retries and fallbacks; a policy that gets beliefs because
no hypothesis was readable acts on a world sampled from them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from sonde.core import Capabilities, Completion, Message, Model, Rng, Sampling, Usage, UserError, invalid

from ._shared.json_beliefs import (
    Blocks,
    codes_of,
    json_block,
    mark_of,
    optimal_values,
    read_blocks,
    sample_world,
    update_belief,
)
from .remote.retry import CallStats

_SAME = 1e-9
_NOISE = "I am not sure what you mean."


class Asked(NamedTuple):
    """A sub-call: the blocks of its prompt, its randomness, its temperature, and who is asked."""

    blocks: Blocks
    rng: Rng
    temperature: float
    by: Oracle


@dataclass(frozen=True, kw_only=True)
class Oracle(Model):
    """See the module. `malformed`, `greedy` and `forgets` in 0..1; `sight` 1 or more, or None for the whole horizon."""

    malformed: float = 0.0
    greedy: float = 0.0
    forgets: float = 0.0
    sight: int | None = None
    stats: CallStats = field(default_factory=CallStats, init=False, repr=False, compare=False)

    capabilities: ClassVar[Capabilities] = Capabilities(deterministic=True)
    costs_nothing: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name in ("malformed", "greedy", "forgets"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise invalid(f"models:oracle: {name}", getattr(self, name), "0 to 1")
        if self.sight is not None and self.sight < 1:
            raise invalid("models:oracle: sight", self.sight, "1 or more, or none for the whole horizon")

    async def generate(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        return await self.stats.count_call(self._answer_messages(messages, sampling))

    async def _answer_messages(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        rng = Rng(sampling.seed, "oracle")
        noise = self.malformed > 0.0 and rng.random() < self.malformed
        text = _NOISE if noise else answer_call(Asked(read_blocks(messages), rng, sampling.temperature, self))
        asked = sum(len(m.content.encode("utf-8", "replace")) for m in messages)
        return Completion(text=text, model="oracle", usage=Usage(prompt=asked, completion=len(text)))


def answer_call(asked: Asked) -> str:
    """The answer to a sub-call."""
    blocks = asked.blocks
    call = blocks.get("situation", {}).get("call")
    if call not in _ANSWERS:
        raise UserError(f"models:oracle: call: got {call!r}, allowed: {', '.join(_ANSWERS)}")
    needed, answer = _ANSWERS[call]
    if call == "policy" and "hypothesis" not in blocks and "belief" in blocks:
        asked = asked._replace(blocks={**blocks, "hypothesis": sample_world(blocks["belief"], asked.rng)})
    for name in needed:
        if name not in asked.blocks:
            raise UserError(f"models:oracle: {call}: the prompt has no JSON block {name!r}")
    return answer(asked)


# --- posterior updates, samples and plans ----------------------------------------------------------------------------


def _answer_update(asked: Asked) -> str:
    belief: dict[str, Any] = asked.blocks["belief"]
    forgets = asked.by.forgets
    for row in asked.blocks["experience"]:
        if row["action"] is not None and not (forgets and asked.rng.random() < forgets):
            belief = update_belief(belief, row)
    return f"Beliefs:\nExactly what follows from the prior and every step so far.\n\n{json_block(belief=belief)}"


def _answer_sample(asked: Asked) -> str:
    greedy = asked.by.greedy
    temperature = 0.0 if greedy and asked.rng.random() < greedy else asked.temperature
    world = sample_world(asked.blocks["belief"], asked.rng, temperature)
    return f"Hypothesis:\n{json_block(hypothesis=world)}"


def _answer_policy(asked: Asked) -> str:
    world, at = asked.blocks["hypothesis"], asked.blocks["situation"]
    if "code" in world:
        return f"Action: {world['code'][at['step']]}"
    if "means" in world:
        return f"Action: {_best_action(world['means'], asked.rng)}"
    steps = min(at["horizon"] - at["step"], asked.by.sight or math.inf)
    return f"Action: {_best_action(optimal_values(world, int(steps))[at['state']], asked.rng)}"


def _best_action(worth: Mapping[str, float], rng: Rng) -> str:
    top = max(worth.values())
    best = [a for a, v in worth.items() if v >= top - _SAME]
    return best[rng.randrange(len(best))]


# --- regret and information ------------------------------------------------------------------------------------------


def _answer_regret(asked: Asked) -> str:
    belief, action = asked.blocks["belief"], asked.blocks["situation"]["action"]
    worlds = _require_worlds(belief, "expected_regret")
    total = sum(w["weight"] for w in worlds)
    lost = sum(w["weight"] * (max(w["means"].values()) - w["means"][action]) for w in worlds) / total
    return f"Expected regret: {lost!r}"


def _answer_value(asked: Asked) -> str:
    at = asked.blocks["situation"]
    if at["state"] == "off":
        return "Expected value: 0.0"
    left = _require_codes(asked.blocks["belief"], "expected_value")
    return f"Expected value: {sum(c[at['step']] == at['action'] for c in left) / len(left)!r}"


def _answer_gain(asked: Asked) -> str:
    """I(best action; observation) in bits, from the joint distribution of the two."""
    belief, at = asked.blocks["belief"], asked.blocks["situation"]
    joint: dict[tuple[str, Any], float] = {}
    if belief["kind"] == "code":
        left = _require_codes(belief, "information_gain")
        for code in left:
            joint[code, mark_of(code, at["action"], at["step"])] = 1.0 / len(left)
    else:
        for world in _require_worlds(belief, "information_gain"):
            best = max(world["means"], key=world["means"].__getitem__)
            for seen, p in _observation_probs(belief, world["means"][at["action"]]):
                joint[best, seen] = joint.get((best, seen), 0.0) + p * world["weight"]
    return f"Information gain: {_mutual_information(joint)!r}"


def _observation_probs(belief: Mapping[str, Any], mean: float) -> list[tuple[Any, float]]:
    return [(1, mean), (0, 1.0 - mean)] if belief.get("pays") == "bernoulli" else [(mean, 1.0)]


def _mutual_information(joint: Mapping[tuple[Any, Any], float]) -> float:
    total = sum(joint.values())
    left: dict[Any, float] = {}
    right: dict[Any, float] = {}
    for (a, b), p in joint.items():
        left[a] = left.get(a, 0.0) + p / total
        right[b] = right.get(b, 0.0) + p / total
    bits = sum(p / total * math.log2(p / total / (left[a] * right[b])) for (a, b), p in joint.items() if p > 0.0)
    return max(0.0, bits)


def _require_worlds(belief: Mapping[str, Any], call: str) -> list[dict[str, Any]]:
    if belief["kind"] != "worlds":
        raise UserError(f"models:oracle: {call}: belief: kind: got {belief['kind']!r}, allowed: worlds")
    return belief["worlds"]


def _require_codes(belief: Mapping[str, Any], call: str) -> list[str]:
    if belief["kind"] != "code":
        raise UserError(f"models:oracle: {call}: belief: kind: got {belief['kind']!r}, allowed: code")
    return codes_of(belief)


_ANSWERS: Mapping[str, Any] = {
    "posterior_update": (("belief", "experience"), _answer_update),
    "posterior_sample": (("belief",), _answer_sample),
    "policy": (("hypothesis",), _answer_policy),
    "expected_regret": (("belief",), _answer_regret),
    "expected_value": (("belief",), _answer_value),
    "information_gain": (("belief",), _answer_gain),
}
