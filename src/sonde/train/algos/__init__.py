"""Objectives, one file each: the loss as pure functions with its formula, and a frozen dataclass of settings.

Listing the objectives imports no torch. A mean over tokens, samples or pairs is left to the trainer: an objective
returns sums, so that neither gradient accumulation nor more processes change what is optimised.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from sonde.core import Frozen, UserError, unknown
from sonde.core.checked import check_arguments

from ..types import Objective

_HERE = "sonde.train.algos"


class Known(NamedTuple):
    """Where the class of an objective is, what it learns from, and the settings of a paper that it begins with."""

    where: str
    learns: Literal["successes", "pairs", "samples", "values", "play"]
    settings: str


OBJECTIVES: Mapping[str, Known] = Frozen(
    sft=Known("sft:SFT", "successes", "paprika_sft"),
    dpo=Known("dpo:DPO", "pairs", "paprika_rpo"),
    rpo=Known("dpo:RPO", "pairs", "paprika_rpo"),
    ipo=Known("dpo:IPO", "pairs", "paprika_rpo"),
    ln_dpo=Known("dpo:LengthNormalisedDPO", "pairs", "paprika_rpo"),
    simpo=Known("simpo:SimPO", "pairs", "paprika_rpo"),
    kto=Known("kto:KTO", "samples", "paprika_rpo"),
    rwr=Known("rwr:RWR", "samples", "paprika_sft"),
    grpo=Known("grpo:GRPO", "play", "starpo"),
    mc=Known("mc:MC", "values", "lmrl_dialogue_mc"),
    ilql=Known("ilql:ILQL", "values", "lmrl_dialogue_ilql"),
    ppo=Known("ppo:PPO", "play", "lmrl_dialogue_ppo"),
)
"""All objectives: a new one is its file and its line here."""


def learning_from(what: str) -> tuple[str, ...]:
    """The names of the objectives that learn from this."""
    return tuple(name for name, known in OBJECTIVES.items() if known.learns == what)


def objective(name: str, **options: Any) -> Objective:
    """The objective called `name` with these settings; `"their.module:Class"` finds one of your own."""
    cls = _find(name)
    check_arguments(f"objective {name}", cls, options)
    return cls(**options)


def _find(name: str) -> type[Any]:
    if name not in OBJECTIVES and ":" not in name:
        raise unknown("objective", name, OBJECTIVES)
    where = f"{_HERE}.{OBJECTIVES[name].where}" if name in OBJECTIVES else name
    module, _, attribute = where.rpartition(":")
    try:
        cls = getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as e:
        raise UserError(f"objective: {name} needs {e.name}, which is not installed") from e
    except AttributeError as e:
        raise UserError(f"objective: {name} cannot be loaded ({e})") from e
    if not (isinstance(cls, type) and dataclasses.is_dataclass(cls)):
        raise UserError(f"objective: {name} is not a dataclass")
    return cls
