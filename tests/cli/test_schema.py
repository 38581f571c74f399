"""JSON schemas of configuration files: they take what the commands take, and name what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

import sonde
from sonde.cli.schema import KINDS, config_schema
from sonde.runs.run import read_config
from tests.cases import each

from .invoke import invoke

jsonschema = pytest.importorskip("jsonschema")

RUN = {"env": {"name": "wordle", "preset": "lmrl"}, "seats": {"agent": {"name": "agents:random"}}}
LLM = {"name": "agents:llm", "model": {"name": "models:fake"}}


def errors(kind: str, value: Any) -> list[str]:
    return [error.message for error in jsonschema.Draft202012Validator(config_schema(kind)).iter_errors(value)]


def test_they_are_schemas_and_the_command_prints_them(tmp_path: Path) -> None:
    for kind in KINDS:
        jsonschema.Draft202012Validator.check_schema(config_schema(kind))
    printed = invoke("schema", "run")
    assert printed.exit_code == 0 and json.loads(printed.output) == json.loads(json.dumps(config_schema("run")))
    written = invoke("schema", "paprika", "--out", str(tmp_path / "p.json"))
    assert written.exit_code == 0 and "envs" in json.loads((tmp_path / "p.json").read_text())["properties"]


@each("kind, value", [
    ("run", RUN),
    ("run", {**RUN, "seats": {"agent": LLM}, "k": 2, "n_tasks": None, "$schema": "run.json"}),
    ("run", {"k": 2}),
    ("run", {**RUN, "env": {"name": "mine:Game", "depth": 3}}),
    ("train", {"settings": {"lr": 1e-4, "lora": {"r": 8}}, "objective": {"beta": 0.1}}),
    ("train", {"envs": [{"name": "maze", "n_tasks": 4}], "online": {"k": 4, "tools": True}}),
    ("paprika", {"model": "m", "envs": [{"name": "wordle"}], "rounds": 3, "hf": {"dtype": "bfloat16"}}),
])  # fmt: skip
def test_what_the_commands_take_fits(kind: str, value: Any) -> None:
    assert errors(kind, value) == []


@each("kind, value, told", [
    ("run", {**RUN, "samples": 2}, "'samples' was unexpected"),
    ("run", {**RUN, "k": "two"}, "'two' is not of type 'integer'"),
    ("run", {**RUN, "env": {"name": "wordle", "presets": "lmrl"}}, "'presets' was unexpected"),
    ("run", {**RUN, "env": {"name": "wordle", "preset": "lmlr"}}, "'lmlr' is not one of ['paprika', 'mod"),
    ("run", {**RUN, "env": {"name": "worlde"}}, "'worlde' is not valid under any of the given schemas"),
    ("run", {**RUN, "seats": {"agent": {**LLM, "temprature": 1}}}, "'temprature' was unexpected"),
    ("run", {**RUN, "seats": {"agent": {"name": "agents:llm"}}}, "'model' is a required property"),
    ("run", {**RUN, "seats": {"agent": {**LLM, "model": {"name": "models:fake", "latency": "no"}}}}, "is not of type"),
    ("train", {"settings": {"learning_rate": 1}}, "'learning_rate' was unexpected"),
    ("paprika", {"rounds": 1.5}, "1.5 is not of type 'integer'"),
])  # fmt: skip
def test_mistakes_are_named(kind: str, value: Any, told: str) -> None:
    found = errors(kind, value)
    assert any(told in error for error in found), found


@each("name", sonde.names)
def test_configurations_of_environments_fit(name: str) -> None:
    for preset in sonde.make(name).presets:
        config = json.loads(json.dumps(sonde.make(name, preset=preset).config))
        assert errors("run", {"env": config}) == [], config


def test_the_field_for_editors_is_no_setting(tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(yaml.safe_dump({"$schema": "run.schema.json", **RUN}))
    assert read_config(file) == RUN
