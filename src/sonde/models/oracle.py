"""A scripted model that answers sub-calls of exploration agents exactly: posterior, sample, plan, regret, information.

It reads the fenced JSON blocks in the prompts of `agents:llm_psrl` and `agents:llm_ids` (`situation`, `belief`,
`experience`, `hypothesis`) and answers in the requested form. It represents a language model that makes no mistakes:
with it, an agent made of calls must behave like the classic algorithm, which tests and recipes check, and any loss of a
real model relative to it is that model's own fault. It cannot invent a prior, and does not read prose.

Beliefs, by their `kind`:

    beta       `arms`: {arm: [a, b]}
    worlds     `worlds`: [{"weight": w, "means": {arm: mean}}]; `pays` is "fixed" (the mean itself) or "bernoulli"
    dirichlet  `transitions`: {state: {action: {next: alpha}}}, `rewards`: {state: {action: number or null}} or
               {state: {action: {next: number or null}}}, `pays`: the values a reward may have, `certain`: [[state,
               action, next]]
    code       `symbols`, `length`, `marks`: [[symbol, place, "g" right place, "y" other place or "b" absent]], and
               `candidates` if not all sequences of different symbols are possible

Samples depend on the seed of the call, at any temperature. `malformed` is the share of replies that are noise, for
testing retries and fallbacks; if a policy gets beliefs because no hypothesis could be parsed, it acts on a world
sampled from them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import permutations
from typing import Any, ClassVar

from sonde.core import Capabilities, Completion, Message, Model, Rng, Sampling, Usage, UserError, invalid

from .remote.retry import CallStats

_BLOCK = re.compile(r"```json\n(.*?)\n```", re.DOTALL)
_MOST = 200_000
_SAME = 1e-9
_NOISE = "I am not sure what you mean."
Blocks = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Oracle(Model):
    """See the module. `malformed` in 0..1."""

    malformed: float = 0.0
    stats: CallStats = field(default_factory=CallStats, init=False, repr=False, compare=False)

    capabilities: ClassVar[Capabilities] = Capabilities(deterministic=True)

    def __post_init__(self) -> None:
        if not 0.0 <= self.malformed <= 1.0:
            raise invalid("models:oracle: malformed", self.malformed, "0 to 1")

    async def generate(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        return await self.stats.count_call(self._answer_messages(messages, sampling))

    async def _answer_messages(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        rng = Rng(sampling.seed, "oracle")
        noise = self.malformed > 0.0 and rng.random() < self.malformed
        text = _NOISE if noise else answer_call(messages, rng)
        asked = sum(len(m.content.encode("utf-8", "replace")) for m in messages)
        return Completion(text=text, model="oracle", usage=Usage(prompt=asked, completion=len(text)))


def answer_call(messages: Sequence[Message], rng: Rng) -> str:
    """The exact answer to a sub-call."""
    blocks = read_blocks(messages)
    call = blocks.get("situation", {}).get("call")
    if call not in _ANSWERS:
        raise UserError(f"models:oracle: call: got {call!r}, allowed: {', '.join(_ANSWERS)}")
    needed, answer = _ANSWERS[call]
    if call == "policy" and "hypothesis" not in blocks and "belief" in blocks:
        blocks = {**blocks, "hypothesis": sample_world(blocks["belief"], rng)}
    for name in needed:
        if name not in blocks:
            raise UserError(f"models:oracle: {call}: the prompt has no JSON block {name!r}")
    return answer(blocks, rng)


def read_blocks(messages: Sequence[Message]) -> Blocks:
    """The JSON objects in all prompts, by name; the last one of each name counts."""
    blocks: dict[str, Any] = {}
    for message in messages:
        if message.role != "assistant":
            for text in _BLOCK.findall(message.content):
                blocks |= _json_object(text)
    return blocks


def _json_object(text: str) -> Blocks:
    """The JSON object in a text; empty if there is none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def json_block(**value: Any) -> str:
    return f"```json\n{json.dumps(value, ensure_ascii=False)}\n```"


# --- posterior updates -----------------------------------------------------------------------------------------------


