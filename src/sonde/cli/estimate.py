"""Estimate the cost of play, for `--dry-run` and for the start of a training.

All numbers are upper bounds: every episode takes all its turns, and every reply all its tokens. Models that say that
they cost nothing (`Model.costs_nothing`) are not counted. `print_estimate` takes
any number of `PlannedPlay`s, one line each: runs of an evaluation, rounds of a pipeline, games of a training.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple, cast

from rich.console import Console

from sonde.agents._shared.calls import ComposedAgent
from sonde.agents._shared.chat import ChatAgent
from sonde.agents.best_of_n import BestOfN
from sonde.agents.one_of import OneOf
from sonde.agents.switch import Switch
from sonde.core import AGENT, AnyPolicy, Env, Episode, EpisodePolicy, Model, Policy, Task, View
from sonde.core.types import Json
from sonde.runs.display_names import policy_label
from sonde.runs.run import PreparedRun

from .result_table import ResultTable

CHARACTERS_PER_TOKEN = 4
"""A rule of thumb for English; the estimate bounds the turns, not the tokeniser."""
HEARD = 500
"""Tokens of another seat's message; environments cut messages to about 2,000 characters."""


class PlannedPlay(NamedTuple):
    """Episodes of one environment to be played: `task` is one of the tasks, `episodes` the number of all episodes, and
    `name` the title in the table."""

    env: Env[Any]
    policies: Mapping[str, AnyPolicy]
    task: Task
    episodes: int
    seed: int = 0
    name: str = ""

    @classmethod
    def of_run(cls, run: PreparedRun, name: str = "") -> PlannedPlay:
        """The episodes of a prepared run."""
        return cls(run.env, run.policies, run.tasks[0], len(run.tasks) * run.config.k, run.config.seed, name)


class SeatCost(NamedTuple):
    """Upper bounds of the cost of one seat. `asked_again`: further calls after unusable replies. `prompt_tokens` are
    None where prompts depend on earlier replies (agents with several sub-calls)."""

    calls: int
    asked_again: int
    prompt_tokens: int | None
    completion_tokens: int

    def __add__(self, other: tuple[Any, ...]) -> SeatCost:
        both = zip(self, cast("SeatCost", other), strict=True)
        return SeatCost(*(None if None in pair else sum(cast("tuple[int, int]", pair)) for pair in both))  # type: ignore[arg-type]

    def times(self, n: int) -> SeatCost:
        return SeatCost(*(None if value is None else n * value for value in self))  # type: ignore[arg-type]


_NOTHING = SeatCost(0, 0, 0, 0)


class _Seat(NamedTuple):
    """A seat in one episode, as far as the cost of its policy depends on it."""

    env: Env[Any]
    view: View
    seat: str
    others: int
    """Other seats in which models speak."""


def estimate_costs(play: PlannedPlay | PreparedRun) -> dict[str, Json]:
    """The cost of planned play, or of a prepared run, in all and by seat."""
    play = PlannedPlay.of_run(play) if isinstance(play, PreparedRun) else play
    seated = sorted(play.policies.items(), key=lambda row: row[0] != AGENT)
    speaking = [seat for seat, policy in seated if uses_model(policy)]
    seats = {seat: _estimate_seat(play, seat, len(speaking) - 1).times(play.episodes) for seat in speaking}
    total = sum(seats.values(), _NOTHING)
    return {
        "environment": play.name or play.env.spec.name,
        "episodes": play.episodes,
        **total._asdict(),
        "seats": {seat: cost._asdict() for seat, cost in seats.items()},
    }


def describe_speakers(envs: Sequence[Env[Any]], policies: Mapping[str, AnyPolicy], episodes: int) -> Iterator[str]:
    """A line with the maximum number of calls for every seat with a model, besides the trained one."""
    for seat, policy in policies.items():
        if uses_model(policy):
            acts = [env.acts(seat) for env in envs if seat in env.spec.seats]
            usual, again = (episodes * max(counts) for counts in zip(*acts, strict=True))
            more = f", and {again:,} where it is asked again" if again else ""
            yield f"{seat}: {policy_label(policy.config)}, at most {usual:,} calls in {episodes:,} episodes{more}"


def uses_model(policy: AnyPolicy) -> bool:
    """Whether a model whose calls count speaks for this policy, or for one that it wraps."""
    return _has_own_model(policy) or any(map(uses_model, _inner_policies(policy)))


def _has_own_model(policy: AnyPolicy) -> bool:
    return any(isinstance(part, Model) and not part.costs_nothing for part in _parts_of(policy))


