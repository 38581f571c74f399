"""Wrong arguments: the Python API answers them as the command line does, naming the field and what is allowed."""

from __future__ import annotations

import copy
import importlib
import pickle
import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import pytest

import sonde
from sonde._util.argument_checks import Checked
from sonde._util.extras import list_extras
from sonde.core import (
    Action,
    Episode,
    Model,
    ProgramPolicy,
    Sampling,
    SeatedPolicies,
    Task,
    UserError,
    View,
    build,
    find,
    make,
)
from sonde.evaluation.evaluate import compare, evaluate
from sonde.runs.rollout import Plan, collect_trajectories, record_plan
from sonde.runs.run import RunConfig, prepare_run
from sonde.runs.store import Run, RunWriter, TrajectoryDataset
from sonde.runs.store.export import export_parquet
from sonde.train.curriculum import Curriculum
from sonde.train.objectives import make_objective
from sonde.train.online.settings import OnlineSettings
from sonde.train.rewards import RewardMix
from sonde.train.selection import PairRule
from sonde.train.settings import TrainSettings
from tests.cases import each

ENV = make("wordle")
TASKS = ENV.tasks("test")[:2]
RANDOM = make("agents:random")
BEGUN = Episode.begin(ENV, TASKS[0])
OPEN = {("HF", "steer")}
"""What only a type checker can read: torch is not imported for it."""


class Wrong:
    """A value that no argument allows."""


@cache
def list_checked() -> list[type]:
    """Every class of the package that checks its arguments: all that a registry makes, and settings; those that the
    extras installed here allow to import. Adapters make none, and need others' libraries."""
    for module in pkgutil.walk_packages(sonde.__path__, "sonde."):
        if not module.name.endswith("__main__") and not module.name.startswith("sonde.interop."):
            try:
                importlib.import_module(module.name)
            except (ModuleNotFoundError, UserError) as error:  # an extra that is not installed, or said to be lacking
                absent = error.__cause__ if isinstance(error, UserError) else error
                if not isinstance(absent, ModuleNotFoundError) or absent.name not in list_extras():
                    raise
    return sorted(
        {cls for cls in subclasses(Checked) if cls.__module__.startswith("sonde.")}, key=lambda cls: cls.__qualname__
    )


def subclasses(cls: type) -> Iterator[type]:
    for found in cls.__subclasses__():
        if "__dataclass_fields__" in vars(found):
            yield found
        yield from subclasses(found)


def test_everything_that_is_made_by_name_is_checked() -> None:
    for kind in ("envs", "agents", "users", "models"):
        for name in sonde.names(kind):
            assert find(name if kind == "envs" else f"{kind}:{name}") in list_checked()
    assert {Sampling, Plan, RunConfig, TrainSettings, OnlineSettings, PairRule, RewardMix, Task} <= set(list_checked())


@each("cls", list_checked, ids=lambda cls: cls.__qualname__)
def test_a_value_of_a_wrong_type_is_refused_in_every_field(cls: Any) -> None:
    for f in fields(cls):
        if not f.init or (cls.__name__, f.name) in OPEN or f.type in ("Any", "Json"):
            continue
        with pytest.raises(UserError, match=rf": {f.name}: got <.*Wrong object.*>, allowed: \w"):
            cls(**{f.name: Wrong()})


@each("cls", list_checked, ids=lambda cls: cls.__qualname__)
def test_an_argument_that_is_not_there_is_refused(cls: Any) -> None:
    with pytest.raises(UserError, match="unknown name 'no_such_field'"):
        cls(no_such_field=1)


