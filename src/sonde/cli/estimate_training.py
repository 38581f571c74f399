"""Estimate a training: what it plays, or what it learns from, in how many steps, and how much memory it takes. `sonde
train` prints this when it starts, and `--dry-run` nothing else."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from rich.console import Console

from sonde.agents.llm import LLM, SHOWN
from sonde.core import AGENT, AnyPolicy, Trajectory
from sonde.models.chat.chat import Chat
from sonde.models.files.hub import load_tokenizer, locate_model
from sonde.models.hf import HF
from sonde.train.automatic import Device, ModelFacts, estimate_memory, format_weights
from sonde.train.by_name import prepare_data
from sonde.train.collect import Game
from sonde.train.conversations import Records
from sonde.train.settings import TrainSettings
from sonde.train.training import Training
from sonde.train.training_folder import BEST

from .estimate import PlannedPlay, estimate_costs


def plan_training(
    model: str, training: Training, games: Sequence[Game], policies: Mapping[str, AnyPolicy]
) -> list[PlannedPlay]:
    """What an online training plays, over all of its steps. Several games share the episodes evenly; a curriculum may
    divide them otherwise. Raises `UserError` for sizes that do not fit together."""
    from sonde.train.online.settings import check_sizes

    check_sizes(training.settings, training.online)
    online, each = training.online, math.ceil(training.n_episodes / len(games))
    shown = {name: getattr(online, name) for name in (*SHOWN, "max_new_tokens", "temperature")}
    agent = LLM(model=HF(model=model, template=online.template), **shown)
    plays: list[PlannedPlay] = []
    for game in games:
        others = {seat: policy for seat, policy in policies.items() if seat in game.env.spec.seats}
        seated = {AGENT: agent, **others}
        plays.append(PlannedPlay(game.env, seated, game.tasks[0], each, training.settings.seed, game.name))
    return plays


def _count_evaluations(n: int) -> str:
    return f"{n} evaluation{'' if n == 1 else 's'}"


def describe_early_end(training: Training, steps: int) -> str:
    """Why a training ended before its last step; empty if it did not."""
    planned, patience = training.settings.max_steps or 0, training.online.patience
    if not (training.is_online and patience and steps < planned):
        return ""
    return f"ended after step {steps} of {planned}: {_count_evaluations(patience)} without a better one (patience)"


def describe_plan(
    model: ModelFacts, device: Device, training: Training, games: Sequence[Game] = (), plays: Sequence[PlannedPlay] = ()
) -> list[str]:
    """The plan of a training in lines: what is trained where, what is played, tokens, held-out tasks and memory. How
    long a step takes is only known after the first."""
    settings, online = training.settings, training.online
    how = "all weights" if settings.lora is None else f"an adapter of rank {settings.lora.r}"
    kv = online.kv_bytes if training.is_online else 0
    lines = [
        f"model: {model.name}, {format_weights(model.weights)} weights, on {device.name}, {device.threads} "
        f"thread{'' if device.threads == 1 else 's'}",
        f"learns: {training.objective}, {how}, lr {settings.lr:g}, {settings.schedule}, "
        f"{'bfloat16' if settings.bf16 else 'float32'}; {settings.batch_size} items a step",
        f"memory: at most {estimate_memory(model, settings) / 2**30:.2g} GiB"
        + (f", and up to {kv / 2**30:.2g} GiB of cached keys and values" if kv else ""),
    ]
    if not training.is_online:
        return lines
    steps, k = settings.max_steps or 0, online.k
    turns = " and ".join(f"{game.name} (at most {game.env.spec.max_turns} turns)" for game in games)
    lines.append(
        f"plays: {turns}; {settings.batch_size // k} tasks x {k} episodes a step, {steps} steps, "
        f"{training.n_episodes:,} episodes"
    )
    costs = [estimate_costs(play) for play in plays]
    prompts, said = (sum(cast("int", cost[name] or 0) for cost in costs) for name in _TOKENS)
    lines.append(f"tokens: at most {prompts:,} read and {said:,} sampled; context {online.context}")
    if online.eval_every:
        n = sum(len(game.held_out or game.env.tasks(online.eval_split)) for game in games)
        lines.append(
            f"held out: {n} tasks, played before training and every {online.eval_every} steps; the best "
            f"weights by these in {Path(settings.folder) / BEST}"
            + (f"; ends after {_count_evaluations(online.patience)} without a better one" if online.patience else "")
        )
    return lines


_TOKENS = ("prompt_tokens", "completion_tokens")


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
