"""What a run would cost: `--dry-run`."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from sonde.agents._calls import Composed
from sonde.agents.llm import LLM
from sonde.core import AGENT, Episode
from sonde.core.types import Json
from sonde.run import Prepared

CHARACTERS_PER_TOKEN = 4
"""A rule of thumb for English; the estimate is a bound in turns, not in tokenisers."""


def costs(run: Prepared) -> dict[str, Json]:
    """Upper bounds: every episode takes all its turns, every reply all its tokens, and nothing is asked again. What the
    prompts of agents made of several sub-calls hold depends on what was said before, so their tokens are n/a."""
    spec = run.env.spec
    policy = run.policies[AGENT].config
    episodes = len(run.tasks) * run.config.k
    reply = policy.get("max_new_tokens") or spec.max_new_tokens
    view = Episode.begin(run.env, run.tasks[0], seed=run.config.seed).view(AGENT)
    agent = run.policies[AGENT]
    if isinstance(agent, Composed):
        calls = episodes * agent.most_calls(view)
        return _row(spec.name, episodes, calls, None, calls * reply)
    calls = episodes * spec.max_turns if "model" in policy else 0
    opening = agent.prompt(view) if isinstance(agent, LLM) else view.messages
    base = sum(len(message.content) for message in opening) // CHARACTERS_PER_TOKEN
    history = reply * spec.max_turns * (spec.max_turns - 1) // 2
    prompts = episodes * (base * spec.max_turns + history) if calls else 0
    return _row(spec.name, episodes, calls, prompts, calls * reply)


def _row(env: str, episodes: int, calls: int, prompts: int | None, replies: int) -> dict[str, Json]:
    return {
        "environment": env,
        "episodes": episodes,
        "calls": calls,
        "prompt_tokens": prompts,
        "completion_tokens": replies,
    }


def estimate(runs: Sequence[Prepared], out: Console, as_json: bool) -> None:
    """Print the costs of runs."""
    found = [costs(run) for run in runs]
    if as_json:
        out.print_json(json.dumps(found))
        return
    table = Table(title="At most; about 4 characters per token, every reply as long as allowed")
    for name in found[0]:
        first = name == "environment"
        table.add_column(name.replace("_", " "), justify="left" if first else "right", no_wrap=first)
    for row in found:
        table.add_row(*("n/a" if v is None else f"{v:,}" if isinstance(v, int) else v for v in row.values()))
    out.print(table)
