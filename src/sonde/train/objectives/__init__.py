"""Training objectives, one per file: the loss as pure functions with its formula, and a frozen dataclass of settings.

The file name is the registry, as for environments: `sonde.names("objectives")` lists them without importing torch. The
trainer takes the mean over tokens, samples or pairs; an objective returns sums, so that neither gradient accumulation
nor the number of processes changes what is optimised.
"""

from __future__ import annotations

from typing import Any

from sonde._util.extras import require_extra
from sonde.core import UserError, find, names

from ..types import Learns, Objective


def find_objective(name: str) -> type[Objective]:
    """The class of the objective called `name`; `"their.module:Class"` finds a custom one."""
    require_extra("an objective", "torch")
    cls = find(name if ":" in name else f"objectives:{name}")
    if not issubclass(cls, Objective):
        raise UserError(f"objective: {name} is not derived from sonde.train.types.Objective")
    return cls


def make_objective(name: str, **options: Any) -> Objective:
    """The objective called `name` with these settings."""
    return find_objective(name)(**options)


def objectives_learning_from(*what: Learns) -> tuple[str, ...]:
    """The names of the objectives that learn from one of these sources."""
    return tuple(name for name in names("objectives") if find_objective(name).learns in what)
