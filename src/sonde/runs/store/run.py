"""Read a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Self

from sonde._util.argument_checks import check_call
from sonde._util.by_name import call_by_name
from sonde.core import Trajectory

from .annotations import Annotation, read_annotations
from .codec import encode_trajectory
from .dataset import BY_KEY, TrajectoryDataset
from .folder import CONFIG, describe_tampering, read_config
from .log import warn_damage


class Run:
    """A run folder opened for reading. `trajectories` is the dataset; length, iteration and `run[i]` come from it."""

    def __init__(self, folder: Path, saved: dict[str, Any]) -> None:
        self.folder = folder
        self.config: dict[str, Any] = saved["config"]
        self.version: str = saved["sonde"]
        self.commit: str | None = saved["commit"]
        self.fingerprint: str = saved["fingerprint"]
        self.trajectories = TrajectoryDataset(folder)

    @classmethod
    @check_call
    def load(cls, folder: Path | str) -> Self:
        """The current state of a run that may still be written to; a flush in progress is not visible yet."""
        folder = Path(folder)
        saved = read_config(folder)
        if (why := describe_tampering(saved)) is not None:
            warn_damage([f"{folder / CONFIG}: {why}"])
        return cls(folder, saved)

    def __repr__(self) -> str:
        env, agent = (self.config.get(name) or {} for name in ("env", "seats"))
        who = f"{env.get('name', 'an environment')}, {agent.get('agent', {}).get('name', 'an agent')}"
        return f"<Run {str(self.folder)!r}: {len(self)} episodes of {who}>"

    def _repr_html_(self) -> str:
        """For notebooks: what was played, and how it ended."""
        return call_by_name("viewer.notebook:show_run", self)

    def to_frame(self, of: Literal["episodes", "turns"] = "episodes", *, library: str = "") -> Any:
        """The numbers of every episode, or of every turn, as a data frame of pandas, or else of polars; `library` names
        one of them. `sonde.export.columns` has the columns. Uses the saved evaluation, or computes it."""
        return call_by_name("export.frames:run_to_frame", self, of, library)

    def __len__(self) -> int:
        return len(self.trajectories)

    def __iter__(self) -> Iterator[Trajectory]:
        return iter(self.trajectories)

    def __getitem__(self, i: int) -> Trajectory:
        return self.trajectories[i]

    def canonical_lines(self) -> Iterator[bytes]:
        """The lines of the canonical export, sorted by (task id, seed, sample), without timings and usage.

        Equal runs give equal bytes, regardless of the order and concurrency in which their episodes were played.
        """
        ordered = self.trajectories.select_where(order=BY_KEY)
        return (encode_trajectory(t.without_timings(), sort=True) + b"\n" for t in ordered)

    def read_annotations(self, name: str) -> dict[tuple[str, int | None], Annotation]:
        """The annotations called `name`, by (trajectory id, turn)."""
        return read_annotations(self.folder, name)
