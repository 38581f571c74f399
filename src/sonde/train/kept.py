"""What online training played, in a run folder per game: each process has folders of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sonde.core import Trajectory
from sonde.runs.store import RunWriter

from .folder import EPISODES
from .gather import Game


@dataclass(frozen=True)
class Kept:
    """The folders, each opened when its game is first played and held until training ends. `tied` is what a resumed
    training is tied to."""

    folder: Path
    rank: int
    tied: Mapping[str, Any]
    _runs: dict[str, RunWriter] = field(default_factory=dict[str, RunWriter])

    def add(self, step: int, game: Game, episodes: Sequence[Trajectory]) -> None:
        """Append them; what a resumed training plays again is there already."""
        run = self._run(game)
        there = run.finished
        for t in episodes:
            if (t.task.id, t.seed, t.sample) not in there:
                run.append(replace(t, tags={**t.tags, "step": str(step)}))

    def flush(self) -> None:
        for run in self._runs.values():
            run.flush()

    def of(self, game: Game) -> Path:
        """The run folder of a game."""
        return self._run(game).folder

    def close(self) -> None:
        for run in self._runs.values():
            run.close()
        self._runs.clear()

    def _run(self, game: Game) -> RunWriter:
        if game.name not in self._runs:
            folder = self.folder / (f"{EPISODES}-{self.rank}" if self.rank else EPISODES) / game.name
            config = {"env": game.env.config, "version": game.env.spec.version, "online": self.tied}
            self._runs[game.name] = RunWriter.open(folder, config)
        return self._runs[game.name]
