"""Estimate a training: what it plays, or what it learns from, in how many steps, and how much memory it takes. `sonde
train` prints this when it starts, and `--dry-run` nothing else."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from rich.console import Console

from sonde.agents.llm import LLM, SHOWN
from sonde.core import AGENT, AnyPolicy, Task, Trajectory
from sonde.models.chat.chat import Chat
from sonde.models.files.loading import load_tokenizer, locate_parts
from sonde.models.hf import HF
from sonde.train.automatic import Device, ModelFacts, estimate_cache, estimate_memory, format_weights
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
    """What an online training plays, over all of its steps, and then all that it plays on held-out tasks. Several games
    share the episodes evenly; a curriculum may divide them otherwise. Raises `UserError` for sizes that do not fit
    together."""
    from sonde.train.online.settings import check_sizes

    check_sizes(training.settings, training.online)
    online, each = training.online, math.ceil(training.n_episodes / len(games))
    shown = {name: getattr(online, name) for name in (*SHOWN, "max_new_tokens", "temperature")}
    agent = LLM(model=HF(model=model, template=online.template), **shown)
    plays, tests, seed = list[PlannedPlay](), list[PlannedPlay](), training.settings.seed
    for game in games:
        others = {seat: policy for seat, policy in policies.items() if seat in game.env.spec.seats}
        seated = {AGENT: agent, **others}
        plays.append(PlannedPlay(game.env, seated, game.tasks[0], each, seed, game.name))
        if online.eval_every:
            held_out, n = _list_held_out(game, training), count_held_out([game], training)
            tests.append(PlannedPlay(game.env, seated, held_out[0], n, seed, f"{game.name}, held out"))
    return plays + tests


def _list_held_out(game: Game, training: Training) -> Sequence[Task]:
    return (game.held_out or game.env.tasks(training.online.eval_split)) if training.online.eval_every else ()


def count_held_out(games: Sequence[Game], training: Training) -> int:
    """Number of episodes that a training plays on held-out tasks: before the first step, every `eval_every` steps and
    after the last one."""
    online = training.online
    times = 1 + math.ceil((training.settings.max_steps or 0) / max(1, online.eval_every))
    return times * online.eval_k * sum(len(_list_held_out(game, training)) for game in games)


def format_count(n: int, noun: str) -> str:
    """A number of things.

    >>> format_count(1, "step"), format_count(1280, "episode")
    ('1 step', '1,280 episodes')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def describe_early_end(training: Training, steps: int) -> str:
    """Why a training ended before its last step; empty if it did not."""
    planned, patience = training.settings.max_steps or 0, training.online.patience
    if not (training.is_online and patience and steps < planned):
        return ""
    return (
        f"ended after step {steps} of {planned}: {format_count(patience, 'evaluation')} without a better one (patience)"
    )


def describe_plan(
    model: ModelFacts, device: Device, training: Training, games: Sequence[Game] = (), plays: Sequence[PlannedPlay] = ()
) -> list[str]:
    """The plan of a training in lines: what is trained where, what is played, tokens, held-out tasks and memory. How
    long a step takes is only known after the first."""
    settings, online = training.settings, training.online
    n_held_out = sum(len(_list_held_out(game, training)) for game in games)
    how = "all weights" if settings.lora is None else f"an adapter of rank {settings.lora.r}"
    at_once = max(settings.batch_size * online.updates_per_rollout, n_held_out * online.eval_k)
    kv = estimate_cache(model, training, at_once) if training.is_online else 0
    lines = [
        f"model: {model.name}, {format_weights(model.weights)} weights, on {device.name}, "
        f"{format_count(device.threads, 'thread')}",
        f"learns: {training.objective}, {how}, lr {settings.lr:g}, {settings.schedule}, "
        f"{'bfloat16' if settings.bf16 else 'float32'}; {format_count(settings.batch_size, 'item')} a step",
        f"memory: about {format_bytes(estimate_memory(model, settings))}"
        + (f", up to {format_bytes(kv)} of cached keys and values" if kv else "")
        + ", and the program",
    ]
    if not training.is_online:
        return lines
    steps, k = settings.max_steps or 0, online.k
    turns = " and ".join(f"{game.name} (at most {game.env.spec.max_turns} turns)" for game in games)
    lines.append(
        f"plays: {turns}; {format_count(settings.batch_size // k, 'task')} x {format_count(k, 'episode')} a step, "
        f"{format_count(steps, 'step')}, {format_count(training.n_episodes, 'episode')}"
    )
    costs = [estimate_costs(play) for play in plays]
    prompts, said = (sum(cast("int", cost[name] or 0) for cost in costs) for name in _TOKENS)
    lines.append(f"tokens: at most {prompts:,} read and {said:,} sampled; context {online.context}")
    if online.eval_every:
        every = "step" if online.eval_every == 1 else f"{online.eval_every} steps"
        lines.append(
            f"held out: {format_count(n_held_out, 'task')}, played before training and every {every}, "
            f"{format_count(count_held_out(games, training), 'episode')}; the best weights by these in "
            f"{Path(settings.folder) / BEST}"
            + (
                f"; ends after {format_count(online.patience, 'evaluation')} without a better one"
                if online.patience
                else ""
            )
        )
    return lines


def format_bytes(n: int) -> str:
    """A number of bytes, rounded to be read.

    >>> format_bytes(168 << 20), format_bytes(2 << 30), format_bytes(128 * 10**9)
    ('168 MiB', '2 GiB', '119 GiB')
    """
    if n < 1 << 30:
        return f"{n / 2**20:.0f} MiB"
    return f"{n / 2**30:.2g} GiB" if n < 99.5 * 2**30 else f"{n / 2**30:.0f} GiB"


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
    chat = Chat(load_tokenizer(locate_parts(model)), label=model, template=training.learning.template)
    settings = training.settings
    data = prepare_data(
        training.objective, played, chat, training.learning, settings.max_tokens, training.recorded, records
    )
    found = {**data.to_json(), "steps": count_steps(settings, len(data.items))}
    if as_json:
        out.print_json(json.dumps(found))
        return
    for line in describe_selection(found):
        out.print(line, highlight=False, soft_wrap=True)


def describe_selection(found: Mapping[str, Any]) -> list[str]:
    """What a training on recorded data selects, in lines: `TrainingData.to_json`, with the number of steps."""
    rows, chosen = found["rows"], ", ".join(f"{name} {value:,}" for name, value in found["selected"].items())
    left = ", ".join(f"{name} {rows[name]:,}" for name in ("too_long", "errors", "silent") if rows[name])
    return [
        f"selected: {chosen}",
        f"{format_count(found['items'], 'item')}, {rows['tokens']:,} tokens, of which {rows['agent_tokens']:,} are "
        f"trained on; {format_count(found['steps'], 'step')}{f'; left out: {left}' if left else ''}",
    ]
