"""Access to the exact filter for agents that require certain members, with one error if it lacks them."""

from __future__ import annotations

from inspect import getattr_static
from typing import TypeVar, cast

from sonde.core import UserError, View

F = TypeVar("F")


def require_filter(view: View, face: type[F], agent: str, what: str = "") -> F:
    """The filter of a view, which must be an instance of `face`, or have its members if it is a protocol; `what`
    describes the filter in errors."""
    known, protocol = view.filter, getattr(face, "_is_protocol", False)
    if known is None or not (_has_members(known, face) if protocol else isinstance(known, face)):
        raise UserError(" ".join(f"agents:{agent}: {view.spec.name} has no filter {what}".split()))
    return cast("F", known)


def _has_members(known: object, face: type) -> bool:
    """Check members on the class, because access on the instance would compute properties."""
    return all(getattr_static(known, name, None) is not None for name in vars(face) if not name.startswith("_"))
