"""Settings for a training for which nobody named any: by the model's size, the device and the environments.

    facts = read_model_facts("sonde-tiny-best_arm")
    training = choose_training("grpo", facts, find_device(), envs)

**Learning rate.** Good rates fall with size. Two are known for each kind of objective: one measured here for 0.35
million weights (`presets.tiny`), one published for a large model; between them the rate is a power of the number of
weights (`KNOWN_RATES`), outside them it is the nearer one. An adapter (LoRA) learns at ten times the rate of full
training (Schulman et al. 2025, "LoRA Without Regret"). Only the ends are measured: in between this is a guess to start
from.

**Adapter.** Training all weights takes 16 bytes a weight (float32 weights, gradients, AdamW's two averages). Where that
is more than half of the memory, an adapter of rank 32 is trained instead.

**Number format.** An accelerator computes in bfloat16. A small model is saved in float32, which keeps what training
changed, whatever format its weights came in.

**Play.** 8 episodes of each of 8 tasks make a step, 16 tasks on an accelerator. A win is worth 1 and all turns of a
game together at most -0.2. A share of the training tasks is held out, and the best weights by these are kept. A model
that thinks is told not to where replies are shorter than 1,024 tokens. A model that comes with sonde sees the game as
it was trained to. Source: ours.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from sonde.core import Env, invalid
from sonde.core.types import Json
from sonde.models.files.hub import report_loading_errors
from sonde.models.files.loading import load_config, load_tokenizer, locate_parts
from sonde.models.files.shipped import SHIPPED

from .collect import Game
from .objectives import find_objective
from .online.settings import OnlineSettings
from .presets import PRESETS
from .problems import Problem
from .rewards import RewardMix
from .settings import LoraSettings, TrainSettings
from .training import Training

BYTES_PER_WEIGHT = 16
"""Of full training: float32 weights and gradients, and AdamW's two averages."""
SMALL = 30_000_000
"""Up to this many weights, the settings of the models that come with sonde are used."""
LARGE = 1_000_000_000
"""From this many weights on, activations are computed again rather than kept."""
SHORT_REPLY = 1024
"""Tokens of a reply in which a thinking model does not come to its answer."""
MOST_HELD_OUT = 64
ADAPTER_FACTOR = 10.0
"""How much faster an adapter learns than all weights."""
RATE_FACTOR = 10.0
"""How many times a learning rate may differ from the usual one of this size of model."""
TURNS_WORTH = 0.2
"""What all turns of a game cost together, where a win is worth 1."""


class KnownRate(NamedTuple):
    """A learning rate of full training and the number of weights it is for, from both ends; `tiny` is the preset of the
    smaller, which is also where settings of small models come from."""

    tiny: str
    small: float
    weights: float
    large: float

    def at_size(self, weights: int) -> float:
        """The rate for this many weights, to two digits."""
        low, high = math.log(TINY_WEIGHTS), math.log(self.weights)
        share = min(1.0, max(0.0, (math.log(weights) - low) / (high - low)))
        return float(f"{self.small ** (1 - share) * self.large**share:.1e}")


TINY_WEIGHTS = 350_000
KNOWN_RATES: Mapping[str, KnownRate] = {
    "paprika_sft": KnownRate("tiny_sft", 1e-3, 8e9, 1e-6),
    "paprika_rpo": KnownRate("tiny_rpo", 2e-5, 8e9, 2e-7),
    "starpo": KnownRate("tiny_grpo", 5e-4, 1.7e9, 1e-6),
    "bc": KnownRate("tiny_bc", 2e-3, 1.24e8, 1e-4),
    "lmrl_dialogue_mc": KnownRate("tiny_mc", 2e-3, 1.24e8, 1e-4),
    "lmrl_dialogue_ilql": KnownRate("tiny_ilql", 2e-3, 1.24e8, 1e-4),
    "lmrl_dialogue_ppo": KnownRate("tiny_ppo", 3e-4, 1.24e8, 1e-6),
}
"""By the paper's preset of an objective. PAPRIKA trains 8 billion weights; ΔBelief-RL 1.7 billion, with an adapter at
1e-5; LMRL-Gym GPT-2 of 124 million."""


