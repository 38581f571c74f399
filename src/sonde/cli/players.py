"""Players by their short forms: `--model http:NAME`, `--agent entropy`, `--user hybrid:MODEL` become configurations."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sonde.core import AGENT, EMPTY, Env, UserError, find, make, names
from sonde.core.errors import nearest_hint
from sonde.core.types import Json
from sonde.models.files.fetch import fetchable_models
from sonde.models.remote.providers import load_providers, provider_config
from sonde.runs.run import check_policy_name

from .games import env_and_preset

SERVED = ("http", "sglang", "vllm")
"""Backends behind an address."""
NAMED = ("hf", *SERVED)
"""Backends whose short form includes a model's name."""
HYBRID = "hybrid"
"""Prefix of `--user`: the model answers what the rules cannot."""
ROLES = ("floor", "reference")
_HUB_NAME = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")


# --- models ------------------------------------------------------------------------------------------------------


def model_config(
    spec: str, base_url: str | None, option: str = "--model", url_option: str = "--base-url", *, strict: bool = False
) -> dict[str, Json]:
    """The configuration of a model from its short form: `hf:NAME`, `http:NAME`, `vllm:NAME`, `sglang:NAME`,
    `PROVIDER:NAME` (`openai:NAME`), `fake`, a name known to sonde, a name on the hub, or a folder. With `strict`, an
    endpoint gets every field that was asked for, or the call fails.

    >>> model_config("http:Qwen/Qwen3-8B", "http://localhost:8000/v1")["model"]
    'Qwen/Qwen3-8B'
    >>> model_config("sonde-tiny-maze", None)["name"]
    'models:hf'
    """
    kind, name = _split_spec(spec, option)
    if kind in (*NAMED, *load_providers()) and not name:
        raise UserError(f"{option}: got {spec!r}, allowed: {kind}:NAME")
    if kind in load_providers():
        return provider_config(kind, name, base_url, strict=strict)
    config: dict[str, Json] = {"name": f"models:{kind}", **({"model": name} if name else {})}
    if kind in SERVED and not base_url:
        raise UserError(f"{option} {kind}:NAME: needs {url_option}, for example http://localhost:8000/v1")
    if kind not in SERVED and base_url:
        raise UserError(f"{url_option}: allowed: only with {option} http:NAME (or vllm, sglang, openai, ...)")
    return {**config, "base_url": base_url} if base_url else config


def _split_spec(spec: str, option: str) -> tuple[str, str]:
    """The backend of a short form, and the model's name there."""
    kind, colon, name = spec.partition(":")
    if kind in load_providers() and colon:
        return kind, name
    if kind in names("models") and (colon or kind not in NAMED):
        return kind, name
    if _is_local(spec):
        return "hf", spec
    short = [*fetchable_models(), *names("models")]
    plain = ", ".join(n for n in short if n not in NAMED)
    hint = nearest_hint(kind, [*NAMED, *load_providers()]) if colon else nearest_hint(spec, short)
    raise UserError(
        f"{option}: got {spec!r}{hint}, allowed: hf:NAME, http:NAME, PROVIDER:NAME ({', '.join(load_providers())}), "
        f"{plain}, OWNER/NAME on the hub, or a folder"
    )


def _is_local(spec: str) -> bool:
    """Whether this names a model that runs on this machine, without `hf:`."""
    return spec in fetchable_models() or Path(spec).is_dir() or _HUB_NAME.fullmatch(spec) is not None


def model_to_train(spec: str) -> str:
    """The name of a model to train, which has to be on this machine."""
    kind, _, name = spec.partition(":")
    if kind == "hf" and name:
        return name
    if _is_local(spec):
        return spec
    raise UserError(
        f"--model: got {spec!r}{nearest_hint(spec, fetchable_models())}, allowed: a model to train: hf:NAME, "
        f"{', '.join(fetchable_models())}, OWNER/NAME on the hub, or a folder"
    )


def _cached_model(model: dict[str, Json], cache: Path | None) -> dict[str, Json]:
    return model if cache is None else {"name": "models:cached", "model": model, "path": str(cache)}


# --- the agent ---------------------------------------------------------------------------------------------------


def make_environment(name: str, preset: str | None, **settings: Json) -> Env[Any]:
    """The environment given as NAME or NAME:PRESET."""
    name, preset = env_and_preset(name, preset)
    if not issubclass(find(name), Env):
        raise UserError(f"{name!r} is not an environment; `sonde list envs` shows those that are")
    return make(name, **({"preset": preset} if preset else {}), **settings)


