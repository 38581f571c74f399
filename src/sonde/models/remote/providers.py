"""Hosts with names of their own: `openai:NAME` is `models:http` with the settings of `providers.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from sonde.core import unknown
from sonde.core.types import Json


@dataclass(frozen=True, kw_only=True)
class Provider:
    """A host; the fields below the title are arguments of `models:http`."""

    title: str
    base_url: str
    api_key_env: str
    max_tokens_field: str = "max_tokens"
    omit: tuple[str, ...] = ()


@cache
def load_providers() -> Mapping[str, Provider]:
    """All providers by name, in the order of the file."""
    rows = tomllib.loads(files("sonde.models.remote").joinpath("providers.toml").read_text("utf-8"))
    return {name: Provider(**{**row, "omit": tuple(row.get("omit", ()))}) for name, row in rows.items()}


def provider_config(name: str, model: str, base_url: str | None = None, *, strict: bool = False) -> dict[str, Json]:
    """The configuration of a provider's model, behind another address if one is given. With `strict` no field is left
    out, not even fields that the provider is known to refuse.

    >>> provider_config("openai", "gpt-5")["max_tokens_field"]
    'max_completion_tokens'
    """
    if name not in load_providers():
        raise unknown("provider", name, load_providers())
    known = load_providers()[name]
    return {
        "name": "models:http",
        "model": model,
        "base_url": base_url or known.base_url,
        "api_key_env": known.api_key_env,
        "max_tokens_field": known.max_tokens_field,
        **({"omit": list(known.omit)} if known.omit and not strict else {}),
    }
