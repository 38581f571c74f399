"""Callbacks for transformers' `Trainer`: progress reports, the last log entry, target heads. Source: ours."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from transformers import TrainerCallback

from sonde.core import Trajectory
from sonde.models.local.heads import Heads

from .problems import find_problems


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
ShowEpisode = Callable[[str, int, Trajectory], None]
"""Called with each episode of online training as it ends: what is played (`PLAYED` or `HELD_OUT`), how many episodes
that is, and the episode."""
ShowStart = Callable[[int, int], None]
"""Called when model and data are ready, with the steps done before (of a resumed run) and their total."""
PLAYED, HELD_OUT = "play", "held-out tasks"


class ProgressCallback(TrainerCallback):
    """Calls `show_start` before the first step and `show` with every log entry, in the first process only, and
    `show_episode` with every episode that this process played; pass it in `callbacks`."""

    def __init__(
        self, show: Show, show_episode: ShowEpisode | None = None, show_start: ShowStart | None = None
    ) -> None:
        self._show, self._show_episode, self._show_start = show, show_episode, show_start

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.is_world_process_zero and self._show_start is not None:
            self._show_start(state.global_step, state.max_steps)

    def on_episode(self, played: str, planned: int, trajectory: Trajectory) -> None:
        if self._show_episode is not None:
            self._show_episode(played, planned, trajectory)

    def on_log(self, args: Any, state: Any, control: Any, logs: Mapping[str, float] | None = None, **_: Any) -> None:
        if state.is_world_process_zero and logs and "loss" in logs:
            self._show(state.global_step, state.max_steps, logs)


class TrainingWarning(UserWarning):
    """A training that does not go well."""


class WarningCallback(TrainerCallback):
    """Warns once of every problem that the history shows (`train.problems`); pass it in `callbacks`."""

    def __init__(self) -> None:
        self._told = set[str]()

    def on_log(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        for problem in find_problems([entry for entry in state.log_history if "loss" in entry]):
            if state.is_world_process_zero and problem.name not in self._told:
                self._told.add(problem.name)
                warnings.warn(f"step {state.global_step}: {problem}", TrainingWarning, stacklevel=2)