CALLS: list[Any] = [
    (lambda: Sampling(stop="abc"), "sampling: stop: got 'abc', allowed: a list of texts"),  # pyright: ignore
    (lambda: Sampling(stop=("a", 1)), "sampling: stop[1]: got 1, allowed: text"),  # pyright: ignore
    (lambda: Sampling(temperature=True), "sampling: temperature: got True, allowed: a number"),
    (lambda: Sampling(max_tokens=4), "unknown name 'max_tokens' (did you mean 'max_new_tokens'?)"),  # pyright: ignore
    (lambda: Plan(k=1.5), "plan: k: got 1.5, allowed: a whole number"),  # pyright: ignore
    (lambda: Plan(seed=1.5), "plan: seed: got 1.5, allowed: a whole number"),  # pyright: ignore
    (lambda: Plan(4), "plan: got 4 without a name, allowed: k, "),  # pyright: ignore
    (RunConfig, "config: missing env, seats"),  # pyright: ignore
    (lambda: RunConfig(env={"name": "wordle"}, seats={"agent": 7}), "config: seats.agent: got 7, allowed: a mapping"),  # pyright: ignore
    (lambda: RunConfig(env={1: 2}, seats={}), "config: env: key: got 1, allowed: text"),  # pyright: ignore
    (lambda: TrainSettings(betas=(0.9,)), "train: betas: got (0.9,), allowed: a list of 2 numbers"),  # pyright: ignore
    (lambda: TrainSettings(betas=(0.9, "x")), "train: betas[1]: got 'x', allowed: a number"),  # pyright: ignore
    (lambda: TrainSettings(schedule="cosin"), "train: schedule: got 'cosin', allowed: cosine, linear, constant"),  # pyright: ignore
    (lambda: TrainSettings(lora=True), "train: lora: got True, allowed: LoraSettings or none"),  # pyright: ignore
    (lambda: OnlineSettings(bandit="ucb"), "online: bandit: got 'ucb', allowed: Bandit"),  # pyright: ignore
    (lambda: PairRule(negatives=("win",)), "negatives: got 'win', allowed: loss, "),
    (lambda: RewardMix({"success": "much"}), "rewards: weights.success: got 'much', allowed: a number"),  # pyright: ignore
    (lambda: Curriculum(groups={"a": 1.5}), "curriculum: groups.a: got 1.5, allowed: a whole number"),  # pyright: ignore
    pytest.param(
        lambda: make_objective("dpo", shape=["ipo"]),
        "objectives:dpo: shape: got ['ipo'], allowed: sigmoid, ipo",
        marks=pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed"),
    ),
    (lambda: Task("wordle", "paprika", "test", "0"), "task: index: got '0', allowed: a whole number"),  # pyright: ignore
    (lambda: make(5), "name: got 5, allowed: text"),  # pyright: ignore
    (lambda: make("wordle", preset=["x"]), "wordle: preset: got ['x'], allowed: text"),
    (lambda: make("agents:llm"), "agents:llm: missing model"),
    (lambda: make("agents:llm", model="smollm2"), "agents:llm: model: got 'smollm2', allowed: a model, such as"),
    (lambda: make("agents:switch", first=5, then=RANDOM), "agents:switch: first: got 5, allowed: a policy, such as"),
    (lambda: build(5), "config: got 5, allowed: a mapping with at least a name"),  # pyright: ignore
    (lambda: build({}), "config: got {}, allowed: a mapping with at least a name"),
    (lambda: ENV.tasks(5), "split: unknown name 5; known: test, train"),
    (lambda: Episode.begin("wordle", TASKS[0]), "env: got 'wordle', allowed: an environment, such as"),  # pyright: ignore
    (lambda: Episode.begin(ENV, "toast"), "task: got 'toast', allowed: a Task, such as"),  # pyright: ignore
    (lambda: Episode.begin(ENV, TASKS[0], seed=-1), "seed: got -1, allowed: a whole number from 0 to 2**64 - 1"),
    (lambda: Episode.begin(ENV, TASKS[0], seed=1.5), "seed: got 1.5, allowed: a whole number"),  # pyright: ignore
    (lambda: Episode.begin(ENV, TASKS[0], sample=-1), "sample: got -1, allowed: a whole number"),
    (lambda: BEGUN.fork(sample="x"), "sample: got 'x', allowed: a whole number"),  # pyright: ignore
    (lambda: BEGUN.step(5), "action: got 5, allowed: an Action or text"),  # pyright: ignore
    (lambda: SeatedPolicies("wordle", {}), "__init__: env: got 'wordle', allowed: an environment"),  # pyright: ignore
    (
        lambda: collect_trajectories("wordle", {"agent": RANDOM}, TASKS),
        "collect_trajectories: env: got 'wordle', allowed: an env",
    ),  # pyright: ignore
    (
        lambda: collect_trajectories(ENV, RANDOM, TASKS),
        "collect_trajectories: policies: got Random(), allowed: a mapping",
    ),
    (
        lambda: collect_trajectories(ENV, {"agent": "random"}, TASKS),
        "collect_trajectories: policies.agent: got 'random', allowed: a policy",
    ),  # pyright: ignore
    (
        lambda: collect_trajectories(ENV, {"agent": RANDOM}, "test"),
        "collect_trajectories: tasks: got 'test', allowed: a list of Tasks",
    ),  # pyright: ignore
    (
        lambda: collect_trajectories(ENV, {"agent": RANDOM}, ["toast"]),
        "collect_trajectories: tasks[0]: got 'toast', allowed: Task",
    ),  # pyright: ignore
    (
        lambda: collect_trajectories(ENV, {"agent": RANDOM}, TASKS, 4),
        "collect_trajectories: plan: got 4, allowed: Plan or none",
    ),  # pyright: ignore
    (
        lambda: collect_trajectories(ENV, {"agent": RANDOM}, TASKS, k=4),
        "collect_trajectories: got an unexpected keyword argument 'k'",
    ),  # pyright: ignore
    (
        lambda: record_plan(ENV, {"agent": RANDOM}, TASKS, Plan(), 5),
        "record_plan: folder: got 5, allowed: Path or text",
    ),  # pyright: ignore
    (lambda: evaluate(5), "evaluate: trajectories: got 5, allowed: "),  # pyright: ignore
    (lambda: compare(1, 2), "compare: a: got 1, allowed: Evaluation"),  # pyright: ignore
    (lambda: prepare_run({"env": 1}), "prepare_run: config: got {'env': 1}, allowed: RunConfig"),  # pyright: ignore
    (lambda: Run.load(5), "load: folder: got 5, allowed: Path or text"),  # pyright: ignore
    (lambda: RunWriter.open(5, {}), "open: folder: got 5, allowed: Path or text"),  # pyright: ignore
    (lambda: TrajectoryDataset(5), "folder: got 5, allowed: Path or text"),  # pyright: ignore
    (lambda: export_parquet(5, "x"), "export_parquet: folder: got 5, allowed: Path or text"),  # pyright: ignore
]


