"""The leaderboard of a folder of results: suites by headline score, agents by profile, and outdated results.

    sonde leaderboard results

Ours; `results` defines the numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from sonde.core import UserError, invalid
from sonde.core.types import Json

from .metrics import Estimate
from .results import PROFILE, Result, profile, read, stale


class Board(NamedTuple):
    """All results of a folder: the valid ones, and the outdated ones with the reasons."""

    results: Sequence[Result]
    stale: Sequence[tuple[Result, Sequence[str]]]

    @property
    def suites(self) -> dict[str, list[Result]]:
        """Complete results by headline score, the best first; then partial ones, which are not ranked."""
        found: dict[str, list[Result]] = {name: [] for name in sorted({r.suite for r in self.results})}
        for one in sorted(self.results, key=_rank):
            found[one.suite].append(one)
        return found

    @property
    def agents(self) -> dict[str, list[Result]]:
        """Results by agent; first the agents with the most environments, of these the ones that ask best."""
        found: dict[str, list[Result]] = {}
        for one in self.results:
            found.setdefault(one.agent, []).append(one)
        return dict(sorted(found.items(), key=lambda item: (*_standing(item[1]), item[0])))

    def to_json(self) -> dict[str, Json]:
        """The means over environments, and the outdated results."""
        return {
            "suites": {name: [_line(one) for one in of] for name, of in self.suites.items()},
            "agents": {agent: {k: _number(*v) for k, v in profile(of).items()} for agent, of in self.agents.items()},
            "stale": [{"suite": one.suite, "agent": one.agent, "why": list(why)} for one, why in self.stale],
        }


def _line(result: Result) -> dict[str, Json]:
    headline, means = result.headline, ("success", *PROFILE.values())
    return {
        "agent": result.agent,
        "score": _number(headline.score, headline.played),
        "whole": headline.whole,
        **{name: _number(*result.mean(name)) for name in means},
        "tokens": result.tokens,
        "seconds": result.seconds,
        "command": result.command,
        "training": result.training,
    }


def _number(value: Estimate | None, environments: int) -> Json:
    return None if value is None else {**asdict(value), "environments": environments}


def _standing(results: Sequence[Result]) -> tuple[int, float]:
    asks, _ = profile(results)["asks"]
    return -sum(len(one.environments) for one in results), -asks.mean if asks else 0.0


def _rank(result: Result) -> tuple[bool, float, str]:
    headline = result.headline
    return not headline.whole, -headline.score.mean if headline.score else 0.0, result.agent


def board(folder: Path) -> Board:
    """Read the results of a folder. Raises `UserError` for a file that is no result, or two of one agent and suite."""
    if not folder.is_dir():
        raise invalid("results", str(folder), "a folder with files of `sonde eval --submit`")
    found: dict[tuple[str, str], Path] = {}
    good: list[Result] = []
    old: list[tuple[Result, Sequence[str]]] = []
    for path in sorted(folder.glob("*.json")):
        one = read(path)
        if (one.suite, one.agent) in found:
            both = f"{found[one.suite, one.agent].name} and {path.name}"
            raise UserError(
                f"results: got {both}, both of {one.agent} in {one.suite}, allowed: one; see `-o label=NAME`"
            )
        found[one.suite, one.agent] = path
        if reasons := stale(one):
            old.append((one, reasons))
        else:
            good.append(one)
    if not found:
        raise invalid("results", str(folder), "a folder with files of `sonde eval --submit`")
    return Board(good, old)
