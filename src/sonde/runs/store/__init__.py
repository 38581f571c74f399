"""What a run leaves on disk: a folder with its configuration, its trajectories and what was computed of them later.

    with RunWriter.open(folder, config) as run:        # or continue where it stopped
        if (task.id, seed, sample) not in run.finished:
            run.append(trajectory)

    run = Run.load(folder)                             # run.config, len(run), run[7], for t in run, run.canonical()
    run.trajectories.where("kind = 'win' AND turns > ?", 5, order="score DESC")

Own design; the format is specified in `docs/store.md`. The logs are all there is: trajectories are never rewritten,
later numbers about them go to annotations, failed episodes are superseded by a later record of the same key, and a kill
at any moment costs at most what had not been flushed. What finds them again is one index, made of the logs.
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
