"""The leaderboard of a folder of results: suites by headline score, agents by profile, and outdated results.

    sonde leaderboard results

Below a suite stand the numbers that its paper prints (`published`), which are never ranked with ours. Own design;
`results` defines our numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from sonde.core import AGENT, UserError, invalid, names
from sonde.core.registry import read_summary
from sonde.core.types import Json

from .metrics import Estimate
from .published import PublishedTable, published_tables
from .results import PROFILE, SuiteResult, agent_profile, read_result, stale_reasons


class Board(NamedTuple):
    """All results of a folder: the valid ones, and the outdated ones with the reasons."""

    results: Sequence[SuiteResult]
    stale: Sequence[tuple[SuiteResult, Sequence[str]]]

    @property
    def suites(self) -> dict[str, list[SuiteResult]]:
        """Results by table: those of suites, then those of single environments. In each, whole results by headline
        score (where no environment has one, by success), the best first: those with the environments' own partners,
        then those with other ones, by partners; then partial ones, not ranked, by how much was played."""
        tables: dict[str, list[SuiteResult]] = {}
        for one in sorted(
            self.results, key=lambda r: (not r.suite, r.suite, r.environments[0].env_and_preset, r.table_key)
        ):
            tables.setdefault(one.table_key, []).append(one)
        titles = Counter(of[0].title for of in tables.values())
        return {
            _long_title(of[0]) if titles[of[0].title] > 1 else of[0].title: sorted(of, key=_result_order)
            for of in tables.values()
        }

    @property
    def agents(self) -> dict[str, list[SuiteResult]]:
        """Results by agent: first the agents with the most environments, and among those the ones that ask best."""
        found: dict[str, list[SuiteResult]] = {}
        for one in self.results:
            found.setdefault(one.agent, []).append(one)
        return dict(sorted(found.items(), key=lambda item: (*_agent_order(item[1]), item[0])))

    def to_json(self) -> dict[str, Json]:
        """The means over environments, the papers' numbers, and the outdated results."""
        return {
            "suites": {name: [_summarise_result(one) for one in of] for name, of in self.suites.items()},
            "published": {
                name: [asdict(one) for one in found] for name in self.suites if (found := published_tables(name))
            },
            "agents": {
                agent: {k: _estimate_to_json(*v) for k, v in agent_profile(of).items()}
                for agent, of in self.agents.items()
            },
            "stale": [{"suite": one.suite, "agent": one.agent, "why": list(why)} for one, why in self.stale],
        }

    def find_published(self, table: str) -> Sequence[PublishedTable]:
        """The numbers that the paper of a suite prints; none for a single environment."""
        return published_tables(table)


def _long_title(result: SuiteResult) -> str:
    """The title of one of several tables of an environment: its version, and what tells its settings or scale."""
    return f"{result.title}, version {result.environments[0].version}, {result.table_key[:6]}"


# --- agents ----------------------------------------------------------------------------------------------------------

_ROLES = {
    "floor": "Programs. Random legal play, the 0 of every environment.",
    "reference": "Programs. The solver of each environment, the 100 of its scale.",
}


def describe_agent(result: SuiteResult) -> str:
    """What an agent is: a program and what it does, or a language model and how it plays."""
    players = [played.seats.get(AGENT, {}) for played in result.environments]
    if result.agent in _ROLES and not any("model" in player for player in players):
        return _ROLES[result.agent]
    told = dict.fromkeys(_describe_player(player, bool(result.training)) for player in players)
    return " ".join(told)


def _describe_player(player: Mapping[str, Any], trained: bool) -> str:
    model, name = player.get("model"), str(player.get("name", "")).removeprefix("agents:")
    while isinstance(model, Mapping) and isinstance(model.get("model"), Mapping):  # a cache around a model
        model = model["model"]
    if isinstance(model, Mapping):
        host = f" at {model['provider']}" if "provider" in model else ""
        how = "" if name == "llm" else f", as {name}"
        shown = f", shown {n} example game{'s' if n > 1 else ''}" if (n := player.get("examples")) else ""
        kind = "Language model trained with sonde" if trained else "Language model"
        return f"{kind}: {model.get('model', model.get('name'))}{host}{how}{shown}."
    summary = read_summary("agents", name) if name in names("agents") else ""
    return f"Program. {summary}" if summary else f"Program {name}."


# --- rows ------------------------------------------------------------------------------------------------------------


def _summarise_result(result: SuiteResult) -> dict[str, Json]:
    headline, means = result.headline, ("success", *PROFILE.values())
    return {
        "agent": result.agent,
        "about": describe_agent(result),
        "partners": result.partners,
        "score": _estimate_to_json(headline.score, headline.scored),
        "whole": headline.whole,
        "share": headline.share,
        "lacks": headline.lacks,
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
    if not headline.whole:
        return True, "", -headline.share, result.agent
    value = headline.score or result.mean_metric("success")[0]
    return False, result.partners, -value.mean if value else 0.0, result.agent


def read_board(folder: Path) -> Board:
    """Read the results of a folder. Raises `UserError` for a file that is not a result, or for two results of one agent
    in one table with the same partners."""
    if not folder.is_dir():
        raise invalid("results", str(folder), "a folder with files of `sonde eval --submit`")
    found: dict[tuple[str, str, str], Path] = {}
    good: list[SuiteResult] = []
    old: list[tuple[SuiteResult, Sequence[str]]] = []
    for path in sorted(folder.glob("*.json")):
        one = read_result(path)
        key = (one.table_key, one.agent, one.partners)
        if key in found:
            both = f"{found[key].name} and {path.name}"
            raise UserError(
                f"results: got {both}, both of {one.agent} in {one.title}, allowed: one; see `-o label=NAME`"
            )
        found[key] = path
        if reasons := stale_reasons(one):
            old.append((one, reasons))
        else:
            good.append(one)
    if not found:
        raise invalid("results", str(folder), "a folder with files of `sonde eval --submit`")
    return Board(good, old)
