"""Progress: bars with the time left on standard error, and stages with their seconds."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from sonde.core import Trajectory
from sonde.evaluation.evaluate import Evaluation
from sonde.runs.run import Prepared, rescore

from .tables import told
from .terminal import stderr

WORTH_A_LINE = 2.0
"""Seconds of work after which it is said that there was some."""


@contextmanager
def progress(title: str, total: int, before: int = 0) -> Iterator[Callable[[Trajectory], None]]:
    """A bar over `total` episodes, of which `before` were played earlier; call what it yields with each trajectory.
    Off a terminal, one line at the end."""
    ends: Counter[str] = Counter()
    errors: list[str] = []
    columns = (
        _words("{task.description}"),
        BarColumn(bar_width=10),
        MofNCompleteColumn(),
        _words("{task.fields[rate]}"),
        TimeRemainingColumn(),
        _words("{task.fields[ends]}"),
    )
    with Progress(*columns, console=stderr, disable=not stderr.is_terminal) as bar:
        task = bar.add_task(title, total=total, completed=before, rate="", ends="")

        def done(trajectory: Trajectory) -> None:
            if trajectory.error and not errors:
                errors.append(trajectory.error)
                line = f"{title}: the first error: {trajectory.error}"
                stderr.print(line, markup=False, highlight=False, soft_wrap=True)
            ends[trajectory.outcome.kind if trajectory.outcome else "error"] += 1
            speed = bar.tasks[0].finished_speed or bar.tasks[0].speed
            bar.update(task, advance=1, rate=f"{speed:.1f}/s" if speed else "", ends=_short(ends))

        yield done
    if not stderr.is_terminal:
        earlier = f", {before} were there already" if before else ""
        stderr.print(f"{title}: played {ends.total()} of {total} episodes{earlier}  {_counts(ends)}".rstrip())


def scored(run: Prepared, folder: Path, total: int, seconds: float = 0.0) -> Evaluation:
    """`rescore` with a bar over `total` episodes, which goes when all are scored. Off a terminal, one line, if it took
    its time."""
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=10), MofNCompleteColumn(), TimeRemainingColumn())
    begun, name = time.monotonic(), run.env.spec.name
    with Progress(*columns, console=stderr, disable=not stderr.is_terminal, transient=True) as bar:
        task = bar.add_task(f"{name}: scoring", total=total)
        found = rescore(run, folder, seconds=seconds, on_done=lambda _: bar.advance(task))
    if not stderr.is_terminal and (took := time.monotonic() - begun) > WORTH_A_LINE:
        stderr.print(f"{name}: scored {total} episodes in {took:.0f} s", highlight=False)
    return found


@contextmanager
def bar(title: str, total: int, before: int) -> Iterator[Callable[[], None]]:
    """A bar over `total` things, of which `before` were done earlier; call what it yields for each. Off a terminal, one
    line at the end."""
    columns = (_words("{task.description}"), BarColumn(bar_width=10), MofNCompleteColumn(), TimeRemainingColumn())
    n, begun = 0, time.monotonic()
    with Progress(*columns, console=stderr, disable=not stderr.is_terminal) as shown:
        task = shown.add_task(title, total=total, completed=before)

        def done() -> None:
            nonlocal n
            n += 1
            shown.advance(task)

        yield done
    if not stderr.is_terminal:
        earlier = f", {before} were there already" if before else ""
        stderr.print(f"{title}: {n} of {total}{earlier}, {time.monotonic() - begun:.0f} s", highlight=False)


@contextmanager
def training(title: str) -> Iterator[Callable[[int, int, Mapping[str, float]], None]]:
    """A bar over optimizer steps with the newest numbers; call what it yields with steps done, steps in all, and the
    newest entry of the history. Off a terminal, a line at every tenth of the run."""
    columns = (
        _words("{task.description}"),
        BarColumn(bar_width=10),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        _words("{task.fields[numbers]}"),
    )
    with Progress(*columns, console=stderr, disable=not stderr.is_terminal) as bar:
        task = bar.add_task(title, total=None, numbers="")

        def show(step: int, total: int, entry: Mapping[str, float]) -> None:
            numbers = "  ".join(f"{name} {text}" for name, text in list(told(entry).items())[:3])
            bar.update(task, total=total, completed=step, numbers=numbers)
            if not stderr.is_terminal and (step * 10 // total > (step - 1) * 10 // total):
                stderr.print(f"{title}: step {step} of {total}  {numbers}", highlight=False, soft_wrap=True)

        yield show


def stages(console: Console, indent: str = "") -> Callable[[str, float | None], None]:
    """What `models.fetch` calls around each stage: its name when it starts, its seconds on the same line at the end."""

    def show(stage: str, seconds: float | None) -> None:
        if seconds is None:
            console.print(f"{indent}{stage} ... ", end="", highlight=False)
        else:
            console.print(f"{seconds:.1f} s", highlight=False)

    return show


def _words(form: str) -> TextColumn:
    return TextColumn(form, markup=False)


def _short(ends: Counter[str]) -> str:
    """What fits beside a bar in 80 columns."""
    errors = f"  {n} errors" if (n := ends["error"]) else ""
    return f"won {100 * ends['win'] / ends.total():.0f} %{errors}"


def _counts(ends: Counter[str]) -> str:
    return "  ".join(f"{kind} {n}" for kind, n in sorted(ends.items()))
