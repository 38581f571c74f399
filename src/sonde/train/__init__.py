"""Training on trajectories: rows of tokens, credit, objectives, one trainer and one on-policy loop.

sonde.train.learn("smollm2", sonde.train.preset("paprika_sft", folder="trained"), run)
sonde.train.learn_online("smollm2", sonde.train.preset("starpo", folder="trained"), [game])
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .by_name import learn, learn_online
    from .collect import Game
    from .presets import preset

__all__ = ["Game", "learn", "learn_online", "preset"]

_HOMES = {"Game": "collect", "learn": "by_name", "learn_online": "by_name", "preset": "presets"}


def __getattr__(name: str) -> Any:
    """Load a name of `__all__` when it is first used: most of them need torch."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_import_module(f".{_HOMES[name]}", __name__), name)