@pytest.mark.parametrize(("call", "message"), CALLS, ids=lambda value: value if isinstance(value, str) else "")
def test_a_wrong_call_is_answered_with_the_field_and_what_is_allowed(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        call()


@dataclass(frozen=True, kw_only=True)
class Player(ProgramPolicy):
    """A plug-in with annotations of every sort."""

    n: int | None = None
    rate: float = 0.5
    mode: Literal["a", "b", 3] | None = "a"
    words: tuple[str, ...] = ()  # pyright: ignore[reportIncompatibleVariableOverride]
    pair: tuple[int, float] = (1, 2.0)
    table: Mapping[str, Mapping[str, int]] | None = None
    model: Model | None = None
    folder: Path | str = ""
    unread: NoSuchName | None = None  # type: ignore[name-defined]  # noqa: F821

    def act_now(self, view: View) -> Action:
        return Action("")


RIGHT: list[dict[str, Any]] = [
    {"n": 3}, {"n": None}, {"rate": 1}, {"rate": 0.25}, {"mode": "b"}, {"mode": 3}, {"mode": None}, {"words": ["x"]},
    {"pair": [1, 2]}, {"table": {"x": {"y": 1}}}, {"model": make("models:fake", script=("a",))}, {"folder": Path()},
    {"folder": "x"}, {"unread": 5},
]  # fmt: skip
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"n": "3"}, "n: got '3', allowed: a whole number or none"), ({"n": True}, "n: got True"),
    ({"rate": "1"}, "rate: got '1', allowed: a number"), ({"mode": "c"}, "mode: got 'c', allowed: a, b, 3 or none"),
    ({"mode": 3.0}, "mode: got 3.0"), ({"mode": []}, "mode: got []"),
    ({"words": {"x"}}, "words: got {'x'}, allowed: a list of texts"),
    ({"pair": (1, 2, 3)}, "pair: got (1, 2, 3), allowed: a list of 2"),
    ({"pair": (1.5, 2)}, "pair[0]: got 1.5, allowed: a whole number"),
    ({"table": {"x": {"y": "1"}}}, "table.x.y: got '1', allowed: a whole number"),
    ({"table": {"x": {1: 1}}}, "table.x: key: got 1, allowed: text"),
    ({"model": "fake"}, "model: got 'fake', allowed: a model, such as sonde.make('models:hf', ...) or none"),
    ({"folder": 1}, "folder: got 1, allowed: Path or text"),
]  # fmt: skip


@each("values", RIGHT, ids=str)
def test_what_an_annotation_allows(values: dict[str, Any]) -> None:
    assert Player(**values).config["name"] == f"{__name__}:Player"


@each("values, message", WRONG, ids=str)
def test_what_an_annotation_forbids(values: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=re.escape(f"Player: {message}")):
        Player(**values)


def test_copies_and_pickles_need_no_arguments() -> None:
    made = make("agents:llm", model=make("models:fake", script=("a",)), stop=("x",))
    assert pickle.loads(pickle.dumps(made)) == copy.deepcopy(made) == copy.copy(made) == made
    assert pickle.loads(pickle.dumps(ENV.spec)) == ENV.spec
