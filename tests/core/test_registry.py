"""Names, and what happens to wrong ones; configurations that build equal objects."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, dataclass
from typing import Any

import pytest

import sonde
from sonde.core import (
    Action,
    ProgramPolicy,
    UnknownName,
    UserError,
    View,
    build,
    content_hash,
    find,
    make,
    names,
    unknown,
)
from sonde.core.config import KINDS
from tests.cases import each

HERE = __name__


@dataclass(frozen=True, kw_only=True)
class Echo(ProgramPolicy):
    """A plug-in policy that nests another one."""

    inner: Any = None
    words: tuple[str, ...] = ("a", "b")
    table: Mapping[str, int] | None = None

    def act_now(self, view: View) -> Action:
        return Action(self.words[0])


@dataclass(frozen=True, kw_only=True)
class Needy(ProgramPolicy):
    must: int
    also: str

    def act_now(self, view: View) -> Action:
        return Action("")


class Plain:
    pass


def test_files_are_names() -> None:
    assert {"mastermind", "wordle"} <= set(names())
    assert {"random", "entropy"} <= set(names("agents"))
    assert list(names()) == sorted(names())
    assert not any(name.startswith("_") for kind in KINDS for name in names(kind))


def test_listing_imports_nothing() -> None:
    code = "import sonde, sys; sonde.names('envs'); sonde.names('models'); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "sonde.envs" in loaded
    leaves = {f"sonde.models.{name}" for name in sonde.names("models")}
    leaves |= {f"sonde.envs.{name}.{file}" for name in sonde.names("envs") for file in ("env", "solver", "user")}
    assert not leaves & set(loaded)
    assert not {"torch", "transformers", "numpy", "aiohttp", "pyarrow", "matplotlib", "rich"} & set(loaded)


def test_a_plain_step_needs_no_numpy() -> None:
    code = (
        "import sonde, sys\n"
        "env = sonde.make('mastermind')\n"
        "sonde.Episode.begin(env, env.task('0427')).step('<Answer>1234</Answer>')\n"
        "print('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


@each(
    "name, says",
    [
        ("wordel", "environment: unknown name 'wordel' .did you mean 'wordle'"),
        ("agents:entropi", "agent: unknown name 'entropi' .did you mean 'entropy'"),
        ("models:fakes", "model: unknown name 'fakes'"),
        ("zzz", "environment: unknown name 'zzz'; known: .*mastermind, .*wordle"),
    ],
)
def test_an_unknown_name_suggests_the_nearest(name: str, says: str) -> None:
    with pytest.raises(UnknownName, match=says):
        make(name)


def test_an_error_lists_the_nearest_of_many_names() -> None:
    many = [f"name_{i}" for i in range(50)]
    said = str(unknown("thing", "name_49x", many, see="sonde list things"))
    assert said.startswith("thing: unknown name 'name_49x' (did you mean 'name_49'?); known: name_49, name_")
    assert said.endswith(" and 42 more, see `sonde list things`") and said.count("name_") == 10
    assert str(unknown("thing", 5, many)).endswith(" and 42 more")


def test_an_unknown_kind_is_an_error() -> None:
    with pytest.raises(UnknownName, match=r"kind: unknown name 'env' .did you mean 'envs'"):
        names("env")


@each("name", ["no.such.module:Thing", f"{HERE}:Nothing", "agent:random"])
def test_a_plug_in_that_is_not_there_is_an_error(name: str) -> None:
    with pytest.raises(UserError, match="cannot be loaded"):
        make(name)


@each(
    "name, says",
    [
        ("wordle:lmrl", "name: got 'wordle:lmrl', allowed: 'wordle', and its preset as preset='lmrl'"),
        ("agent:random", "cannot be loaded .* .did you mean 'agents'"),
    ],
)
def test_a_preset_or_a_kind_in_the_wrong_form_is_explained(name: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        make(name)


def test_a_plug_in_must_be_something_that_can_be_configured() -> None:
    with pytest.raises(UserError, match="not a class derived from Env, Policy, Model or Objective"):
        make(f"{HERE}:Plain")


def test_an_unknown_argument_suggests_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r"wordle: unknown name 'presets' .did you mean 'preset'"):
        make("wordle", presets="paprika")


def test_missing_arguments_are_all_named() -> None:
    with pytest.raises(UserError, match=r"missing also$"):
        make(f"{HERE}:Needy", must=1)
    with pytest.raises(UserError, match=r"missing must, also$"):
        make(f"{HERE}:Needy")


def test_what_is_made_knows_its_name_and_cannot_be_changed() -> None:
    env = make("mastermind", length=3)
    assert env.name == "mastermind"
    assert env == make("mastermind", length=3) != make("mastermind")
    assert find("mastermind") is type(env)
    with pytest.raises(FrozenInstanceError):
        env.length = 4


def test_a_configuration_is_every_argument() -> None:
    assert make("mastermind").config == {
        "name": "mastermind", "which_answer": "last", "preset": "paprika", "length": 4, "digits": 10, "max_turns": 12,
    }  # fmt: skip
    assert make("agents:random").config == {"name": "agents:random"}


@each(
    "made",
    [
        make("mastermind", length=3, max_turns=5),
        make("wordle", preset="lmrl", rules="code"),
        make("agents:random"),
        make(f"{HERE}:Echo", inner=make("agents:entropy"), words=("x",)),
        make(f"{HERE}:Echo", inner=make(f"{HERE}:Echo", inner=make("agents:random"))),
    ],
    ids=lambda made: made.name,
)
def test_a_configuration_builds_an_equal_object(made: Any) -> None:
    again = build(json.loads(json.dumps(made.config)))
    assert again == made
    assert again.config == made.config
    assert again.fingerprint == made.fingerprint == content_hash(made.config)


def test_fingerprints_distinguish_configurations() -> None:
    made = [
        make("mastermind"), make("mastermind", length=3), make("wordle"), make("agents:random"), make(f"{HERE}:Echo"),
    ]  # fmt: skip
    assert len({m.fingerprint for m in made}) == len(made)


def test_a_nested_configuration_is_built_first() -> None:
    echo = build({"name": f"{HERE}:Echo", "inner": {"name": "agents:random"}, "table": {"a": 1}})
    assert echo.inner == make("agents:random")
    assert echo.table == {"a": 1}
    assert echo.config["inner"] == {"name": "agents:random"}


def test_the_package_promises_its_names() -> None:
    assert sonde.make is make
    assert set(sonde.__all__) >= {"Episode", "make", "Task", "Filter", "derive"}
    assert all(hasattr(sonde, name) for name in sonde.__all__)
