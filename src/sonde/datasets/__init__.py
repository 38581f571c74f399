"""Datasets of LMRL-Gym: played by its behaviour policies, or read from its published files.

    dataset = datasets.find_dataset("maze")
    for part in datasets.make_parts(dataset, n=100):
        run = datasets.fill_part(part, folder / part.name)

Source: LMRL-Gym (arXiv 2311.18232), appendix D and table 1. Rewards stay where the environment gave them, one per turn;
`sonde.train` places them on the last token of each reply, as the paper does.

`read_puzzles` reads tasks of Multi-Turn Puzzles, to be played with `--tasks-file`.
"""

from .card import CARD, README, compute_statistics, make_card, save_card, table_rows
from .imports import ImportResult, import_file
from .make import PARTS, Part, count_held, fill_part, make_parts
from .puzzles import GAMES, PuzzleTasks, read_puzzles
from .tasks import TASKS, Dataset, Statistics, find_dataset

__all__ = [
    "CARD",
    "GAMES",
    "PARTS",
    "README",
    "TASKS",
    "Dataset",
    "ImportResult",
    "Part",
    "PuzzleTasks",
    "Statistics",
    "compute_statistics",
    "count_held",
    "fill_part",
    "find_dataset",
    "import_file",
    "make_card",
    "make_parts",
    "read_puzzles",
    "save_card",
    "table_rows",
]