def _answer_update(blocks: Blocks, rng: Rng) -> str:
    belief: dict[str, Any] = blocks["belief"]
    for row in blocks["experience"]:
        if row["action"] is not None:
            belief = update_belief(belief, row)
    return f"Beliefs:\nExactly what follows from the prior and every step so far.\n\n{json_block(belief=belief)}"


def update_belief(belief: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    """The belief after one step."""
    action, reward = row["action"], row["reward"]
    match belief["kind"]:
        case "beta":
            a, b = belief["arms"][action]
            return {**belief, "arms": {**belief["arms"], action: [a + reward, b + 1 - reward]}}
        case "worlds":
            rows = [
                {**w, "weight": w["weight"] * _step_likelihood(belief, w, action, reward)} for w in belief["worlds"]
            ]
            return {**belief, "worlds": _normalise_weights([w for w in rows if w["weight"] > 0.0])}
        case "dirichlet":
            return _count_transition(belief, row["observation"], action, row["next"], reward)
        case "code":
            return {**belief, "marks": [*belief["marks"], [action, row["step"], row["facts"]["mark"]]]}
        case kind:
            raise UserError(f"models:oracle: belief: kind: got {kind!r}, allowed: beta, worlds, dirichlet, code")


def _step_likelihood(belief: Mapping[str, Any], world: Mapping[str, Any], action: str, reward: float) -> float:
    mean = world["means"][action]
    if belief.get("pays") == "bernoulli":
        return mean if reward else 1.0 - mean
    return float(abs(mean - reward) < 1e-5)


def _normalise_weights(worlds: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Scale weights so that they sum to 1 and never vanish."""
    total = sum(w["weight"] for w in worlds)
    return [{**w, "weight": w["weight"] / total} for w in worlds]


def _count_transition(belief: Mapping[str, Any], state: str, action: str, after: str, reward: float) -> dict[str, Any]:
    rows, paid = belief["transitions"], belief["rewards"]
    row = rows[state][action]
    row = {**row, after: round(row[after] + 1, 6)}
    rows = {**rows, state: {**rows[state], action: row}}
    seen = paid[state][action]
    seen = {**seen, after: reward} if isinstance(seen, Mapping) else reward
    return {**belief, "transitions": rows, "rewards": {**paid, state: {**paid[state], action: seen}}}


# --- posterior samples -----------------------------------------------------------------------------------------------


def _answer_sample(blocks: Blocks, rng: Rng) -> str:
    return f"Hypothesis:\n{json_block(hypothesis=sample_world(blocks['belief'], rng))}"


def sample_world(belief: Mapping[str, Any], rng: Rng) -> dict[str, Any]:
    """Sample one world from a belief."""
    match belief["kind"]:
        case "beta":
            return {"means": {arm: rng.betavariate(a, b) for arm, (a, b) in belief["arms"].items()}}
        case "worlds":
            (world,) = rng.choices(belief["worlds"], [w["weight"] for w in belief["worlds"]])
            return {"means": world["means"]}
        case "code":
            left = codes_of(belief)
            return {"code": left[rng.randrange(len(left))]}
        case _:
            return _sample_tables(belief, rng)


def _sample_tables(belief: Mapping[str, Any], rng: Rng) -> dict[str, Any]:
    """Sample transition probabilities from Dirichlets, and rewards from the values that they may have."""
    certain = {(s, a): t for s, a, t in belief.get("certain", ())}
    moves: dict[str, Any] = {}
    for s, rows in belief["transitions"].items():
        moves[s] = {a: _sample_row(row, certain.get((s, a)), rng) for a, row in rows.items()}
    pays: Sequence[float] = belief["pays"]
    paid = {s: {a: _sample_reward(r, pays, rng) for a, r in row.items()} for s, row in belief["rewards"].items()}
    return {"transitions": moves, "rewards": paid}


def _sample_reward(reward: Any, pays: Sequence[float], rng: Rng) -> Any:
    """A reward, sampled if it is unknown; by next state if it depends on that."""
    if isinstance(reward, Mapping):
        return {t: _sample_reward(r, pays, rng) for t, r in reward.items()}
    return pays[rng.randrange(len(pays))] if reward is None else reward


def _sample_row(alphas: Mapping[str, float], certain: str | None, rng: Rng) -> dict[str, float]:
    if certain is not None:
        return {t: float(t == certain) for t in alphas}
    draws = {t: rng.gammavariate(alpha, 1.0) for t, alpha in alphas.items()}
    total = sum(draws.values())
    if total <= 0.0:
        return {t: 1.0 / len(draws) for t in draws}
    return {t: x / total for t, x in draws.items()}


@lru_cache(maxsize=4096)
def _matching_codes(
    symbols: str, length: int, candidates: tuple[str, ...], marks: tuple[tuple[str, int, str], ...]
) -> list[str]:
    if not marks:
        if not candidates and math.perm(len(symbols), length) > _MOST:
            raise UserError(f"models:oracle: belief: candidates: none given, and more than {_MOST:,} codes to list")
        return list(candidates) or ["".join(p) for p in permutations(symbols, length)]
    *before, (symbol, place, seen) = marks
    return [
        c for c in _matching_codes(symbols, length, candidates, tuple(before)) if _mark_of(c, symbol, place) == seen
    ]


def _mark_of(code: str, symbol: str, place: int) -> str:
    return "g" if code[place] == symbol else "y" if symbol in code else "b"


def codes_of(belief: Mapping[str, Any]) -> list[str]:
    """The codes that agree with every mark."""
    marks = tuple((s, p, m) for s, p, m in belief["marks"])
    return _matching_codes(belief["symbols"], belief["length"], tuple(belief.get("candidates", ())), marks)


# --- plans -----------------------------------------------------------------------------------------------------------


def _answer_policy(blocks: Blocks, rng: Rng) -> str:
    world, at = blocks["hypothesis"], blocks["situation"]
    if "code" in world:
        return f"Action: {world['code'][at['step']]}"
    if "means" in world:
        return f"Action: {_best_action(world['means'], rng)}"
    return f"Action: {_best_action(optimal_values(world, at['horizon'] - at['step'])[at['state']], rng)}"


def optimal_values(world: Mapping[str, Any], steps: int) -> dict[str, dict[str, float]]:
    """Optimal action values of a tabular world with this many steps left."""
    moves, paid = world["transitions"], world["rewards"]
    after = dict.fromkeys(moves, 0.0)
    q: dict[str, dict[str, float]] = {}
    for _ in range(steps):
        q = {
            s: {a: _mean_reward(paid[s][a], row) + sum(p * after[t] for t, p in row.items()) for a, row in rows.items()}
            for s, rows in moves.items()
        }
        after = {s: max(row.values()) for s, row in q.items()}
    return q


def _mean_reward(reward: Any, row: Mapping[str, float]) -> float:
    """The expected reward of an action with these transition probabilities."""
    return sum(p * reward[t] for t, p in row.items()) if isinstance(reward, Mapping) else reward


def _best_action(worth: Mapping[str, float], rng: Rng) -> str:
    top = max(worth.values())
    best = [a for a, v in worth.items() if v >= top - _SAME]
    return best[rng.randrange(len(best))]


# --- regret and information ------------------------------------------------------------------------------------------


def _answer_regret(blocks: Blocks, rng: Rng) -> str:
    belief, action = blocks["belief"], blocks["situation"]["action"]
    worlds = _require_worlds(belief, "expected_regret")
    total = sum(w["weight"] for w in worlds)
    lost = sum(w["weight"] * (max(w["means"].values()) - w["means"][action]) for w in worlds) / total
    return f"Expected regret: {lost!r}"


def _answer_value(blocks: Blocks, rng: Rng) -> str:
    at = blocks["situation"]
    if at["state"] == "off":
        return "Expected value: 0.0"
    left = _require_codes(blocks["belief"], "expected_value")
    return f"Expected value: {sum(c[at['step']] == at['action'] for c in left) / len(left)!r}"


def _answer_gain(blocks: Blocks, rng: Rng) -> str:
    """I(best action; observation) in bits, from the joint distribution of the two."""
    belief, at = blocks["belief"], blocks["situation"]
    joint: dict[tuple[str, Any], float] = {}
    if belief["kind"] == "code":
        left = _require_codes(belief, "information_gain")
        for code in left:
            joint[code, _mark_of(code, at["action"], at["step"])] = 1.0 / len(left)
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
