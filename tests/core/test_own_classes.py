"""Classes of one's own: plain ones, fields that hide what records need, and what models and policies may return."""

from __future__ import annotations

import asyncio
import pickle
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

import sonde
from sonde.agents.llm import LLM
from sonde.core import AGENT, Action, Completion, Env, Model, Policy, ProgramPolicy, Sampling, UserError, View, build
from sonde.runs.rollout import Plan, collect_trajectories, record_plan
from tests.cases import each

HERE = __name__
SAYS = "<Answer>crane</Answer>"


class Plain(Policy):
    """No decorator, no fields."""

    tried: ClassVar[str] = SAYS

    async def act(self, view: View) -> Action:
        return Action(self.tried)


class Stateful(ProgramPolicy):
    """A constructor without arguments is nobody's configuration."""

    def __init__(self) -> None:
        self.seen = 0

    def act_now(self, view: View) -> Action:
        self.seen += 1
        return Action(SAYS)


class OverLLM(LLM):
    """A plain class that changes a method of a dataclass keeps its fields."""


class Undecorated(ProgramPolicy):
    prefix: str = "crane"

    def act_now(self, view: View) -> Action:
        return Action(self.prefix)


class Taking(ProgramPolicy):
    def __init__(self, prefix: str) -> None:
        self.prefix = prefix

    def act_now(self, view: View) -> Action:
        return Action(self.prefix)


@dataclass(frozen=True, kw_only=True)
class Replies(Model):
    """Whatever it was given."""

    reply: Any = SAYS

    async def generate(self, messages: Any, sampling: Sampling) -> Any:
        return self.reply


class Synchronous(Model):
    def generate(self, messages: Any, sampling: Sampling) -> Any:  # type: ignore[override]
        return SAYS


@dataclass(frozen=True, kw_only=True)
class Silent(Policy):
    async def act(self, view: View) -> Any:
        return None


@pytest.mark.parametrize("cls", [Plain, Stateful])
def test_a_plain_class_plays_is_recorded_and_is_found_again(cls: type[Policy], tmp_path: Path) -> None:
    env = sonde.make("wordle")
    run = record_plan(env, {AGENT: cls()}, env.tasks("test")[:2], Plan(), tmp_path / "run")
    assert len(run) == 2
    for trajectory in run:
        saved = trajectory.policies[AGENT]
        assert saved["name"] == f"{HERE}:{cls.__name__}"
        again = build({k: v for k, v in saved.items() if k != "fingerprint"})
        assert type(again) is cls and again.fingerprint == saved["fingerprint"]
    assert type(pickle.loads(pickle.dumps(cls()))) is cls


def test_a_plain_class_over_a_dataclass_keeps_its_fields() -> None:
    policy = OverLLM(model=Replies(), temperature=0.5)
    assert policy.config["temperature"] == 0.5 and build(policy.config) == policy
    with pytest.raises(UserError, match=r"unknown name 'temprature' \(did you mean 'temperature'"):
        OverLLM(model=Replies(), temprature=0.5)  # type: ignore[call-arg]


@each("cls, arguments", [(Undecorated, ()), (Taking, ("crane",))])
def test_arguments_that_no_record_would_hold_are_refused(cls: Any, arguments: Any) -> None:
    says = rf"class {cls.__name__}: got 'prefix' in a plain class, allowed: a field of a dataclass; put @dataclass\("
    with pytest.raises(UserError, match=says):
        cls(*arguments)
    with pytest.raises(UserError, match=says):
        sonde.make(f"{HERE}:{cls.__name__}")
    with pytest.raises(UserError, match="got 3 without a name, allowed: no arguments"):
        Plain(3)  # type: ignore[call-arg]


@each("base", [Model, Policy, Env, LLM])
@each("name", ["name", "kind", "called", "config", "fingerprint", "close"])
@each("annotated", [True, False])
def test_a_field_that_hides_what_records_need_is_refused_with_the_class(base: Any, name: str, annotated: bool) -> None:
    """Whether it has an annotation or not; a method's name only where it is a field."""
    members: dict[str, Any] = {name: "mine", "__annotations__": {name: "str"} if annotated else {}}
    if name == "close" and (base is Env or not annotated):
        return
    says = "unknown name 'mine'" if name == "kind" and not annotated else "allowed: another name, such as 'mine_"
    if name == "called" and not annotated:
        return  # the registry sets it anew
    with pytest.raises(UserError, match=f"class Mine: .*{re.escape(says)}"):
        type(base)("Mine", (base,), members)


def test_fields_may_be_fields_again_and_methods_methods() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Colder(LLM):
        kind: ClassVar[str] = "agents"
        temperature: float = 0.1

        @property
        def config(self) -> dict[str, Any]:
            return super().config

    assert Colder(model=Replies()).temperature == 0.1


def play_one(model: Model) -> Any:
    env = sonde.make("wordle", max_turns=1)
    (trajectory,) = collect_trajectories(env, {AGENT: LLM(model=model)}, env.tasks("test")[:1])
    return trajectory.turns[0].acts[0].action


def test_text_is_a_reply() -> None:
    for model in (Replies(), Synchronous()):
        action = play_one(model)
        assert action.text == SAYS and action.completions[0].model == model.called
    whole = Completion(text=SAYS, model="theirs")
    assert asyncio.run(Replies(reply=whole).generate((), Sampling())) is whole


@each("reply", [None, 3, {"text": SAYS}, [SAYS], Completion(text=None)])  # type: ignore[arg-type]
def test_any_other_reply_is_named_with_its_class(reply: Any) -> None:
    says = rf"{HERE}:Replies.generate: got .*, allowed: a Completion, or the text of one"
    with pytest.raises(UserError, match=says):
        play_one(Replies(reply=reply))


def test_an_act_that_returns_none_is_one_line() -> None:
    env = sonde.make("wordle")
    with pytest.raises(UserError, match=r"action: got None, allowed: an Action or text"):
        collect_trajectories(env, {AGENT: Silent()}, env.tasks("test")[:1])


@each("name", [":", "::", "agents:", "agents::", ".x:C", "x.:C", "a b:C", "x:", ":C", "json:a.b"])
def test_names_that_name_no_class_are_one_line(name: str) -> None:
    with pytest.raises(UserError, match=r"^[^\n]*$"):
        sonde.make(name)
