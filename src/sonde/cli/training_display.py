"""Progress of a training run: a row per step, the curve of success, and the episodes in play.

A terminal shows all of it in place. Elsewhere, for example in a log file, lines report the first episodes and then the
steps, at most 40 of a long training.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from sonde.core import Trajectory
from sonde.train.problems import find_problems

from .progress import format_seconds
from .tables import format_history_entry, training_table
from .terminal import stderr

ROWS = 8
"""Rows of the table on a terminal: the last steps."""
LINES = 40
"""Lines about the steps of a training elsewhere."""
CURVE_WIDTH, CURVE_HEIGHT = 60, 8


class TrainingDisplay:
    """The history of a training and the episodes in play. `train.callbacks.ProgressCallback` takes `show_start`,
    `show_step` and `show_episode`."""

    def __init__(self, title: str, console: Console) -> None:
        self.title, self.console = title, console
        self.history: list[Mapping[str, float]] = []
        self.total = self._resumed = 0
        self._warned = set[str]()
        self._playing, self._planned, self._played, self._won, self._unreadable = "", 0, 0, 0, 0
        self._begun = self._ended = time.monotonic()
        self._live: Live | None = None

    # --- events ------------------------------------------------------------------------------------------------------

    def show_start(self, done: int, total: int) -> None:
        """Begin to measure time: model and data are ready, and `done` steps are from before."""
        self._begun, self._resumed, self.total = time.monotonic(), done, total
        if done:
            self._print(f"{self.title}: continues after step {done} of {total}")

    def show_episode(self, what: str, planned: int, trajectory: Trajectory) -> None:
        """Count an episode that has just ended."""
        if self._played >= self._planned or what != self._playing:
            self._playing, self._planned, self._played, self._won, self._unreadable = what, planned, 0, 0, 0
        outcome = trajectory.outcome
        self._played += 1
        self._won += outcome is not None and outcome.success
        self._unreadable += outcome is not None and outcome.kind == "unreadable"
        quarter = self._played * 4 // planned > (self._played - 1) * 4 // planned
        if self._live is None and not self.history and quarter:
            self._print(f"{self.title}: {self._describe_play()}")

    def show_step(self, step: int, total: int, entry: Mapping[str, float]) -> None:
        """Add an entry of the history."""
        now = time.monotonic()
        self.total, first = total, not self.history
        self.history.append({**entry, "step": step})
        took, self._ended = entry.get("seconds_playing", 0.0) + entry.get("seconds_training", 0.0), now
        took = took or (now - self._begun) / (step - self._resumed)
        if self._live is None and (first or step == total or step * LINES // total > (step - 1) * LINES // total):
            numbers = "  ".join(f"{name} {text}" for name, text in list(format_history_entry(entry).items())[:5])
            self._print(f"{self.title}: step {step} of {total}  {numbers}")
        if first:
            left, held_out = total - self._resumed, entry.get("seconds_held_out")
            more = f", and every evaluation on held-out tasks {format_seconds(held_out)}" if held_out else ""
            self._print(
                f"the first step took {format_seconds(took)}; {left} take about {format_seconds(took * left)}{more}"
            )
        for problem in find_problems(self.history):
            if problem.name not in self._warned:
                self._warned.add(problem.name)
                self._print(f"warning, step {step}: {problem}", "yellow")

    # --- rendering ---------------------------------------------------------------------------------------------------

    def __rich__(self) -> RenderableType:
        parts: list[RenderableType] = [training_table(self.history[-ROWS:], ROWS)] if self.history else []
        parts += [Text(line) for line in draw_success(self.history, self.total)]
        return Group(*parts, Text(self._describe_now()))

    @contextmanager
    def draw_live(self) -> Iterator[TrainingDisplay]:
        """Draw in place on a terminal while the context lasts."""
        if not self.console.is_terminal:
            yield self
            return
        with Live(get_renderable=self.__rich__, console=self.console, refresh_per_second=4) as self._live:
            yield self

    def _describe_now(self) -> str:
        done = int(self.history[-1]["step"]) if self.history else self._resumed
        if self.total and done >= self.total:
            return f"{self.title}: {done} steps in {format_seconds(time.monotonic() - self._begun)}"
        step = f"step {done + 1}{f' of {self.total}' if self.total else ''}"
        parts = [f"{self.title}, {step}", self._describe_play()]
        if self.history:
            each = (self._ended - self._begun) / (done - self._resumed)
            parts.append(f"{format_seconds(each)} a step, {format_seconds(each * (self.total - done))} left")
        return "; ".join(filter(None, parts))

    def _describe_play(self) -> str:
        if not self._planned:
            return ""
        if self._played >= self._planned and self.history:
            return "training"
        unreadable = f", {self._unreadable} unreadable" if self._unreadable else ""
        return f"{self._playing}: {self._played} of {self._planned} episodes, {self._won} won{unreadable}"

    def _print(self, line: str, style: str | None = None) -> None:
        self.console.print(line, highlight=False, soft_wrap=True, style=style)


@contextmanager
def training_display(title: str, console: Console = stderr) -> Iterator[TrainingDisplay]:
    """Show a training while the context lasts."""
    with TrainingDisplay(title, console).draw_live() as display:
        yield display


# --- the curve ---------------------------------------------------------------------------------------------------


def draw_success(history: Sequence[Mapping[str, float]], total: int) -> list[str]:
    """The success curve: the share of the training's own episodes that were won (`·`) and that of held-out tasks (`●`).
    No lines where the training plays no episodes."""
    own = [(entry["step"], entry["success"]) for entry in history if "success" in entry]
    held = [(entry["step"], entry["held_out"]) for entry in history if "held_out" in entry]
    held[:0] = [(entry["step"] - 1, entry["held_out_start"]) for entry in history if "held_out_start" in entry]
    if not own:
        return []
    legend = "· own episodes won" + ("   ● held-out tasks won" if held else "")
    return [*draw_curve({"·": own, "●": held}, max(total, 1)), f"{'':7}{legend}, by step"]


def draw_curve(lines: Mapping[str, Iterable[tuple[float, float]]], end: float) -> list[str]:
    """Points (x from 0 to `end`, share from 0 to 1) of each line, drawn with its mark; later lines lie above. Values
    that share a column are averaged."""
    rows = [[" "] * (CURVE_WIDTH + 1) for _ in range(CURVE_HEIGHT + 1)]
    for mark, points in lines.items():
        columns: dict[int, list[float]] = {}
        for x, y in points:
            columns.setdefault(round(x / end * CURVE_WIDTH), []).append(y)
        for column, values in columns.items():
            rows[CURVE_HEIGHT - round(sum(values) / len(values) * CURVE_HEIGHT)][column] = mark
    half = CURVE_HEIGHT // 2
    names = {0: "100 %", half: "50 %", CURVE_HEIGHT: "0 %"}
    return [f"{names.get(i, ''):>5} │{''.join(row).rstrip()}" for i, row in enumerate(rows)]
