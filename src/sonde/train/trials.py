"""What selection and statistics ask of a trajectory: did it succeed, what did it cost, how did it begin; and the table
of what differs between environments.

Source: PAPRIKA (arXiv 2502.17543), appendix C, and the defaults of its code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple, cast

from sonde.core import AGENT, Frozen, Trajectory, UserError

from .data import has_ids, rows


class Limits(NamedTuple):
    """What differs between environments: `slower`, how many more turns make a success clearly worse, and `samples`, how
    many trajectories are sampled per task."""

    slower: int = 4
    samples: int = 20


PAPRIKA: Mapping[str, Limits] = Frozen(
    twenty_questions=Limits(4),
    guess_my_city=Limits(4),
    customer_service=Limits(4),
    murder_mystery=Limits(4),
    wordle=Limits(2),
    cellular_automata=Limits(2),
    mastermind=Limits(3, 100),
    battleship=Limits(4),
    minesweeper=Limits(4),
    best_arm=Limits(4),
)
"""PAPRIKA's task groups. Samples per task: appendix C. Turns: the default of its code, 4, for games of 20 turns; for
shorter games a fifth of their turns, rounded up, which is ours. Other environments get `Limits()`."""

PUBLISHED_SLOWER = 20
"""The number of turns in the paper's scripts, the length of its longest games: no success is ever slow enough."""

FirstMove = Callable[[Trajectory], Hashable]


def limits(env: str) -> Limits:
    """The limits of an environment."""
    return PAPRIKA.get(env, Limits())


def success(t: Trajectory) -> bool:
    """Whether the game was won, and no judge says otherwise."""
    return t.outcome is not None and t.outcome.success


def ended(t: Trajectory) -> bool:
    """Whether the game came to an end of its own, rather than failing or being cut off by the world."""
    return t.outcome is not None and t.outcome.kind != "error"


def score(t: Trajectory) -> float:
    """The return: all that the agent earned."""
    parts = [act.rewards.get(AGENT, 0.0) for act in t.opening] + [turn.rewards.get(AGENT, 0.0) for turn in t.turns]
    return math.fsum(parts)


def cost(t: Trajectory, as_published: bool = False) -> float:
    """What there should be little of: turns; in the paper's best-arm identification, minus the pulls that paid."""
    if as_published and t.task.env == "best_arm":
        return -sum(float(turn.info.get("reward", 0)) for turn in t.turns)
    return len(t.turns)


def tokens(t: Trajectory) -> int:
    """Tokens of the longest row, which limits on length are about."""
    if not has_ids(t):
        raise UserError(
            f"trajectory {t.id}: max_tokens needs token ids, and its acts carry none; allowed: max_tokens=None, or "
            "what sonde.train.tokenise.as_sampled makes of it"
        )
    return max(len(row) for row in rows(t))


def by_world(trajectories: Iterable[Trajectory]) -> dict[str, list[Trajectory]]:
    """Trajectories by group, that is one task in one world, in the order in which they come."""
    found: dict[str, list[Trajectory]] = {}
    for t in trajectories:
        found.setdefault(t.group, []).append(t)
    return found


def first_reveal(t: Trajectory) -> Hashable:
    """Minesweeper: the first cell that was opened; None if none was."""
    opened = (turn.info.get("cell") for turn in t.turns if turn.info.get("result") in ("safe", "mine", "win"))
    cell = next(opened, None)
    return None if cell is None else tuple(cast("Sequence[int]", cell))


FIRST_MOVES: Mapping[str, FirstMove] = Frozen[FirstMove](minesweeper=first_reveal)
"""Environments whose worlds depend on the first move, and what it was."""


def first_move(env: str, asked: Collection[str]) -> FirstMove:
    """How a game began, where the environment is among those `asked` about; otherwise all games begin alike."""
    return FIRST_MOVES[env] if env in asked else _alike


def _alike(t: Trajectory) -> Hashable:
    return None
