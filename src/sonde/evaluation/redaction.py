"""What a published result keeps to itself: addresses, names of keys, and the folders of its author's machine.

What identifies a model stays: its name, the fingerprint of its weights, and the provider if it is a known one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from sonde.core import identity
from sonde.models.remote.providers import load_providers

_SETTING = re.compile(r"\b(base_url|api_key_env|headers|query|proxy)((?:\.[\w-]+)*)=\S+")
_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s'\"]+")
_PATH = re.compile(r"(?:^|(?<=[\s'\"=:]))(?:~|[A-Za-z]:)?/(?:[^\s/'\"=]+/)+([^\s/'\"=]+)/?")


def hide_places(text: str) -> str:
    """A text without addresses, names of keys, and the folders above a path that is not relative.

    >>> hide_places("sonde eval --base-url http://10.0.0.3/v1 --model /home/me/llama -o a.api_key_env=MINE")
    'sonde eval --base-url URL --model llama -o a.api_key_env=...'
    """
    return _PATH.sub(r"\1", _ADDRESS.sub("URL", _SETTING.sub(r"\1\2=...", text)))


def publish_players(seats: Mapping[str, Any]) -> Mapping[str, Any]:
    """The configurations of policies without how their models are reached (`core.config.HOW`)."""
    hosts = {provider.base_url: name for name, provider in load_providers().items()}
    return {seat: _publish(identity(config), config, hosts) for seat, config in seats.items()}


def _publish(value: Any, whole: Any, hosts: Mapping[str, str]) -> Any:
    if isinstance(value, Mapping):
        own = {key: _publish(inner, whole.get(key), hosts) for key, inner in value.items()}
        host = hosts.get(str(whole.get("base_url", "")))
        return {**own, "provider": host} if host else own
    if isinstance(value, list | tuple):
        return [_publish(one, whole[i], hosts) for i, one in enumerate(value)]
    return hide_places(value) if isinstance(value, str) else value


def find_places(value: Any) -> list[str]:
    """The texts in a value, at any depth, that hold what `hide_places` hides."""
    return list(dict.fromkeys(text for text in _list_texts(value) if text != hide_places(text)))


def _list_texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _list_texts(list(value.values()))
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _list_texts(one)
