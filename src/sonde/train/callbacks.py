"""Callbacks for transformers' `Trainer`: progress reports, the last log entry, target heads. Source: ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from transformers import TrainerCallback

from sonde.models.local.heads import Heads


class LogLastStep(TrainerCallback):
    """Log the last step, regardless of `logging_steps`."""

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        control.should_log |= state.global_step >= state.max_steps


class FollowTargets(TrainerCallback):
    """Update target heads every `every` optimizer steps."""

    def __init__(self, heads: Heads) -> None:
        self._heads = heads

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.global_step % self._heads.spec.every == 0:
            self._heads.update_targets()


Show = Callable[[int, int, Mapping[str, float]], None]
"""Called with the optimizer steps done, their total, and the newest entry of the history."""


class ProgressCallback(TrainerCallback):
    """Calls `show` with every log entry, in the first process only; pass it in `callbacks`."""

    def __init__(self, show: Show) -> None:
        self._show = show

    def on_log(self, args: Any, state: Any, control: Any, logs: Mapping[str, float] | None = None, **_: Any) -> None:
        if state.is_world_process_zero and logs and "loss" in logs:
            self._show(state.global_step, state.max_steps, logs)
