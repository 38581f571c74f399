"""The record of an episode: configuration, task, seeds and acts, as an immutable value that converts to JSON and back.

Records store only what cannot be recomputed, plus rewards and `info` for readers without the environment. States, views
and posteriors are not stored, because `Episode.replay` restores them.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

from sonde._util.argument_checks import check_arguments, check_value
from sonde._util.frozen import as_frozen
from sonde._util.json_types import read_as

from .errors import ReplayError, UserError, invalid, unknown
from .tools import ToolCall
from .types import EMPTY, NO_USAGE, Act, Action, Completion, Json, Outcome, Task, Turn, Usage

SCHEMA = 2
"""Version of the JSON form; readers refuse a newer one."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Trajectory:
    """A finished (or failed) episode. `group` is shared by all samples of one task in one world.

    `policies` maps each seat to its policy's configuration and fingerprint; `error` is empty or describes how the
    outside world failed.
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
            object.__setattr__(self, name, as_frozen(getattr(self, name)))

    def __repr__(self) -> str:
        task, ended = self.task, self.error or (self.outcome.kind if self.outcome else "not ended")
        where = f"{task.env} ({task.preset}), {task.split} {task.index}, seed {self.seed}, sample {self.sample}"
        return f"<Trajectory {self.id[:8]} of {where}: {len(self.turns)} turns, {ended}>"

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
        """The trajectory of a JSON record. Raises `ReplayError`, naming the field, if it is not one."""
        try:
            return cls._from_values(data)
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as e:
            named = f"trajectory {data['id']}" if isinstance(data, Mapping) and "id" in data else "trajectory"  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ReplayError(f"{named}: not a readable record: {type(e).__name__}: {e}") from e

    @classmethod
    def _from_values(cls, data: Mapping[str, Any]) -> Trajectory:
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
        """The canonical form for comparing runs: usage, which depends on caches and batching, is set to zero."""
        turns = tuple(Turn(t.index, tuple(map(_plain_act, t.acts))) for t in self.turns)
        return replace(self, turns=turns, opening=tuple(map(_plain_act, self.opening)))


def check_record(data: Any) -> None:
    """Raise `UserError` naming the first field of a record's JSON form that is missing, unknown or of a wrong type;
    `ReplayError` if a newer sonde wrote it. The store calls it once per record of a log; `from_json` relies on that and
    does not check every value again."""
    _check_row("record", data, _RECORD)
    if data["schema"] > SCHEMA:
        raise ReplayError(f"trajectory schema {data['schema']} is newer than this sonde's {SCHEMA}")
    for name, most in _BOUNDS.items():
        if not 0 <= data[name] < most:
            raise invalid(f"record: {name}", data[name], f"0 to {most - 1}")
    configs = {"env": data["env"], **{f"policies.{seat}": config for seat, config in data["policies"].items()}}
    for where, config in configs.items():
        if not isinstance(config.get("name"), str):
            raise invalid(f"record: {where}.name", config.get("name"), "text")
    _check_acts("record: opening", data["opening"])
    for i, acts in enumerate(data["turns"]):
        if not acts:
            raise UserError(f"record: turns[{i}]: got no acts, allowed: the agent's, and those that follow it")
        _check_acts(f"record: turns[{i}]", acts)
    if data["outcome"] is not None:
        read_as(Outcome, data["outcome"], "record: outcome")


def _check_acts(where: str, acts: Sequence[Any]) -> None:
    for i, act in enumerate(acts):
        _check_row(f"{where}[{i}]", act, _ACT)
        for completion in act.get("completions", ()):
            plain = _has_plain_fields(completion)
            if not plain:
                check_value(f"{where}[{i}]: usage", tuple[int, int, int], completion.get("usage"))
            packed = {name: array(code, completion[name]) for name, code in _PACKED.items()}
            if packed["logprobs"] and len(packed["logprobs"]) != len(packed["ids"]):
                n, of = len(packed["logprobs"]), len(packed["ids"])
                raise UserError(f"{where}[{i}]: logprobs: got {n}, allowed: none, or one for each of {of} ids")
            if not plain:
                calls = tuple(read_as(ToolCall, call, f"{where}[{i}]: call") for call in completion.get("calls", ()))
                typed = {**completion, **packed, "usage": NO_USAGE, "calls": calls}
                check_arguments(f"{where}[{i}]: completion", Completion, typed)


def _has_plain_fields(completion: Mapping[str, Any]) -> bool:
    """Whether all fields have the types as which they are written, so that no slower check is due."""
    exact = _COMPLETION
    if any(type(value) not in exact.get(name, ()) for name, value in completion.items()):
        return False
    usage = completion.get("usage", ())
    return (
        "text" in completion
        and len(usage) == 3
        and all(type(n) is int for n in usage)
        and completion.get("finish", "stop") in _FINISH
        and completion.get("unread", "") in _UNREAD
    )


class _Field(NamedTuple):
    """A field of a record: its type, and whether it is required. If the value has type `exact` and its items have types
    in `within`, it needs no further check."""

    hint: Any
    exact: tuple[type, ...] = ()
    within: tuple[type, ...] = ()
    required: bool = True

    def accepts_value(self, value: Any) -> bool:
        if type(value) not in self.exact:
            return False
        inner = cast("Iterable[object]", value.values() if isinstance(value, dict) else value)
        return not self.within or all(type(one) in self.within for one in inner)


def _check_row(where: str, row: Any, fields: Mapping[str, _Field]) -> None:
    if type(row) is not dict:
        check_value(where, Mapping[str, Any], row)
    for name, field in fields.items():
        if name not in row:
            if field.required:
                raise UserError(f"{where}: missing {name}")
        elif not field.accepts_value(row[name]):
            check_value(f"{where}: {name}", field.hint, row[name])
    if other := set(cast("Mapping[str, Any]", row)) - set(fields):
        raise unknown(where, min(other), fields)


_Rows = tuple[Mapping[str, Any], ...]
_TEXT, _OBJECT = _Field(str, (str,)), _Field(Mapping[str, Any], (dict,))
_TEXTS = _Field(Mapping[str, str], (dict,), (str,))
_RECORD: Mapping[str, _Field] = {
    "schema": _Field(int, (int,)), "id": _TEXT, "group": _TEXT, "env": _OBJECT, "version": _TEXT, "task": _OBJECT,
    "seed": _Field(int, (int,)), "sample": _Field(int, (int,)), "opening": _Field(_Rows, (list,), (dict,)),
    "turns": _Field(tuple[_Rows, ...], (list,), (list,)), "outcome": _Field(Mapping[str, Any] | None, (dict,)),
    "policies": _Field(Mapping[str, Mapping[str, Any]]), "privileged": _Field(bool, (bool,)), "error": _TEXT,
    "tags": _TEXTS,
}  # fmt: skip
_ACT: Mapping[str, _Field] = {
    "seat": _TEXT, "text": _TEXT, "told": _TEXTS,
    "rewards": _Field(Mapping[str, float], (dict,), (float, int), required=False),
    "info": _OBJECT._replace(required=False),
    "memory": _Field(Any, (dict, list, str, int, float, type(None)), required=False),
    "completions": _Field(_Rows, (list,), (dict,), required=False),
}  # fmt: skip
_COMPLETION: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("text", "finish", "reasoning", "open_mark", "name", "unread", "model", "weights"), (str,)),
    **dict.fromkeys(("ids", "logprobs", "prompt_ids", "usage"), (list,)),
    "temperature": (float, type(None)), "truncated": (bool,), "shared": (int,),
}  # fmt: skip
"""The types of a completion's fields in JSON; one with `unsent` is checked in full."""
_FINISH, _UNREAD = ("stop", "length", "filter"), ("", "malformed", "fallback")
_PACKED = {"ids": "i", "logprobs": "f", "prompt_ids": "i"}
_BOUNDS = {"seed": 2**64, "sample": 2**63}


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
    told, rewards, info = (as_frozen(row.get(name, EMPTY)) for name in ("told", "rewards", "info"))
    return Act(row["seat"], action, told, rewards, info)


def _completion_to_json(c: Completion) -> dict[str, Json]:
    """A completion as JSON; what few completions have is only written if set."""
    row: dict[str, Json] = {
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
    calls = [{name: value for name, value in call._asdict().items() if value or name != "extra"} for call in c.calls]
    seldom = {"open_mark": c.open_mark, "calls": calls, "call_defect": c.call_defect}
    return row | {name: value for name, value in seldom.items() if value}


def _completion_from_json(row: Mapping[str, Any]) -> Completion:
    packed: dict[str, Any] = {name: array(code, row[name]) for name, code in _PACKED.items()}
    packed |= {"usage": Usage(*row["usage"]), "unsent": tuple(row.get("unsent", ()))}
    packed["calls"] = tuple(ToolCall(**call) for call in row.get("calls", ()))
    return Completion(**{**row, **packed})
