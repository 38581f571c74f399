"""Functions of higher layers by their names: a value that a notebook shows is drawn by the viewer, which it cannot
import."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def call_by_name(where: str, *args: Any, **kwargs: Any) -> Any:
    """Call the function `module:name` of sonde.

    >>> call_by_name("core.belief:entropy", [0.5, 0.5])
    1.0
    """
    module, _, name = where.partition(":")
    return getattr(import_module(f"sonde.{module}"), name)(*args, **kwargs)
