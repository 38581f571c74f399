"""Training speed and memory on one CPU core: sonde's trainer beside a bare loop and beside TRL's trainers.

    python benchmarks/train.py                     all arms, 5 runs of each, in turn
    python benchmarks/train.py --arms bare sonde   some of them
    python benchmarks/train.py --shape 135m --steps 3 --runs 3 --arms trl-sft-packed sonde-packed trl-grpo sonde-grpo

The model is a random Llama of 0.4 M weights (hidden 96, 3 layers, 320 words), or one of the shape of SmolLM2-135M. The
data are made-up dialogues of 2 to 20 turns, 2 to 6 tokens told and 3 said per turn after an opening of 20 to 60; the
two of a pair share the opening. Every arm takes the same number of steps of 16 dialogues (8 pairs) with AdamW, a cosine
schedule and clipping, and writes no checkpoints. SFT learns the agent's tokens in every arm; DPO does in sonde, while
TRL's counts all tokens after the opening, which costs it a larger head. GRPO trains both on the same made-up rollouts,
two of an opening, with given log-probabilities; nothing is played. TRL packs rows of about as many tokens as the
dialogues of a step have, one a step. Reference log-probabilities are computed beforehand and not timed.

Each run is a process of its own; its clock is the CPU time of the steps alone, found from runs of two lengths after a
short one that warms up, and its tokens are those of the rows without padding. Ratios are of speeds in the same round;
their interval is that of the median under resampling (bootstrap, 95 %). More is faster.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from array import array
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from sonde.train.types import Pair, Row, Sample

VOCAB, PAD = 320, 1
BATCH = 16
LR = 5e-4
SHAPES: dict[str, dict[str, int]] = {
    "tiny": {
        "vocab_size": VOCAB, "hidden_size": 96, "intermediate_size": 256, "num_hidden_layers": 3,
        "num_attention_heads": 4, "num_key_value_heads": 4,
    },
    "135m": {
        "vocab_size": 49_152, "hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30,
        "num_attention_heads": 9, "num_key_value_heads": 3,
    },
}  # fmt: skip
SHAPE = {"name": "tiny"}
"""The shape of this process's model."""


def make_row(rng: random.Random, turns: int, opening: Sequence[int]) -> Row:
    ids, agent, turn = array("i", opening), bytearray(), array("i")
    for i in range(turns):
        told, said = rng.randint(2, 6) if i else len(opening), 3
        ids.extend(rng.randrange(5, VOCAB) for _ in range(told + said - (0 if i else told)))
        agent += bytes(told) + b"\1" * said
        turn.extend([-1] * told + [i] * said)
    return Row(ids=ids, agent=bytes(agent), turns=turn)


def make_opening(rng: random.Random) -> list[int]:
    return [rng.randrange(5, VOCAB) for _ in range(rng.randint(20, 60))]


def make_sample(rng: random.Random, start: Sequence[int]) -> Sample:
    turns = rng.randint(2, 20)
    rewards = (0.0,) * turns
    names: dict[str, Any] = dict.fromkeys(("trajectory", "group", "task", "env"), "")
    return Sample(rows=(make_row(rng, turns, start),), kind="win", score=1.0, rewards=rewards, tags={}, **names)


def make_llama() -> Any:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        **SHAPES[SHAPE["name"]], max_position_embeddings=4096, tie_word_embeddings=True, bos_token_id=None,
        eos_token_id=PAD, pad_token_id=PAD,
    )  # fmt: skip
    return LlamaForCausalLM(config)


def make_batches(items: Sequence[Any], steps: int) -> list[list[Any]]:
    """`steps` mini-batches, going around."""
    return [[items[(s * BATCH + i) % len(items)] for i in range(BATCH)] for s in range(steps)]


# --- arms: each trains `steps` steps on `items` and returns nothing ---------------------------------------------------


