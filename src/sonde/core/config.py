"""Constructor arguments *are* the configuration: what `Configured` objects are, how they are saved and built again.

Environments, policies and models are frozen keyword-only dataclasses. Their fields are the whole configuration, so a
saved `config` builds an equal object, and equal configurations have equal fingerprints. A field with
`metadata={"config": False}` (a console, a decoding hook) is left out. One with `metadata=HOW` (where an endpoint is,
how fast it is asked) is saved, but decides nothing of what is said: it is no part of the fingerprint, nor of the key of
a cache, and may change when a run is continued.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

from .errors import invalid
from .types import Json, content_hash

HOW: Mapping[str, bool] = {"identity": False}
"""Metadata of a field that says how something is got, not what it is."""

_PLAIN: Mapping[str, tuple[str, tuple[type, ...]]] = {
    "int": ("a whole number", (int,)),
    "float": ("a number", (int, float)),
    "str": ("text", (str,)),
    "bool": ("true or false", (bool,)),
    "tuple": ("a list", (tuple, list)),
    "Mapping": ("a mapping", (Mapping,)),
    "None": ("none", (type(None),)),
}
"""Annotations that a configuration file can get wrong: what they are called, and what they allow."""


class Configured:
    """Base of everything that a registry can make. Subclasses are `@dataclass(frozen=True, kw_only=True)`."""

    kind: ClassVar[str]
    """The registry group: `envs`, `agents`, `users` or `models`."""

    @property
    def name(self) -> str:
        """The registry name: the file's name for what ships with sonde, `module:Class` for the rest."""
        cls = type(self)
        module = cls.__module__
        if module.startswith(f"sonde.{self.kind}."):
            return module.rpartition(".")[2]
        return f"{module}:{cls.__qualname__}"

    @property
    def config(self) -> dict[str, Json]:
        """Registry name and all constructor arguments, as JSON; `registry.build` turns it back into the object."""
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        values = {f.name: _plain(getattr(self, f.name)) for f in fields if f.metadata.get("config", f.init)}
        prefix = "" if self.kind == "envs" or ":" in self.name else f"{self.kind}:"
        return {"name": prefix + self.name, **values}

    @cached_property
    def fingerprint(self) -> str:
        """Content hash of `config`, as far as it decides what is played and said."""
        from .registry import identity  # which imports this file

        return content_hash(identity(self.config))


def check_types(owner: str, cls: type, values: Mapping[str, Any]) -> None:
    """Raise `UserError` for the first of `values` whose type the plain annotation of its field in `cls` forbids.

    Files and command lines deliver `"4"` for 4; constructors can then rely on types and check only ranges. Other
    annotations (a model, a policy) are left to the constructor.
    """
    for f in dataclasses.fields(cls):  # type: ignore[arg-type]
        names = [part.strip().partition("[")[0] for part in str(f.type).split("|")]
        if f.name not in values or not all(name in _PLAIN for name in names):
            continue
        value = values[f.name]
        allowed = [t for name in names for t in _PLAIN[name][1]]
        if not isinstance(value, tuple(allowed)) or (isinstance(value, bool) and bool not in allowed):
            raise invalid(f"{owner}: {f.name}", value, " or ".join(_PLAIN[name][0] for name in names))


def _plain(value: Any) -> Json:
    if isinstance(value, Configured):
        config = value.config
        return config if ":" in config["name"] else {**config, "name": f"{value.kind}:{config['name']}"}
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}  # type: ignore[misc]
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]  # type: ignore[misc]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    return value