# --- what is there ---------------------------------------------------------------------------------------------------


class ModelFacts(NamedTuple):
    """What the choice needs to know about a model: its name, number of weights, layers, width, inner width of a
    feed-forward layer, vocabulary, the longest context (None: unknown), and whether its chat template can switch
    thinking off."""

    name: str
    weights: int
    layers: int
    width: int
    inner: int
    vocabulary: int
    window: int | None
    thinks: bool


def read_model_facts(model: str) -> ModelFacts:
    """Facts of a model by name or folder. Reads the configuration and the tokenizer, no weights."""
    import torch
    from transformers import AutoModelForCausalLM

    parts = locate_parts(model)
    config = load_config(parts)
    with report_loading_errors(model), torch.device("meta"):
        weights = sum(p.numel() for p in AutoModelForCausalLM.from_config(config).parameters())
    text = config.get_text_config()
    width = int(getattr(text, "hidden_size", 1))
    template = str(getattr(load_tokenizer(parts), "chat_template", "") or "")
    return ModelFacts(
        name=model,
        weights=weights,
        layers=int(getattr(text, "num_hidden_layers", 1)),
        width=width,
        inner=int(getattr(text, "intermediate_size", None) or getattr(text, "n_inner", None) or 4 * width),
        vocabulary=int(text.vocab_size),
        window=getattr(text, "max_position_embeddings", None),
        thinks="enable_thinking" in template,
    )


class Device(NamedTuple):
    """Where training runs: `cpu` or the kind of accelerator, its name, memory in bytes, and threads."""

    kind: str
    name: str
    memory: int
    threads: int

    @property
    def is_cpu(self) -> bool:
        return self.kind == "cpu"


def find_device() -> Device:
    """The device on which the trainer will run."""
    import torch

    if torch.cuda.is_available():
        facts = torch.cuda.get_device_properties(0)
        return Device("cuda", facts.name, facts.total_memory, torch.get_num_threads())
    memory = find_memory()
    if torch.accelerator.is_available():
        kind = str(torch.accelerator.current_accelerator())
        return Device(kind, kind, memory, torch.get_num_threads())
    return Device("cpu", "CPU", memory, torch.get_num_threads())


CONTAINER_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""The memory that a container may use, in bytes: of cgroups version 2 (`max` where there is no limit) and 1."""


def find_memory(limits: Sequence[Path] = CONTAINER_LIMITS) -> int:
    """Bytes of memory that a process may use: those of the machine, or fewer in a container with a limit."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 8 << 30
    told = [file.read_text().strip() for file in limits if file.is_file()]
    return min([machine, *(int(text) for text in told if text.isdigit())])


# --- the choice ------------------------------------------------------------------------------------------------------


def choose_training(objective: str, model: ModelFacts, device: Device, envs: Sequence[Env[Any]] = ()) -> Training:
    """The settings for this objective. `envs` are played where the model learns while it plays. An objective whose own
    preset is not a paper's keeps that preset."""
    preset = find_objective(objective).preset
    known = KNOWN_RATES.get(preset)
    if known is None:
        return PRESETS[preset].for_objective(objective)
    small = model.weights <= SMALL or PRESETS[preset].is_online
    chosen = PRESETS[known.tiny if small else preset].for_objective(objective)
    settings = _choose_settings(chosen.settings, known, model, device)
    if not chosen.is_online:
        return replace(chosen, settings=settings)
    tasks = 8 if device.is_cpu else 16
    online = _choose_play(chosen.online, model, envs)
    if model.weights > SMALL:
        settings = replace(settings, batch_size=tasks * online.k, micro_batch=tasks * online.k)
    return replace(chosen, settings=settings, online=online, plays=_choose_presets(model, envs))


