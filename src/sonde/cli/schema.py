"""`sonde schema`: JSON schemas of configuration files, for editors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from sonde import __version__
from sonde._util.json_schema import Schema, class_schema
from sonde.core import Env, EpisodePolicy, Model, Policy, UserError, find, names, unknown

KINDS = ("run", "train", "paprika")
"""The commands whose configuration files have a schema: `sonde eval` and `rollout`, `train`, `paprika`."""
_REFERENCES: Mapping[type, Schema] = {
    Env: {"$ref": "#/$defs/envs"}, Model: {"$ref": "#/$defs/models"}, Policy: {"$ref": "#/$defs/policies"},
    EpisodePolicy: {"$ref": "#/$defs/policies"},
}  # fmt: skip
_SEATS: Schema = {"type": "object", "additionalProperties": {"$ref": "#/$defs/policies"}}
_ENVS: Schema = {"type": "array", "items": {"$ref": "#/$defs/envs"}}


@dataclass(frozen=True, kw_only=True)
class SchemaCommand:
    """Print the JSON schema of a configuration file, for completion and checks in an editor.

    In YAML, the first line `# yaml-language-server: $schema=FILE` names it; in JSON, the field `$schema`.
    """

    kind: Annotated[str, Argument(help=f"The command that reads the file: {', '.join(KINDS)}.")] = "run"
    out: Annotated[Path | None, Option("--out", help="Write the schema to this file.")] = None

    def run(self) -> None:
        text = json.dumps(config_schema(self.kind), indent=1) + "\n"
        if self.out is None:
            typer.echo(text, nl=False)
        else:
            self.out.write_text(text, "utf-8")
            typer.echo(f"written: {self.out}")


def config_schema(kind: str) -> Schema:
    """The schema of a kind of configuration file: its own fields, and those of everything that it can name."""
    if kind not in KINDS:
        raise unknown("schema", kind, KINDS)
    top = {"run": _run_schema, "train": _train_schema, "paprika": _paprika_schema}[kind]()
    top["properties"]["$schema"] = {"type": "string"}
    shown = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"sonde {__version__}, {kind}"}
    return {**shown, **top, "$defs": _definitions()}


def _run_schema() -> Schema:
    from sonde.runs.run import RunConfig

    made = class_schema(RunConfig, _REFERENCES, {"env": {"$ref": "#/$defs/envs"}, "seats": _SEATS})
    return {**made, "required": []}  # the command's options may fill the rest


def _paprika_schema() -> Schema:
    from sonde.train.paprika import Paprika

    made = class_schema(Paprika, _REFERENCES, {"envs": _ENVS, "held_out": _ENVS, "seats": _SEATS})
    return {**made, "required": []}


def _train_schema() -> Schema:
    from sonde.train.online.settings import OnlineSettings
    from sonde.train.settings import TrainSettings

    given: Schema = {"type": "object"}
    parts: dict[str, Schema] = {
        "settings": class_schema(TrainSettings, _REFERENCES),
        "online": {**class_schema(OnlineSettings, _REFERENCES, {"rewards": {}, "rewarders": {}, "credit": {}})},
        "objective": {"description": "Options of the objective.", **given},
        "rule": {"description": "How episodes are selected.", **given},
        "seats": _SEATS, "env": {"$ref": "#/$defs/envs"}, "envs": _ENVS, "split": {"type": "string"},
        "tasks_file": {"type": "string"}, "n_tasks": {"type": "integer"},
    }  # fmt: skip
    return {"type": "object", "properties": parts, "additionalProperties": False}


def _definitions() -> dict[str, Schema]:
    """The schemas of all registered names, by kind. A user's own class, `module:Class`, may have any fields."""
    policies = [f"{kind}:{name}" for kind in ("agents", "users") for name in names(kind)]
    return {
        "envs": _kind_schema(list(names("envs")), "envs"),
        "models": _kind_schema([f"models:{name}" for name in names("models")], "models"),
        "policies": _kind_schema(policies, "policies"),
    }


def _kind_schema(choices: list[str], kind: str) -> Schema:
    rules = [
        {"if": {"properties": {"name": {"const": name}}, "required": ["name"]}, "then": _named_schema(name)}
        for name in choices
    ]
    beside = {"split": {}, "tasks_file": {}, "n_tasks": {}} if kind == "envs" else {}
    for rule in rules:
        rule["then"]["properties"] |= {"name": True, **beside}
    return {
        "type": "object", "required": ["name"], "allOf": rules,
        "properties": {"name": {"anyOf": [{"enum": choices}, {"type": "string", "pattern": ":"}]}},
    }  # fmt: skip


def _named_schema(name: str) -> Schema:
    try:
        cls = find(name)
    except UserError:  # needs a package that is not installed
        return {"properties": {}}
    presets = getattr(cls, "presets", ())
    return class_schema(cls, _REFERENCES, {"preset": {"enum": list(presets)}} if presets else None)
