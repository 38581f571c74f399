"""The command to run after a training: an evaluation in which the model sees its games as it did while it learned."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sonde.core import Env
from sonde.train.online.settings import OnlineSettings
from sonde.train.training import Learning

from .players import make_environment


def suggest_evaluation(
    model: str, envs: Iterable[Env[Any]], seen: OnlineSettings | Learning, heads: Path | None = None
) -> str:
    """The command that evaluates a model, with `heads` by their values, in the games that it was trained on, seen as in
    training; empty where there are none, or options of `sonde eval` do not say what was played."""
    found = [_name_env(env) for env in envs]
    if not found or None in found:
        return ""
    values = [] if heads is None else ["-o", f"seats.agent.model.heads={heads}"]
    played = dict.fromkeys(name for name in found if name)
    return shlex.join(["sonde", "eval", *played, "--model", model, *_player_options(seen), *values])


def _name_env(env: Env[Any]) -> str | None:
    """An environment as NAME or NAME:PRESET; None where that does not name it."""
    name, preset = str(env.config["name"]), env.spec.preset
    is_default = preset == make_environment(name, None).spec.preset
    if make_environment(name, preset).config != env.config or (":" in name and not is_default):
        return None
    return name if is_default else f"{name}:{preset}"


def _player_options(seen: OnlineSettings | Learning) -> list[str]:
    """The options of `sonde eval` with which a model sees and answers a game as in training."""
    default = type(seen)()
    changed = {name: value for name in _SEEN if (value := getattr(seen, name, None)) != getattr(default, name, None)}
    words = list[str]()
    for name, value in changed.items():
        if (place := _SEEN[name]) == "--":
            words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
        else:
            plain = dict(value) if isinstance(value, Mapping) else value
            words += ["-o", f"{place}{name}={json.dumps(plain)}"]
    return words


_SEEN: Mapping[str, str] = {
    **dict.fromkeys(("context", "examples", "max_new_tokens", "tools"), "--"),
    **dict.fromkeys(("system", "answer_only", "keep_thinking"), "seats.agent."),
    "template": "seats.agent.model.",
}
"""Settings of how a game is seen: options of `sonde eval` of the same name, or where they are in its configuration."""
