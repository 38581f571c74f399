"""The card of a dataset: the statistics of LMRL-Gym's table 1 with the paper's own, as JSON and as a page."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

import orjson

from sonde import __version__
from sonde._util.folders import write_atomically
from sonde.core import AGENT, Trajectory
from sonde.core.types import Json
from sonde.runs.store import Run

from .tasks import Dataset, Statistics

CARD, README = "card.json", "README.md"
_WORDS: Mapping[str, str] = {
    "size": "episodes",
    "mean_length": "mean length (replies)",
    "std_length": "standard deviation",
    "success": "success rate",
    "mean_return": "mean return",
    "std_return": "standard deviation ",
}


def compute_statistics(trajectories: Iterable[Trajectory]) -> Statistics:
    """The row of table 1 for these episodes: means and standard deviations over all of them (population, not sample).
    Episodes that ended with an error are left out. All zeros where there are no episodes."""
    n = wins = 0
    length, returned = _Moments(), _Moments()
    for t in trajectories:
        if not t.error and t.outcome is not None and t.outcome.kind != "error":
            n += 1
            wins += t.outcome is not None and t.outcome.success
            length.add_value(len(t.turns))
            returned.add_value(sum(turn.rewards.get(AGENT, 0.0) for turn in t.turns))
    return Statistics(
        size=n,
        mean_length=length.mean,
        std_length=length.std,
        success=wins / n if n else 0.0,
        mean_return=returned.mean,
        std_return=returned.std,
    )


class _Moments:
    """Mean and standard deviation of a stream (Welford 1962)."""

    def __init__(self) -> None:
        self.n, self.mean, self._squares = 0, 0.0, 0.0

    def add_value(self, value: float) -> None:
        self.n += 1
        before = value - self.mean
        self.mean += before / self.n
        self._squares += before * (value - self.mean)

    @property
    def std(self) -> float:
        return math.sqrt(self._squares / self.n) if self.n else 0.0


def make_card(task: str, dataset: Dataset, runs: Mapping[str, Run], **more: Json) -> dict[str, Json]:
    """The card of these parts as JSON, with `more` as further entries."""
    return {
        "dataset": f"lmrl {task}",
        "sonde": __version__,
        "paper": {"source": "LMRL-Gym (arXiv 2311.18232), table 1", **asdict(dataset.paper)},
        "parts": {name: _part_card(run) for name, run in runs.items()},
        **more,
    }


def _part_card(run: Run) -> dict[str, Json]:
    config = {key: run.config[key] for key in ("env", "seats", "split", "seed", "imported") if key in run.config}
    return {**asdict(compute_statistics(run)), "fingerprint": run.fingerprint, **config}


def save_card(found: Mapping[str, Json], folder: Path) -> None:
    """Write the card into the dataset's folder, as JSON and as a page."""
    for name, text in ((CARD, orjson.dumps(found, option=orjson.OPT_INDENT_2)), (README, _format_page(found).encode())):
        write_atomically(folder / name, text)


def table_rows(found: Mapping[str, Json]) -> list[tuple[str, ...]]:
    """The table: a row per statistic, a column per part, the paper's numbers last."""
    columns = [*found["parts"].values(), found["paper"]]
    return [(words.strip(), *(_format_number(column[name]) for column in columns)) for name, words in _WORDS.items()]


def _format_number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}" if abs(value) < 100 else f"{value:.1f}"


def _format_page(found: Mapping[str, Json]) -> str:
    return "".join(f"{line}\n" for line in _page_lines(found))


def _page_lines(found: Mapping[str, Json]) -> Iterator[str]:
    names = list(found["parts"])
    yield f"# {found['dataset']}"
    yield ""
    yield f"Made by sonde {found['sonde']}; the paper is {found['paper']['source']}."
    yield ""
    yield f"| | {' | '.join(names)} | paper |"
    yield f"|---|{'---|' * (len(names) + 1)}"
    for row in table_rows(found):
        yield f"| {' | '.join(row)} |"
    for name, part in found["parts"].items():
        known = {key: part[key] for key in ("env", "seats", "split", "seed", "imported") if key in part}
        yield ""
        yield f"`{name}/`"
        yield ""
        yield "```json"
        yield orjson.dumps(known, option=orjson.OPT_INDENT_2).decode()
        yield "```"
