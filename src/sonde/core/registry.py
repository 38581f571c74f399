"""File names are the registry. `make("wordle")` finds `sonde/envs/wordle/env.py` and the class `Wordle` in it.

Names: `"wordle"` for environments; `"agents:llm"`, `"users:..."`, `"models:..."`, `"objectives:..."` for other kinds;
`"their.module:Class"` or an entry point of the group `sonde.envs`, `sonde.agents`, ... for plug-ins;
`"textarena:Wordle-v0"` for the environments of other libraries (`SOURCES`), under their own names. Listing names
imports none of the classes.

A name that the user types may import the user's modules. A name in a *record* (a run, a result, a dataset) may not:
`build_recorded` builds only what is registered or already imported by this process.
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
from importlib.resources import files
from importlib.resources.abc import Traversable
from operator import attrgetter
from pathlib import Path
from typing import Any, cast

from sonde._util.argument_checks import configuration_fields

from .config import KINDS, Configured
from .errors import UntrustedError, UserError, invalid, nearest_hint, unknown
from .types import Json

SOURCES = ("gem", "gymnasium", "openenv", "reasoning_gym", "textarena")
"""Other libraries whose environments can be made here: files of `sonde.interop.inward`."""
_CLASSES: dict[str, type[Configured]] = {}
"""The classes found so far, by the names used to request them."""
_DOCSTRING = re.compile(r'(?:\s|#.*\n)*+"""\s*(.*?)\s*(?:"""|\n|\Z)')


@cache
def names(kind: str = "envs") -> tuple[str, ...]:
    """The names of a kind, sorted: files that define a class of that kind, and entry points. Imports none of them."""
    if kind not in KINDS:
        raise unknown("kind", kind, KINDS)
    try:
        package = importlib.import_module(KINDS[kind])
    except ModuleNotFoundError:
        return ()
    files = {m.name for m in pkgutil.iter_modules(package.__path__) if not (m.name.startswith("_") or m.ispkg)}
    plugins = {e.name for e in entry_points(group=f"sonde.{kind}")}
    registered = {name.partition(":")[2] for name in _places() if name.startswith(f"{kind}:")}
    return tuple(sorted(files | registered | plugins))


@cache
def _places() -> Mapping[str, tuple[str, str]]:
    """The names that the environments' folders register, with their kind, and the module and class behind each."""
    package = importlib.import_module(KINDS["envs"])
    places: dict[str, tuple[str, str]] = {}
    for folder in (m.name for m in pkgutil.iter_modules(package.__path__) if m.ispkg and not m.name.startswith("_")):
        path = f"{package.__name__}.{folder}"
        places[f"envs:{folder}"] = (f"{path}.env", "")
        registered: Mapping[str, str] = getattr(importlib.import_module(path), "REGISTERED", {})
        for name, place in registered.items():
            file, _, attribute = place.partition(":")
            places[name] = (f"{path}.{file}", attribute)
    return places


def _place(kind: str, name: str) -> tuple[str, str]:
    """The module behind a registered name, and the class in it; no class if the class has the same name."""
    return _places().get(f"{kind}:{name}", (f"{KINDS[kind]}.{name}", ""))


def env_folder(name: str) -> Traversable:
    """The folder of an environment, or `sonde/envs/_shared` for names without a folder."""
    module, _ = _place("envs", name)
    return files("sonde.envs").joinpath(module.split(".")[2] if f"envs:{name}" in _places() else "_shared")


def read_summary(kind: str, name: str) -> str:
    """The first line of a class's docstring, read without importing the file; empty for plug-ins."""
    spec = importlib.util.find_spec(_place(kind, name)[0])
    if spec is None or spec.origin is None:
        return ""
    # Not `ast`: on Python 3.11 it may fail when two threads parse at once (CPython issue 106905).
    found = _DOCSTRING.match(Path(spec.origin).read_text("utf-8"))
    return found[1] if found else ""


def find(name: str) -> type[Configured]:
    """The class registered under a name."""
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise invalid("name", name, "text, such as 'wordle' or 'agents:random'")
    if name not in _CLASSES:
        _CLASSES[name] = _find_class(name)
    return _CLASSES[name]


def _find_class(name: str) -> type[Configured]:
    source, _, theirs = name.partition(":")
    if source in SOURCES:
        adapter: Any = _class_of_file(f"sonde.interop.inward.{source}", source)
        return _check_class(adapter.for_game(theirs), name)
    kind, _, rest = name.rpartition(":") if name.partition(":")[0] in KINDS else ("envs", "", name)
    if ":" in rest or (kind not in KINDS):
        module, _, attribute = name.rpartition(":")
        return _check_class(_import_attribute(module, attribute), name)
    plugins = entry_points(group=f"sonde.{kind}", name=rest)
    if plugins:
        return _check_class(next(iter(plugins)).load(), name)
    if rest not in names(kind):
        what = kind.rstrip("s") if kind != "envs" else "environment"
        raise unknown(what, rest, names(kind), see=f"sonde list {kind}")
    place, attribute = _place(kind, rest)
    return _check_class(_import_attribute(place, attribute) if attribute else _class_of_file(place, rest), name)


def _class_of_file(module_name: str, name: str) -> type:
    """The class of a module whose name matches the registry name."""
    module, wanted = importlib.import_module(module_name), name.replace("_", "").lower()
    for key, value in vars(module).items():
        if key.lower() == wanted and isinstance(value, type):
            return value
    raise UserError(f"{module_name} defines no class named like its file")


def _import_attribute(module: str, attribute: str) -> Any:
    if not all(part.isidentifier() for part in (*module.split("."), *attribute.split("."))):
        raise invalid("name", f"{module}:{attribute}", "module:Class, such as 'my_game:MyGame'")
    try:
        return attrgetter(attribute)(importlib.import_module(module))
    except (ImportError, AttributeError) as e:
        if module in names("envs"):
            raise invalid("name", f"{module}:{attribute}", f"{module!r}, and its preset as preset={attribute!r}") from e
        hint = nearest_hint(module, KINDS)
        raise UserError(f"name: {module}:{attribute} cannot be loaded ({e}){hint}") from e


def _check_class(cls: Any, name: str) -> type[Configured]:
    if not (isinstance(cls, type) and issubclass(cls, Configured)):
        raise UserError(f"{name}: not a class derived from Env, Policy, Model or Objective")
    configuration_fields(cls)
    return cls


def make(name: str, **config: Any) -> Any:
    """The object called `name`, built with these constructor arguments.

    >>> make("wordle", preset="paprika").spec.max_turns
    6
    """
    return find(name)(**config)


def identity(config: Json) -> Json:
    """A saved configuration without the fields declared as `config.HOW`, at any depth."""
    if isinstance(config, Mapping):
        rows = cast("Mapping[str, Json]", config)
        left_out = access_fields(str(rows.get("name", "")))
        return {k: identity(v) for k, v in rows.items() if k not in left_out}
    if isinstance(config, list | tuple):
        return [identity(v) for v in cast("Sequence[Json]", config)]
    return config


def access_fields(name: str) -> frozenset[str]:
    """The fields of this name's class that are declared as `config.HOW`; none if the name is not kind-qualified, or its
    class is not imported yet."""
    return _access_fields(name) if ":" in name and describe_reach(name) is None else frozenset()


@cache
def _access_fields(name: str) -> frozenset[str]:
    try:
        cls = find(name)
    except UserError:
        return frozenset()
    return cls.retired.union(f.name for f in configuration_fields(cls) if not f.metadata.get("identity", True))


def describe_reach(name: str) -> str | None:
    """Describe what building this name's class would access beyond registered classes: the module it would import, or
    the address it would contact. None if nothing.

    Registered names, installed entry points, imported modules and addresses that this process has contacted access
    nothing new.
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
    """Raise `UntrustedError` if building a recorded configuration would, at any depth, import a module that it names or
    contact an address."""
    for name in configured_names(config):
        if (reach := describe_reach(name)) is not None:
            raise UntrustedError(
                f"{name}: a record names it, and building it {reach}; allowed: names of sonde and installed plug-ins, "
                "or --trust, if you trust who wrote the record"
            )


def build_recorded(config: Mapping[str, Json]) -> Any:
    """`build` for a configuration from a record, which may come from someone else: see `check_recorded`."""
    check_recorded(config)
    return build(config)


def trust_classes(config: Json) -> None:
    """Find every class that a configuration names, so that records naming it can be built from then on."""
    for name in configured_names(config):
        find(name)


def configured_names(config: Json, top: bool = True) -> Iterator[str]:
    """The names of the classes in a configuration: its own and all kind-qualified ones nested in it."""
    if isinstance(config, Mapping):
        rows = cast("Mapping[str, Json]", config)
        name = rows.get("name")
        if isinstance(name, str) and (top or ":" in name):
            yield name
        config = list(rows.values())
    if isinstance(config, list | tuple):
        for value in cast("Sequence[Json]", config):
            yield from configured_names(value, top=False)


def build(config: Mapping[str, Json]) -> Any:
    """Build the object that `config` describes; nested configurations are built first. Names may import modules; for
    recorded configurations use `build_recorded`."""
    if not isinstance(config, Mapping) or "name" not in config:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise invalid("config", config, "a mapping with at least a name")
    retired = find(config["name"]).retired
    return make(config["name"], **{k: _build_value(v) for k, v in config.items() if k != "name" and k not in retired})


def _build_value(value: Json) -> Any:
    """Nested configurations have a kind-qualified name, such as `models:hf`; other mappings stay mappings."""
    if isinstance(value, Mapping):
        rows = cast("Mapping[str, Json]", value)
        name = rows.get("name")
        nested = isinstance(name, str) and ":" in name
        return build(rows) if nested else {k: _build_value(v) for k, v in rows.items()}
    if isinstance(value, list | tuple):
        return tuple(_build_value(v) for v in cast("Sequence[Json]", value))
    return value
