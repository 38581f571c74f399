"""Runtime type checks for constructor arguments, driven by their annotations.

A dataclass derived from `Checked` rejects unknown, missing and wrongly typed arguments with an error in the library's
standard form, so constructors can rely on types and only check ranges. `check_call` does the same for functions.
Annotations are analysed once per class; those that only a type checker can resolve allow everything.

Why not msgspec or pydantic: `core` is standard library only; pydantic coerces and copies what it accepts by default,
and msgspec checks types when decoding, not when a constructor is called. Here a value must pass unchanged, because
constructor arguments are the configuration and its fingerprint, and errors must name the field, the value got and the
values allowed.
"""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields
from functools import cache, wraps
from io import TextIOBase
from typing import (
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    ParamSpec,
    Self,
    TextIO,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
)

from sonde.core.errors import UserError, invalid, unknown

P = ParamSpec("P")
T = TypeVar("T")


class Checked:
    """Base class of dataclasses that users construct. In errors, `called` names the class (default: its own name) and
    `words` describes a valid instance."""

    __slots__ = ()
    called: ClassVar[str] = ""
    words: ClassVar[str] = ""

    def __new__(cls, *args: Any, **values: Any) -> Self:
        check_arguments(cls.called or cls.__name__, cls, values, args)
        return super().__new__(cls)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """Copies and pickles store the field values, not the constructor arguments."""
        return _new_instance, (type(self),), self.__getstate__()


def _new_instance(cls: type[Checked]) -> Checked:
    return object.__new__(cls)


def is_field(hint: Any) -> bool:
    """Whether an attribute with this annotation declares a dataclass field."""
    return "ClassVar" not in str(hint)


def configuration_fields(cls: type) -> tuple[Field[Any], ...]:
    """The fields of a class, which are its configuration. A plain class has the fields of its bases; if it declares its
    own fields or its constructor takes arguments, that is a `UserError`, because no record would store them.

    >>> class Fixed(Checked): ...
    >>> configuration_fields(Fixed)
    ()
    """
    for base in cls.__mro__:
        if "__dataclass_fields__" in vars(base) or base is Checked:
            break
        found = [name for name, hint in inspect.get_annotations(base).items() if is_field(hint) and name[0] != "_"]
        if "__init__" in vars(base):
            found += list(inspect.signature(base.__init__).parameters)[1:]
        if found:
            raise UserError(
                f"class {base.__name__}: got {found[0]!r} in a plain class, allowed: a field of a dataclass; put "
                "@dataclass(frozen=True, kw_only=True) above the class, whose fields are its configuration"
            )
    return fields(cls) if hasattr(cls, "__dataclass_fields__") else ()  # type: ignore[arg-type]


def check_arguments(owner: str, cls: type, values: Mapping[str, Any], args: Sequence[Any] = ()) -> None:
    """Raise `UserError` for the first argument of a dataclass that is unknown, missing or of a wrong type."""
    signature = _signature_of(cls)
    if args:
        if len(args) > len(signature.ordered):
            got, known = args[len(signature.ordered)], ", ".join(signature.known)
            allowed = f"{known}, by name" if known else "no arguments"
            raise UserError(f"{owner}: got {got!r} without a name, allowed: {allowed}")
        values = {**dict(zip(signature.ordered, args, strict=False)), **values}
    _check_all(owner, signature, values)
    if not signature.required.issubset(values):
        missing = [name for name in signature.known if name in signature.required and name not in values]
        raise UserError(f"{owner}: missing {', '.join(missing)}")


def check_types(owner: str, cls: type, values: Mapping[str, Any]) -> None:
    """Check the types of some arguments; none is reported as missing."""
    _check_all(owner, _signature_of(cls), values)


