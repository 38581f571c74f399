"""Constructor arguments *are* the configuration: what `Configured` objects are, how they are saved and rebuilt.

Environments, policies and models are frozen keyword-only dataclasses. Their fields are the whole configuration, so a
saved `config` builds an equal object, and equal configurations have equal fingerprints. A class without arguments may
be a plain class. A field with `metadata={"config": False}` (a console, a decoding hook) is not saved. A field with
`metadata=HOW` (the address or the concurrency of an endpoint) is saved but does not affect what is said: it enters
neither the fingerprint nor cache keys, and it may change when a run is resumed.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, cast

from sonde._util.argument_checks import Checked, configuration_fields, is_field

from .errors import UserError, unknown
from .types import Json, content_hash

HOW: Mapping[str, bool] = {"identity": False}
"""Field metadata for settings that say how something is accessed, not what it is."""
KINDS: Mapping[str, str] = {
    "envs": "sonde.envs", "agents": "sonde.agents", "users": "sonde.users", "models": "sonde.models",
    "objectives": "sonde.train.objectives",
}  # fmt: skip
"""The kinds of objects that can be made by name, and the package that holds each kind: file names are registry names.
An environment's folder may register more objects (`REGISTERED` in its `__init__`): its solver, its simulated user."""


class Configured(Checked):
    """Base class of everything that the registry can make. Subclasses are `@dataclass(frozen=True, kw_only=True)`."""

    kind: ClassVar[str]
    """The registry group, one of `KINDS`."""
    retired: ClassVar[frozenset[str]] = frozenset()
    """Arguments that this class no longer takes. Configurations in older records may hold them; `build` drops them."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Set the name used in errors: the file name with its kind in front (none for environments) for classes that
        ship with sonde, `module:Class` otherwise."""
        super().__init_subclass__(**kwargs)
        _check_fields(cls)
        if cls.kind not in KINDS:
            raise unknown(f"class {cls.__name__}: kind", cls.kind, KINDS)
        cls.called = _registered_name(cls)

    @property
    def name(self) -> str:
        """The registry name, without the kind."""
        return self.called.removeprefix(f"{self.kind}:")

    @property
    def config(self) -> dict[str, Json]:
        """Registry name and all constructor arguments, as JSON; `registry.build` turns it back into the object."""
        fields = (f for f in configuration_fields(type(self)) if f.metadata.get("config", f.init))
        values = {f.name: _to_plain(getattr(self, f.name)) for f in fields if not _is_left_out(self, f)}
        return {"name": self.called, **values}

    @cached_property
    def fingerprint(self) -> str:
        """Content hash of the part of `config` that decides what is played and said."""
        from .registry import identity  # `registry` imports this file

        return content_hash(identity(self.config))


def _is_left_out(value: object, field: dataclasses.Field[Any]) -> bool:
    """Whether an optional setting (`prompts.OPTIONAL`) has its default."""
    return bool(field.metadata.get("optional")) and getattr(value, field.name) == field.default


def _registered_name(cls: type[Configured]) -> str:
    """The registry name of a class that ships with sonde, `module:Class` for any other."""
    package, _, file = cls.__module__.rpartition(".")
    if package == KINDS[cls.kind]:
        return file if cls.kind == "envs" else f"{cls.kind}:{file}"
    parent, _, folder = package.rpartition(".")
    if parent == KINDS["envs"]:
        place = f"{file}:{cls.__qualname__}"
        registered: Mapping[str, str] = getattr(sys.modules[package], "REGISTERED", {})
        names = [name.removeprefix("envs:") for name, entry in registered.items() if entry == place]
        if names or (file == "env" and cls.__name__.lower() == folder.replace("_", "")):
            return names[0] if names else folder
    return f"{cls.__module__}:{cls.__qualname__}"


def _check_fields(cls: type[Configured]) -> None:
    """Raise `UserError` for a field, or a value, that would hide a method of the base class or a name under which
    objects are recorded and looked up."""
    fields = [name for name, hint in inspect.get_annotations(cls).items() if is_field(hint)]
    values = [name for name, value in vars(cls).items() if name in vars(Configured) and isinstance(value, str)]
    for name in (*fields, *(v for v in values if not v.startswith("_"))):
        hidden = [base for base in cls.__mro__[1:] if _is_reserved(base, name)]
        if hidden:
            raise UserError(
                f"class {cls.__name__}: got {name!r} as a field, which hides {hidden[0].__name__}.{name}, allowed: "
                f"another name, such as '{cls.__name__.lower()}_{name}'"
            )


def _is_reserved(base: type, name: str) -> bool:
    """Whether a base class defines a method, property or registry value (not a field) of this name."""
    if name in getattr(base, "__dataclass_fields__", ()) or name not in (*vars(base), *inspect.get_annotations(base)):
        return False
    value = vars(base).get(name)
    return name in ("kind", "called") or callable(value) or isinstance(value, property | cached_property)


def configured_parts(value: object, path: str) -> Iterator[tuple[str, Configured]]:
    """Yield every configured part of a value, at any depth, with its path in the configuration; `path` is that of
    `value`."""
    if isinstance(value, Configured):
        yield path, value
        for f in configuration_fields(type(value)):
            yield from configured_parts(getattr(value, f.name) if f.init else None, f"{path}.{f.name}")
    elif isinstance(value, Mapping):
        for name, inner in cast("Mapping[str, object]", value).items():
            yield from configured_parts(inner, f"{path}.{name}")
    elif isinstance(value, tuple | list):
        for i, inner in enumerate(cast("Sequence[object]", value)):
            yield from configured_parts(inner, f"{path}.{i}")


def _to_plain(value: Any) -> Json:
    if isinstance(value, Configured):
        config = value.config
        return config if ":" in config["name"] else {**config, "name": f"{value.kind}:{config['name']}"}
    if isinstance(value, Mapping):
        return {str(k): _to_plain(v) for k, v in value.items()}  # type: ignore[misc]
    if isinstance(value, tuple | list):
        return [_to_plain(v) for v in value]  # type: ignore[misc]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _to_plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    return value


_ABSENT = object()


def first_difference(old: Json, new: Json, path: str) -> str:
    """Describe the first field in which two JSON values differ; empty if they are equal."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        before, after = cast("Mapping[str, Json]", old), cast("Mapping[str, Json]", new)
        fields = [(f"{path}.{k}", before.get(k, _ABSENT), after.get(k, _ABSENT)) for k in {**before, **after}]
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):  # type: ignore[misc]
        pairs = enumerate(zip(cast("list[Json]", old), cast("list[Json]", new), strict=True))
        fields = [(f"{path}[{i}]", a, b) for i, (a, b) in pairs]
    else:
        return "" if old == new else f"{path}: got {_shorten_json(new)}, the run has {_shorten_json(old)}"
    return next((found for name, a, b in fields if (found := first_difference(a, b, name))), "")


def _shorten_json(value: Json) -> str:
    text = "nothing" if value is _ABSENT else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 100 else text[:100] + "..."
