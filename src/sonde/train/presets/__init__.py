"""Named training settings, those of the papers and small ones: `preset("paprika_rpo")`.

Papers: `paprika_*`, `starpo*`, `delta_belief*`, `igpo` and `gain_pairs` (`papers.py`), `lmrl_TASK_METHOD` (`lmrl.py`).
`tiny_*`: ours, for models of 0.4 M weights (`tiny.py`). What differs from the preset is listed (`overridden`): on the
command line when a run starts, in its `data.json`, and in the report.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from sonde._util.frozen import as_frozen
from sonde.core.errors import unknown
from sonde.core.types import Json

from ..settings import FREE
from ..training import Training
from .lmrl import list_presets as lmrl_presets
from .papers import PAPERS
from .tiny import TINY

PRESETS: Mapping[str, Training] = as_frozen(
    {name: replace(known, preset=name) for name, known in {**PAPERS, **TINY, **lmrl_presets()}.items()}
)
_UNTOLD = (
    *(f"settings.{name}" for name in (*FREE, "seed")), "learning.seed", "online.max_batch", "online.kv_bytes",
    "online.lock_step", "online.save_episodes",
)  # fmt: skip
"""Settings that no source could have fixed."""


def preset(name: str, **changes: Any) -> Training:
    """The preset of that name, with changes of its trainer's settings.

    >>> preset("paprika_rpo", folder="runs/rpo").settings.lr
    2e-07
    """
    if name not in PRESETS:
        raise unknown("train: preset", name, PRESETS)
    known = PRESETS[name]
    return replace(known, settings=replace(known.settings, **changes))


def list_overrides(training: Training) -> list[str]:
    """What differs from the preset that a training began as, each with the preset's own value.

    >>> list_overrides(preset("starpo", lr=1e-4))
    ['settings.lr 0.0001 (1e-05)']
    """
    if not training.preset:
        return []
    known = PRESETS[training.preset]
    now, was = (dict(_flatten_json("", t.to_json())) for t in (training, known))
    gone = was if training.objective == known.objective else ()  # another objective has other options
    names = [name for name in dict.fromkeys((*now, *gone)) if name not in _UNTOLD]
    return [f"{name} {now.get(name)} ({was.get(name)})" for name in names if now.get(name) != was.get(name)]


def describe_preset(training: Training) -> str:
    """The name of the preset and its overrides, as a line of text."""
    changed = list_overrides(training)
    return f"{training.preset}, but {', '.join(changed)}" if changed else training.preset


def summarise_preset(training: Training) -> str:
    """What a preset is, in a line: rate, items in a step, length, adapter, and where it is from.

    >>> summarise_preset(PRESETS["paprika_rpo"])
    'lr 2e-07, 32 a step, 1 epoch; PAPRIKA section 4'
    """
    s = training.settings
    length = f"{s.max_steps} steps" if s.max_steps else f"{s.epochs:g} epoch{'' if s.epochs == 1 else 's'}"
    adapter = f", LoRA {s.lora.r}" if s.lora is not None else ""
    return f"lr {s.lr:g}, {s.batch_size} a step, {length}{adapter}; {re.split('[:;]', training.source)[0]}"


def _flatten_json(path: str, value: Json) -> Iterator[tuple[str, Json]]:
    """Every plain value in nested mappings, with its path."""
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from _flatten_json(f"{path}.{name}" if path else name, part)
    else:
        yield path, list(value) if isinstance(value, tuple) else value
