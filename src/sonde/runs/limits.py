"""Early termination of a run: token budget and circuit breaker."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Generic, TypeVar

from sonde.core import Action, Halted, Outage, Trajectory, UserError

J = TypeVar("J")

OUTAGES = 8
"""Number of consecutive `Outage` episodes that stop a run."""

FIRST = 8
"""Number of concurrent episodes under a budget until the first one has ended."""


class Breaker:
    """Stops a run after `OUTAGES` consecutive episodes that ended with an `Outage`."""

    def __init__(self) -> None:
        self._in_a_row = 0

    def count_failure(self, trajectory: Trajectory) -> None:
        self._in_a_row = self._in_a_row + 1 if ended_by_outage(trajectory) else 0
        if self._in_a_row >= OUTAGES:
            raise Halted(
                f"{OUTAGES} episodes in a row failed, the last with {trajectory.error}; finished episodes are kept, "
                "and the same run can be continued"
            )


def ended_by_outage(trajectory: Trajectory) -> bool:
    """Whether an `Outage` ended the episode."""
    return trajectory.error.startswith(f"{Outage.__name__}: ")


class BudgetWarning(UserWarning):
    """The budget ran out before all planned episodes were played."""


class Meter(Generic[J]):
    """Hands out jobs until they run out or the budget is spent.

    With a budget, an episode starts only if the running ones are expected to leave some of it, judging by the mean cost
    of those that have ended; until one has ended, only `FIRST` run. So few episodes are cut off when the budget runs
    out, and few tokens are wasted.
    """

    def __init__(self, jobs: Iterator[J], budget: int | None) -> None:
        self._jobs, self._budget = jobs, budget
        self._used = self._running = self._ended = self._cut = self._earlier = 0
        self._refused = False

    @property
    def is_spent(self) -> bool:
        """Whether the budget is spent."""
        return self._budget is not None and self._used >= self._budget

    def next_job(self) -> J | None:
        """The next job that may start."""
        if self._refused or (self._budget is not None and self._is_reserved(self._budget)):
            return None
        job = next(self._jobs, None)
        if self.is_spent and job is not None:
            self._refused, job = True, None
        self._running += job is not None
        return job

    def _is_reserved(self, budget: int) -> bool:
        """Whether the running episodes will probably need the rest of the budget."""
        if not self._running or not self._ended:
            return self._running >= FIRST
        return self._used + self._running * self._earlier / self._ended >= budget

    def count_tokens(self, action: Action) -> None:
        """Count the model calls of an act."""
        if self._budget is None:
            return
        for c in action.completions:
            if (c.text or c.reasoning) and not (c.usage.prompt and c.usage.completion):
                raise UserError(
                    f"budget: {c.model or 'a model'!r} does not report the tokens of its replies (`usage`), "
                    "allowed: endpoints that do, models on this machine, or no budget"
                )
            self._used += c.usage.prompt + c.usage.completion

    def end_episode(self, tokens: int | None) -> None:
        """Record that an episode ended after this many tokens, or was cut off."""
        self._running -= 1
        if tokens is None:
            self._cut += 1
        else:
            self._ended += 1
            self._earlier += tokens

    def report_unplayed(self) -> None:
        """Warn about the episodes that the budget prevented."""
        if self._cut or self._refused:
            warnings.warn(
                f"budget: {self._used:,} of {self._budget:,} tokens are used; not all planned episodes were played, "
                f"and {self._cut} were cut off (a cache keeps their replies)",
                BudgetWarning,
                stacklevel=2,
            )
