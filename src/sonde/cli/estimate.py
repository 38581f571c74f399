"""Estimate the cost of a run, for `--dry-run` and for the start of a training."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from sonde.agents._shared.calls import ComposedAgent
from sonde.agents.llm import LLM
from sonde.core import AGENT, AnyPolicy, Env, Episode
from sonde.core.types import Json
from sonde.runs.display_names import policy_label
from sonde.runs.run import PreparedRun

CHARACTERS_PER_TOKEN = 4
"""A rule of thumb for English; the estimate bounds the turns, not the tokeniser."""
HEARD = 500
"""Tokens of another seat's message; environments cut messages to about 2,000 characters."""


class SeatCost(NamedTuple):
    """Upper bounds of the cost of one seat over a run. `asked_again`: further calls after unusable replies."""

    calls: int
    asked_again: int
    prompt_tokens: int | None
    completion_tokens: int


def estimate_costs(run: PreparedRun) -> dict[str, Json]:
    """Upper bounds of a run's cost: every episode takes all its turns, and every reply all its tokens. Tokens are those
    of the first calls, without repeated ones. Prompts of agents with several sub-calls depend on earlier replies, so
    their tokens are n/a."""
    episodes = len(run.tasks) * run.config.k
    seated = sorted(run.policies.items(), key=lambda row: row[0] != AGENT)
    playing = [seat for seat, policy in seated if isinstance(policy, ComposedAgent) or _uses_model(policy)]
    seats = {seat: _estimate_seat(run, seat, episodes, others=len(playing) - 1) for seat in playing}
    prompts = [s.prompt_tokens for s in seats.values()]
    return {
        "environment": run.env.spec.name,
        "episodes": episodes,
        "calls": sum(s.calls for s in seats.values()),
        "asked_again": sum(s.asked_again for s in seats.values()),
        "prompt_tokens": None if None in prompts else sum(n for n in prompts if n is not None),
        "completion_tokens": sum(s.completion_tokens for s in seats.values()),
        "seats": {seat: s._asdict() for seat, s in seats.items()},
    }


def describe_speakers(envs: Sequence[Env[Any]], policies: Mapping[str, AnyPolicy], episodes: int) -> Iterator[str]:
    """A line with the maximum number of calls for every seat with a model, besides the trained one."""
    for seat, policy in policies.items():
        if _uses_model(policy):
            acts = [env.acts(seat) for env in envs if seat in env.spec.seats]
            usual, again = (episodes * max(counts) for counts in zip(*acts, strict=True))
            more = f", and {again:,} where it is asked again" if again else ""
            yield f"{seat}: {policy_label(policy.config)}, at most {usual:,} calls in {episodes:,} episodes{more}"


def _uses_model(policy: AnyPolicy) -> bool:
    """Whether this policy uses a model."""
    return "model" in policy.config


def _estimate_seat(run: PreparedRun, seat: str, episodes: int, others: int) -> SeatCost:
    policy, spec = run.policies[seat], run.env.spec
    reply = policy.config.get("max_new_tokens") or spec.max_new_tokens
    view = Episode.begin(run.env, run.tasks[0], seed=run.config.seed).view(seat)
    if isinstance(policy, ComposedAgent):
        calls = episodes * policy.most_calls(view)
        return SeatCost(calls, calls * getattr(policy, "retries", 0), None, calls * reply)
    usual, again = run.env.acts(seat)
    opening = policy.build_prompt(view) if isinstance(policy, LLM) else view.messages
    base = sum(len(message.content) for message in opening) // CHARACTERS_PER_TOKEN
    told = others * HEARD
    history = (reply + told) * usual * (usual - 1) // 2 + (told if seat != AGENT else 0) * usual
    return SeatCost(episodes * usual, episodes * again, episodes * (base * usual + history), episodes * usual * reply)


def print_estimate(runs: Sequence[PreparedRun], out: Console, as_json: bool) -> None:
    """Print the costs of runs per environment, and per seat where several seats have models."""
    found = [estimate_costs(run) for run in runs]
    if as_json:
        out.print_json(json.dumps(found))
        return
    table = Table(title="At most; about 4 characters per token, every reply as long as allowed")
    names = [name for name in found[0] if name != "seats"]
    names = [name for name in names if name != "asked_again" or any(row["asked_again"] for row in found)]
    for name in names:
        first = name == "environment"
        table.add_column(name.replace("_", " "), justify="left" if first else "right", no_wrap=first)
    for row in found:
        table.add_row(*(_format_cell(row[name]) for name in names))
        for seat, parts in row["seats"].items() if len(row["seats"]) > 1 else ():
            table.add_row(f"  {seat}", *(_format_cell(parts.get(name, "")) for name in names[1:]))
    out.print(table)
    if "asked_again" in names:
        out.print("asked again: more calls, at worst, where replies cannot be used; not among the tokens.")


def _format_cell(value: Json) -> str:
    return "n/a" if value is None else f"{value:,}" if isinstance(value, int) else value
