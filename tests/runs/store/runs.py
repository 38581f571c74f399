"""A run folder with a frame for every trajectory, as tests of the store want it."""

from __future__ import annotations

from pathlib import Path

from sonde.core import Trajectory
from sonde.runs.store import RunWriter

LOG = "trajectories-00000.jsonl.zst"


def write(folder: Path, trajectories: list[Trajectory], writer: int = 0) -> Path:
    with RunWriter.open(folder, {}, writer=writer) as run:
        for t in trajectories:
            run.append_trajectory(t)
            run.flush()
    return folder
