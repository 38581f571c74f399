"""Tells a function how a training goes, entry by entry of its history. Source: ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from transformers import TrainerCallback

Show = Callable[[int, int, Mapping[str, float]], None]
"""Called with the optimizer steps done, those in all, and the newest entry of the history."""


class Watch(TrainerCallback):
    """Calls `show` with every entry, in the first process only; give it as one of `callbacks`."""

    def __init__(self, show: Show) -> None:
        self._show = show

    def on_log(self, args: Any, state: Any, control: Any, logs: Mapping[str, float] | None = None, **_: Any) -> None:
        if state.is_world_process_zero and logs and "loss" in logs:
            self._show(state.global_step, state.max_steps, logs)
