"""The file name is the registry. `make("wordle")` finds `sonde/envs/wordle.py` and the class `Wordle` in it.

Names: `"wordle"` for environments, `"agents:llm"`, `"users:..."`, `"models:..."`, `"objectives:..."` for the
rest, and `"their.module:Class"` or an entry point of the group `sonde.envs`, `sonde.agents`, ... for plug-ins, and
`"textarena:Wordle-v0"` for the environments of other libraries (`SOURCES`), under the names that they have there.
Listing imports nothing.

A name that somebody types may import a module of theirs. A name that stands in a *record* (a run, a result, a dataset)
may not: `build_recorded` builds what is registered, and what this process has imported for another reason.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import entry_points
from operator import attrgetter
from pathlib import Path
from typing import Any, cast

from .checked import fields_of
from .config import KINDS, Configured
from .errors import UntrustedError, UserError, invalid, unknown
from .types import Json

SOURCES = ("gem", "gymnasium", "openenv", "reasoning_gym", "textarena")
"""Other libraries whose environments can be made here: files of `sonde.interop.inward`."""
_CLASSES: dict[str, type[Configured]] = {}
"""The classes found so far, by the names under which they were asked for."""
_DOCSTRING = re.compile(r'(?:\s|#.*\n)*+"""\s*(.*?)\s*(?:"""|\n|\Z)')


@cache
def names(kind: str = "envs") -> tuple[str, ...]:
    """The names of a kind, sorted: files that define a leaf, and entry points. Imports none of them."""
    if kind not in KINDS:
        raise unknown("kind", kind, KINDS)
    try:
        package = importlib.import_module(KINDS[kind])
    except ModuleNotFoundError:
        return ()
    hidden: tuple[str, ...] = getattr(package, "HELPERS", ())
    files = {m.name for m in pkgutil.iter_modules(package.__path__) if not (m.name.startswith("_") or m.ispkg)}
    return tuple(sorted((files - set(hidden)) | {e.name for e in entry_points(group=f"sonde.{kind}")}))


def summary(kind: str, name: str) -> str:
    """The first line of a leaf's docstring, read from its file without importing it; empty for plug-ins."""
    spec = importlib.util.find_spec(f"{KINDS[kind]}.{name}")
    if spec is None or spec.origin is None:
        return ""
    # Not by `ast`: Python 3.11 may fail where two threads parse at once (CPython issue 106905).
    found = _DOCSTRING.match(Path(spec.origin).read_text("utf-8"))
    return found[1] if found else ""


def find(name: str) -> type[Configured]:
    """The class behind a name."""
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise invalid("name", name, "text, such as 'wordle' or 'agents:random'")
    if name not in _CLASSES:
        _CLASSES[name] = _find(name)
    return _CLASSES[name]


def _find(name: str) -> type[Configured]:
    source, _, theirs = name.partition(":")
    if source in SOURCES:
        adapter: Any = _class_of_file(f"sonde.interop.inward.{source}")
        return _checked(adapter.for_game(theirs), name)
    kind, _, rest = name.rpartition(":") if name.partition(":")[0] in KINDS else ("envs", "", name)
    if ":" in rest or (kind not in KINDS):
        module, _, attribute = name.rpartition(":")
        return _checked(_attribute(module, attribute), name)
    plugins = entry_points(group=f"sonde.{kind}", name=rest)
    if plugins:
        return _checked(next(iter(plugins)).load(), name)
    if rest not in names(kind):
        what = kind.rstrip("s") if kind != "envs" else "environment"
        raise unknown(what, rest, names(kind), see=f"sonde list {kind}")
    return _checked(_class_of_file(f"{KINDS[kind]}.{rest}"), name)


def _class_of_file(module_name: str) -> type:
    """The class that is named like its file."""
    module, wanted = importlib.import_module(module_name), module_name.rpartition(".")[2].replace("_", "").lower()
    for key, value in vars(module).items():
        if key.lower() == wanted and isinstance(value, type):
            return value
    raise UserError(f"{module_name} defines no class named like its file")


def _attribute(module: str, attribute: str) -> Any:
    if not all(part.isidentifier() for part in (*module.split("."), *attribute.split("."))):
        raise invalid("name", f"{module}:{attribute}", "module:Class, such as 'my_game:MyGame'")
    try:
        return attrgetter(attribute)(importlib.import_module(module))
    except (ImportError, AttributeError) as e:
        raise UserError(f"name: {module}:{attribute} cannot be loaded ({e})") from e


def _checked(cls: Any, name: str) -> type[Configured]:
    if not (isinstance(cls, type) and issubclass(cls, Configured)):
        raise UserError(f"{name}: not a class derived from Env, Policy, Model or Objective")
    fields_of(cls)
    return cls


def make(name: str, **config: Any) -> Any:
    """The object called `name` with these constructor arguments.

    >>> make("wordle", preset="paprika").spec.max_turns
    6
    """
    return find(name)(**config)


def identity(config: Json) -> Json:
    """A saved configuration without the fields that are declared `config.HOW`, however deep they are."""
    if isinstance(config, Mapping):
        rows = cast("Mapping[str, Json]", config)
        left_out = fields_of_access(str(rows.get("name", "")))
        return {k: identity(v) for k, v in rows.items() if k not in left_out}
    if isinstance(config, list | tuple):
        return [identity(v) for v in cast("Sequence[Json]", config)]
    return config


def fields_of_access(name: str) -> frozenset[str]:
    """The fields of this name's class that are declared `config.HOW`: how something is got. None where it is no name of
    a class with its kind, or of one that would have to be imported first."""
    return _fields_of_access(name) if ":" in name and describe_reach(name) is None else frozenset()


@cache
def _fields_of_access(name: str) -> frozenset[str]:
    try:
        cls = find(name)
    except UserError:
        return frozenset()
    return frozenset(f.name for f in fields_of(cls) if not f.metadata.get("identity", True))


def describe_reach(name: str) -> str | None:
    """What building the class of this name would reach beyond what is registered here, in words: the module that it
    would import, or the address that it would ask. None if nothing.

    Nothing is reached for registered names and installed entry points, nor for modules that are imported and addresses
    that were asked already.
    """
    if name in _CLASSES:
        return None
    source, _, rest = name.partition(":")
    if source == "openenv":
        return f"asks {rest}"
    if source in SOURCES:
        module = rest.partition(":")[0] if ":" in rest else ""
    else:
        module = name.rpartition(":")[0] if ":" in (rest if source in KINDS else name) else ""
    return f"imports {module}" if module and module not in sys.modules else None


def check_recorded(config: Json) -> None:
    """Raise `UntrustedError` if building a configuration that stands in a record would import a module that it names,
    or ask an address, however deep that name stands."""
    for name in recorded_names(config):
        if (reach := describe_reach(name)) is not None:
            raise UntrustedError(
                f"{name}: a record names it, and building it {reach}; allowed: what sonde and installed plug-ins have, "
                "or --trust, if you trust who wrote the record"
            )


def build_recorded(config: Mapping[str, Json]) -> Any:
    """`build` for a configuration that stands in a record, maybe of somebody else: see `check_recorded`."""
    check_recorded(config)
    return build(config)


def trust(config: Json) -> None:
    """Find every class that a configuration names, so that records that name it can be built from now on."""
    for name in recorded_names(config):
        find(name)


def recorded_names(config: Json, top: bool = True) -> Iterator[str]:
    """The names of classes in a configuration: the one at its top, and those with their kind below it."""
    if isinstance(config, Mapping):
        rows = cast("Mapping[str, Json]", config)
        name = rows.get("name")
        if isinstance(name, str) and (top or ":" in name):
            yield name
        config = list(rows.values())
    if isinstance(config, list | tuple):
        for value in cast("Sequence[Json]", config):
            yield from recorded_names(value, top=False)


def build(config: Mapping[str, Json]) -> Any:
    """The object that a `config` describes; nested configurations are built first. Names in it may import modules, so
    for what stands in a record there is `build_recorded`."""
    if not isinstance(config, Mapping) or "name" not in config:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise invalid("config", config, "a mapping with at least a name")
    values = {k: _build(v) for k, v in config.items() if k != "name"}
    return make(config["name"], **values)


def _build(value: Json) -> Any:
    """Nested configurations are told by a name with its kind, such as `models:hf`; other mappings stay mappings."""
    if isinstance(value, Mapping):
        rows = cast("Mapping[str, Json]", value)
        name = rows.get("name")
        nested = isinstance(name, str) and ":" in name
        return build(rows) if nested else {k: _build(v) for k, v in rows.items()}
    if isinstance(value, list | tuple):
        return tuple(_build(v) for v in cast("Sequence[Json]", value))
    return value
