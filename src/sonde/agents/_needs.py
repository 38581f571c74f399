"""What an agent asks of the exact filter, as a protocol or a class: one way to have it, one way to say that it lacks."""

from __future__ import annotations

from typing import TypeVar, cast

from sonde.core import UserError, View

F = TypeVar("F")


def needs(view: View, face: type[F], agent: str, what: str = "") -> F:
    """The filter of a view, which must have all that `face` has; `what` says in words what it is a filter over."""
    known = view.filter
    # Of the class, because asking the filter itself would compute what is a property.
    if known is None or not all(hasattr(type(known), name) for name in vars(face) if not name.startswith("_")):
        raise UserError(" ".join(f"agents:{agent}: {view.spec.name} has no filter {what}".split()))
    return cast("F", known)
