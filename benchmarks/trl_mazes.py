"""Does TRL's trainer generalise from some mazes to others? sonde-tiny-maze, 20 steps of 64 games, on one core.

    python benchmarks/trl_mazes.py --mazes 8
    python benchmarks/trl_mazes.py --mazes 2000 [--seed 1]

The preset `pairs` with its 20 turns; `CreditedGRPO` with `RolloutFunc`, 1 for the goal less .02 per turn, credit per
turn, a rate of 5e-4. Prints the share of 200 games won before and after, at temperature 1, on the training mazes and
on the test split, whose starts lie on no shortest path of a training maze with the same goal.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from typing import Any

import torch
from transformers import AutoTokenizer
from trl import GRPOConfig  # pyright: ignore[reportPrivateImportUsage]

import sonde
from sonde.core import Task
from sonde.interop.outward.trl import CreditedGRPO, RolloutFunc
from sonde.models.files.shipped import get_shipped_model
from sonde.train.collect import Game
from sonde.train.credit import ReturnToGo
from sonde.train.online.groups import PlannedTask, play_groups
from sonde.train.online.rollout_backend import seat_model, wrap_model
from sonde.train.online.settings import OnlineSettings
from sonde.train.rewards import RewardMix

GAMES, K, BATCH = 200, 8, 64
ONLINE = OnlineSettings(k=K, max_new_tokens=8, rewards=RewardMix({"success": 1.0, "turns": -0.02}), credit=ReturnToGo())


def share_won(trainer: Any, game: Game, tasks: Sequence[Task]) -> float:
    model = trainer.accelerator.unwrap_model(trainer.model).eval()
    hf = wrap_model(model, trainer.processing_class, ONLINE)
    chosen = [PlannedTask(game, tasks[i % len(tasks)], 10_000 + i, game.name) for i in range(GAMES)]
    played = play_groups(chosen, seat_model(hf, ONLINE), {}, 1)
    sonde.core.run_sync(hf.close())
    model.train()
    return sum(t.outcome is not None and t.outcome.success for group in played for t in group) / GAMES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mazes", type=int, default=2000, help="different ones to train on (default 2,000)")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    torch.set_num_threads(1)
    env, folder = sonde.make("maze", preset="pairs"), str(get_shipped_model("sonde-tiny-maze").folder)
    game = Game(env, [env.tasks("train")[i] for i in range(given.mazes)], "maze")
    play = RolloutFunc([game], ONLINE, seed=given.seed)
    with tempfile.TemporaryDirectory() as out:
        args = GRPOConfig(
            output_dir=out, num_generations=K, per_device_train_batch_size=BATCH, max_steps=given.steps,
            learning_rate=5e-4, lr_scheduler_type="constant", loss_type="grpo", epsilon=0.2, epsilon_high=0.28,
            save_strategy="no", logging_strategy="no", use_cpu=True, bf16=False, activation_checkpointing=False,
            report_to=[], disable_tqdm=True, seed=given.seed,
        )  # fmt: skip
        trainer = CreditedGRPO(
            folder, args=args, train_dataset=play.make_dataset(max(given.mazes, BATCH // K)), rollout_func=play,
            reward_funcs=play.reward, processing_class=AutoTokenizer.from_pretrained(folder),
        )  # fmt: skip
        sets = {"trained on": game.tasks, "held out": env.tasks("test")[:GAMES]}
        before = {name: share_won(trainer, game, tasks) for name, tasks in sets.items()}
        begun = time.process_time()
        trainer.train()
        seconds = time.process_time() - begun
    print(f"{given.mazes} mazes, {given.steps} steps, {seconds:.0f} CPU s of training")
    for name, tasks in sets.items():
        print(f"{name}: {before[name]:.3f} won before, {share_won(trainer, game, tasks):.3f} after")


if __name__ == "__main__":
    main()
