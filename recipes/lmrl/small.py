"""The tasks of table 2 at a size for a CPU: the games, their numbers, and the models.

`low`, `average`, `high` of a score are those of appendix F: the worst possible return, the mean of the dataset, and the
reference solver's mean. Here the last two are measured on our own dataset and tasks; `paper` has the raw returns of the
paper's tables 6 and 7, for comparison.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sonde import Env, datasets
from sonde.core import build
from sonde.datasets.tasks import Dataset
from sonde.train.selection import ShareRule


@dataclass(frozen=True, kw_only=True)
class Small:
    """Dataset: its name `data`, other arguments of its environment (`setup`), and the number of `episodes`. Model: its
    `context`, the maximum `new_tokens` of a reply, its size (`window`, `width`, `layers`), and how `often` a phrase
    must occur to be one token (`network.py`).

    Training from the dataset: `batch` episodes per step, `epochs` by method (default 3), the rule `filtered` of
    filtered BC, and `options` and `settings` by method, which change the `tiny_*` presets. Decoding with values: their
    strength `beta`. Online: the limit of `turns` per game, `rollouts` per step, the number of `steps`, and the factor
    `scale` of rewards. Tests: `tests` tasks with `k` samples each; with `legal`, again by `agents:ranked`, which says
    only legal answers.
    """

    name: str
    data: str
    episodes: int
    context: str
    new_tokens: int
    window: int
    low: float
    tests: int
    k: int
    turns: int
    setup: Mapping[str, Any] = field(default_factory=dict)
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
    steps: int = 40
    scale: float = 1.0
    legal: bool = False
    paper: Mapping[str, float] = field(default_factory=dict)

    @property
    def dataset(self) -> Dataset:
        known = datasets.find_dataset(self.data)
        return replace(known, env={**known.env, **self.setup})

    def game(self, turns: int | None = None) -> Env:
        return build({**self.dataset.env, **({} if turns is None else {"max_turns": turns})})

    def quick(self) -> Small:
        """A reduced size, as a check that everything runs: a tenth of the episodes (50, of which some in a maze are
        won, to 400), a quarter of the epochs, a fifth of the play, at most ten steps, five tests."""
        return replace(
            self, episodes=min(max(50, self.episodes // 10), 400), tests=min(self.tests, 5), k=1,
            steps=min(self.steps // 5, 10),
            epochs={method: epochs / 4 for method, epochs in self.epochs.items()},
        )  # fmt: skip


_SLOWLY = {"lr": 1e-3, "schedule": "linear"}
_WALKS = {
    "MC": {"bc": 0.0, "scale": 0.2, "cql": 0.05, "width": 4.0},
    "ILQL": {"tau": 0.9, "bc": 0.0, "scale": 0.2, "cql": 0.005, "width": 4.0},
}
"""Of both mazes."""

TASKS: Mapping[str, Small] = {
    task.name: task
    for task in (
        Small(
            name="maze", data="maze", episodes=150, context="told", new_tokens=4, window=192, low=-100.0, tests=25,
            k=4, turns=40, batch=2, epochs={"BC": 5, "%BC": 10, "MC": 40, "ILQL": 40},
            options=_WALKS, settings={"MC": _SLOWLY, "ILQL": _SLOWLY}, beta=100.0, scale=0.05,
            paper={
                "dataset": -83.0, "reference": -6.84, "BC": -72.1, "%BC": -56.4, "MC": -48.1, "ILQL": -6.97,
                "PPO": -37.7, "online %BC": -71.7,
            },
        ),
        Small(
            name="maze_partial", data="maze_partial", episodes=200, context="last:5", new_tokens=4, window=512,
            low=-100.0, tests=25, k=4, turns=40, layers=2, batch=8,
            epochs={"BC": 8, "%BC": 16, "MC": 15, "ILQL": 20},
            options=_WALKS, settings={"MC": _SLOWLY, "ILQL": _SLOWLY}, beta=100.0, scale=0.05,
            paper={
                "dataset": -83.0, "reference": -25.75, "BC": -79.5, "%BC": -82.9, "MC": -80.3, "ILQL": -52.9,
                "PPO": -91.7, "online %BC": -79.5,
            },
        ),
        Small(
            name="text_nav", data="text_nav", episodes=800, context="told", new_tokens=8, window=256, low=0.0,
            tests=100, k=1, turns=15, batch=8, epochs={"BC": 5, "%BC": 10, "MC": 12, "ILQL": 25},
            options={
                "MC": {"bc": 0.0, "scale": 2.0, "cql": 0.05, "width": 4.0},
                "ILQL": {"tau": 0.9, "bc": 0.0, "scale": 2.0, "cql": 0.01, "width": 4.0},
            },
            settings={"MC": _SLOWLY, "ILQL": _SLOWLY}, beta=60.0,
            paper={
                "dataset": 0.26, "reference": 1.0, "BC": 0.39, "%BC": 0.54, "MC": 0.63, "ILQL": 0.88, "PPO": 0.81,
                "online %BC": 0.62,
            },
        ),
        Small(
            name="wordle", data="wordle", setup={"name": "few_words:FewWords", "size": 40}, episodes=16_000,
            context="full", new_tokens=4, window=128, low=-6.0, tests=40, k=5, turns=6, batch=16,
            epochs={"BC": 5, "%BC": 5, "MC": 2, "ILQL": 2}, filtered=ShareRule(top=0.3),
            options={
                "MC": {"bc": 0.0, "cql": 0.01, "width": 4.0},
                "ILQL": {"tau": 0.7, "bc": 0.0, "cql": 0.01, "width": 4.0},
            },
            settings={"MC": _SLOWLY, "ILQL": _SLOWLY}, beta=16.0, steps=300,
            paper={
                "dataset": -4.12, "reference": -1.94, "BC": -2.81, "%BC": -2.85, "MC": -2.16, "ILQL": -2.04,
                "PPO": -2.63, "online %BC": -2.15,
            },
        ),
        Small(
            name="endgames", data="endgames",
            setup={"name": "listed_men:ListedMen", "pieces": "Q", "max_turns": 60}, episodes=12_000,
            context="told", new_tokens=6, window=64, low=-1.0, tests=60, k=1, turns=40, width=96, batch=8,
            epochs={"BC": 6, "%BC": 8, "MC": 6, "ILQL": 4},
            options={
                "MC": {"bc": 0.0, "scale": 2.0, "cql": 0.05, "width": 4.0},
                "ILQL": {"tau": 0.7, "bc": 0.0, "scale": 2.0, "cql": 0.05, "width": 4.0},
            },
            settings={"MC": _SLOWLY, "ILQL": _SLOWLY}, beta=4.0, steps=100, scale=0.1, legal=True,
            paper={
                "dataset": 0.586, "reference": 1.0, "BC": 0.112, "%BC": -0.439, "MC": 0.588, "ILQL": 0.452,
                "PPO": 0.814, "online %BC": 0.112,
            },
        ),
    )
}  # fmt: skip
