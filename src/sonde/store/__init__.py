"""What a run leaves on disk: a folder with its configuration, its trajectories and what was computed of them later.

    with RunWriter.open(folder, config) as run:        # or continue where it stopped
        if (task.id, seed, sample) not in run.finished:
            run.append(trajectory)

    run = Run.load(folder)                             # run.config, len(run), run[7], for t in run, run.canonical()
    compact(folder)                                    # the same records as Parquet
    TrajectoryDataset(folder).scan("acts", ["seat", "text"])

Own design; the format is specified in `docs/store.md`. Trajectories are never rewritten: later numbers about them go to
annotations, failed episodes are superseded by a later record of the same key, and a kill at any moment costs at most
what had not been flushed.
"""

from .annotations import Annotation, Annotator, annotation_names, read_annotations, remove_annotations
from .compaction import compact
from .dataset import TrajectoryDataset
from .folder import discard
from .frames import Key
from .log import StoreWarning
from .run import Run
from .writer import RunWriter

__all__ = [
    "Annotation",
    "Annotator",
    "Key",
    "Run",
    "RunWriter",
    "StoreWarning",
    "TrajectoryDataset",
    "annotation_names",
    "compact",
    "discard",
    "read_annotations",
    "remove_annotations",
]
