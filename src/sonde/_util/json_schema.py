"""JSON schemas of configurations, from the annotations of the dataclasses that read them; for editors.

Types that JSON cannot describe (a callable, an abstract class) allow everything: the constructor checks them.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin

from .argument_checks import configuration_fields, resolve_hints

Schema = dict[str, Any]
_PLAIN: Mapping[Any, Schema] = {
    bool: {"type": "boolean"}, int: {"type": "integer"}, float: {"type": "number"}, str: {"type": "string"},
    type(None): {"type": "null"},
}  # fmt: skip


def class_schema(cls: type, named: Mapping[type, Schema], changes: Mapping[str, Schema] | None = None) -> Schema:
    """The schema of a dataclass: an object with its fields. `named` has schemas of base classes (a reference, say),
    `changes` those of fields by name."""
    hints = resolve_hints(cls)
    fields = [f for f in configuration_fields(cls) if f.init and f.metadata.get("config", True)]
    properties: dict[str, Schema] = {}
    for field in fields:
        shape = dict((changes or {}).get(field.name) or type_schema(hints.get(field.name, Any), named))
        if isinstance(field.default, bool | int | float | str):
            shape["default"] = field.default
        properties[field.name] = shape
    needed = (dataclasses.MISSING, dataclasses.MISSING)
    required = [f.name for f in fields if (f.default, f.default_factory) == needed]
    described = {"description": _first_paragraph(cls)} if cls.__doc__ else {}
    return {
        "type": "object", **described, "properties": properties, "additionalProperties": False,
        **({"required": required} if required else {}),
    }  # fmt: skip


def type_schema(hint: Any, named: Mapping[type, Schema]) -> Schema:
    """The schema of the values that an annotation allows; empty if it allows everything."""
    origin, args = get_origin(hint), get_args(hint)
    if hint in _PLAIN:
        return dict(_PLAIN[hint])
    if origin is Literal:
        return {"enum": list(args)}
    if origin in (Union, types.UnionType):
        options = [type_schema(option, named) for option in args]
        return {} if {} in options else {"anyOf": options}
    if origin in (tuple, list, Sequence):
        return _items_schema(args, named)
    if origin in (dict, Mapping):
        return {"type": "object", "additionalProperties": type_schema(args[1], named) or True}
    if isinstance(hint, type):
        return _instance_schema(hint, named)
    return {}


def _items_schema(args: tuple[Any, ...], named: Mapping[type, Schema]) -> Schema:
    if len(args) > 1 and args[-1] is not Ellipsis:
        shapes = [type_schema(arg, named) for arg in args]
        return {"type": "array", "prefixItems": shapes, "minItems": len(args), "maxItems": len(args)}
    return {"type": "array", **({"items": type_schema(args[0], named)} if args else {})}


def _instance_schema(cls: type, named: Mapping[type, Schema]) -> Schema:
    known = next((schema for base, schema in named.items() if issubclass(cls, base)), None)
    if known is not None:
        return dict(known)
    open_ended = getattr(cls, "__abstractmethods__", None) or cls.__subclasses__()
    return class_schema(cls, named) if dataclasses.is_dataclass(cls) and not open_ended else {}


def _first_paragraph(cls: type) -> str:
    return " ".join((cls.__doc__ or "").split("\n\n")[0].split())