def _choose_settings(base: TrainSettings, known: KnownRate, model: ModelFacts, device: Device) -> TrainSettings:
    """Rate, number format, adapter and the size of a forward pass."""
    adapter = BYTES_PER_WEIGHT * model.weights > device.memory / 2
    rate = known.at_size(model.weights) * (ADAPTER_FACTOR if adapter else 1.0)
    tokens = base.micro_tokens or 8192
    if not device.is_cpu:  # logits, their gradient and their logarithm, in float32, in a quarter of the memory
        tokens = max(2048, min(65_536, int(device.memory / 4 / (12 * model.vocabulary))))
    limits = [limit for limit in (base.max_tokens, model.window) if limit is not None]
    return replace(
        base,
        lr=float(f"{rate:.1e}"),
        lora=LoraSettings(r=32, alpha=32.0) if adapter else None,
        bf16=not device.is_cpu,
        gradient_checkpointing=model.weights >= LARGE,
        save_dtype="float32" if model.weights <= SMALL else base.save_dtype,
        micro_tokens=tokens,
        max_tokens=min(limits) if base.max_tokens is not None else None,
    )


def adapt_rate(chosen: Training, asked: Training) -> Training:
    """The training that was asked for. Where it has an adapter that was not chosen, or none where one was, its rate is
    that of an adapter, or of all weights, unless another rate was asked for."""
    before, now = chosen.settings, asked.settings
    if (before.lora is None) == (now.lora is None) or now.lr != before.lr:
        return asked
    factor = ADAPTER_FACTOR if before.lora is None else 1 / ADAPTER_FACTOR
    return replace(asked, settings=replace(now, lr=float(f"{now.lr * factor:.1e}")))


def _choose_play(base: OnlineSettings, model: ModelFacts, envs: Sequence[Env[Any]]) -> OnlineSettings:
    """Rewards, length of replies, view of the game and held-out tasks."""
    shipped = SHIPPED.get(model.name)
    turns = max((int(env.spec.max_turns) for env in envs), default=10)
    reply = max((int(env.spec.max_new_tokens) for env in envs), default=SHORT_REPLY)
    base = replace(base, max_new_tokens=None, eval_every=5)
    if base.critic is None:
        base = replace(base, rewards=RewardMix({"success": 1.0, "turns": -float(f"{TURNS_WORTH / turns:.1g}")}))
    if shipped is not None:
        game = shipped.find_game(*((envs[0].name, envs[0].spec.preset) if envs else ()))
        return replace(base, context=game.context, max_new_tokens=shipped.max_new_tokens)
    if model.thinks and reply < SHORT_REPLY:
        return replace(base, template={"enable_thinking": False})
    return base


def _choose_presets(model: ModelFacts, envs: Sequence[Env[Any]]) -> Mapping[str, Mapping[str, Json]]:
    """The presets of the environments that a model of sonde was made for, of each the first; of those that are played,
    where this is known."""
    shipped, played = SHIPPED.get(model.name), {env.name for env in envs}
    if shipped is None:
        return {}
    first = [game for game in shipped.games if game is shipped.find_game(game.env)]
    return {game.env: {"preset": game.preset} for game in first if not played or game.env in played}


