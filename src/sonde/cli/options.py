"""From options to a `RunConfig`: a file first, then named options, then `-o key=value`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sonde.core import AGENT, UserError, find, names
from sonde.core.types import Json
from sonde.run import RunConfig, config_from, override, read_config

FILE_MODELS = ("smollm2",)


def model_config(spec: str, base_url: str | None) -> dict[str, Json]:
    """The configuration of a model from its short form: `hf:NAME`, `http:NAME`, `fake`, `smollm2`, or a folder.

    >>> model_config("http:Qwen/Qwen3-8B", "http://localhost:8000/v1")["model"]
    'Qwen/Qwen3-8B'
    """
    kind, colon, rest = spec.partition(":")
    if not colon and (spec in FILE_MODELS or Path(spec).is_dir()):
        kind, rest = "hf", spec
    known = names("models")
    if kind not in known:
        raise UserError(f"--model: got {spec!r}, allowed: {', '.join(known)}, each as KIND:NAME; smollm2; a folder")
    config: dict[str, Json] = {"name": f"models:{kind}"}
    if rest:
        config["model"] = rest
    if base_url:
        config["base_url"] = base_url
    return config


def agent_config(agent: str, model: str | None, base_url: str | None, **settings: Json) -> dict[str, Json]:
    """The configuration of the agent's policy; `settings` that are None are left to the policy's defaults."""
    name = agent if ":" in agent else f"agents:{agent}"
    config: dict[str, Json] = {"name": name, **{k: v for k, v in settings.items() if v is not None}}
    fields: Any = find(name)
    takes_model = "model" in getattr(fields, "__dataclass_fields__", {})
    if model is not None:
        if not takes_model:
            raise UserError(f"--model: agent {agent!r} takes no model")
        config["model"] = model_config(model, base_url)
    elif takes_model:
        raise UserError(f"--model: agent {agent!r} needs one, for example --model smollm2 or --model http:NAME")
    return config


def run_config(
    env: str | None,
    *,
    file: Path | None,
    preset: str | None,
    max_turns: int | None,
    agent: dict[str, Json] | None,
    overrides: list[str],
    **settings: Json,
) -> RunConfig:
    """The run's configuration; `settings` that are None are left to the file or the defaults."""
    values: dict[str, Json] = read_config(file) if file else {}
    if env is not None:
        values["env"] = {"name": env}
    for key, value in (("preset", preset), ("max_turns", max_turns)):
        if value is not None:
            values.setdefault("env", {})[key] = value
    if agent is not None:
        values.setdefault("seats", {})[AGENT] = agent
    values |= {k: v for k, v in settings.items() if v is not None}
    for assignment in overrides:
        values = override(values, assignment)
    return config_from(values)