def agent_in_role(agent: str | None, env: str | None, preset: str | None) -> str | None:
    """The agent that `floor` or `reference` stands for in an environment; any other name stays as it is.

    >>> agent_in_role("reference", "wordle", None)
    'entropy'
    """
    if agent not in ROLES:
        return agent
    if env is None:
        raise UserError(f"--agent: got {agent!r}, allowed: only where the environment is named")
    found = getattr(make_environment(env, preset).spec, agent)
    if not found:
        raise UserError(f"--agent: {env} has no {agent}")
    return found


def _check_agent_name(agent: str) -> None:
    """Raise `UserError` for a model in the place of an agent."""
    if agent not in names("agents") and _is_model(agent):
        raise UserError(f"--agent: got {agent!r}, a model: say --model {agent}; allowed: {', '.join(names('agents'))}")


def _is_model(spec: str) -> bool:
    try:
        _split_spec(spec, "--model")
    except UserError:
        return False
    return True


def agent_config(
    agent: str | None,
    model: str | None,
    base_url: str | None,
    cache: Path | None = None,
    *,
    file: Mapping[str, Json] = EMPTY,
    defaults: Mapping[str, Json] = EMPTY,
    strict: bool = False,
    **settings: Json,
) -> dict[str, Json]:
    """The configuration of the agent's policy: the `file`'s, changed by the options that are given (`settings` that are
    not None). An agent other than the file's starts from its own defaults, below them those of `defaults` that it has
    a field for."""
    if agent is not None:
        _check_agent_name(agent)
    filed = file.get("name", "agents:llm")
    check_policy_name(AGENT, filed)
    name = filed if agent is None else agent if ":" in agent else f"agents:{agent}"
    fields = getattr(find(name), "__dataclass_fields__", {})
    config: dict[str, Json] = {
        **{key: value for key, value in defaults.items() if key in fields},
        **(file if name == filed else {}),
        "name": name,
        **{key: value for key, value in settings.items() if value is not None},
    }
    short, takes_model = name.removeprefix("agents:"), "model" in fields
    if model is not None and not takes_model:
        raise UserError(f"--model: agent {short!r} takes no model")
    if model is not None:
        config["model"] = model_config(model, base_url, strict=strict)
    elif base_url is not None:
        raise UserError("--base-url: allowed: only with --model http:NAME")
    elif takes_model and "model" not in config:
        raise UserError(f"--model: agent {short!r} needs one, for example --model smollm2 or --model http:NAME")
    if cache is not None:
        if "model" not in config:
            raise UserError(f"--cache: agent {short!r} takes no model")
        config["model"] = _cached_model(config["model"], cache)
    return config


# --- users and judges --------------------------------------------------------------------------------------------


def model_seats(
    user: str | None, judge: str | None, user_url: str | None, base_url: str | None, cache: Path | None = None,
    *, strict: bool = False, **settings: Json,
) -> dict[str, dict[str, Json]]:  # fmt: skip
    """The configurations of language models in the seats of the user and the judge, where they are given; `settings`
    that are None keep their defaults."""
    given = {"user": user, "judge": judge}
    chosen = {seat: model for seat, model in given.items() if model is not None}
    if user_url and not any(_kind_of(model) in (*SERVED, *load_providers()) for model in chosen.values()):
        raise UserError("--user-url: allowed: only with --user http:NAME or --judge http:NAME")
    changed = {name: value for name, value in settings.items() if value is not None}
    if changed and not chosen:
        raise UserError(f"--{next(iter(changed)).replace('_', '-')}: allowed: only with a model in some seat")
    found: dict[str, dict[str, Json]] = {}
    for seat, model in chosen.items():
        name, spec = _split_user(model) if seat == "user" else ("users:llm", model)
        config = model_config(spec, _url_of(spec, user_url, base_url), f"--{seat}", "--user-url", strict=strict)
        found[seat] = {"name": name, "model": _cached_model(config, cache), **changed}
    return found


def _kind_of(model: str) -> str:
    """The backend or provider in front of the model's name, after `hybrid:` if that is there."""
    return model.removeprefix(f"{HYBRID}:").partition(":")[0]


def _url_of(model: str, user_url: str | None, base_url: str | None) -> str | None:
    """The address of a user's or judge's model: its own, or the agent's; a provider has one already."""
    kind = _kind_of(model)
    return user_url or base_url if kind in SERVED else user_url if kind in load_providers() else None


def _split_user(user: str) -> tuple[str, str]:
    """The policy that `--user` names, and its model.

    >>> _split_user("smollm2"), _split_user("hybrid:http:M")
    (('users:llm', 'smollm2'), ('users:hybrid', 'http:M'))
    """
    kind, colon, model = user.partition(":")
    if kind != HYBRID:
        return "users:llm", user
    if not (colon and model):
        raise UserError(f"--user: got {user!r}, allowed: {HYBRID}:MODEL, such as {HYBRID}:smollm2 or {HYBRID}:http:M")
    return f"users:{HYBRID}", model
