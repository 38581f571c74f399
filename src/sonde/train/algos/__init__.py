"""Objectives, one file each: the loss as pure functions with its formula, and a frozen dataclass of settings.

Listing the objectives imports no torch. A mean over tokens, samples or pairs is left to the trainer: an objective
returns sums, so that neither gradient accumulation nor more processes change what is optimised.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Mapping
from typing import Any

from sonde.core import Frozen, UserError, unknown
from sonde.core.checked import check_arguments

from ..types import Objective

_HERE = "sonde.train.algos"

OBJECTIVES: Mapping[str, str] = Frozen(
    sft=f"{_HERE}.sft:SFT",
    dpo=f"{_HERE}.dpo:DPO",
    rpo=f"{_HERE}.dpo:RPO",
    ipo=f"{_HERE}.dpo:IPO",
    ln_dpo=f"{_HERE}.dpo:LengthNormalisedDPO",
    simpo=f"{_HERE}.simpo:SimPO",
    kto=f"{_HERE}.kto:KTO",
    rwr=f"{_HERE}.rwr:RWR",
    grpo=f"{_HERE}.grpo:GRPO",
    mc=f"{_HERE}.mc:MC",
    ilql=f"{_HERE}.ilql:ILQL",
    ppo=f"{_HERE}.ppo:PPO",
)
"""Where the class of each objective is."""


def objective(name: str, **options: Any) -> Objective:
    """The objective called `name` with these settings; `"their.module:Class"` finds one of your own."""
    cls = _find(name)
    check_arguments(f"objective {name}", cls, options)
    return cls(**options)


def _find(name: str) -> type[Any]:
    if name not in OBJECTIVES and ":" not in name:
        raise unknown("objective", name, OBJECTIVES)
    module, _, attribute = OBJECTIVES.get(name, name).rpartition(":")
    try:
        cls = getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as e:
        raise UserError(f"objective: {name} needs {e.name}, which is not installed") from e
    except AttributeError as e:
        raise UserError(f"objective: {name} cannot be loaded ({e})") from e
    if not (isinstance(cls, type) and dataclasses.is_dataclass(cls)):
        raise UserError(f"objective: {name} is not a dataclass")
    return cls
