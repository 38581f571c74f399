"""Beliefs about finite problems as JSON: their exact updates, samples and plans.

The prompts of `agents:llm_psrl` and `agents:llm_ids` carry beliefs and sampled worlds as fenced JSON blocks.
`models:oracle` answers from them, and `evaluation/roles.py` grades what a model answered. Beliefs, by their `kind`:

    beta       `arms`: {arm: [a, b]}
    worlds     `worlds`: [{"weight": w, "means": {arm: mean}}]; `pays` is "fixed" (the mean itself) or "bernoulli"
    dirichlet  `transitions`: {state: {action: {next: alpha}}}, `rewards`: {state: {action: number or null}} or
               {state: {action: {next: number or null}}}, `pays`: the values a reward may have, `certain`: [[state,
               action, next]]
    code       `symbols`, `length`, `marks`: [[symbol, place, "g" right place, "y" other place or "b" absent]], and
               `candidates` if not all sequences of different symbols are possible

Worlds: {"means": {arm: mean}}, {"code": symbols}, or {"transitions": ..., "rewards": ...} in the form of a Dirichlet
belief, with probabilities in the place of parameters.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import permutations
from typing import Any

from sonde.core import Message, Rng, UserError, unknown

KINDS = ("beta", "worlds", "dirichlet", "code")
MOST_CODES = 200_000
"""The largest number of codes that is listed."""

_BLOCK = re.compile(r"```json\n(.*?)\n```", re.DOTALL)
Blocks = Mapping[str, Any]


def read_blocks(messages: Sequence[Message]) -> Blocks:
    """The JSON objects in all prompts, by name; of several with one name the last counts."""
    blocks: dict[str, Any] = {}
    for message in messages:
        if message.role != "assistant":
            for text in _BLOCK.findall(message.content):
                blocks |= _json_object(text)
    return blocks


def _json_object(text: str) -> Blocks:
    """The JSON object in a text; empty if it is none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def json_block(**value: Any) -> str:
    return f"```json\n{json.dumps(value, ensure_ascii=False)}\n```"


# --- posterior updates -----------------------------------------------------------------------------------------------


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
            raise unknown("models:oracle: belief: kind", kind, KINDS)


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


def sample_world(belief: Mapping[str, Any], rng: Rng, temperature: float = 1.0) -> dict[str, Any]:
    """Sample one world from a belief.

    At another temperature than 1, the parameters of Beta and Dirichlet distributions are divided by it (means stay,
    evidence counts for more or less), and weights of worlds are taken to the power of its inverse. So 0 gives means and
    the likeliest world; what is equally likely is drawn at any temperature.
    """
    match belief["kind"]:
        case "beta":
            return {"means": {arm: _sample_mean(a, b, rng, temperature) for arm, (a, b) in belief["arms"].items()}}
        case "worlds":
            weights = _temper_weights([w["weight"] for w in belief["worlds"]], temperature)
            (world,) = rng.choices(belief["worlds"], weights)
            return {"means": world["means"]}
        case "code":
            left = codes_of(belief)
            return {"code": left[rng.randrange(len(left))]}
        case _:
            return _sample_tables(belief, rng, temperature)


def _sample_mean(a: float, b: float, rng: Rng, temperature: float) -> float:
    return rng.betavariate(a / temperature, b / temperature) if temperature else a / (a + b)


def _temper_weights(weights: Sequence[float], temperature: float) -> list[float]:
    top = max(weights)
    return [(w / top) ** (1 / temperature) if temperature else float(w == top) for w in weights]


def _sample_tables(belief: Mapping[str, Any], rng: Rng, temperature: float) -> dict[str, Any]:
    """Sample transition probabilities from Dirichlets, and rewards from the values that they may have."""
    certain = {(s, a): t for s, a, t in belief.get("certain", ())}
    moves: dict[str, Any] = {}
    for s, rows in belief["transitions"].items():
        moves[s] = {a: _sample_row(row, certain.get((s, a)), rng, temperature) for a, row in rows.items()}
    pays: Sequence[float] = belief["pays"]
    paid = {s: {a: _sample_reward(r, pays, rng) for a, r in row.items()} for s, row in belief["rewards"].items()}
    return {"transitions": moves, "rewards": paid}


def _sample_reward(reward: Any, pays: Sequence[float], rng: Rng) -> Any:
    """A reward, sampled if it is unknown; by next state if it depends on that."""
    if isinstance(reward, Mapping):
        return {t: _sample_reward(r, pays, rng) for t, r in reward.items()}
    return pays[rng.randrange(len(pays))] if reward is None else reward


def _sample_row(alphas: Mapping[str, float], certain: str | None, rng: Rng, temperature: float) -> dict[str, float]:
    if certain is not None:
        return {t: float(t == certain) for t in alphas}
    draws = {t: rng.gammavariate(alpha / temperature, 1.0) if temperature else alpha for t, alpha in alphas.items()}
    total = sum(draws.values())
    if total <= 0.0:
        return {t: 1.0 / len(draws) for t in draws}
    return {t: x / total for t, x in draws.items()}


@lru_cache(maxsize=4096)
def _matching_codes(
    symbols: str, length: int, candidates: tuple[str, ...], marks: tuple[tuple[str, int, str], ...]
) -> list[str]:
    if not marks:
        if not candidates and math.perm(len(symbols), length) > MOST_CODES:
            raise UserError(
                f"models:oracle: belief: candidates: none given, and more than {MOST_CODES:,} codes to list"
            )
        return list(candidates) or ["".join(p) for p in permutations(symbols, length)]
    *before, (symbol, place, seen) = marks
    return [c for c in _matching_codes(symbols, length, candidates, tuple(before)) if mark_of(c, symbol, place) == seen]


def mark_of(code: str, symbol: str, place: int) -> str:
    return "g" if code[place] == symbol else "y" if symbol in code else "b"


def codes_of(belief: Mapping[str, Any]) -> list[str]:
    """The codes that agree with every mark."""
    marks = tuple((s, p, m) for s, p, m in belief["marks"])
    return _matching_codes(belief["symbols"], belief["length"], tuple(belief.get("candidates", ())), marks)


# --- plans -----------------------------------------------------------------------------------------------------------


def optimal_values(world: Mapping[str, Any], steps: int) -> dict[str, dict[str, float]]:
    """Optimal action values of a tabular world with this many steps left, by state and action."""
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
