"""GRPO in one file: a language model plays, its episodes are compared, its weights are updated.

    python recipes/grpo_loop.py                     # 20 steps, a minute and a half on one CPU core
    python recipes/grpo_loop.py --steps 40 --seed 1

The task is `best_arm`, preset `small`: three machines pay with hidden probabilities. The model makes ten pulls, then
names the machine with the highest probability, and gets a reward of 1 if it is right. So it must spend its pulls on
what it does not know yet. The model is `sonde-tiny-best_arm`, which comes with sonde: 0.34 million weights; it follows
the format and plays like a beginner.

A training step, with G episodes of each of N tasks:

    play     the G episodes of a task have the same hidden probabilities; tokens are sampled at temperature 1
    credit   A = (R - mean of R over the group) / (standard deviation + 1e-6), the same for every token of an episode
    loss     - min(ratio A, clip(ratio, 1 - 0.2, 1 + 0.28) A), ratio = pi(token) / pi(token) when it was sampled;
             the mean over the model's own tokens in an episode, then the mean over episodes
    step     AdamW. With one update per step the ratio is 1, so nothing is clipped; `updates_per_step` sets more

Results on 300 test tasks, in the same worlds before and after (share of games won, 95 % intervals by task):

    seed   temperature 1: before, after, difference       temperature 0: before, after, difference
    0      .563   .800   .237 [.176, .297]                .807   .800   -.007 [-.060, .047]
    1      .563   .790   .227 [.170, .287]                .807   .807    .000 [-.050, .054]
    2      .563   .773   .210 [.150, .274]                .807   .790   -.017 [-.070, .037]

So at temperature 1, at which it is trained, it becomes as good as its greedy play was before.

Source: GRPO (Shao et al. 2024, arXiv 2402.03300, equation 3, without its KL term), the clip range of DAPO (Yu et al.
2025). Token ids and log-probabilities come from the sampler, so no text is tokenised again.

`sonde.train.online` adds what larger trainings need: credit per turn, beliefs as rewards, curricula, critics, LoRA,
several processes, inference servers, checkpoints. `tests/recipes/test_grpo_loop.py` checks that both have the same
advantages and loss.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoTokenizer

import sonde
from sonde.agents.llm import LLM
from sonde.evaluation.metrics import paired_difference, rate
from sonde.models.files.shipped import get_shipped_model
from sonde.models.hf import HF
from sonde.runs.rollout import Plan, collect_trajectories
from sonde.train.data import make_samples
from sonde.train.types import Row, Sample


@dataclass(frozen=True)
class Config:
    seed: int = 0
    steps: int = 20
    tasks_per_step: int = 8  # N
    group_size: int = 8  # G
    updates_per_step: int = 1
    learning_rate: float = 3e-4
    clip_low: float = 0.2
    clip_high: float = 0.28
    rows_per_pass: int = 128  # rows in one forward pass; changes memory, not the gradient
    test_tasks: int = 300


# --- play ------------------------------------------------------------------------------------------------------------


def play(env: sonde.Env[Any], agent: LLM, tasks: Sequence[sonde.Task], k: int, seed: int) -> list[sonde.Trajectory]:
    """Play k episodes of each task. `seed` is that of the world: the k episodes of a task share the hidden setup."""
    return collect_trajectories(env, {sonde.AGENT: agent}, tasks, Plan(k=k, seed=seed), keep_open=True)


def play_tests(env: sonde.Env[Any], hf: HF, n_tasks: int, temperature: float) -> list[list[float]]:
    """1 or 0 for each test task: a table (tasks, samples), as `sonde.evaluation.metrics` takes it."""
    episodes = play(env, make_agent(hf, temperature), env.tasks("test")[:n_tasks], k=1, seed=0)
    return [[float(episode.outcome is not None and episode.outcome.success)] for episode in episodes]


def make_agent(hf: HF, temperature: float) -> LLM:
    """The model in the agent's seat. `render`: it sees a summary of its pulls instead of the whole conversation."""
    return LLM(model=hf, context="render", temperature=temperature, min_p=0.0, max_new_tokens=8)


# --- credit ----------------------------------------------------------------------------------------------------------


def compute_advantages(episodes: Sequence[Sample]) -> list[float]:
    """The reward of each episode, minus the mean of its group, in standard deviations."""
    rewards_by_group = defaultdict[str, list[float]](list)
    for episode in episodes:
        rewards_by_group[episode.group].append(episode.score)
    advantages: list[float] = []
    for episode in episodes:
        rewards = torch.tensor(rewards_by_group[episode.group], dtype=torch.float64)
        advantages.append(float((episode.score - rewards.mean()) / (rewards.std() + 1e-6)))
    return advantages


# --- loss ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Batch:
    """Rows of tokens, padded at the right, (R, T). A row is the prompt and the reply of one call. `weight` is a token's
    weight in the loss: 1 / (episodes x sampled tokens of its episode), or 0 for prompt tokens."""

    ids_RT: Tensor
    attention_RT: Tensor
    sampled_logprob_RT: Tensor
    advantage_R1: Tensor
    weight_RT: Tensor


