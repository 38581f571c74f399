"""Read JSON back into the type it was written from: a dataclass or named tuple, whose annotations are the schema.

    evaluation = read_as(Evaluation, orjson.loads(text), "evaluation")

Everything is checked while reading: a foreign or damaged file gives a value of the right type or one error that names
the place.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar, Union, cast, get_args, get_origin

from sonde.core.errors import UserError, invalid, unknown

from .argument_checks import check_value, resolve_hints

T = TypeVar("T")
Reader = Callable[[Any, str], Any]
"""A function that builds a value from JSON; errors use the place given."""


def read_as(kind: type[T], value: Any, where: str) -> T:
    """The value of this type described by a JSON value. Raises `UserError` naming the first place, below `where`, that
    is missing, unknown or of a wrong type."""
    try:
        return _reader_of(kind)(value, where)
    except RecursionError:
        raise UserError(f"{where}: nested too deep to be read") from None


@cache
def _reader_of(hint: Any) -> Reader:
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _read_any_of(args, hint)
    if origin in (tuple, list, Sequence) and (len(args) < 2 or args[-1] is Ellipsis):
        return _read_items(args[0] if args else Any)
    if origin in (dict, Mapping):
        return _read_mapping(args[1], hint)
    if hasattr(hint, "_fields") or dataclasses.is_dataclass(hint):
        return _read_fields(hint)
    return lambda value, where: check_value(where, hint, value)


def _read_any_of(options: tuple[Any, ...], hint: Any) -> Reader:
    """For a union: None, or the single other alternative; with several others, the value as it is."""
    others = [option for option in options if option is not type(None)]
    if len(others) > 1:
        return lambda value, where: check_value(where, hint, value)
    read = _reader_of(others[0])
    return lambda value, where: None if value is None else read(value, where)


def _read_items(item: Any) -> Reader:
    read = _reader_of(item)

    def read_all(value: Any, where: str) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple):
            raise invalid(where, value, "a list")
        return tuple(read(one, f"{where}[{i}]") for i, one in enumerate(cast("Sequence[Any]", value)))

    return read_all


def _read_mapping(item: Any, hint: Any) -> Reader:
    read = _reader_of(item)

    def read_entries(value: Any, where: str) -> dict[str, Any]:
        check_value(where, Mapping[str, Any], value)
        return {key: read(one, f"{where}.{key}") for key, one in value.items()}

    return read_entries


def _read_fields(cls: Any) -> Reader:
    """For a dataclass or named tuple; JSON may also hold a named tuple as a list of its fields."""
    names: Sequence[str] = getattr(cls, "_fields", ()) or [f.name for f in dataclasses.fields(cls) if f.init]
    hints = {name: resolve_hints(cls)[name] for name in names}
    required = _required_fields(cls)

    def read_instance(value: Any, where: str) -> Any:
        if isinstance(value, list) and hasattr(cls, "_fields") and len(cast("list[Any]", value)) == len(names):
            value = dict(zip(names, cast("list[Any]", value), strict=True))
        if not isinstance(value, Mapping):
            raise invalid(where, cast("object", value), f"a mapping with {', '.join(names)}")
        rows = cast("Mapping[Any, Any]", value)
        if missing := [name for name in names if name in required and name not in rows]:
            raise UserError(f"{where}: missing {', '.join(missing)}")
        if not rows.keys() <= hints.keys():
            raise unknown(where, next(str(name) for name in rows if name not in hints), names)
        return cls(**{name: _reader_of(hints[name])(one, f"{where}.{name}") for name, one in rows.items()})

    return read_instance


def _required_fields(cls: Any) -> frozenset[str]:
    if hasattr(cls, "_fields"):
        return frozenset(set(getattr(cls, "_fields", ())) - set(getattr(cls, "_field_defaults", {})))
    absent = dataclasses.MISSING
    fields = [f for f in dataclasses.fields(cls) if f.init]
    return frozenset(f.name for f in fields if f.default is absent and f.default_factory is absent)
