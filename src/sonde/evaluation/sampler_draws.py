"""Repeated draws of a posterior sampler from the same beliefs: how far is their distribution from the exact one?

A record has one sample per belief. Asked again and again with the beliefs of a recorded act, a sampler shows its whole
distribution, of which what matters is the optimal behaviour in the sampled worlds: the best arm, the symbol at each
place of a code, the best first action in each state. `gap` is the total variation distance between these decisions in
its draws and in the exact posterior, mean over places or states; `chance` is the gap of as many exact draws, because
few draws differ from their own distribution.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from sonde.core import Env, Episode, Rng, Trajectory, UserError, View, invalid
from sonde.models._shared.json_beliefs import optimal_values, sample_world

from . import metrics
from .metrics import Estimate
from .posteriors import World
from .roles import SAMPLER, list_candidates
from .written_posteriors import read_belief, read_prior, read_world

EXACT = 2000
"""Draws that stand for the exact distribution."""
REPEATS = 20
"""Repetitions of as many exact draws as the sampler made, for `chance`."""

Draw = Callable[[View, str, int], Sequence[str]]
"""Given a view, beliefs and a number: as many replies of the sampler, empty where unreadable."""


class DrawScore(NamedTuple):
    """One act's repeated draws. `gap` is NaN where no draw could be read."""

    turn: int
    draws: int
    unreadable: int
    gap: float
    chance: float


def score_draws(env: Env[Any], trajectory: Trajectory, draw: Draw, n: int) -> DrawScore:
    """Let the sampler draw `n` times at the middle one of an episode's samples."""
    if n < 2:
        raise invalid("roles: draws", n, "2 or more")
    acts = [*_sampling_acts(env, trajectory)]
    if not acts:
        raise UserError(f"roles: trajectory {trajectory.id}: got no samples, allowed: an episode of agents:llm_psrl")
    view, memory = acts[len(acts) // 2]
    first = read_prior(acts[0][1]["beliefs"])
    prior = list_candidates(first, view) if first is not None else None
    handed = read_belief(memory["beliefs"], prior) if prior is not None else None
    if prior is None or handed is None:
        raise UserError(f"roles: trajectory {trajectory.id}: beliefs: got prose, allowed: a JSON block")
    said = [read_world(text, prior) for text in draw(view, memory["beliefs"], n)]
    found = [_decide(world, view) for world in said if world is not None]
    rng = Rng(trajectory.seed, "draws", trajectory.id)
    exact = [_decide(sample_world(handed, rng), view) for _ in range(EXACT)]
    repeats = [[_decide(sample_world(handed, rng), view) for _ in range(len(found))] for _ in range(REPEATS)]
    chance = math.fsum(decision_gap(again, exact) for again in repeats) / REPEATS if found else math.nan
    gap = decision_gap(found, exact) if found else math.nan
    return DrawScore(view.turn, n, n - len(found), gap, chance)


@dataclass(frozen=True, kw_only=True)
class DrawScores:
    """Repeated draws of a run: their number, the share that was unreadable, the mean `gap` and `chance` by task."""

    draws: int
    unreadable: float
    gap: Estimate | None
    chance: Estimate | None


def summarise_draws(rows: Sequence[tuple[str, DrawScore]]) -> DrawScores:
    """The numbers of a run from (task, score) pairs."""
    read = [(task, score) for task, score in rows if not math.isnan(score.gap)]
    draws = sum(score.draws for _, score in rows)
    return DrawScores(
        draws=draws,
        unreadable=sum(score.unreadable for _, score in rows) / draws,
        gap=metrics.mean_by_task(((task, score.gap) for task, score in read), bounds=(0.0, 1.0)),
        chance=metrics.mean_by_task(((task, score.chance) for task, score in read), bounds=(0.0, 1.0)),
    )


def _sampling_acts(env: Env[Any], trajectory: Trajectory) -> Iterator[tuple[View, Mapping[str, Any]]]:
    """The view before and the memory after every act in which a world was sampled."""
    for before, after in pairwise(Episode.stages(env, trajectory)):
        action = after.acts[-1].action
        if isinstance(action.memory, Mapping) and any(c.name == SAMPLER for c in action.completions):
            yield before.view(), action.memory


def _decide(world: World, view: View) -> tuple[Any, ...]:
    """Optimal behaviour in a world, part by part."""
    if "code" in world:
        return tuple(world["code"])
    if "means" in world:
        return (max(world["means"], key=world["means"].__getitem__),)
    values = optimal_values(world, view.problem.horizon)
    return tuple(max(row, key=row.__getitem__) for row in values.values())


def decision_gap(drawn: Sequence[tuple[Any, ...]], exact: Sequence[tuple[Any, ...]]) -> float:
    """Total variation distance between two samples of decisions, mean over their parts.

    >>> decision_gap([("A",), ("A",)], [("A",), ("B",)])
    0.5
    """
    gaps: list[float] = []
    for place in range(len(exact[0])):
        p, q = (Counter(one[place] for one in rows) for rows in (drawn, exact))
        gaps.append(math.fsum(abs(p[k] / len(drawn) - q[k] / len(exact)) for k in p | q) / 2)
    return math.fsum(gaps) / len(gaps)
