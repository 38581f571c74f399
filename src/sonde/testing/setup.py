"""The part of the contract that needs no play: an environment's spec, configuration and tasks."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

from sonde.core import AGENT, Env, Rng, Task, UserError, build, content_hash
from sonde.evaluation.scale import make_agent

from .probe import EnvProbe, require

_ALL = 3000
"""Splits up to this size are checked completely, larger ones by a sample of this size."""

_NO_SETUPS: tuple[Any, ...] = (
    None, True, 3, -1, 0.5, float("nan"), "", " ", "\ud800", "{0}", "9" * 5000, "x" * 5000, [], [[]], [None] * 9, {},
    {"": ""}, {"size": 10**9}, {"rows": -1, "cols": 0, "mines": []}, {"rule": 256, "inputs": []}, {"means": {}},
    {"means": {"blue": 2}}, {"rows": "5", "cols": None, "mines": 7}, {"size": 6, "carrier": None},
)  # fmt: skip


def spec_is_complete(p: EnvProbe) -> None:
    """Every text of the spec is non-empty, its numbers are possible, and the agents that it names exist."""
    env, spec = p.env, p.env.spec
    require(spec.name == env.name, f"spec.name is {spec.name!r}, the registry says {env.name!r}")
    for field in ("version", "summary", "preset", "support", "source"):
        value = getattr(spec, field)
        require(isinstance(value, str) and value.strip() == value != "", f"spec.{field} is {value!r}, not a text")
    low, high = spec.reward_range
    require(low < high, f"spec.reward_range is {spec.reward_range}, not (low, high)")
    require(spec.max_turns >= 1, f"spec.max_turns is {spec.max_turns}")
    require(spec.max_new_tokens >= 1, f"spec.max_new_tokens is {spec.max_new_tokens}")
    require(AGENT in spec.seats, f"spec.seats has no {AGENT!r}: {sorted(spec.seats)}")
    for policy in filter(None, (spec.floor, spec.reference)):
        make_agent(policy)
    json.dumps(dataclasses.asdict(spec))


def presets_are_listed(p: EnvProbe) -> None:
    """`presets` lists the values of the argument `preset`; anything else is a `UserError`."""
    cls = type(p.env)
    require(p.env.spec.preset in cls.presets, f"preset {p.env.spec.preset!r} is not in {cls.__name__}.presets")
    for preset in cls.presets:
        require(cls(preset=preset).spec.preset == preset, f"preset {preset!r} gives another preset")  # type: ignore[call-arg]
    _require_error(lambda: cls(preset="no such preset"), "an unknown preset")  # type: ignore[call-arg]


def max_turns_can_be_set(p: EnvProbe) -> None:
    """The argument `max_turns` sets `spec.max_turns`, and episodes obey it; less than 1 is a `UserError`."""
    for turns in (2, 3):
        changed: Env[Any] = dataclasses.replace(p.env, max_turns=turns)  # type: ignore[type-var]
        require(changed.spec.max_turns == turns, f"max_turns={turns} gives spec.max_turns = {changed.spec.max_turns}")
        probe = dataclasses.replace(p, env=changed, episodes=20)
        for i in range(probe.episodes):
            probe.play_episode(i, lambda view, _: f"<Answer>{view.turn}</Answer>")
    for turns in (0, -1):
        _require_error(lambda turns=turns: dataclasses.replace(p.env, max_turns=turns), f"max_turns={turns}")  # type: ignore[type-var]


def config_builds_an_equal_environment(p: EnvProbe) -> None:
    """`registry.build(env.config)`, through JSON, is equal, with the same configuration and fingerprint."""
    env, again = p.env, build(json.loads(json.dumps(p.env.config)))
    require(again == env, f"build(env.config) is {again}, not {env}")
    require(hash(again) == hash(env), "build(env.config) has another hash")
    require(again.config == env.config, f"config changes through JSON: {env.config} became {again.config}")
    require(again.fingerprint == env.fingerprint == content_hash(env.config), "the fingerprint is not stable")


def tasks_are_values(p: EnvProbe) -> None:
    """Length, indexing, slices and JSON round trips work; tasks are equal in another environment of the same
    configuration."""
    again = build(p.env.config)
    for split in p.env.splits:
        tasks = p.env.tasks(split)
        n = len(tasks)
        require(n > 0, f"split {split!r} is empty")
        require(
            tasks[-1] == tasks[n - 1] and len(tasks[1:3]) == len(range(n)[1:3]), f"{split}: indexing is not a list's"
        )
        _require_error(lambda tasks=tasks, n=n: tasks[n], f"{split}[{n}], past the end,", IndexError)
        for i in _sample_indices(n, p.rng("tasks", split), 300):
            _check_task(p.env, tasks[i], split, i)
            require(again.tasks(split)[i] == tasks[i], f"{split}[{i}] differs when built again")
    _require_error(lambda: p.env.tasks("no such split"), "an unknown split")


def _check_task(env: Env[Any], task: Task, split: str, i: int) -> None:
    where = f"{split}[{i}]"
    named = (task.env, task.preset, task.split, task.index)
    expected = (env.name, env.spec.preset, split, i)
    require(named == expected, f"{where} calls itself {named}, not {expected}")
    back = Task.from_json(json.loads(json.dumps(task.to_json())))
    require(back == task and back.id == task.id and hash(back) == hash(task), f"{where} changes through JSON")
    hash((task.public, task.hidden))
    if task.hidden is not None:
        _check_custom(env, task, where)


def _check_custom(env: Env[Any], task: Task, where: str) -> None:
    again = env.task(json.loads(json.dumps(task.hidden)))
    require(again.public == task.public, f"env.task({where}.hidden) has public {again.public}, not {task.public}")
    same = env.reset(again, Rng(0, "a")) == env.reset(task, Rng(0, "a"))
    require(same, f"env.task({where}.hidden) begins in another state than {where}")


def train_and_test_are_disjoint(p: EnvProbe) -> None:
    """No setup is in two splits; tasks without a setup have different ids, from which their worlds are drawn."""
    seen: dict[Any, str] = {}
    for split in p.env.splits:
        tasks = p.env.tasks(split)
        for i in _sample_indices(len(tasks), p.rng("disjoint", split), _ALL):
            task = tasks[i]
            key = task.id if task.hidden is None else (task.public, task.hidden)
            other = seen.setdefault(key, split)
            require(other == split, f"{split}[{i}] is in {other} too: {task}")


def no_setup_is_a_user_error(p: EnvProbe) -> None:
    """For an invalid setup `env.task` raises an error that names the field, and no other exception."""
    for setup in _NO_SETUPS:
        try:
            task = p.env.task(setup)
        except UserError as e:
            require(":" in str(e), f"task({_short_repr(setup)}): the error names no field: {e}")
            require(len(str(e)) < 1500, f"task({_short_repr(setup)}): the error is {len(str(e))} characters long")
        else:
            p.env.reset(task, Rng(0, "setup"))


def open_tasks_differ_by_seed(p: EnvProbe) -> None:
    """A task without a setup is drawn from the world seed alone."""
    for task in [t for t in p.tasks[:10] if t.hidden is None]:
        states = [p.env.reset(task, Rng(seed, "reset", task.id)) for seed in range(30)]
        require(len(set(states)) > 1, f"30 seeds give one and the same world for {task}")
        same = p.env.reset(task, Rng(0, "reset", task.id)) == states[0]
        require(same, "one seed gives two worlds")


def _sample_indices(n: int, rng: Rng, limit: int) -> Sequence[int]:
    return range(n) if n <= limit else sorted(rng.sample(range(n), limit))


def _require_error(call: Any, what: str, error: type[Exception] = UserError) -> None:
    try:
        call()
    except error:
        return
    require(False, f"{what} is accepted; {error.__name__} expected")


def _short_repr(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:80] + "..."


RULES = (
    spec_is_complete,
    presets_are_listed,
    max_turns_can_be_set,
    config_builds_an_equal_environment,
    tasks_are_values,
    train_and_test_are_disjoint,
    no_setup_is_a_user_error,
    open_tasks_differ_by_seed,
)
