"""TRL's GRPOTrainer teaches sonde-tiny-maze to walk straight, on a CPU, by either of TRL's two ways to play.

    python recipes/interop/trl_maze.py play             # rollout_func: our engine plays
    python recipes/interop/trl_maze.py environment      # environment_factory: TRL plays, the game is a tool

The model is a novice that wanders. The goal is 2 to 4 moves away, a game has 6 turns; what it earns is 1 for the goal,
less a little per turn. Held-out tasks are played before and after at temperature 1, by the same worlds and sampling
seeds; the difference is paired by task, its 95 % interval a bootstrap over tasks. The reward of every step is printed.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import sonde
from sonde.core import AGENT, Env
from sonde.interop.plain_speech import plain_speech
from sonde.interop.trl import CreditedGRPO, Play, environment, rows
from sonde.metrics import Estimate, difference
from sonde.models.shipped import shipped
from sonde.rollout import Plan, collect
from sonde.train.gather import Game
from sonde.train.groups import OnlineSettings
from sonde.train.rewards import RewardMix

MODEL, K, EPISODES = str(shipped("sonde-tiny-maze").folder), 8, 64
HURRY = RewardMix({"success": 1.0, "turns": -0.02})
FARTHEST = 4
"""Moves to the goal."""
ROOM = 512
"""Tokens of an episode where TRL generates."""


def near(env: Env[Any], split: str) -> list[int]:
    """The numbers of the tasks that are played."""
    return [task.index for task in env.tasks(split) if int(task.tags["distance"]) <= FARTHEST]


def trainer(way: str, env: Env[Any], steps: int, folder: Path, seed: int) -> Any:
    """TRL's trainer with sonde in it, by this way."""
    tasks = near(env, "train")
    from transformers import AutoTokenizer
    from trl import GRPOConfig, GRPOTrainer

    args = GRPOConfig(
        output_dir=str(folder), per_device_train_batch_size=EPISODES, num_generations=K, max_steps=steps,
        max_completion_length=ROOM, learning_rate=5e-4, lr_scheduler_type="constant", loss_type="grpo", beta=0.0,
        seed=seed, logging_steps=1, save_strategy="no", report_to=[], use_cpu=True, bf16=False, disable_tqdm=True,
        activation_checkpointing=False,
    )  # fmt: skip
    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    if way == "play":
        online = OnlineSettings(k=K, max_new_tokens=8, rewards=HURRY)
        play = Play([Game(env, [env.tasks("train")[i] for i in tasks], "maze")], online, seed=seed)
        return CreditedGRPO(
            MODEL, args=args, train_dataset=play.dataset(steps * EPISODES // K), rollout_func=play,
            reward_funcs=play.reward, processing_class=tokenizer,
        )  # fmt: skip
    return GRPOTrainer(
        MODEL, args=args, train_dataset=rows(env, len(env.tasks("train"))).select(tasks),
        environment_factory=environment(env, rewards=HURRY, max_completion_length=ROOM),
        processing_class=plain_speech(tokenizer),
    )  # fmt: skip


def tested(env: Env[Any], model: str, n: int) -> list[list[float]]:
    """Whether each of two samples of n held-out tasks was won."""
    backend = sonde.make("models:hf", model=model, max_batch=256)
    player = sonde.make("agents:llm", model=backend, temperature=1.0, min_p=0.0, max_new_tokens=8)
    played = collect(env, {AGENT: player}, [env.tasks("test")[i] for i in near(env, "test")[:n]], Plan(k=2))
    won: dict[int, list[float]] = {}
    for t in sorted(played, key=lambda t: (t.task.index, t.sample)):
        won.setdefault(t.task.index, []).append(float(t.outcome is not None and t.outcome.success))
    return list(won.values())


def learned(way: str, steps: int, tests: int, folder: Path, seed: int) -> dict[str, Any]:
    """The rewards of all steps, success before and after, and the CPU seconds that training took."""
    env = sonde.make("maze", preset="pairs", max_turns=6)
    before, made = tested(env, MODEL, tests), trainer(way, env, steps, folder, seed)
    begun = time.process_time()
    made.train()
    seconds = time.process_time() - begun
    made.model.save_pretrained(folder / "model")
    made.processing_class.save_pretrained(folder / "model")
    (folder / "model" / "chat_template.jinja").write_bytes((Path(MODEL) / "chat_template.jinja").read_bytes())
    after = tested(env, str(folder / "model"), tests)
    none = [[0.0] for _ in before]
    return {
        "way": way, "steps": steps, "seed": seed, "cpu_seconds": round(seconds),
        "rewards": [round(entry["reward"], 3) for entry in made.state.log_history if "reward" in entry],
        "before": _plain(difference(before, none)), "after": _plain(difference(after, none)),
        "gain": _plain(difference(after, before)),
    }  # fmt: skip


def _plain(e: Estimate) -> dict[str, float]:
    return {"value": round(e.mean, 3), "low": round(e.low, 3), "high": round(e.high, 3)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("way", choices=["play", "environment"])
    parser.add_argument("--steps", type=int, default=24, help=f"of {EPISODES} episodes")
    parser.add_argument("--tests", type=int, default=250, help="held-out tasks, two samples each")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("runs/recipes/interop"))
    given = parser.parse_args()
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    print(json.dumps(learned(given.way, given.steps, given.tests, given.out / given.way, given.seed), indent=2))


if __name__ == "__main__":
    main()
