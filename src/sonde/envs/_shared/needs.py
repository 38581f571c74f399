"""What an agent asks of the exact filter, as a protocol or a class: one way to have it, one way to say it lacks."""

from __future__ import annotations

from inspect import getattr_static
from typing import TypeVar, cast

from sonde.core import UserError, View

F = TypeVar("F")


def needs(view: View, face: type[F], agent: str, what: str = "") -> F:
    """The filter of a view, which must be a `face`, or have what that asks for if it is a protocol; `what` says in
    words what it is a filter over."""
    known, protocol = view.filter, getattr(face, "_is_protocol", False)
    if known is None or not (_offers(known, face) if protocol else isinstance(known, face)):
        raise UserError(" ".join(f"agents:{agent}: {view.spec.name} has no filter {what}".split()))
    return cast("F", known)


def _offers(known: object, face: type) -> bool:
    """Looked up without asking, since asking would compute what is a property."""
    return all(getattr_static(known, name, None) is not None for name in vars(face) if not name.startswith("_"))
