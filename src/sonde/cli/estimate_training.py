"""Estimate a training, for `sonde train --dry-run`: what it plays, or what it learns from, and in how many steps."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence

from rich.console import Console

from sonde.agents.llm import LLM, SHOWN
from sonde.core import AGENT, AnyPolicy, Trajectory
from sonde.models.chat.chat import Chat
from sonde.models.files.hub import load_tokenizer, locate_model
from sonde.models.hf import HF
from sonde.train.by_name import prepare_data
from sonde.train.collect import Game
from sonde.train.conversations import Records
from sonde.train.settings import TrainSettings
from sonde.train.training import Training

from .estimate import PlannedPlay


def plan_training(
    model: str, training: Training, games: Sequence[Game], policies: Mapping[str, AnyPolicy]
) -> list[PlannedPlay]:
    """What an online training plays, over all of its steps. Several games share the episodes evenly; a curriculum may
    divide them otherwise."""
    online, each = training.online, math.ceil(training.n_episodes / len(games))
    shown = {name: getattr(online, name) for name in (*SHOWN, "max_new_tokens", "temperature")}
    agent = LLM(model=HF(model=model, template=online.template), **shown)
    return [
        PlannedPlay(
            game.env,
            {AGENT: agent, **{seat: policy for seat, policy in policies.items() if seat in game.env.spec.seats}},
            game.tasks[0],
            each,
            training.settings.seed,
            game.name,
        )
        for game in games
    ]


def count_steps(settings: TrainSettings, items: int) -> int:
    """The number of optimizer steps."""
    planned = math.ceil(settings.epochs * math.ceil(items / settings.batch_size))
    return planned if settings.max_steps is None else settings.max_steps


def print_training_data(
    model: str,
    training: Training,
    played: Sequence[Trajectory],
    records: Sequence[Records],
    out: Console,
    as_json: bool,
) -> None:
    """Print what a training on recorded data selects, its tokens, and the number of steps."""
    chat = Chat(load_tokenizer(model, locate_model(model)), label=model, template=training.learning.template)
    settings = training.settings
    data = prepare_data(
        training.objective, played, chat, training.learning, settings.max_tokens, training.recorded, records
    )
    found = {**data.to_json(), "steps": count_steps(settings, len(data.items))}
    if as_json:
        out.print_json(json.dumps(found))
        return
    rows, chosen = data.rows, ", ".join(f"{name} {value:,}" for name, value in data.counts.items())
    out.print(f"selected: {chosen}", highlight=False, soft_wrap=True)
    left = ", ".join(f"{name} {n:,}" for name in ("too_long", "errors", "silent") if (n := getattr(rows, name)))
    out.print(
        f"{len(data.items):,} items, {rows.tokens:,} tokens, of which {rows.agent_tokens:,} are trained on; "
        f"{found['steps']:,} steps{f'; left out: {left}' if left else ''}",
        highlight=False, soft_wrap=True,
    )  # fmt: skip
