"""From options to a `RunConfig`: a file first, then named options, then `-o key=value`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from sonde.core import AGENT, EMPTY, Env, UserError, find, invalid, make, names, unknown
from sonde.core.checked import check_types
from sonde.core.errors import near
from sonde.core.types import Json
from sonde.models.fetch import known
from sonde.run import RunConfig, assigned, config_from, override, read_config
from sonde.suites import suite

SERVED = ("http", "sglang", "vllm")
"""Backends behind an address."""
NAMED = ("hf", *SERVED)
"""Backends that a name belongs to."""
HYBRID = "hybrid"
"""Before the model of `--user`: rules answer what they understand."""
_HUB_NAME = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")
ROLES = ("floor", "reference")


def model_config(
    spec: str, base_url: str | None, option: str = "--model", url_option: str = "--base-url"
) -> dict[str, Json]:
    """The configuration of a model from its short form: `hf:NAME`, `http:NAME`, `vllm:NAME`, `sglang:NAME`, `fake`, a
    name that sonde knows, one on the hub, or a folder. Every option that names a model is read here.

    >>> model_config("http:Qwen/Qwen3-8B", "http://localhost:8000/v1")["model"]
    'Qwen/Qwen3-8B'
    >>> model_config("sonde-tiny-maze", None)["name"]
    'models:hf'
    """
    kind, name = _kind(spec, option)
    if kind in NAMED and not name:
        raise UserError(f"{option}: got {spec!r}, allowed: {kind}:NAME")
    config: dict[str, Json] = {"name": f"models:{kind}", **({"model": name} if name else {})}
    if kind in SERVED and not base_url:
        raise UserError(f"{option} {kind}:NAME: needs {url_option}, for example http://localhost:8000/v1")
    if kind not in SERVED and base_url:
        raise UserError(f"{url_option}: allowed: together with {option} http:NAME (or vllm, sglang)")
    return {**config, "base_url": base_url} if base_url else config


def _kind(spec: str, option: str) -> tuple[str, str]:
    """The backend that a short form means, and the model's name there."""
    kind, colon, name = spec.partition(":")
    if kind in names("models") and (colon or kind not in NAMED):
        return kind, name
    if spec in known() or Path(spec).is_dir() or _HUB_NAME.fullmatch(spec):
        return "hf", spec
    short = [*known(), *names("models")]
    allowed = f"hf:NAME, http:NAME, {', '.join(n for n in short if n not in NAMED)}, OWNER/NAME on the hub, or a folder"
    raise UserError(f"{option}: got {spec!r}{near(spec, short)}, allowed: {allowed}")


def trained_model(spec: str) -> str:
    """The name of a model that is to be trained, which has to be on this machine."""
    kind, name = _kind(spec, "--model")
    if kind != "hf" or not name:
        raise UserError(f"--model: got {spec!r}, allowed: a model to train: hf:NAME, {', '.join(known())}, or a folder")
    return name


def environments(
    envs: list[str] | None, named: str | None, preset: str | None
) -> Sequence[tuple[str | None, str | None]]:
    """The environments to play, each with its preset: those of a suite, or of these the ones that are given; without a
    suite those that are given. None stands for what a file says."""
    if named is None:
        return [(env, preset) for env in envs or (None,)]
    if preset:
        raise UserError("--suite: allowed: without --preset, which it stands for")
    forms = suite(named)
    for env in envs or ():
        if env not in (known := {name for name, _ in forms}):
            raise unknown(f"environment of suite {named}", env, known)
    return [form for form in forms if not envs or form[0] in envs]


