"""The run and training folders below the given places, read again when they change.

A folder with `config.json` and logs is a run, one with `history.jsonl` a training. Sizes and times of its files show
whether a run has changed; only then are its logs read, and only the new part. A few runs are open at a time, which
bounds memory.
"""

from __future__ import annotations

import time
import warnings
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import Any

from sonde.beliefs import records as belief_records
from sonde.core import Env, SondeError, StoreError, Trajectory, UserError, build_recorded, content_hash
from sonde.core.types import Json
from sonde.evaluation.run_evaluation import EVALUATION
from sonde.runs.display_names import policy_label
from sonde.runs.store import Run, StoreWarning, annotation_names
from sonde.runs.store.folder import CONFIG, DEEP, read_config, read_planned
from sonde.runs.store.index import list_logs

from ..training_history import is_training_folder
from .evaluation_file import EvaluationFile

OPEN = 8
"""Runs whose index is in memory at a time; an index of 100,000 episodes takes 50 MB."""
FRESH = 60.0
"""Seconds after its last episode during which a run that lacks episodes counts as playing."""


class Shelf:
    """A run folder. Values are computed once for every state of its files."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self.lock = RLock()
        self._state: tuple[Any, ...] = ()
        self._run: Run | None = None
        self._known: dict[str, Any] = {}
        self.damage: Sequence[str] = ()
        self.headline: tuple[Any, str, Any] | None = None
        self.figures: tuple[Any, str] | None = None
        self._complete: tuple[Any, bool] = ((), False)

    @cached_property
    def config_file(self) -> dict[str, Json]:
        """The content of `config.json`."""
        return read_config(self.folder)

    @property
    def config(self) -> dict[str, Json]:
        return self.config_file["config"]

    @cached_property
    def env(self) -> Env[Any]:
        """The environment of the installed sonde; the played version may differ."""
        return build_recorded(self.env_config)

    @property
    def env_config(self) -> Mapping[str, Json]:
        found = self.config.get("env")
        if not isinstance(found, dict) or not isinstance(found.get("name"), str):
            raise UserError(f"{self.folder}: got a configuration without an environment, allowed: one with env.name")
        return found

    @property
    def seats(self) -> Mapping[str, Any]:
        """The configurations of the policies that played, by seat."""
        found = self.config.get("seats")
        return found if isinstance(found, dict) else {}

    @property
    def played_version(self) -> str:
        return str(self.config.get("version", self.env.spec.version))

    def file_state(self) -> tuple[Any, ...]:
        """Sizes and times of all files; differs when anything in the folder has changed."""
        files = (self.folder / CONFIG, self.folder / EVALUATION)
        paths = [*list_logs(self.folder).values(), *files, *self.folder.glob("annotations-*.zst")]
        stats = [(path.name, path.stat()) for path in paths if path.is_file()]
        return tuple((name, stat.st_size, stat.st_mtime_ns) for name, stat in stats)

    @property
    def version(self) -> str:
        """A hash of the state."""
        return content_hash([list(part) for part in self.file_state()])

    @property
    def run(self) -> Run:
        """The run, refreshed."""
        with self.lock:
            state = self.file_state()
            if self._run is None or state != self._state:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", StoreWarning)  # shown on the run's page
                    if self._run is None:
                        self._run = Run.load(self.folder)
                    else:
                        self._run.trajectories.refresh()
                self.damage = self._run.trajectories.damage_reports
                self._state, self._known = state, {}
            return self._run

    def _select_finished(self) -> Sequence[Trajectory]:
        return self.run.trajectories.select_where("error = ''")

    def free_memory(self) -> None:
        """Free the memory of its index."""
        with self.lock:
            self._run, self._state, self._known = None, (), {}

    def compute_once(self, what: str, compute: Any) -> Any:
        """`compute()`, cached as long as nothing in the folder changes."""
        with self.lock:
            _ = self.run
            if what not in self._known:
                self._known[what] = compute()
            return self._known[what]

    @property
    def evaluation(self) -> EvaluationFile | None:
        """The evaluation; None if it is missing or damaged."""
        return self.compute_once("evaluation", self._read_evaluation)[0]

    @property
    def evaluation_damage(self) -> str:
        """How the evaluation is damaged; empty if it is intact or missing."""
        return self.compute_once("evaluation", self._read_evaluation)[1]

    def _read_evaluation(self) -> tuple[EvaluationFile | None, str]:
        if not (self.folder / EVALUATION).is_file():
            return None, ""
        try:
            kept = EvaluationFile(self.folder)
            _ = kept.summary
        except (UserError, StoreError) as e:
            return None, str(e)
        return kept, ""

    @property
    def beliefs(self) -> belief_records.BeliefNotes:
        """The beliefs of `sonde elicit`, if any."""
        if belief_records.NAME not in annotation_names(self.folder):
            return belief_records.NONE
        return self.compute_once("beliefs", lambda: belief_records.load_beliefs(self.folder))

    @property
    def last_change(self) -> float:
        """When the logs last grew, in seconds since the epoch."""
        paths = list(list_logs(self.folder).values()) or [self.folder / CONFIG]
        return max(path.stat().st_mtime for path in paths)

    @property
    def status(self) -> str:
        """`evaluated`, `playing` or `not evaluated`."""
        path = self.folder / EVALUATION
        if path.is_file() and path.stat().st_mtime >= self.last_change:
            return "evaluated"
        fresh = time.time() - self.last_change < FRESH
        return "playing" if fresh and not self._is_complete() else "not evaluated"

    def _is_complete(self) -> bool:
        """Whether the run holds every episode that it is planned to have; no if no plan told how many."""
        with self.lock:
            state, is_closed = self.file_state(), self._run is None
            if self._complete[0] != state:
                planned = read_planned(self.folder)
                self._complete = state, planned is not None and len(self._select_finished()) >= planned
                if is_closed:
                    self.free_memory()
            return self._complete[1]

    @property
    def split(self) -> str:
        """The split of the tasks; empty if the configuration names none."""
        return str(self.config.get("split") or "")

    @property
    def agent(self) -> str:
        """The name of the agent."""
        if self.evaluation is not None:
            return self.evaluation.summary.players
        seats = self.config.get("seats")
        if isinstance(seats, dict) and isinstance(seats.get("agent"), dict):
            return policy_label(seats["agent"])
        online = self.config.get("online")
        return "in training" if online else "agent"

    def read_trajectory(self, identity: str) -> Trajectory:
        """The episode with this id."""
        with self.lock:
            found = self.run.trajectories.select_where("id = ?", identity)
            if not found:
                raise UserError(f"episode: got {identity!r}, allowed: the id of an episode of {self.name}")
            return found[0]


class Library:
    """All runs and trainings, by their names in addresses."""

    def __init__(self, places: Sequence[Path]) -> None:
        self.places = [Path(place) for place in places]
        self._lock = RLock()
        self._runs: OrderedDict[Path, Shelf] = OrderedDict()
        self._trainings: dict[Path, str] = {}
        self._opened: OrderedDict[Path, None] = OrderedDict()
        self._looked = -1.0
        self.unread: list[tuple[str, str]] = []
        """Unreadable run folders, and why."""
        self.refresh()
        if not self._runs and not self._trainings and not self.unread:
            given = ", ".join(map(str, self.places))
            raise UserError(f"view: got {given}, with no run folder and no training, allowed: a folder of them")

    def refresh(self) -> None:
        """Add new folders and drop removed ones; at most once a second."""
        with self._lock:
            if 0 <= time.monotonic() - self._looked < 1.0:
                return
            found, trained = self._find_folders()
            for gone in self._runs.keys() - set(found):
                del self._runs[gone]
            names = {shelf.name for shelf in self._runs.values()} | set(self._trainings.values())
            self.unread = []
            for folder in found:
                if folder not in self._runs:
                    self._add_run(folder, names)
            self._trainings = {f: self._trainings.get(f) or _make_name(f, names) for f in trained}
            self._looked = time.monotonic()

    def _add_run(self, folder: Path, names: set[str]) -> None:
        shelf = Shelf(folder, _make_name(folder, names))
        try:
            _ = shelf.env_config
        except (SondeError, OSError) as e:
            self.unread.append((shelf.name, str(e)))
            names.discard(shelf.name)
        else:
            self._runs[folder] = shelf

    def _find_folders(self) -> tuple[list[Path], list[Path]]:
        runs: dict[Path, None] = {}
        trained: dict[Path, None] = {}
        for place in self.places:
            if not place.is_dir():
                raise UserError(f"view: got {place}, allowed: an existing folder")
            for folder in _walk_folders(place, DEEP):
                if (folder / CONFIG).is_file() and (list_logs(folder) or (folder / EVALUATION).is_file()):
                    runs[folder] = None
                if is_training_folder(folder):
                    trained[folder] = None
        return list(runs), list(trained)

    @property
    def runs(self) -> list[Shelf]:
        with self._lock:
            return list(self._runs.values())

    @property
    def trainings(self) -> dict[str, Path]:
        """Folders by name."""
        with self._lock:
            return {name: folder for folder, name in self._trainings.items()}

    def run(self, name: str) -> Shelf:
        """The run of this name, which stays open; the least recently used runs are closed."""
        shelf = next((shelf for shelf in self.runs if shelf.name == name), None)
        if shelf is None:
            raise UserError(f"run: got {name!r}, allowed: the name of one of the {len(self.runs)} runs")
        with self._lock:
            self._opened[shelf.folder] = None
            self._opened.move_to_end(shelf.folder)
            closing = [self._opened.popitem(last=False)[0] for _ in range(len(self._opened) - OPEN)]
            gone = [self._runs[folder] for folder in closing if folder in self._runs]
        for other in gone:
            other.free_memory()
        return shelf

    def is_open(self, shelf: Shelf) -> bool:
        """Whether a run stays open."""
        return shelf.folder in self._opened

    def find_training(self, name: str) -> Path:
        if name not in self.trainings:
            raise UserError(f"training: got {name!r}, allowed: the name of one of the {len(self.trainings)} trainings")
        return self.trainings[name]


def _walk_folders(place: Path, depth: int) -> Iterator[Path]:
    yield place
    if depth:
        for folder in sorted(p for p in place.iterdir() if p.is_dir() and not p.name.startswith(".")):
            yield from _walk_folders(folder, depth - 1)


def _make_name(folder: Path, taken: set[str]) -> str:
    """The folder's name for addresses, with a number if it is taken."""
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "-" for c in folder.resolve().name)
    base = kept.strip(".") or "run"
    name, n = base, 2
    while name in taken:
        name, n = f"{base}-{n}", n + 1
    taken.add(name)
    return name
