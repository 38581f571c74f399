"""Held-out success while a model learns, and the weights that were best by it.

    online = OnlineSettings(eval_every=12, eval_split="val", eval_k=4)

Before the first step, every `eval_every` steps and after the last one, the model plays all tasks of the split, sampled
as in training and in the same worlds each time. `held_out` is the share of wins, in the next entry of the history; the
first entry has that before training, too, as `held_out_start`. The weights with the highest share (of equal ones, the
earliest) are kept in the folder `best`, with the step and the numbers in `best.json`: at step 0 if training helped at
no time.
A split on which a checkpoint is chosen is not one to report: choose on `val`, report on `test`. With `patience`
training ends after so many evaluations in a row that were no better than the best.

Source: ΔBelief-RL validates on 198 words every four rollouts (its code) and reports the checkpoint that is best there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson
from transformers import TrainerCallback

from sonde._util.folders import write_atomically
from sonde.core import Trajectory, UserError, derive, unknown

from ..collect import Game
from ..training_folder import BEST
from .groups import PlannedTask, drop_failed

FILE = f"{BEST}.json"


@dataclass(frozen=True, kw_only=True)
class HeldOut:
    """The result of one evaluation: the step, won and finished episodes, and the mean score."""

    step: int
    split: str
    episodes: int
    success: float
    score: float

    def is_better(self, than: HeldOut | None) -> bool:
        return than is None or (self.success, self.score) > (than.success, than.score)

    def write_file(self, folder: Path) -> None:
        write_atomically(folder / FILE, orjson.dumps(asdict(self), option=orjson.OPT_INDENT_2).decode())

    @classmethod
    def read_file(cls, folder: Path) -> HeldOut | None:
        """The best evaluation in a folder. It may be later than the checkpoint that a run resumes from: what is made
        again has to be better."""
        file = folder / FILE
        return cls(**orjson.loads(file.read_bytes())) if file.is_file() else None


class EvaluateHeldOut(TrainerCallback):
    """Calls the trainer's `evaluate_held_out` when it is due."""

    def __init__(self, trainer: Any, every: int, patience: int = 0) -> None:
        self._trainer, self._every, self._patience = trainer, every, patience

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.global_step == 0:
            self._trainer.evaluate_held_out()
        elif self._has_ended(state, self._trainer.best_held_out):
            control.should_training_stop = True

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        due = state.global_step % self._every == 0 or state.global_step >= state.max_steps
        if due and self._has_ended(state, self._trainer.evaluate_held_out()):
            control.should_training_stop = control.should_log = True

    def _has_ended(self, state: Any, best: HeldOut | None) -> bool:
        """Whether the patience is used up."""
        waited = 0 if best is None else state.global_step - best.step
        return self._patience > 0 and waited >= self._patience * self._every


def plan_held_out(games: Sequence[Game], split: str, seed: int) -> list[PlannedTask]:
    """Every task of the split, or a game's own held-out tasks, with its world."""
    for game in games:
        if game.held_out is None and split not in game.env.splits:
            raise unknown(f"online: eval_split: {game.name}", split, game.env.splits)
    tasks = [(game, task) for game in games for task in game.held_out or game.env.tasks(split)]
    return [PlannedTask(game, task, derive(seed, "held_out", i), "") for i, (game, task) in enumerate(tasks)]


def count_wins(played: Sequence[Sequence[Trajectory]]) -> tuple[int, int, float]:
    """Finished episodes, wins among them, and the sum of their scores; those that failed for outside reasons count as
    neither."""
    ended = [t for group in drop_failed(played).values() for t in group if t.outcome is not None]
    wins = sum(t.outcome is not None and t.outcome.success for t in ended)
    return len(ended), wins, sum(t.outcome.score for t in ended if t.outcome is not None)


def sum_results(step: int, split: str, parts: Sequence[Sequence[tuple[int, int, float]]]) -> HeldOut:
    """The result of all processes."""
    n, wins, score = (sum(column) for column in zip(*(row for part in parts for row in part), strict=True))
    if not n:
        raise UserError(f"train: step {step}: no episode of the split {split} came to an end")
    return HeldOut(step=step, split=split, episodes=int(n), success=wins / n, score=score / n)


def describe_metrics(result: HeldOut) -> Mapping[str, tuple[float, float]]:
    """For the history: the same in every process, so that their mean is it."""
    end = "" if result.step else "_start"
    return {f"held_out{end}": (result.success, 1.0), f"held_out_score{end}": (result.score, 1.0)}
