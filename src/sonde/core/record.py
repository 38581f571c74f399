"""The record of an episode: configuration, task, seeds and acts, as an immutable value with a JSON form both ways.

What can be computed again is not stored: rewards and `info` are, because readers want them without the environment;
states, views and posteriors are not, because `Episode.replay` restores them.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from .errors import ReplayError
from .frozen import frozen
from .types import EMPTY, Act, Action, Completion, Json, Outcome, Task, Turn, Usage

SCHEMA = 2
"""Version of the JSON form; readers refuse a newer one."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Trajectory:
    """A finished (or failed) episode. `group` is shared by all samples of one task in one world.

    `policies` maps each seat to its policy's configuration and fingerprint; `error` is empty or says how the outside
    world failed.
    """

    id: str
    group: str
    env: Mapping[str, Json]
    version: str
    task: Task
    seed: int
    sample: int
    turns: tuple[Turn, ...]
    opening: tuple[Act, ...] = ()
    outcome: Outcome | None = None
    policies: Mapping[str, Mapping[str, Json]] = EMPTY
    privileged: bool = False
    error: str = ""
    tags: Mapping[str, str] = EMPTY
    schema: int = SCHEMA

    def __post_init__(self) -> None:
        for name in ("env", "policies", "tags"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    @property
    def acts(self) -> tuple[Act, ...]:
        """All acts of all seats in order."""
        return (*self.opening, *(act for turn in self.turns for act in turn.acts))

    def to_json(self) -> dict[str, Json]:
        return {
            "schema": self.schema,
            "id": self.id,
            "group": self.group,
            "env": dict(self.env),
            "version": self.version,
            "task": self.task.to_json(),
            "seed": self.seed,
            "sample": self.sample,
            "opening": [_act_to_json(a) for a in self.opening],
            "turns": [[_act_to_json(a) for a in t.acts] for t in self.turns],
            "outcome": self.outcome and self.outcome._asdict(),
            "policies": {seat: dict(p) for seat, p in self.policies.items()},
            "privileged": self.privileged,
            "error": self.error,
            "tags": dict(self.tags),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Trajectory:
        """The trajectory of a record. Raises `ReplayError` for what is none, naming the field."""
        try:
            return cls._read(data)
        except (LookupError, TypeError, ValueError, AttributeError) as e:
            named = f"trajectory {data['id']}" if isinstance(data, Mapping) and "id" in data else "trajectory"  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ReplayError(f"{named}: no record that this sonde reads: {type(e).__name__}: {e}") from e

    @classmethod
    def _read(cls, data: Mapping[str, Any]) -> Trajectory:
        if data["schema"] > SCHEMA:
            raise ReplayError(f"trajectory schema {data['schema']} is newer than this sonde's {SCHEMA}")
        turns = tuple(Turn(i, tuple(map(_act_from_json, acts))) for i, acts in enumerate(data["turns"]))
        values: dict[str, Any] = {
            **data,
            "task": Task.from_json(data["task"]),
            "opening": tuple(map(_act_from_json, data["opening"])),
            "turns": turns,
            "outcome": data["outcome"] and Outcome(**data["outcome"]),
        }
        return cls(**values)

    def without_timings(self) -> Trajectory:
        """The canonical form for comparing runs: usage, which depends on caches and batching, set to zero."""
        turns = tuple(Turn(t.index, tuple(map(_plain_act, t.acts))) for t in self.turns)
        return replace(self, turns=turns, opening=tuple(map(_plain_act, self.opening)))


def _plain_act(act: Act) -> Act:
    completions = tuple(replace(c, usage=Usage()) for c in act.action.completions)
    return act._replace(action=act.action._replace(completions=completions)) if completions else act


def _act_to_json(act: Act) -> dict[str, Json]:
    row: dict[str, Json] = {"seat": act.seat, "text": act.action.text, "told": dict(act.told)}
    if act.rewards:
        row["rewards"] = dict(act.rewards)
    if act.info:
        row["info"] = dict(act.info)
    if act.action.memory is not None:
        row["memory"] = act.action.memory
    if act.action.completions:
        row["completions"] = [_completion_to_json(c) for c in act.action.completions]
    return row


def _act_from_json(row: Mapping[str, Any]) -> Act:
    completions = tuple(_completion_from_json(c) for c in row.get("completions", ()))
    action = Action(row["text"], row.get("memory"), completions)
    told, rewards, info = (frozen(row.get(name, EMPTY)) for name in ("told", "rewards", "info"))
    return Act(row["seat"], action, told, rewards, info)


def _completion_to_json(c: Completion) -> dict[str, Json]:
    return {
        "text": c.text,
        "ids": c.ids.tolist(),
        "logprobs": c.logprobs.tolist(),
        "temperature": c.temperature,
        "truncated": c.truncated,
        "prompt_ids": c.prompt_ids.tolist(),
        "shared": c.shared,
        "finish": c.finish,
        "reasoning": c.reasoning,
        "name": c.name,
        "unread": c.unread,
        "model": c.model,
        "weights": c.weights,
        "usage": list(c.usage),
        **({"unsent": list(c.unsent)} if c.unsent else {}),
    }


def _completion_from_json(row: Mapping[str, Any]) -> Completion:
    packed: dict[str, Any] = {"ids": array("i", row["ids"]), "logprobs": array("f", row["logprobs"])}
    packed |= {"prompt_ids": array("i", row["prompt_ids"]), "usage": Usage(*row["usage"])}
    packed["unsent"] = tuple(row.get("unsent", ()))
    return Completion(**{**row, **packed})
