"""A run on disk: a folder with its configuration, its trajectories and the results computed from them later.

    with RunWriter.open(folder, config) as run:        # or continue where it stopped
        if (task.id, seed, sample) not in run.finished_keys:
            run.append_trajectory(trajectory)

    run = Run.load(folder)                             # run.config, len(run), run[7], for t in run
    run.trajectories.select_where("kind = 'win' AND turns > ?", 5, order="score DESC")

Own design; `docs/store.md` specifies the format. The logs are the only source: trajectories are never rewritten,
numbers computed later are annotations, a failed episode is superseded by a later record with the same key, and a kill
at any moment loses at most what had not been flushed. One index, derived from the logs, finds the records.
"""

from .annotations import Annotation, Annotator, annotation_names, read_annotations, remove_annotations
from .dataset import BY_KEY, TrajectoryDataset
from .folder import discard_run, discard_unplayed, lock_scoring
from .index import Entry, Key
from .log import StoreWarning
from .run import Run
from .writer import RunWriter

__all__ = [
    "BY_KEY",
    "Annotation",
    "Annotator",
    "Entry",
    "Key",
    "Run",
    "RunWriter",
    "StoreWarning",
    "TrajectoryDataset",
    "annotation_names",
    "discard_run",
    "discard_unplayed",
    "lock_scoring",
    "read_annotations",
    "remove_annotations",
]
