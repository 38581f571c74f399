"""The episodes of online training on disk: one run folder per game, and later reassignment of credit.

    groups = recredit_episodes("runs/delta_belief/episodes/twenty_questions-delta_belief", settings)

This allows other reward weights, shapings or estimators on recorded episodes. Rewarders' measurements are read from the
same folder, so nothing is played or asked again. Each process has its own folders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from sonde.core import Env, Trajectory, UserError, build_recorded
from sonde.runs.store import Run, RunWriter

from ..collect import Game
from ..credit import Values
from ..training_folder import EPISODES
from .groups import Group, PlannedTask, assign_credit, drop_failed
from .settings import OnlineSettings

# --- writing ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EpisodeLog:
    """Run folders, each opened when its game is first played and held until training ends. `tied` identifies the
    training for resuming."""

    folder: Path
    rank: int
    tied: Mapping[str, Any]
    _runs: dict[str, RunWriter] = field(default_factory=dict[str, RunWriter])

    def add_episodes(self, step: int, game: Game, episodes: Sequence[Trajectory]) -> None:
        """Append episodes, except those that a resumed training has already stored."""
        run = self._open_run(game)
        there = run.finished_keys
        for t in episodes:
            if (t.task.id, t.seed, t.sample) not in there:
                run.append_trajectory(replace(t, tags={**t.tags, "step": str(step)}))

    def flush(self) -> None:
        for run in self._runs.values():
            run.flush()

    def find_folder(self, game: Game) -> Path:
        """The run folder of a game."""
        return self._open_run(game).folder

    def close(self) -> None:
        for run in self._runs.values():
            run.close()
        self._runs.clear()

    def _open_run(self, game: Game) -> RunWriter:
        if game.name not in self._runs:
            folder = self.folder / (f"{EPISODES}-{self.rank}" if self.rank else EPISODES) / game.name
            config = {"env": game.env.config, "version": game.env.spec.version, "online": self.tied}
            self._runs[game.name] = RunWriter.open(folder, config)
        return self._runs[game.name]


# --- reassignment of credit ------------------------------------------------------------------------------------------


def recredit_episodes(folder: Path | str, settings: OnlineSettings) -> list[Group]:
    """The groups of a game's run folder, each with samples, advantages and numbers, as `assign_credit` makes them."""
    folder = Path(folder)
    env = build_recorded(Run.load(folder).config["env"])
    if not isinstance(env, Env):
        raise UserError(f"{folder}: its configuration names no environment")
    played = _load_groups(folder)
    chosen = [
        PlannedTask(Game(env, [group[0].task], folder.name), group[0].task, group[0].seed, "") for group in played
    ]
    return assign_credit(chosen, played, settings, _load_rewards(folder, env, played, settings))


def _load_groups(folder: Path) -> list[list[Trajectory]]:
    episodes = sorted(Run.load(folder), key=lambda t: (t.group, t.sample))
    return [list(group) for _, group in groupby(episodes, key=lambda t: t.group)]


def _load_rewards(
    folder: Path, env: Env[Any], played: list[list[Trajectory]], settings: OnlineSettings
) -> dict[str, dict[str, Values]]:
    valid, brought = drop_failed(played), dict[str, dict[str, Values]]()
    for rewarder in settings.rewarders:
        measured = rewarder.load_measurements(folder, env, [t for group in valid.values() for t in group])
        for key, arrays in rewarder.compute_rewards(valid, measured).items():
            brought.setdefault(key, {}).update(arrays)
    return brought