def make_batches(
    episodes: Sequence[Sample], advantages: Sequence[float], pad_id: int, rows_per_pass: int
) -> Iterator[Batch]:
    """All rows of the episodes, one forward pass at a time, without episodes of advantage 0, which have no gradient."""
    rows: list[tuple[Row, float, float]] = []
    for episode, advantage in zip(episodes, advantages, strict=True):
        n_tokens = sum(row.n_agent for row in episode.rows)
        if advantage != 0.0:
            rows += [(row, advantage, 1.0 / (len(episodes) * n_tokens)) for row in episode.rows]
    rows.sort(key=lambda entry: len(entry[0]))  # rows of similar length share a pass, so there is little padding
    for start in range(0, len(rows), rows_per_pass):
        yield make_batch(rows[start : start + rows_per_pass], pad_id)


def make_batch(rows: Sequence[tuple[Row, float, float]], pad_id: int) -> Batch:
    """Pad `rows`, each given with the advantage of its episode and the weight of one of its tokens."""
    shape = len(rows), max(len(row) for row, _, _ in rows)
    ids_RT = torch.full(shape, pad_id, dtype=torch.long)
    attention_RT, sampled_logprob_RT, weight_RT = torch.zeros(shape), torch.zeros(shape), torch.zeros(shape)
    for i, (row, _, weight) in enumerate(rows):
        assert row.logprobs is not None
        own_T = torch.tensor(list(row.agent), dtype=torch.bool)  # the sampled tokens
        ids_RT[i, : len(row)] = torch.tensor(row.ids)
        attention_RT[i, : len(row)] = 1
        sampled_logprob_RT[i, : len(row)] = torch.where(own_T, torch.tensor(row.logprobs), 0.0)
        weight_RT[i, : len(row)] = own_T * weight
    advantage_R1 = torch.tensor([[advantage] for _, advantage, _ in rows])
    return Batch(ids_RT, attention_RT, sampled_logprob_RT, advantage_R1, weight_RT)


def compute_loss(model: Any, batch: Batch, clip_low: float, clip_high: float) -> Tensor:
    """The clipped policy-gradient loss of one pass; the passes of a step sum to the loss of the step."""
    logits_RTV = model(input_ids=batch.ids_RT, attention_mask=batch.attention_RT, use_cache=False).logits
    logprob_RTV = logits_RTV[:, :-1].log_softmax(-1)  # position t predicts token t + 1
    logprob_RT = logprob_RTV.gather(-1, batch.ids_RT[:, 1:, None])[..., 0]
    weight_RT = batch.weight_RT[:, 1:]
    log_ratio_RT = torch.where(weight_RT > 0, logprob_RT - batch.sampled_logprob_RT[:, 1:], 0.0)
    ratio_RT = log_ratio_RT.exp()
    clipped_RT = ratio_RT.clamp(1 - clip_low, 1 + clip_high)
    gain_RT = torch.minimum(ratio_RT * batch.advantage_R1, clipped_RT * batch.advantage_R1)
    return -(weight_RT * gain_RT).sum()


# --- the loop --------------------------------------------------------------------------------------------------------


def train(config: Config) -> dict[str, Any]:
    torch.manual_seed(config.seed)
    env = sonde.make("best_arm", preset="small")
    base = get_shipped_model("sonde-tiny-best_arm")
    model = AutoModelForCausalLM.from_pretrained(base.folder).eval()  # no dropout: one mode for play and training
    tokenizer = AutoTokenizer.from_pretrained(base.folder)
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.learning_rate, weight_decay=0.0)
    hf = HF.from_module(model, tokenizer, model=base.name, lock_step=True, max_batch=256)  # plays with these weights

    temperatures = (1.0, 0.0)
    before = {t: play_tests(env, hf, config.test_tasks, t) for t in temperatures}

    tasks = list(env.tasks("train"))
    rng = random.Random(config.seed)
    for step in range(config.steps):
        # play: new worlds in every step
        chosen = rng.sample(tasks, config.tasks_per_step)
        world = sonde.derive(config.seed, "world", step)
        trajectories = play(env, make_agent(hf, temperature=1.0), chosen, config.group_size, world)

        # credit: an advantage for each episode
        episodes, _ = make_samples(trajectories)
        advantages = compute_advantages(episodes)

        for _ in range(config.updates_per_step):
            # loss: the gradients of all passes add up
            for batch in make_batches(episodes, advantages, tokenizer.pad_token_id, config.rows_per_pass):
                compute_loss(model, batch, config.clip_low, config.clip_high).backward()
            # step
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
            optimizer.step()
            optimizer.zero_grad()
        hf.renew_weights(weights=str(step + 1))  # drops cached keys and values of the old weights

        won = sum(episode.success for episode in episodes) / len(episodes)
        flat = sum(advantage == 0.0 for advantage in advantages) / len(advantages)
        print(f"step {step:2}: {won:.2f} won; {flat:.2f} of the episodes are in groups without a signal")

    after = {t: play_tests(env, hf, config.test_tasks, t) for t in temperatures}
    gains = {t: paired_difference(after[t], before[t]) for t in temperatures}  # task by task, in the same worlds
    for t in temperatures:
        print(f"temperature {t:g}: {rate(before[t])} won before, {rate(after[t])} after, difference {gains[t]}")
    sonde.core.run_sync(hf.close())
    return {"model": model, "before": before, "after": after, "gains": gains}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=Config.seed)
    parser.add_argument("--steps", type=int, default=Config.steps)
    parser.add_argument("--learning-rate", type=float, default=Config.learning_rate)
    train(Config(**vars(parser.parse_args())))


if __name__ == "__main__":
    main()
