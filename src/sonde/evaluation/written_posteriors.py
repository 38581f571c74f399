"""Beliefs and sampled worlds as a model writes them down, read from its text.

A text is read by its last fenced JSON block (the forms are in `models/_shared/json_beliefs.py`) or, without one, by
plain lines: `A: Beta(3, 2)` for the arms of a bandit, `A: 0.4` for their sampled means, one sequence of the right
length for a sampled code. Prose beyond that is unreadable: None, and never an error.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, cast

from sonde.core import Message
from sonde.models._shared.json_beliefs import KINDS, codes_of, read_blocks

from .posteriors import Belief, World

_LINE = r"(?mi)^[\s\-*|]*(?:arm|action)?[\s*|]*{name}[\s*|]*[:=|][\s*|]*"
_NUMBER = r"(\d+(?:\.\d+)?|\.\d+)"


def read_belief(text: str, prior: Belief) -> Belief | None:
    """The belief in a text, in the form of the prior; None if it cannot be read. What the text does not mention
    (an arm, a row, the list of candidates) is as in the prior."""
    found = _block_of(text, "belief")
    try:
        if found is None:
            return _read_beta_lines(text, prior)
        return _READERS[prior["kind"]](found, prior) if found.get("kind", prior["kind"]) == prior["kind"] else None
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        return None


def _block_of(text: str, name: str) -> Mapping[str, Any] | None:
    found = read_blocks([Message("user", text)]).get(name)
    return cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else None


def _positive(value: Any) -> float:
    number = float(value)
    if not 0.0 < number < math.inf or isinstance(value, bool):
        raise ValueError(value)
    return number


def _read_beta_lines(text: str, prior: Belief) -> Belief | None:
    if prior["kind"] != "beta":
        return None
    found = {arm: _last_match(text, arm, rf"Beta\s*\(\s*{_NUMBER}\s*,\s*{_NUMBER}\s*\)") for arm in prior["arms"]}
    if not any(found.values()):
        return None
    arms = {a: [*map(_positive, m.groups())] if m else prior["arms"][a] for a, m in found.items()}
    return {"kind": "beta", "arms": arms}


def _last_match(text: str, name: str, value: str) -> re.Match[str] | None:
    found = [*re.finditer(_LINE.format(name=re.escape(name)) + value, text)]
    return found[-1] if found else None


def _read_beta(found: Mapping[str, Any], prior: Belief) -> Belief:
    return {
        **prior,
        "arms": {arm: [*map(_positive, found["arms"].get(arm, row))] for arm, row in prior["arms"].items()},
    }


def _read_worlds(found: Mapping[str, Any], prior: Belief) -> Belief | None:
    arms = [*prior["worlds"][0]["means"]]
    rows = [
        {"weight": _positive(w.get("weight", 1)), "means": {arm: float(w["means"][arm]) for arm in arms}}
        for w in found["worlds"]
    ]
    return {**prior, "worlds": rows} if rows else None


def _read_tables(found: Mapping[str, Any], prior: Belief) -> Belief:
    moves = {
        s: {
            a: {t: _positive(_at(found["transitions"], s, a, t, old)) for t, old in row.items()}
            for a, row in rows.items()
        }
        for s, rows in prior["transitions"].items()
    }
    paid = {s: {a: _read_reward(found, s, a, old) for a, old in row.items()} for s, row in prior["rewards"].items()}
    return {**prior, "transitions": moves, "rewards": paid}


def _at(table: Mapping[str, Any], s: str, a: str, t: str, old: Any) -> Any:
    return table.get(s, {}).get(a, {}).get(t, old)


def _read_reward(found: Mapping[str, Any], s: str, a: str, old: Any) -> Any:
    said = found.get("rewards", {}).get(s, {}).get(a, old)
    if isinstance(old, Mapping):
        by_next = cast("Mapping[str, Any]", old)
        return {t: _number_or_none(said.get(t, o)) for t, o in by_next.items()}
    return _number_or_none(said)


def _number_or_none(value: Any) -> float | None:
    return None if value is None else float(value)


def _read_code(found: Mapping[str, Any], prior: Belief) -> Belief | None:
    """By its marks, or by a shorter list of candidates than the prior's."""
    length = prior["length"]
    marks = [[str(s), int(p), str(m)] for s, p, m in found.get("marks", ())]
    if any(not 0 <= p < length or m not in "gyb" or len(m) != 1 for _, p, m in marks):
        return None
    said = {**prior, "marks": marks}
    if "candidates" in found:
        known = {*codes_of({**prior, "marks": []})}
        said["candidates"] = [c for c in found["candidates"] if c in known]
        if not said["candidates"]:
            return None
    return said


_READERS: Mapping[str, Callable[[Mapping[str, Any], Belief], Belief | None]] = {
    "beta": _read_beta,
    "worlds": _read_worlds,
    "dirichlet": _read_tables,
    "code": _read_code,
}


def read_world(text: str, prior: Belief) -> World | None:
    """The sampled world in a text; None if it cannot be read."""
    found = _block_of(text, "hypothesis")
    try:
        match prior["kind"]:
            case "beta" | "worlds":
                arms = [*(prior["arms"] if prior["kind"] == "beta" else prior["worlds"][0]["means"])]
                means = found["means"] if found else {a: _require(_last_match(text, a, _NUMBER))[1] for a in arms}
                return {"means": {arm: float(means[arm]) for arm in arms}}
            case "code":
                code = str(found["code"]) if found else _only_code(text, prior)
                return {"code": code} if len(code) == prior["length"] else None
            case _:
                return _read_sampled_tables(found, prior) if found else None
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _require(found: re.Match[str] | None) -> re.Match[str]:
    if found is None:
        raise ValueError
    return found


def _only_code(text: str, prior: Belief) -> str:
    """The one sequence of the secret's form in a text."""
    symbols = f"[{re.escape(prior['symbols'])}]"
    found = set(re.findall(rf"(?<!\w){symbols}{{{prior['length']}}}(?!\w)", text))
    if prior.get("candidates"):
        found &= {*prior["candidates"]}
    (code,) = found
    return code


def _read_sampled_tables(found: Mapping[str, Any], prior: Belief) -> World:
    moves = {
        s: {a: {t: float(found["transitions"][s][a].get(t, 0.0)) for t in row} for a, row in rows.items()}
        for s, rows in prior["transitions"].items()
    }
    paid: dict[str, dict[str, Any]] = {
        s: {a: _sampled_reward(found["rewards"][s][a], old) for a, old in row.items()}
        for s, row in prior["rewards"].items()
    }
    return {"transitions": moves, "rewards": paid}


def _sampled_reward(said: Any, old: Any) -> Any:
    if isinstance(old, Mapping):
        by_next = cast("Mapping[str, Any]", old)
        return {t: float(said[t]) if isinstance(said, Mapping) else float(said) for t in by_next}
    return float(said)


def read_prior(text: str) -> Belief | None:
    """The belief in a prior's text, which later ones are read against; None without a JSON block of a known kind."""
    found = _block_of(text, "belief")
    return found if found is not None and found.get("kind") in KINDS else None
