"""Credit for episodes that were played before: other weights of rewards, other shapings, another estimator.

    groups = recredited("runs/delta_belief/episodes/twenty_questions-delta_belief", settings)

What rewarders measured while the episodes were played is read from beside them, so nobody plays or is asked again.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any

from sonde.core import Env, Trajectory, UserError, build_recorded
from sonde.runs.store import Run

from .credit import Values
from .gather import Game
from .groups import Chosen, Group, OnlineSettings, credited, finished


def recredited(folder: Path | str, settings: OnlineSettings) -> list[Group]:
    """The groups of a game's run folder, each with samples, advantages and numbers, as `credited` makes them."""
    folder = Path(folder)
    env = build_recorded(Run.load(folder).config["env"])
    if not isinstance(env, Env):
        raise UserError(f"{folder}: its configuration names no environment")
    played = _groups(folder)
    chosen = [Chosen(Game(env, [group[0].task], folder.name), group[0].task, group[0].seed, "") for group in played]
    return credited(chosen, played, settings, _brought(folder, env, played, settings))


def _groups(folder: Path) -> list[list[Trajectory]]:
    episodes = sorted(Run.load(folder), key=lambda t: (t.group, t.sample))
    return [list(group) for _, group in groupby(episodes, key=lambda t: t.group)]


def _brought(
    folder: Path, env: Env[Any], played: list[list[Trajectory]], settings: OnlineSettings
) -> dict[str, dict[str, Values]]:
    valid, brought = finished(played), dict[str, dict[str, Values]]()
    for rewarder in settings.rewarders:
        measured = rewarder.again(folder, env, [t for group in valid.values() for t in group])
        for key, arrays in rewarder.rewards(valid, measured).items():
            brought.setdefault(key, {}).update(arrays)
    return brought
