"""From options to a `RunConfig`: a file first, then named options, then `-o key=value`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from sonde._util.argument_checks import check_types
from sonde.core import AGENT, EMPTY, Env, UserError, find, invalid, make, names, unknown
from sonde.core.errors import near
from sonde.core.types import Json
from sonde.evaluation.suites import suite
from sonde.models.files.fetch import known
from sonde.models.remote.providers import provider_config, providers
from sonde.runs.run import RunConfig, assigned, config_from, override, read_config

SERVED = ("http", "sglang", "vllm")
"""Backends behind an address."""
NAMED = ("hf", *SERVED)
"""Backends that a name belongs to."""
HYBRID = "hybrid"
"""Before the model of `--user`: rules answer what they understand."""
_HUB_NAME = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")
ROLES = ("floor", "reference")


def model_config(
    spec: str, base_url: str | None, option: str = "--model", url_option: str = "--base-url", *, strict: bool = False
) -> dict[str, Json]:
    """The configuration of a model from its short form: `hf:NAME`, `http:NAME`, `vllm:NAME`, `sglang:NAME`, the name of
    a provider with that of its model (`openai:NAME`), `fake`, a name that sonde knows, one on the hub, or a folder.
    Every option that names a model is read here. A `strict` endpoint is sent all that was asked for, or fails.

    >>> model_config("http:Qwen/Qwen3-8B", "http://localhost:8000/v1")["model"]
    'Qwen/Qwen3-8B'
    >>> model_config("sonde-tiny-maze", None)["name"]
    'models:hf'
    """
    kind, name = _kind(spec, option)
    if kind in (*NAMED, *providers()) and not name:
        raise UserError(f"{option}: got {spec!r}, allowed: {kind}:NAME")
    if kind in providers():
        return provider_config(kind, name, base_url, strict=strict)
    config: dict[str, Json] = {"name": f"models:{kind}", **({"model": name} if name else {})}
    if kind in SERVED and not base_url:
        raise UserError(f"{option} {kind}:NAME: needs {url_option}, for example http://localhost:8000/v1")
    if kind not in SERVED and base_url:
        raise UserError(f"{url_option}: allowed: together with {option} http:NAME (or vllm, sglang, openai, ...)")
    return {**config, "base_url": base_url} if base_url else config


def _kind(spec: str, option: str) -> tuple[str, str]:
    """The backend that a short form means, and the model's name there."""
    kind, colon, name = spec.partition(":")
    if kind in providers() and colon:
        return kind, name
    if kind in names("models") and (colon or kind not in NAMED):
        return kind, name
    if spec in known() or Path(spec).is_dir() or _HUB_NAME.fullmatch(spec):
        return "hf", spec
    short = [*known(), *names("models")]
    plain = ", ".join(n for n in short if n not in NAMED)
    allowed = (
        f"hf:NAME, http:NAME, PROVIDER:NAME ({', '.join(providers())}), {plain}, OWNER/NAME on the hub, or a folder"
    )
    hint = near(kind, [*NAMED, *providers()]) if colon else near(spec, short)
    raise UserError(f"{option}: got {spec!r}{hint}, allowed: {allowed}")


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
    *,
    strict: bool = False,
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
        config["model"] = model_config(model, base_url, strict=strict)
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
    *, strict: bool = False, **settings: Json,
) -> dict[str, dict[str, Json]]:  # fmt: skip
    """The configurations of language models in the seats of the user and the judge, where they are given; `settings`
    that are None are left as they are."""
    given = {"user": user, "judge": judge}
    chosen = {seat: model for seat, model in given.items() if model is not None}
    if user_url and not any(_kind_of(model) in (*SERVED, *providers()) for model in chosen.values()):
        raise UserError("--user-url: allowed: together with --user http:NAME or --judge http:NAME")
    changed = {name: value for name, value in settings.items() if value is not None}
    if changed and not chosen:
        raise UserError(f"--{next(iter(changed)).replace('_', '-')}: allowed: together with a model in some seat")
    found: dict[str, dict[str, Json]] = {}
    for seat, model in chosen.items():
        name, named = _policy(model) if seat == "user" else ("users:llm", model)
        config = model_config(named, _url_of(named, user_url, base_url), f"--{seat}", "--user-url", strict=strict)
        found[seat] = {"name": name, "model": _cached(config, cache), **changed}
    return found


