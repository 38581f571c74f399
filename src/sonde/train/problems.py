"""What goes wrong in a training, seen in its history, with what helps.

    for problem in find_problems(history): print(problem)

Most problems must last: they show in each of the last `LASTING` entries. The command line prints a problem once, when
it first shows; `callbacks.WarningCallback` warns of it in Python; the page of a training lists those of its whole
history. What is doubtful about settings is known before (`automatic.find_doubts`). Thresholds: ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

LASTING = 3
UNREADABLE = 0.9
"""Share of episodes that end because no answer could be read, or of turns that were invalid."""
CUT = 0.5
"""Share of replies that are cut at their token limit."""
CERTAIN = 0.05
"""Negative log-likelihood of sampled tokens, as a share of what it was at first."""
KL, KL_REFERENCE = 0.1, 1.0
"""Nats per token from the policy that sampled, and from the reference."""
WORSE = 0.1
"""By how much success on held-out tasks may fall below that before training."""
_KL_TERM = "grpo: -o objective.kl=0.01, ppo: -o online.credit.kl=0.01"
"""How the KL term is set, which has another name in each objective."""

Entry = Mapping[str, float]


class Problem(NamedTuple):
    """A problem: its name, what is seen, and what helps."""

    name: str
    seen: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.seen}; {self.remedy}"


# --- from the history ------------------------------------------------------------------------------------------------


def find_problems(history: Sequence[Entry]) -> list[Problem]:
    """The problems at the end of this history. Replies that cannot be read explain flat groups, so where both are
    there, only the former are named."""
    found = [problem for find in _FINDERS if (problem := find(history)) is not None]
    names = {problem.name for problem in found}
    return [p for p in found if not (p.name == "flat" and names & {"unreadable", "cut"})]


def list_problems(history: Sequence[Entry]) -> Iterator[tuple[int, Problem]]:
    """Every problem of a history with the step at which it first shows."""
    seen = set[str]()
    for i in range(1, len(history) + 1):
        for problem in find_problems(history[:i]):
            if problem.name not in seen:
                seen.add(problem.name)
                yield int(history[i - 1]["step"]), problem


def _lasts(history: Sequence[Entry], name: str, holds: Callable[[float], bool], entries: int = LASTING) -> bool:
    """Whether the last entries all have a number for which this holds."""
    last = history[-entries:]
    return len(last) == entries and all(name in entry and holds(entry[name]) for entry in last)


def _find_unreadable(history: Sequence[Entry]) -> Problem | None:
    last = history[-1] if history else {}
    ended, turns = last.get("unreadable", 0.0), last.get("invalid", 0.0) / max(1.0, last.get("turns", 0.0))
    if max(ended, turns) <= UNREADABLE:
        return None
    what = (
        f"{100 * ended:.0f} % of the episodes end because" if ended >= turns else f"in {100 * turns:.0f} % of the turns"
    )
    return Problem(
        "unreadable",
        f"{what} no valid answer could be read: the model does not know the format",
        "show it a game (-o online.examples=1), or train it on games first: `sonde rollout ENV DEMOS --agent reference "
        "--split train`, then `sonde train sft DEMOS`",
    )


def _find_cut(history: Sequence[Entry]) -> Problem | None:
    if not _lasts(history, "cut", lambda share: share > CUT, 1):
        return None
    return Problem(
        "cut",
        f"{100 * history[-1]['cut']:.0f} % of the replies are cut at the limit of tokens",
        "raise it (-o online.max_new_tokens=N), or switch thinking off (-o online.template.enable_thinking=false)",
    )


def _find_flat(history: Sequence[Entry]) -> Problem | None:
    """All groups flat: nothing is learned at all."""
    if not _lasts(history, "flat_groups", lambda share: share >= 1.0):
        return None
    won = history[-1].get("success", 0.0)
    easier = "easier tasks, a trained start (`sonde train sft`)" if won < 0.5 else "harder tasks"
    return Problem(
        "flat",
        f"in the last {LASTING} steps all episodes of a task had the same reward, so nothing was learned "
        f"({100 * won:.0f} % won)",
        f"{easier}, more samples of a task (-o online.k=16) or a reward that differs (-o online.rewards)",
    )


def _find_certain(history: Sequence[Entry]) -> Problem | None:
    """Entropy gone: replies no longer vary, so nothing new is tried."""
    first = next((entry["nll"] for entry in history if "nll" in entry and "success" in entry), 0.0)
    plays = bool(history) and "success" in history[-1]
    if not (plays and _lasts(history, "nll", lambda nll: nll < CERTAIN * first)):
        return None
    return Problem(
        "certain",
        f"the replies hardly vary any more: {history[-1]['nll']:.2g} nats per token, {first:.2g} at first",
        "stop here, or start over with a lower rate (-o settings.lr), a KL term "
        f"({_KL_TERM}) or a higher temperature (-o online.temperature)",
    )


_DISTANCES = (
    ("kl_sampled", KL, "the policy that sampled", "use the same episodes less often (-o online.updates_per_rollout=1)"),
    ("kl_reference", KL_REFERENCE, "the reference", f"raise the weight of the KL term ({_KL_TERM})"),
)
"""Of a divergence: its name in the history, the most that is usual, from what it is measured, and what helps beside a
lower rate."""


def _find_divergence(history: Sequence[Entry]) -> Problem | None:
    """Too far from the policy that sampled, or from the reference."""
    for name, most, other, remedy in _DISTANCES:
        if _lasts(history, name, lambda kl, most=most: kl > most):
            seen = f"the model is {history[-1][name]:.2g} nats per token away from {other}"
            return Problem(name, seen, f"lower the rate (-o settings.lr), or {remedy}")
    return None


def _find_worse(history: Sequence[Entry]) -> Problem | None:
    start = next((entry["held_out_start"] for entry in history if "held_out_start" in entry), None)
    tests = [entry["held_out"] for entry in history if "held_out" in entry]
    if start is None or len(tests) < 2 or max(tests[-2:]) > start - WORSE:
        return None
    return Problem(
        "worse",
        f"{100 * tests[-1]:.0f} % of the held-out tasks are won, {100 * start:.0f} % before training",
        "lower the rate (-o settings.lr); the best weights so far are in the folder `best`",
    )


_FINDERS = (_find_unreadable, _find_cut, _find_flat, _find_certain, _find_divergence, _find_worse)