def time_bare(items: Sequence[Sample], steps: int, *, bf16: bool = False) -> None:
    """What one writes by hand: pad, all logits, the model's own loss, step."""
    import torch

    model = make_llama().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=LR, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: 0.5 * (1 + math.cos(math.pi * s / steps)))
    for batch in make_batches(items, steps):
        rows = [s.rows[0] for s in batch]
        longest = max(map(len, rows))
        ids, mask = torch.full((BATCH, longest), PAD), torch.zeros(BATCH, longest, dtype=torch.long)
        labels = torch.full((BATCH, longest), -100)
        for i, r in enumerate(rows):
            ids[i, : len(r)] = torch.tensor(r.ids)
            mask[i, : len(r)] = 1
            said = torch.tensor(list(r.agent), dtype=torch.bool)
            labels[i, : len(r)][said] = ids[i, : len(r)][said]
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            loss = model(input_ids=ids, attention_mask=mask, labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()


def time_sonde(items: Sequence[Any], steps: int, *, objective: str = "sft", **changes: Any) -> None:
    from sonde.train.objectives import make_objective
    from sonde.train.settings import TrainSettings
    from sonde.train.trainer import SondeTrainer

    size = BATCH // 2 if objective == "dpo" else BATCH
    with tempfile.TemporaryDirectory() as folder:
        settings = TrainSettings(
            folder=folder, lr=LR, batch_size=size, micro_batch=size, max_steps=steps, logging_steps=10, **changes
        )
        SondeTrainer(make_llama(), make_objective(objective), items, settings).train()


def trl_arguments(folder: str, size: int, steps: int, **changes: Any) -> dict[str, Any]:
    return {
        "output_dir": folder, "per_device_train_batch_size": size, "max_steps": steps, "learning_rate": LR,
        "lr_scheduler_type": "cosine", "warmup_steps": 0.04, "logging_steps": 10, "report_to": "none", "use_cpu": True,
        "save_strategy": "no", "bf16": False, "disable_tqdm": True, "gradient_checkpointing": False, **changes,
    }  # fmt: skip


def make_words() -> Any:
    """A tokenizer of one id per word: TRL encodes preferences from text."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    raw = Tokenizer(models.WordLevel({f"w{i}": i for i in range(VOCAB)}, unk_token="w0"))
    raw.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=raw, unk_token="w0", eos_token="w1", pad_token="w1")


def trl_sft(items: Sequence[Sample], steps: int, *, packed: bool = False) -> float | None:
    """The tokens of a step, where rows are packed."""
    from datasets import Dataset
    from trl.trainer.sft_config import SFTConfig
    from trl.trainer.sft_trainer import SFTTrainer

    rows = [s.rows[0] for s in items]
    labels = [[t if a else -100 for t, a in zip(r.ids, r.agent, strict=True)] for r in rows]
    data = Dataset.from_dict({"input_ids": [list(r.ids) for r in rows], "labels": labels})
    with tempfile.TemporaryDirectory() as folder:
        longest = round(sum(map(len, rows)) / len(rows) * BATCH) if packed else None
        arguments = SFTConfig(
            **trl_arguments(folder, 1 if packed else BATCH, steps, max_length=longest, packing=packed)
        )
        trainer = SFTTrainer(make_llama(), arguments, train_dataset=data, processing_class=make_words())
        trainer.train()
    return sum(map(len, rows)) / len(trainer.train_dataset) if packed else None


def trl_dpo(items: Sequence[Pair], steps: int) -> None:
    from datasets import Dataset
    from trl.trainer.dpo_config import DPOConfig
    from trl.trainer.dpo_trainer import DPOTrainer

    def make_text(ids: Sequence[int]) -> str:
        return " ".join(f"w{i}" for i in ids)

    prompts = [pair.chosen.rows[0].agent.index(1) for pair in items]
    columns = {
        name: [make_text(getattr(pair, name).rows[0].ids[n:]) + " " for pair, n in zip(items, prompts, strict=True)]
        for name in ("chosen", "rejected")
    }
    columns["prompt"] = [make_text(pair.chosen.rows[0].ids[:n]) + " " for pair, n in zip(items, prompts, strict=True)]
    with tempfile.TemporaryDirectory() as folder:
        arguments = DPOConfig(
            **trl_arguments(folder, BATCH // 2, steps, max_length=None, precompute_ref_log_probs=True)
        )
        data = Dataset.from_dict(columns)
        DPOTrainer(make_llama(), make_llama(), arguments, train_dataset=data, processing_class=make_words()).train()


def trl_grpo(items: Sequence[Sample], steps: int) -> None:
    from datasets import Dataset
    from trl.trainer.grpo_config import GRPOConfig
    from trl.trainer.grpo_trainer import GRPOTrainer

    def give_rollouts(prompts: Sequence[str], trainer: Any) -> dict[str, list[Any]]:
        """The recorded rollouts of these openings; a prompt is the number of its pair, and is there twice."""
        rows = [items[2 * int(prompt) + i % 2].rows[0] for i, prompt in enumerate(prompts)]
        cuts = [row.agent.index(1) for row in rows]
        columns = [_split_rollout(row, cut) for row, cut in zip(rows, cuts, strict=True)]
        return {name: [column[name] for column in columns] for name in columns[0]}

    def reward(*, earned: Sequence[float], **_: Any) -> list[float]:
        return list(earned)

    data = Dataset.from_dict({"prompt": [str(i) for i in range(len(items) // 2)]})
    with tempfile.TemporaryDirectory() as folder:
        arguments = GRPOConfig(
            **trl_arguments(folder, BATCH, steps, num_generations=2, beta=0.0, loss_type="grpo", epsilon_high=0.28)
        )
        GRPOTrainer(
            make_llama(), reward, args=arguments, train_dataset=data, processing_class=make_words(),
            rollout_func=give_rollouts,
        ).train()  # fmt: skip


def _split_rollout(row: Row, cut: int) -> dict[str, Any]:
    """A rollout in TRL's columns."""
    said = list(row.agent[cut:])
    probabilities = [p if a else 0.0 for p, a in zip(row.logprobs or (), row.agent, strict=True)][cut:]
    return {
        "prompt_ids": row.ids[:cut].tolist(), "completion_ids": row.ids[cut:].tolist(), "logprobs": probabilities,
        "env_mask": said, "earned": max(row.advantages or (0.0,)),
    }  # fmt: skip


def as_rollouts(samples: Sequence[Sample]) -> list[Sample]:
    """The dialogues as a uniform policy would have sampled them; of two, the first earned 1 and the second nothing."""
    known = -math.log(SHAPES[SHAPE["name"]]["vocab_size"])
    return [replace(s, rows=(_credit_row(s.rows[0], known, 0.5 - i % 2),)) for i, s in enumerate(samples)]


def _credit_row(row: Row, known: float, advantage: float) -> Row:
    logs, heat, credit = (
        array("f", [value if a else other for a in row.agent])
        for value, other in ((known, math.nan), (1.0, math.nan), (advantage, 0.0))
    )
    return replace(row, logprobs=logs, temperatures=heat, advantages=credit)


ARMS: dict[str, tuple[str, Callable[[Sequence[Any], int], float | None]]] = {
    "bare": ("sft", time_bare),
    "sonde": ("sft", time_sonde),
    "sonde-by-length": ("sft", lambda items, steps: time_sonde(items, steps, micro_tokens=1024)),
    "sonde-packed": ("sft", lambda items, steps: time_sonde(items, steps, packing=True)),
    "bare-bf16": ("sft", lambda items, steps: time_bare(items, steps, bf16=True)),
    "sonde-bf16": ("sft", lambda items, steps: time_sonde(items, steps, bf16=True)),
    "trl-sft": ("sft", trl_sft),
    "trl-sft-packed": ("sft", lambda items, steps: trl_sft(items, steps, packed=True)),
    "trl-dpo": ("dpo", trl_dpo),
    "sonde-dpo": ("dpo", lambda items, steps: time_sonde(items, steps, objective="dpo")),
    "sonde-dpo-packed": ("dpo", lambda items, steps: time_sonde(items, steps, objective="dpo", packing=True)),
    "trl-grpo": ("grpo", trl_grpo),
    "sonde-grpo": ("grpo", lambda items, steps: time_sonde(items, steps, objective="grpo")),
    "sonde-grpo-packed": ("grpo", lambda items, steps: time_sonde(items, steps, objective="grpo", packing=True)),
}


# --- measuring --------------------------------------------------------------------------------------------------------


def measure_way(arm: str, steps: int, seed: int) -> dict[str, float]:
    """CPU seconds of `steps` steps: a run of `steps + 2` less a run of 2. In a process of its own."""
    import torch

    torch.set_num_threads(1)
    kind, train = ARMS[arm]
    rng = random.Random(seed)
    samples = [make_sample(rng, start) for start in (make_opening(rng) for _ in range(BATCH * 8)) for _ in range(2)]
    items: Sequence[Any] = samples if kind == "sft" else as_rollouts(samples)
    if kind == "dpo":
        items = [Pair(*samples[i : i + 2]) for i in range(0, len(samples), 2)]
    per_step = train(items, 2) or sum(len(s.rows[0]) for s in samples) / len(samples) * BATCH
    clocks: list[float] = []
    for n in (2, steps + 2):
        start = time.process_time()
        train(items, n)
        clocks.append(time.process_time() - start)
    tokens = per_step * steps
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    return {"seconds": clocks[1] - clocks[0], "tokens": tokens, "mib": peak}


def run_child(arm: str, shape: str, steps: int, seed: int) -> dict[str, float]:
    command = [
        sys.executable, __file__, "--one", arm, "--shape", shape, "--steps", str(steps), "--seed", str(seed)
    ]  # fmt: skip
    done = subprocess.run(
        command, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{arm} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def format_interval(values: Sequence[float]) -> tuple[float, float]:
    """Of the median, 95 %, by 2,000 resamples."""
    rng = random.Random(0)
    medians = sorted(statistics.median(rng.choices(values, k=len(values))) for _ in range(2000))
    return medians[50], medians[1949]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    parser.add_argument("--shape", choices=SHAPES, default="tiny", help="of the model (default tiny)")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--one", choices=ARMS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    SHAPE["name"] = args.shape
    if args.one:
        print(json.dumps(measure_way(args.one, args.steps, args.seed)))
        return
    found: dict[str, list[dict[str, float]]] = {arm: [] for arm in args.arms}
    for _ in range(args.runs):
        for arm in args.arms:
            found[arm].append(run_child(arm, args.shape, args.steps, args.seed))
    base = args.arms[0]
    print(f"{'arm':18} {'tokens/s':>9} {'ms/step':>8} {'MiB':>6}   speed relative to {base}")
    for arm, runs in found.items():
        speeds = [run["tokens"] / run["seconds"] for run in runs]
        ratios = [s * b["seconds"] / b["tokens"] for s, b in zip(speeds, found[base], strict=True)]
        low, high = format_interval(ratios)
        step = statistics.median(run["seconds"] for run in runs) / args.steps * 1000
        peak = max(run["mib"] for run in runs)
        ratio = f"{statistics.median(ratios):.2f} [{low:.2f}, {high:.2f}]"
        print(f"{arm:18} {statistics.median(speeds):9,.0f} {step:8.1f} {peak:6.0f}   {ratio}", flush=True)


if __name__ == "__main__":
    main()
