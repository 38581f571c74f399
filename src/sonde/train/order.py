"""Which items make each optimizer step: numbers of items, as a sampler that Trainer's data loader goes by.

Sampled order: items are shuffled anew every epoch from the seed. Source: ours.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from torch.utils.data import DataLoader

from sonde.core.seeding import Rng, derive


class Order:
    """Which items make each optimizer step of an epoch: a seeded shuffle in mini-batches, the last maybe small."""

    def __init__(self, n: int, batch_size: int, seed: int, *, shuffle: bool = True) -> None:
        self.n, self.batch_size, self.seed, self.shuffle, self.epoch = n, batch_size, seed, shuffle, 0

    def __len__(self) -> int:
        return math.ceil(self.n / self.batch_size)

    def __iter__(self) -> Iterator[list[int]]:
        order = list(range(self.n))
        if self.shuffle:
            Rng(derive(self.seed, "train", "order"), self.epoch).shuffle(order)
        for start in range(0, self.n, self.batch_size):
            yield order[start : start + self.batch_size]

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch


class Loader(DataLoader[Any]):
    """Yields lists of numbers of items; Trainer tells it the epoch."""

    def set_epoch(self, epoch: int) -> None:
        self.batch_sampler.set_epoch(epoch)  # type: ignore[union-attr]
