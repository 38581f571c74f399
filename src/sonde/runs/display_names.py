"""Display names of policies, such as `llm (smollm2)`, and of non-default users, judges and opponents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sonde.core import Env, default_policies
from sonde.core.types import Json
from sonde.models.files.weights import short_name


def policy_label(config: Mapping[str, Json]) -> str:
    """`llm (smollm2)` for a policy with a model, `llm (rpo@1c9f03)` for a trained model, else the policy's name.

    >>> policy_label({"name": "users:llm", "model": {"name": "models:http", "model": "Qwen/Qwen3-14B"}})
    'llm (Qwen3-14B)'
    """
    name = str(config["name"]).removeprefix("agents:").removeprefix("users:")
    inner = config.get("model")
    if inner is None:
        return name
    while isinstance(inner, Mapping) and isinstance(inner.get("model"), Mapping):  # a cache around a model
        inner = inner["model"]
    return f"{name} ({_model_name(inner)})"


def _model_name(config: Mapping[str, Json] | str) -> str:
    if not isinstance(config, Mapping):
        return short_name(str(config), None)
    return short_name(str(config.get("model", config["name"].removeprefix("models:"))), config.get("weights"))


def replaced_policies(env: Env[Any], others: Mapping[str, Mapping[str, Json]]) -> dict[str, str]:
    """Display names, by seat, of the policies in `others` that differ from the environment's defaults. `others` are
    configurations, each with its fingerprint."""
    own = {seat: policy.fingerprint for seat, policy in default_policies(env).items()}
    return {seat: policy_label(config) for seat, config in others.items() if config["fingerprint"] != own.get(seat)}
