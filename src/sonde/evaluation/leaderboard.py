"""The leaderboard of a folder of results: suites by headline score, agents by profile, and outdated results.

    sonde leaderboard results

Own design; `results` defines the numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from sonde.core import UserError, invalid
from sonde.core.types import Json

from .metrics import Estimate
from .results import PROFILE, SuiteResult, agent_profile, read_result, stale_reasons


class Board(NamedTuple):
    """All results of a folder: the valid ones, and the outdated ones with the reasons."""

    results: Sequence[SuiteResult]
    stale: Sequence[tuple[SuiteResult, Sequence[str]]]

    @property
    def suites(self) -> dict[str, list[SuiteResult]]:
        """Complete results by headline score (where no environment has one, by success), the best first: those with
        the environments' own partners, then those with other ones, by partners; then partial ones, not ranked."""
        found: dict[str, list[SuiteResult]] = {name: [] for name in sorted({r.suite for r in self.results})}
        for one in sorted(self.results, key=_result_order):
            found[one.suite].append(one)
        return found

    @property
    def agents(self) -> dict[str, list[SuiteResult]]:
        """Results by agent: first the agents with the most environments, and among those the ones that ask best."""
        found: dict[str, list[SuiteResult]] = {}
        for one in self.results:
            found.setdefault(one.agent, []).append(one)
        return dict(sorted(found.items(), key=lambda item: (*_agent_order(item[1]), item[0])))

    def to_json(self) -> dict[str, Json]:
        """The means over environments, and the outdated results."""
        return {
            "suites": {name: [_summarise_result(one) for one in of] for name, of in self.suites.items()},
            "agents": {
                agent: {k: _estimate_to_json(*v) for k, v in agent_profile(of).items()}
                for agent, of in self.agents.items()
            },
            "stale": [{"suite": one.suite, "agent": one.agent, "why": list(why)} for one, why in self.stale],
        }


def _summarise_result(result: SuiteResult) -> dict[str, Json]:
    headline, means = result.headline, ("success", *PROFILE.values())
    return {
        "agent": result.agent,
        "partners": result.partners,
        "score": _estimate_to_json(headline.score, headline.scored),
        "whole": headline.whole,
        **{name: _estimate_to_json(*result.mean_metric(name)) for name in means},
        "tokens": result.tokens,
        "tokens_per_episode": result.tokens_per_episode,
        "seconds": result.seconds,
        "command": result.command,
        "training": result.training,
    }


def _estimate_to_json(value: Estimate | None, environments: int) -> Json:
    return None if value is None else {**asdict(value), "environments": environments}


def _agent_order(results: Sequence[SuiteResult]) -> tuple[int, float]:
    asks, _ = agent_profile(results)["asks"]
    return -sum(len(one.environments) for one in results), -asks.mean if asks else 0.0


def _result_order(result: SuiteResult) -> tuple[bool, str, float, str]:
    headline = result.headline
    value = headline.score or result.mean_metric("success")[0]
    return not headline.whole, result.partners, -value.mean if value else 0.0, result.agent


def read_board(folder: Path) -> Board:
    """Read the results of a folder. Raises `UserError` for a file that is not a result, or for two results of one agent
    and suite with the same partners."""
    if not folder.is_dir():
        raise invalid("results", str(folder), "a folder with files of `sonde eval --submit`")
    found: dict[tuple[str, str, str], Path] = {}
    good: list[SuiteResult] = []
    old: list[tuple[SuiteResult, Sequence[str]]] = []
    for path in sorted(folder.glob("*.json")):
        one = read_result(path)
        key = (one.suite, one.agent, one.partners)
        if key in found:
            both = f"{found[key].name} and {path.name}"
            raise UserError(
                f"results: got {both}, both of {one.agent} in {one.suite}, allowed: one; see `-o label=NAME`"
            )
        found[key] = path
        if reasons := stale_reasons(one):
            old.append((one, reasons))
        else:
            good.append(one)
    if not found:
        raise invalid("results", str(folder), "a folder with files of `sonde eval --submit`")
    return Board(good, old)
