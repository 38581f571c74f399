"""From options to a `RunConfig`: a file first, then named options, then `-o key=value`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sonde.core import AGENT, EMPTY, Env, UserError, find, invalid, make, names
from sonde.core.checked import check_types
from sonde.core.types import Json
from sonde.run import RunConfig, config_from, override, read_config, suite

FILE_MODELS = ("smollm2",)
ROLES = ("floor", "reference")


def model_config(spec: str, base_url: str | None) -> dict[str, Json]:
    """The configuration of a model from its short form: `hf:NAME`, `http:NAME`, `fake`, `smollm2`, or a folder.

    >>> model_config("http:Qwen/Qwen3-8B", "http://localhost:8000/v1")["model"]
    'Qwen/Qwen3-8B'
    """
    kind, colon, rest = spec.partition(":")
    if colon and not rest:
        raise invalid("--model", spec, f"{kind}:NAME")
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
    elif kind == "http":
        raise UserError("--model http:NAME: needs --base-url, for example http://localhost:8000/v1")
    return config


def environments(
    envs: list[str] | None, named: str | None, preset: str | None
) -> tuple[Sequence[str | None], str | None]:
    """The environments to play and their preset: those of a suite in its preset, or else those that are given. None
    stands for what a file says."""
    if named is None:
        return envs or (None,), preset
    if envs or preset:
        raise UserError("--suite: allowed: without environments and --preset, which it stands for")
    return suite(named), named


def environment(name: str, preset: str | None) -> Env[Any]:
    """The environment of this name."""
    made = make(name, **({"preset": preset} if preset else {})) if issubclass(find(name), Env) else None
    if made is None:
        raise UserError(f"{name!r} is not an environment; `sonde list envs` shows those that are")
    return made


def in_role(agent: str | None, env: str | None, preset: str | None) -> str | None:
    """The agent that has a role in an environment: `floor` and `reference` name another one, all others themselves.

    >>> in_role("reference", "wordle", None)
    'entropy'
    """
    if agent not in ROLES:
        return agent
    if env is None:
        raise UserError(f"--agent: got {agent!r}, allowed: where the environment is named")
    found = getattr(environment(env, preset).spec, agent)
    if not found:
        raise UserError(f"--agent: {env} has no {agent}")
    return found


def agent_config(
    agent: str | None,
    model: str | None,
    base_url: str | None,
    cache: Path | None = None,
    known: Mapping[str, Json] = EMPTY,
    **settings: Json,
) -> dict[str, Json]:
    """The configuration of the agent's policy: `known` (a file's), changed by what is given.

    `settings` that are None are left as they are. Another agent than the known one starts from its defaults.
    """
    known_name = known.get("name", "agents:llm")
    name = known_name if agent is None else agent if ":" in agent else f"agents:{agent}"
    changed = {k: v for k, v in settings.items() if v is not None}
    config: dict[str, Json] = {**(known if name == known_name else {}), "name": name, **changed}
    fields: Any = find(name)
    takes_model = "model" in getattr(fields, "__dataclass_fields__", {})
    short = name.removeprefix("agents:")
    if model is not None and not takes_model:
        raise UserError(f"--model: agent {short!r} takes no model")
    if model is not None:
        config["model"] = model_config(model, base_url)
    elif base_url is not None:
        raise UserError("--base-url: allowed: together with --model http:NAME")
    elif takes_model and "model" not in config:
        raise UserError(f"--model: agent {short!r} needs one, for example --model smollm2 or --model http:NAME")
    if cache is not None:
        if "model" not in config:
            raise UserError(f"--cache: agent {short!r} takes no model")
        config["model"] = {"name": "models:cached", "model": config["model"], "path": str(cache)}
    return config


def user_config(model: str, base_url: str | None, cache: Path | None = None) -> dict[str, Json]:
    """The configuration of a language model in a seat that is not the agent's."""
    config = model_config(model, base_url)
    if cache is not None:
        config = {"name": "models:cached", "model": config, "path": str(cache)}
    return {"name": "users:llm", "model": config}


def with_models(
    file: dict[str, Json], user: str | None, judge: str | None, base_url: str | None, cache: Path | None
) -> dict[str, Json]:
    """The file's configuration with language models in the seats of the user and the judge."""
    seats: dict[str, Json] = {}
    for seat, model in (("user", user), ("judge", judge)):
        if model is not None:
            seats[seat] = user_config(model, base_url if model.startswith("http:") else None, cache)
    return {**file, "seats": {**file.get("seats", {}), **seats}} if seats else file


def run_config(
    env: str | None,
    *,
    file: Mapping[str, Json],
    preset: str | None,
    max_turns: int | None,
    agent: Mapping[str, Json],
    overrides: list[str],
    defaults: Mapping[str, Json] = EMPTY,
    **settings: Json,
) -> RunConfig:
    """The run's configuration: `defaults`, then the file, then what is given. `settings` that are None are not."""
    game: Mapping[str, Json] = file.get("env", {})
    if env is not None and game.get("name") != env:
        game = {"name": env}
    named = {k: v for k, v in (("preset", preset), ("max_turns", max_turns)) if v is not None}
    given = {k: v for k, v in settings.items() if v is not None}
    values: dict[str, Json] = {**defaults, **file, **given}
    if game or named:
        values["env"] = {**game, **named}
    values["seats"] = {**file.get("seats", {}), AGENT: agent}
    if "judge" in values["seats"] and "env" in values:
        values["env"] = {"judge": "seat", **values["env"]}
    for assignment in overrides:
        values = override(values, assignment)
    return config_from(values)


def config_file(path: Path | None) -> dict[str, Json]:
    """The content of a configuration file, its parts known to be mappings; nothing if there is none."""
    found = read_config(path) if path else {}
    check_types("config", RunConfig, found)
    agent = found.get("seats", {}).get(AGENT, {})
    if not isinstance(agent, Mapping):
        raise invalid("config: seats.agent", agent, "a mapping")
    return found
