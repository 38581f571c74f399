"""Progress on standard error: bars with the time left on a terminal. Elsewhere, for example in the log of a batch job,
a line at the end, and some before it if the work is long."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn

from sonde.core import AGENT, Episode, Trajectory
from sonde.evaluation.evaluate import Evaluation
from sonde.evaluation.run_evaluation import rescore_run
from sonde.runs.run import PreparedRun

from .terminal import stderr

WORTH_A_LINE = 2.0
"""Seconds of work after which a line reports it, where there is no bar."""
SILENCE = 60.0
"""Seconds between two lines about work that goes on."""
LINES = 20
"""Most lines about one piece of work."""


def _make_bar(*columns: ProgressColumn, transient: bool = False) -> Progress:
    """A bar with its title, the number of steps done, and further columns; invisible off a terminal."""
    return Progress(
        _text_column("{task.description}"), BarColumn(bar_width=10), MofNCompleteColumn(), *columns,
        console=stderr, disable=not stderr.is_terminal, transient=transient,
    )  # fmt: skip


def _text_column(form: str) -> TextColumn:
    return TextColumn(form, markup=False)


def _print_line(line: str) -> None:
    """A line that stands in for the bar off a terminal."""
    if not stderr.is_terminal:
        stderr.print(line, highlight=False, soft_wrap=True)


class _ProgressLines:
    """The lines off a terminal while work goes on: how much is done, and about how long the rest takes."""

    def __init__(self, title: str, total: int, before: int) -> None:
        self.title, self.total, self.before = title, total, before
        self._done = self._shown = before
        self._begun = self._last = time.monotonic()
        self._patience = SILENCE

    def advance(self, note: str = "") -> None:
        self._done += 1
        now, left = time.monotonic(), self.total - self._done
        if not left or now - self._last < SILENCE or (self._done - self._shown) * LINES < self.total:
            return
        self._last, self._shown = now, self._done
        took = now - self._begun
        rest = format_seconds(took / (self._done - self.before) * left)
        self._print(took, note, f"{rest} left")

    def print_turns(self, note: str) -> None:
        """A line if there was none for a minute, then for two, four and so on."""
        now = time.monotonic()
        if now - self._last >= self._patience:
            self._last, self._patience = now, 2 * self._patience
            self._print(now - self._begun, note)

    def _print(self, took: float, *notes: str) -> None:
        parts = [f"{self._done} of {self.total} in {format_seconds(took)}", *filter(None, notes)]
        _print_line(f"{self.title}: {', '.join(parts)}")


class EpisodeProgress:
    """The progress of episodes on a bar and in lines: call it with each new trajectory, and `show_act` with running
    episodes, so that long ones are seen to go on."""

    def __init__(self, bar: Progress, title: str, total: int, before: int) -> None:
        self.ends: Counter[str] = Counter()
        self._turns, self._failed = 0, False
        self._title, self._bar, self._lines = title, bar, _ProgressLines(title, total, before)
        self._task = bar.add_task(title, total=total, completed=before, pace="", ends="")

    def __call__(self, trajectory: Trajectory) -> None:
        if trajectory.error and not self._failed:
            self._failed = True
            stderr.print(f"{self._title}: the first error: {trajectory.error}", highlight=False, soft_wrap=True)
        self.ends[trajectory.outcome.kind if trajectory.outcome else "error"] += 1
        ends = _summarise_ends(self.ends)
        self._bar.update(self._task, advance=1, pace=self._pace, ends=ends)
        self._lines.advance(ends)

    def show_act(self, episode: Episode) -> None:
        """Count the agent's turns."""
        acts = episode.turns[-1].acts if episode.turns else episode.opening
        if acts[-1].seat == AGENT:
            self._turns += 1
            self._bar.update(self._task, pace=self._pace)
            self._lines.print_turns(self._pace)

    @property
    def _pace(self) -> str:
        """The turns of a model, or the episodes per second of programs."""
        if self._turns:
            return f"{self._turns} turn{'s' * (self._turns > 1)}"
        shown = self._bar.tasks[0]
        speed = shown.finished_speed or shown.speed
        return f"{speed:.1f}/s" if speed else ""


@contextmanager
def episode_progress(title: str, total: int, before: int = 0) -> Iterator[EpisodeProgress]:
    """A bar over `total` episodes, of which `before` were played earlier. Off a terminal, lines (`_ProgressLines`) and
    one at the end."""
    columns = _text_column("{task.fields[pace]}"), TimeRemainingColumn(), _text_column("{task.fields[ends]}")
    with _make_bar(*columns) as bar:
        progress = EpisodeProgress(bar, title, total, before)
        yield progress
    earlier = f", {before} were there already" if before else ""
    counts = "  ".join(f"{kind} {n}" for kind, n in sorted(progress.ends.items()))
    _print_line(f"{title}: played {progress.ends.total()} of {total} episodes{earlier}  {counts}".rstrip())


def _summarise_ends(ends: Counter[str]) -> str:
    """What fits beside a bar in 80 columns."""
    errors = f"  {n} errors" if (n := ends["error"]) else ""
    return f"won {100 * ends['win'] / ends.total():.0f} %{errors}"


def rescore_with_progress(run: PreparedRun, folder: Path, total: int, seconds: float = 0.0) -> Evaluation:
    """`rescore_run` with a bar over `total` episodes, which disappears when all are scored. Off a terminal, one line
    if it took long."""
    begun, name = time.monotonic(), run.env.spec.name
    with _make_bar(TimeRemainingColumn(), transient=True) as bar:
        task = bar.add_task(f"{name}: scoring", total=total)
        evaluation = rescore_run(run, folder, seconds=seconds, on_done=lambda _: bar.advance(task))
    if (took := time.monotonic() - begun) > WORTH_A_LINE:
        _print_line(f"{name}: scored {total} episodes in {took:.0f} s")
    return evaluation


@contextmanager
def step_progress(title: str, total: int, before: int) -> Iterator[Callable[[], None]]:
    """A bar over `total` steps, of which `before` were done earlier; call the yielded function after each. Off a
    terminal, lines (`_ProgressLines`) and one at the end."""
    n, begun, lines = 0, time.monotonic(), _ProgressLines(title, total, before)
    with _make_bar(TimeRemainingColumn()) as shown:
        task = shown.add_task(title, total=total, completed=before)

        def advance() -> None:
            nonlocal n
            n += 1
            shown.advance(task)
            lines.advance()

        yield advance
    earlier = f", {before} were there already" if before else ""
    _print_line(f"{title}: {n} of {total}{earlier}, {time.monotonic() - begun:.0f} s")


def stage_printer(console: Console, indent: str = "") -> Callable[[str, float | None], None]:
    """The callback of `models.fetch`: prints the name of each stage when it starts, and its seconds when it ends."""

    def show_stage(stage: str, seconds: float | None) -> None:
        if seconds is None:
            console.print(f"{indent}{stage} ... ", end="", highlight=False)
        else:
            console.print(f"{seconds:.1f} s", highlight=False)

    return show_stage


def format_seconds(seconds: float) -> str:
    """A duration in at most two units.

    >>> format_seconds(4.13), format_seconds(72), format_seconds(5000)
    ('4.1 s', '1 min 12 s', '1 h 23 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = round(seconds) // 60
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min {round(seconds) % 60} s"