def _kind_of(model: str) -> str:
    """What stands before the model's name, behind `hybrid:`."""
    return model.removeprefix(f"{HYBRID}:").partition(":")[0]


def _url_of(model: str, user_url: str | None, base_url: str | None) -> str | None:
    """The address of a user's or judge's model: its own, or the agent's; a provider has one already."""
    kind = _kind_of(model)
    return user_url or base_url if kind in SERVED else user_url if kind in providers() else None


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
    *,
    strict: bool = False,
) -> dict[str, Json]:
    """The file's configuration with language models in the seats of the user and the judge."""
    seats = model_seats(user, judge, user_url, base_url, cache, strict=strict)
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
    strict: bool = False,
    **settings: Json,
) -> RunConfig:
    """The run's configuration: `defaults`, then the file, then what is given. `settings` that are None are not. With
    `strict` all its endpoints are."""
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
    if strict:
        values["seats"] = _made_strict(values["seats"])
        if values["seats"] == {**file.get("seats", {}), AGENT: agent}:
            raise UserError("--strict: allowed: where a model is behind an endpoint: http:NAME, openai:NAME, ...")
    for assignment in overrides:
        check_place(assignment, values)
        values = override(values, assignment)
    return config_from(values)


def _made_strict(config: Json) -> Json:
    """A configuration with every `models:http` in it strict, however deep it is."""
    if not isinstance(config, Mapping):
        return config
    own = {"strict": True} if config.get("name") == "models:http" else {}
    return {**{name: _made_strict(value) for name, value in config.items()}, **own}


def check_place(assignment: str, values: Mapping[str, Json]) -> None:
    """Raise `UserError` for an option at a place that does not have it, with the places that do."""
    path, _ = assigned(assignment)
    of_run = {f.name for f in fields(RunConfig)}
    if path[0] not in of_run:
        places = list(_places(values, path[0])) or [f"seats.{AGENT}.{path[0]}"]
        raise unknown("-o", path[0], [*(of_run - {"env", "seats"}), *places])
    at: Json = values
    for i, name in enumerate(path):
        known = _fields_of(at)
        if i and known and name not in known:
            places = list(_places(values, name))
            raise unknown(f"-o {'.'.join(path[:i])}", name, places or known)
        at = at.get(name) if isinstance(at, Mapping) else None


def _places(values: Json, name: str, at: str = "") -> Iterator[str]:
    """The paths at which an option of this name may be given."""
    if not isinstance(values, Mapping):
        return
    if name in _fields_of(values):
        yield f"{at}{name}"
    for key, inner in values.items():
        yield from _places(inner, name, f"{at}{key}.")


def _fields_of(config: Json) -> tuple[str, ...]:
    """The names of a configured part's settings, its own name among them; none of what is no such part."""
    name = config.get("name") if isinstance(config, Mapping) else None
    try:
        known = getattr(find(name), "__dataclass_fields__", {}) if isinstance(name, str) else {}
    except UserError:
        return ()
    return ("name", *(f.name for f in known.values() if f.init)) if known else ()


def config_file(path: Path | None) -> dict[str, Json]:
    """The content of a configuration file, its parts known to be mappings; nothing if there is none."""
    found = read_config(path) if path else {}
    check_types("config", RunConfig, found)
    agent = found.get("seats", {}).get(AGENT, {})
    if not isinstance(agent, Mapping):
        raise invalid("config: seats.agent", agent, "a mapping")
    return found
