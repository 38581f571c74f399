"""`-o PATH=VALUE`, the override language of every command: sets one value of its configuration, wherever it lies.

    -o k=8   -o seats.agent.context=last:3   -o settings.lora.r=8   -o online.rewards.success=2

PATH leads through the configuration; VALUE is read as YAML. Values beside it stay as they are. A mapping that is given
for a dataclass changes the fields that it names (`settings.lora={r: 8}`); anywhere else the value is replaced. Names
are checked wherever they are known: the fields of a dataclass, and those of the class that a configuration's `name`
names. An error lists the places that have such a name. The name of a policy or a model stands for the object:
`seats.agent.first=agents:random` is `seats.agent.first={name: agents:random}`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, NamedTuple, TypeVar

import yaml

from sonde.core import EMPTY, UserError, find, invalid, unknown
from sonde.core.types import Json
from sonde.runs.run import check_keys

C = TypeVar("C")
_PLAYER = re.compile(r"(?:agents|users|models):\w+")
_POWER = re.compile(r"[+-]?\d+(?:\.\d*)?[eE][+-]?\d+")


class Part(NamedTuple):
    """How a place is changed that is more than a mapping or a dataclass with fixed fields.

    `read` makes its value from YAML. `entries` are the parts of an open-ended value by name, which `read` puts together
    again. `begin` makes the value to change where there is none, `begin_entry` that of a new entry.
    """

    read: Callable[[Any], Any] | None = None
    entries: Callable[[Any], dict[str, Any]] | None = None
    begin: Callable[[], Any] = dict
    begin_entry: Callable[[str], Any] | None = None


class Change(NamedTuple):
    """A value for the place at a path."""

    path: tuple[str, ...]
    value: Json


def apply_overrides(
    config: C, assignments: Sequence[str] | None, *, names: Collection[str] = (), parts: Mapping[str, Part] = EMPTY,
    filed: Mapping[str, Json] = EMPTY,
) -> C:  # fmt: skip
    """A copy of `config` with the values of a configuration file (`filed`) and then every assignment applied. `names`
    are those allowed at the top of a mapping."""
    changes = [Change((name,), value) for name, value in filed.items()]
    changes += [parse_assignment(assignment) for assignment in assignments or ()]
    return _Editor(config, frozenset(names), parts).apply_changes(config, changes, "")


def parse_assignment(assignment: str) -> Change:
    """The dotted path of an assignment, and its value.

    >>> parse_assignment("settings.lr=1e-4")
    Change(path=('settings', 'lr'), value=0.0001)
    """
    path, sign, text = assignment.partition("=")
    if not sign or not path:
        raise invalid("-o", assignment, "PATH=VALUE")
    try:
        value = _parse_value(text)
    except (ValueError, RecursionError, yaml.YAMLError) as e:  # an impossible date is a ValueError
        raise UserError(f"-o {path}: got {text!r}, allowed: YAML ({' '.join(str(e).split())})") from e
    check_keys(f"-o {path}", value)
    places = tuple(path.strip().split("."))
    if isinstance(value, str) and _PLAYER.fullmatch(value) and places[-1] != "name":
        value = {"name": value}
    return Change(places, value)


def _parse_value(text: str) -> Json:
    """A YAML value; numbers such as 1e-4, which YAML 1.1 takes for text, are numbers too."""
    return float(text) if _POWER.fullmatch(text.strip()) else yaml.safe_load(text)


@dataclass(frozen=True)
class _Editor:
    """Applies changes to parts of a configuration; `at` is a part's path."""

    root: Any
    names: frozenset[str]
    parts: Mapping[str, Part]

    def apply_changes(self, value: Any, changes: Sequence[Change], at: str) -> Any:
        """All changes within a part are made before the part is checked, so their order does not matter."""
        if not changes:
            return value
        entries = self._entries_of(value, at)
        by_name: dict[str, list[Change]] = {}
        for (name, *path), given in changes:
            by_name.setdefault(name, []).append(Change(tuple(path), given))
        for name, inner in by_name.items():
            self._check_name(entries if isinstance(value, Mapping) else value, name, at)
            entries[name] = self._change_value(entries.get(name), inner, f"{at}.{name}".lstrip("."))
        if self._part_at(at).entries:
            return self._read_value(entries, at)
        return entries if isinstance(value, Mapping) else replace(value, **entries)

    def _change_value(self, value: Any, changes: Sequence[Change], at: str) -> Any:
        """A value with the changes of its parts, from the last one on that replaced it as a whole."""
        whole = max((i for i, change in enumerate(changes) if not change.path), default=-1)
        if whole >= 0:
            value = self._replace_value(self._change_value(value, changes[:whole], at), changes[whole].value, at)
        inner = changes[whole + 1 :]
        return self.apply_changes(self._begin_value(at) if inner and value is None else value, inner, at)

    def _replace_value(self, value: Any, given: Json, at: str) -> Any:
        """Replace a whole value, or, with a mapping, the fields of a dataclass that it names."""
        if not isinstance(given, Mapping):
            return self._read_value(given, at)
        if value is None:
            value = self._begin_value(at)
        if self._part_at(at).entries:
            old = self._entries_of(value, at)
            return self._read_value(
                {n: self._replace_value(old.get(n), part, f"{at}.{n}") for n, part in given.items()}, at
            )
        if is_dataclass(value):
            return self.apply_changes(value, [Change((name,), part) for name, part in given.items()], at)
        return self._read_value(given, at)

    def _part_at(self, at: str) -> Part:
        return self.parts.get(at, Part())

    def _read_value(self, given: Any, at: str) -> Any:
        read = self._part_at(at).read
        return given if read is None else read(given)

    def _begin_value(self, at: str) -> Any:
        above, _, name = at.rpartition(".")
        begin_entry = self._part_at(above).begin_entry
        return begin_entry(name) if begin_entry else self._part_at(at).begin()

    def _entries_of(self, value: Any, at: str) -> dict[str, Any]:
        """The parts of a value by name."""
        entries = self._part_at(at).entries
        if entries:
            return entries(value)
        if isinstance(value, Mapping):
            return dict(value)
        if not is_dataclass(value):
            raise UserError(f"-o {at}: got a longer path, allowed: {at}=VALUE")
        return {f.name: getattr(value, f.name) for f in fields(value)}

    def _check_name(self, value: Any, name: str, at: str) -> None:
        known = _known_names(value) if at else self.names
        if (known and name not in known) or (is_dataclass(value) and not known):
            if self._part_at(at).entries:
                return
            places = list(_find_places(self.root, name))
            raise unknown(f"-o {at}".rstrip(), name, (places or known) if at else [*known, *places])


def _known_names(value: Any) -> Collection[str]:
    """The names of the settings of a dataclass, or of a configuration with its own `name`; none of a free mapping."""
    if is_dataclass(value):
        return [f.name for f in fields(value)]
    name = value.get("name") if isinstance(value, Mapping) else None
    try:
        part = find(name) if isinstance(name, str) else None
    except UserError:
        return ()
    return ["name", *(f.name for f in fields(part) if f.init)] if is_dataclass(part) else ()


def _find_places(value: Any, name: str, at: str = "") -> Iterator[str]:
    """The paths at which a setting of this name may be given."""
    if name in _known_names(value):
        yield f"{at}{name}"
    inner = dict(value) if isinstance(value, Mapping) else {}
    if is_dataclass(value):
        inner = {f.name: getattr(value, f.name) for f in fields(value)}
    for key, part in inner.items():
        yield from _find_places(part, name, f"{at}{key}.")