def _check_all(owner: str, signature: _Signature, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        argument = signature.known.get(name)
        if argument is None:
            raise unknown(owner, name, signature.known)
        kind, exact = argument
        if type(value) not in exact:
            _check_kind(f"{owner}: {name}", kind, value)


@dataclass(frozen=True, slots=True)
class _Option:
    """One alternative of an annotation: its singular and plural name in errors, a type test, a check of the content,
    and the types whose values always pass."""

    words: str
    plural: str
    fits: Callable[[Any], bool]
    within: Callable[[str, Any], None] | None = None
    exact: tuple[type, ...] = ()


_Kind = tuple[_Option, ...]


def check_call(function: Callable[P, T]) -> Callable[P, T]:
    """Decorator that checks a function's arguments against its annotations at every call; for functions called once per
    run."""
    signature, kinds = inspect.signature(function), dict[str, _Kind]()
    name, namespace = function.__name__, getattr(function, "__globals__", {})

    @wraps(function)
    def call_checked(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError as e:
            raise UserError(f"{name}: {e}") from None
        for key, value in given.items():
            if key not in kinds:
                hint = signature.parameters[key].annotation
                kinds[key] = (
                    (_ANYTHING,) if hint is inspect.Parameter.empty else _options_of(_resolve_hint(hint, namespace))
                )
            _check_kind(f"{name}: {key}", kinds[key], value)
        return function(*args, **kwargs)

    return call_checked


def explain_wrong_argument(cls: type, name: str, kind: type) -> None:
    """Let the class's own method `name`, which takes one argument, name what it takes when it fails on something that
    is not a `kind`. Whatever has the attributes that the method needs is still accepted."""
    method = vars(cls).get(name)
    if method is None or hasattr(method, "__wrapped__"):  # a dataclass with slots is created twice
        return

    @wraps(method)
    def call_explained(self: Any, value: Any) -> Any:
        try:
            return method(self, value)
        except (AttributeError, TypeError) as e:
            if isinstance(value, kind):
                raise
            raise invalid(f"{cls.__name__}.{name}", value, f"a {kind.__name__}") from e

    setattr(cls, name, call_explained)


class _Signature(NamedTuple):
    """A dataclass's arguments, each with its alternatives and the types that always pass (one lookup for most values);
    the positional names in order; the required names."""

    known: Mapping[str, tuple[_Kind, frozenset[type]]]
    ordered: tuple[str, ...]
    required: frozenset[str]


@cache
def _signature_of(cls: type) -> _Signature:
    kinds = {name: _options_of(hint) for name, hint in resolve_hints(cls).items()}
    taken = [f for f in configuration_fields(cls) if f.init]
    return _Signature(
        {f.name: (kinds[f.name], frozenset(t for option in kinds[f.name] for t in option.exact)) for f in taken},
        tuple(f.name for f in taken if not f.kw_only),
        frozenset(f.name for f in taken if f.default is MISSING and f.default_factory is MISSING),
    )


def resolve_hints(cls: type) -> dict[str, Any]:
    """The annotations of a class and its bases, each resolved in the module that wrote it."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        namespace = vars(sys.modules.get(base.__module__, types))
        for name, hint in inspect.get_annotations(base).items():
            found[name] = _resolve_hint(hint, namespace)
    return found


def _resolve_hint(hint: Any, namespace: dict[str, Any]) -> Any:
    if not isinstance(hint, str):
        return hint
    try:
        return eval(hint, namespace)  # an annotation of our own code, or of a loaded plug-in
    except (NameError, AttributeError, TypeError):  # the last for `array[int]` before Python 3.12
        return Any


def check_value(field: str, hint: Any, value: Any) -> Any:
    """Return `value` if the annotation allows it; raise `UserError` otherwise."""
    _check_kind(field, _cached_options(hint), value)
    return value


@cache
def _cached_options(hint: Any) -> _Kind:
    return _options_of(hint)


def _check_kind(field: str, kind: _Kind, value: Any) -> None:
    for option in kind:
        if option.fits(value):
            if option.within is not None:
                option.within(field, value)
            return
    raise invalid(field, value, " or ".join(option.words for option in kind))


def _options_of(hint: Any) -> _Kind:
    if hint in _PLAIN:
        return (_PLAIN[hint],)
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return tuple(option for arg in args for option in _options_of(arg))
    if origin is Literal:
        return (_literal_option(args),)
    if (origin or hint) in _BUILDERS:
        return (_BUILDERS[origin or hint](args),)
    return (_instance_option(origin or hint),)


def _literal_option(args: tuple[Any, ...]) -> _Option:
    words = ", ".join(map(str, args))
    known: set[Any] = {(type(arg), arg) for arg in args}
    return _Option(words, words, lambda value: isinstance(value, Hashable) and (type(value), value) in known)


def _instance_option(cls: Any) -> _Option:
    """Instances of a class. Type variables and non-runtime protocols allow everything."""
    if not isinstance(cls, type) or getattr(cls, "_is_protocol", False) > getattr(cls, "_is_runtime_protocol", False):
        return _ANYTHING
    words = cast("str", getattr(cls, "words", "")) or cls.__name__
    return _Option(words, f"{cls.__name__}s", lambda value: isinstance(value, cls))


def _list_option(args: tuple[Any, ...]) -> _Option:
    """A tuple or list: of any length with one item type, or of a fixed length."""
    if len(args) < 2 or args[-1] is Ellipsis:
        return _items_option(args, _is_list)
    kinds = [_options_of(arg) for arg in args]

    def check_items(field: str, value: Sequence[Any]) -> None:
        for i, (kind, item) in enumerate(zip(kinds, value, strict=True)):
            _check_kind(f"{field}[{i}]", kind, item)

    words = f"a list of {len(args)} {_plural_words(kinds[0])}"
    return _Option(words, "lists", lambda value: _is_list(value) and len(value) == len(args), check_items)


def _sequence_option(args: tuple[Any, ...]) -> _Option:
    """Anything ordered with a length, except text."""
    return _items_option(args, lambda value: isinstance(value, Sequence) and not isinstance(value, str))


def _items_option(args: tuple[Any, ...], fits: Callable[[Any], bool]) -> _Option:
    """Items of one type. Lazy sequences, which build items on access, are not inspected."""
    kind = _options_of(args[0]) if args else (_ANYTHING,)

    def check_items(field: str, value: Sequence[Any]) -> None:
        for i, item in enumerate(value if _is_list(value) else ()):
            _check_kind(f"{field}[{i}]", kind, item)

    return _Option(f"a list of {_plural_words(kind)}", "lists", fits, check_items)


def _is_list(value: Any) -> bool:
    return isinstance(value, tuple | list)


def _mapping_option(args: tuple[Any, ...]) -> _Option:
    kind = _options_of(args[1]) if args else (_ANYTHING,)
    named, free = bool(args) and args[0] is str, kind == (_ANYTHING,)

    def check_entries(field: str, value: Mapping[Any, Any]) -> None:
        for key in value if named else ():
            if not isinstance(key, str):
                raise invalid(f"{field}: key", key, "text")
        for key, item in () if free else value.items():
            _check_kind(f"{field}.{key}", kind, item)

    return _Option("a mapping", "mappings", lambda value: isinstance(value, Mapping), check_entries)


def _is_number(value: Any, kinds: Any) -> bool:
    return isinstance(value, kinds) and not isinstance(value, bool)


def _plural_words(kind: _Kind) -> str:
    return " or ".join(option.plural for option in kind)


_ANYTHING = _Option("anything", "values", lambda value: True)
_PLAIN: Mapping[Any, _Option] = {
    int: _Option("a whole number", "whole numbers", lambda v: _is_number(v, int), None, (int,)),
    float: _Option("a number", "numbers", lambda v: _is_number(v, (int, float)), None, (int, float)),
    str: _Option("text", "texts", lambda v: isinstance(v, str), None, (str,)),
    bool: _Option("true or false", "true or false", lambda v: isinstance(v, bool), None, (bool,)),
    type(None): _Option("none", "none", lambda v: v is None, None, (type(None),)),
    TextIO: _Option("an open text file", "open text files", lambda v: isinstance(v, TextIOBase)),
    Any: _ANYTHING,
    object: _ANYTHING,
}
_BUILDERS: Mapping[Any, Callable[[tuple[Any, ...]], _Option]] = {
    tuple: _list_option,
    list: _list_option,
    Sequence: _sequence_option,
    Mapping: _mapping_option,
    dict: _mapping_option,
    Callable: lambda args: _Option("a function", "functions", callable),
}
