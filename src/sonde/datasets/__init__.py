"""Datasets of LMRL-Gym: played by its behaviour policies, or read from its published files.

    dataset = datasets.dataset("maze")
    for part in datasets.parts(dataset, n=100):
        run = datasets.fill(part, folder / part.name)

Source: LMRL-Gym (arXiv 2311.18232), appendix D and table 1. Rewards stay where the environment gave them, one per turn;
`sonde.train` places them on the last token of each reply, as the paper does.
"""

from .card import CARD, README, card, rows, save, statistics
from .imports import Read, load
from .make import PARTS, Part, fill, held, parts
from .tasks import TASKS, Dataset, Statistics, dataset

__all__ = [
    "CARD",
    "PARTS",
    "README",
    "TASKS",
    "Dataset",
    "Part",
    "Read",
    "Statistics",
    "card",
    "dataset",
    "fill",
    "held",
    "load",
    "parts",
    "rows",
    "save",
    "statistics",
]