def hold_out_tasks(games: Sequence[Game], split: str) -> list[Game]:
    """The games with tasks to choose the best weights by: those of the split, if their environment has it; otherwise
    tasks spread over the training tasks, a fifth of these and at most 64 (of all games together), which are then not
    trained on."""
    return [_hold_out(game, split, max(1, MOST_HELD_OUT // len(games))) for game in games]


def _hold_out(game: Game, split: str, most: int) -> Game:
    if game.held_out is not None or (split in game.env.splits and split != game.split):
        return game
    if len(game.tasks) < 5:
        raise invalid(
            f"online: eval_every: {game.name}",
            f"{len(game.tasks)} tasks",
            "5 or more, to hold some out, or eval_every 0 (--eval-every 0)",
        )
    n = min(most, len(game.tasks) // 5)
    held = [game.tasks[i * len(game.tasks) // n] for i in range(n)]
    chosen = {task.id for task in held}
    return replace(game, held_out=held, tasks=[task for task in game.tasks if task.id not in chosen])


# --- what it will take -----------------------------------------------------------------------------------------------


def estimate_memory(model: ModelFacts, settings: TrainSettings) -> int:
    """About how many bytes training takes at most, beside the program: weights with gradients and AdamW's averages,
    what a forward pass keeps for the backward pass, and its logits. A layer keeps 12 numbers of its width and 4 of its
    inner width for a token, as counted in Llama and Qwen3 with sdpa attention and without packing; the gradients of a
    layer are as many again. With `gradient_checkpointing` it keeps one width, and a layer at a time is computed again.
    """
    number = 2 if settings.bf16 else 4
    if settings.lora is None:
        weights = BYTES_PER_WEIGHT * model.weights
    else:  # the inputs and outputs of a layer's seven matrices are at most some 22 widths
        adapter = 22 * settings.lora.r * model.width * model.layers
        weights = number * model.weights + BYTES_PER_WEIGHT * adapter
    tokens = settings.micro_tokens or settings.micro_batch * (settings.max_tokens or 2048)
    layer = 12 * model.width + 4 * model.inner
    kept = model.layers * (model.width if settings.gradient_checkpointing else layer)
    working = (2 if settings.gradient_checkpointing else 1) * layer
    return weights + tokens * ((kept + working) * number + 12 * model.vocabulary)


def estimate_cache(model: ModelFacts, training: Training, rows: int) -> int:
    """About how many bytes of keys and values are cached at most while so many rows are played at once: `kv_bytes`, or
    fewer where all rows are short. A layer keeps two vectors of a token, at most as wide as the model."""
    if model.window is None:
        return training.online.kv_bytes
    number = 2 if training.settings.bf16 else 4
    return min(training.online.kv_bytes, rows * model.window * 2 * model.layers * model.width * number)


# --- what is doubtful ------------------------------------------------------------------------------------------------


def find_doubts(training: Training, model: ModelFacts, reply: int | None = None) -> list[Problem]:
    """What is doubtful about these settings for this model. `reply`: the longest reply in tokens, where the model
    learns while it plays."""
    found = list[Problem]()
    known = KNOWN_RATES.get(find_objective(training.objective).preset)
    if known is not None:
        usual = known.at_size(model.weights) * (1.0 if training.settings.lora is None else ADAPTER_FACTOR)
        got = training.settings.lr
        if not 1 / RATE_FACTOR <= got / usual <= RATE_FACTOR:
            found.append(Problem(
                "rate",
                f"lr {got:g} is that of a {'larger' if got < usual else 'smaller'} model; for "
                f"{format_weights(model.weights)} weights about {usual:.1g} is usual",
                f"-o settings.lr={usual:.1g}",
            ))  # fmt: skip
    thinking = training.online.template.get("enable_thinking", True)
    if training.is_online and model.thinks and thinking and reply is not None and reply < SHORT_REPLY:
        found.append(Problem(
            "thinking",
            f"the model thinks, and its replies are cut after {reply} tokens, mostly before the answer",
            "-o online.template.enable_thinking=false, or -o online.max_new_tokens=4096",
        ))  # fmt: skip
    return found


def format_weights(n: int) -> str:
    """A number of weights, rounded to be read.

    >>> format_weights(340_416), format_weights(134_515_008), format_weights(1_720_000_000), format_weights(405 * 10**9)
    ('0.34 M', '135 M', '1.7 B', '405 B')
    """
    if n >= 999.5e6:
        return f"{n / 1e9:.2g} B" if n < 99.5e9 else f"{n / 1e9:.0f} B"
    return f"{n / 1e6:.2f} M" if n < 1e6 else f"{n / 1e6:.3g} M"