def _parts_of(policy: AnyPolicy) -> Iterator[object]:
    """The values of its settings, those in tuples and mappings one by one."""
    for f in fields(policy) if is_dataclass(policy) else ():
        value = getattr(policy, f.name)
        yield from value.values() if isinstance(value, Mapping) else value if isinstance(value, tuple) else (value,)  # type: ignore[misc]


def _inner_policies(policy: AnyPolicy) -> list[AnyPolicy]:
    return [part for part in _parts_of(policy) if isinstance(part, Policy | EpisodePolicy)]


def _estimate_seat(play: PlannedPlay, seat: str, others: int) -> SeatCost:
    """The cost of a seat in one episode. Where the agent tries its candidates out (`best_of_n` by belief), the others
    answer each of them."""
    view = Episode.begin(play.env, play.task, seed=play.seed).view(seat)
    usual, again = play.env.acts(seat)
    cost = _estimate_policy(play.policies[seat], _Seat(play.env, view, seat, others), range(usual), again)
    agent = play.policies[AGENT]
    tries = agent.n if seat != AGENT and isinstance(agent, BestOfN) and agent.by == "belief" else 0
    return cost.times(1 + tries)


def _estimate_policy(policy: AnyPolicy, at: _Seat, acts: range, again: int) -> SeatCost:
    """The cost of the acts with these numbers. A policy that wraps others asks each of them once for every act, unless
    it is known to do something else."""
    if isinstance(policy, Switch):
        parts = [(policy.first, acts[: policy.turn]), (policy.then, acts[policy.turn :])]
        costs = [_estimate_policy(part, at, turns, again) for part, turns in parts if turns]
        return sum(costs, _NOTHING)._replace(asked_again=max((cost.asked_again for cost in costs), default=0))
    if isinstance(policy, OneOf):
        costs = [_estimate_policy(part, at, acts, again) for part in policy.policies]
        return max(costs, key=lambda cost: (cost.calls, cost.completion_tokens))
    if isinstance(policy, BestOfN):
        scored = SeatCost(policy.n * len(acts), 0, None, 0) if policy.by == "belief" else _NOTHING
        return _estimate_policy(policy.player, at, acts, again).times(policy.n) + scored
    if isinstance(policy, ComposedAgent):
        by_role = policy.most_calls(at.view)
        calls = sum(n for who, n in by_role.items() if not policy.model_of(who).costs_nothing)
        return SeatCost(calls, calls * getattr(policy, "retries", 0), None, calls * _reply_limit(policy, at))
    inner = [_estimate_policy(part, at, acts, again) for part in _inner_policies(policy) if uses_model(part)]
    return sum(inner, _estimate_model(policy, at, acts, again) if _has_own_model(policy) else _NOTHING)


def _estimate_model(policy: AnyPolicy, at: _Seat, acts: range, again: int) -> SeatCost:
    """One call for every act, each with the whole history in its prompt."""
    reply, n = _reply_limit(policy, at), len(acts)
    opening = policy.build_prompt(at.view) if isinstance(policy, ChatAgent) else at.view.messages
    base = sum(len(message.content) for message in opening) // CHARACTERS_PER_TOKEN
    told = at.others * HEARD
    history = (reply + told) * sum(acts) + (told if at.seat != AGENT else 0) * n
    return SeatCost(n, again, base * n + history, n * reply)


def _reply_limit(policy: AnyPolicy, at: _Seat) -> int:
    return policy.config.get("max_new_tokens") or at.env.spec.max_new_tokens


def print_estimate(plays: Sequence[PlannedPlay | PreparedRun], out: Console, as_json: bool) -> None:
    """Print the costs of planned play, one line each, and by seat where several seats have models."""
    found = [estimate_costs(play) for play in plays]
    if as_json:
        out.print_json(json.dumps(found))
        return
    names = [name for name in found[0] if name not in ("seats", "environment")]
    names = [name for name in names if name != "asked_again" or any(row["asked_again"] for row in found)]
    title = "Upper bounds, for 4 characters per token and replies of the maximum length"
    table = ResultTable(("environment",), [name.replace("_", " ") for name in names], title)
    for row in found:
        table.add_row(row["environment"], *(_format_cell(row[name]) for name in names))
        for seat, parts in row["seats"].items() if len(row["seats"]) > 1 else ():
            table.add_row(f"  {seat}", *(_format_cell(parts.get(name, "")) for name in names))
    out.print(table)
    if "asked_again" in names:
        out.print("asked again: further calls if every reply is unusable; their tokens are not counted.")


def _format_cell(value: Json) -> str:
    return "n/a" if value is None else f"{value:,}" if isinstance(value, int) else value
