"""The tasks of table 2 at a size that a CPU trains on: what is played, how much of it, and by what kind of model.

`low`, `average`, `high` of a score are those of appendix F: the worst return there is, the mean of the dataset, and the
reference solver's mean. Here the last two are measured on our own dataset and tasks; `paper` holds the raw returns of
the paper's tables 6 and 7, to stand beside ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sonde import Env, datasets, make
from sonde.datasets.tasks import Dataset
from sonde.train.selection import ShareRule


@dataclass(frozen=True, kw_only=True)
class Small:
    """`episodes`: of the dataset. The model: `context` is what it is shown, `new_tokens` what it may say, `window`,
    `width` and `layers` its size, `often` how often what is a token of its own is said (`network.py`).

    Training from the dataset: `batch` episodes a step, `epochs` by method (3 unless told), `filtered` what filtered BC
    keeps, `options` and `settings` by method, beside those of the `tiny_*` presets. Decoding with values: `beta`, their
    strength. Online: `turns`, the limit of a game, `rollouts`, games a step, `scale`, what rewards are multiplied by.
    Tests: `tests` tasks with `k` samples each.
    """

    name: str
    episodes: int
    context: str
    new_tokens: int
    window: int
    low: float
    tests: int
    k: int
    turns: int
    width: int = 64
    layers: int = 1
    often: int = 10
    batch: int = 32
    epochs: Mapping[str, float] = field(default_factory=dict)
    filtered: ShareRule = field(default_factory=lambda: ShareRule(success=True))
    options: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    beta: float = 16.0
    rollouts: int = 32
    scale: float = 1.0
    paper: Mapping[str, float] = field(default_factory=dict)

    @property
    def dataset(self) -> Dataset:
        return datasets.dataset(self.name)

    def game(self, turns: int | None = None) -> Env:
        env = self.dataset.env
        return make(env["name"], preset=env["preset"], **({} if turns is None else {"max_turns": turns}))

    def quick(self) -> Small:
        """A tenth of it."""
        return replace(self, episodes=self.episodes // 10, tests=min(self.tests, 25), k=1)


_SLOWLY = {"lr": 1e-3, "schedule": "linear"}

TASKS: Mapping[str, Small] = {
    task.name: task
    for task in (
        Small(
            name="maze", episodes=150, context="told", new_tokens=4, window=192, low=-100.0, tests=25, k=4, turns=40,
            batch=2, epochs={"BC": 5, "%BC": 10, "MC": 40, "ILQL": 40},
            options={
                "MC": {"bc": 0.0, "scale": 0.2, "cql": 0.05, "width": 4.0},
                "ILQL": {"tau": 0.9, "bc": 0.0, "scale": 0.2, "cql": 0.005, "width": 4.0},
            },
            settings={"MC": _SLOWLY, "ILQL": _SLOWLY}, beta=100.0, scale=0.05,
            paper={
                "dataset": -83.0, "reference": -6.84, "BC": -72.1, "%BC": -56.4, "MC": -48.1, "ILQL": -6.97,
                "PPO": -37.7, "online %BC": -71.7,
            },
        ),
    )
}  # fmt: skip