def environment(name: str, preset: str | None, **more: Json) -> Env[Any]:
    """The environment of this name."""
    made = make(name, **({"preset": preset} if preset else {}), **more) if issubclass(find(name), Env) else None
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
    defaults: Mapping[str, Json] = EMPTY,
    **settings: Json,
) -> dict[str, Json]:
    """The configuration of the agent's policy: `known` (a file's), changed by what is given; below it those `defaults`
    that the agent has.

    `settings` that are None are left as they are. Another agent than the known one starts from its defaults.
    """
    known_name = known.get("name", "agents:llm")
    name = known_name if agent is None else agent if ":" in agent else f"agents:{agent}"
    changed = {k: v for k, v in settings.items() if v is not None}
    config: dict[str, Json] = {**(known if name == known_name else {}), "name": name, **changed}
    fields = getattr(find(name), "__dataclass_fields__", {})
    config = {**{k: v for k, v in defaults.items() if k in fields}, **config}
    takes_model = "model" in fields
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
        config["model"] = _cached(config["model"], cache)
    return config


def model_seats(
    user: str | None, judge: str | None, user_url: str | None, base_url: str | None, cache: Path | None = None,
    **settings: Json,
) -> dict[str, dict[str, Json]]:  # fmt: skip
    """The configurations of language models in the seats of the user and the judge, where they are given; `settings`
    that are None are left as they are."""
    given = {"user": user, "judge": judge}
    chosen = {seat: model for seat, model in given.items() if model is not None}
    if user_url and not any(model.removeprefix(f"{HYBRID}:").partition(":")[0] in SERVED for model in chosen.values()):
        raise UserError("--user-url: allowed: together with --user http:NAME or --judge http:NAME")
    changed = {name: value for name, value in settings.items() if value is not None}
    if changed and not chosen:
        raise UserError(f"--{next(iter(changed)).replace('_', '-')}: allowed: together with a model in some seat")
    url = user_url or base_url
    found: dict[str, dict[str, Json]] = {}
    for seat, model in chosen.items():
        name, named = _policy(model) if seat == "user" else ("users:llm", model)
        config = model_config(named, url if named.partition(":")[0] in SERVED else None, f"--{seat}", "--user-url")
        found[seat] = {"name": name, "model": _cached(config, cache), **changed}
    return found


def _policy(user: str) -> tuple[str, str]:
    """The policy that `--user` names, and its model.

    >>> _policy("smollm2"), _policy("hybrid:http:M")
    (('users:llm', 'smollm2'), ('users:hybrid', 'http:M'))
    """
    kind, colon, model = user.partition(":")
    if kind != HYBRID:
        return "users:llm", user
    if not (colon and model):
        raise UserError(f"--user: got {user!r}, allowed: {HYBRID}:MODEL, such as {HYBRID}:smollm2 or {HYBRID}:http:M")
    return f"users:{HYBRID}", model


def _cached(model: dict[str, Json], cache: Path | None) -> dict[str, Json]:
    return model if cache is None else {"name": "models:cached", "model": model, "path": str(cache)}


def with_models(
    file: dict[str, Json],
    user: str | None,
    judge: str | None,
    user_url: str | None,
    base_url: str | None,
    cache: Path | None,
) -> dict[str, Json]:
    """The file's configuration with language models in the seats of the user and the judge."""
    seats = model_seats(user, judge, user_url, base_url, cache)
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
        _check_option(assignment, values.get("env", {}).get("name"))
        values = override(values, assignment)
    return config_from(values)


def _check_option(assignment: str, env: str | None) -> None:
    """Options of the game and of players have that in front, which is easily forgotten."""
    (first, *_), _ = assigned(assignment)
    of_run = {f.name for f in fields(RunConfig)}
    if first not in of_run:
        of_game = env is not None and first in getattr(find(env), "__dataclass_fields__", ())
        raise unknown("-o", first, [*(of_run - {"env", "seats"}), f"{'env' if of_game else 'seats.agent'}.{first}"])


def config_file(path: Path | None) -> dict[str, Json]:
    """The content of a configuration file, its parts known to be mappings; nothing if there is none."""
    found = read_config(path) if path else {}
    check_types("config", RunConfig, found)
    agent = found.get("seats", {}).get(AGENT, {})
    if not isinstance(agent, Mapping):
        raise invalid("config: seats.agent", agent, "a mapping")
    return found
