"""Train a sonde-tiny model from scratch: tokenizer, teachers' play, network, gate, card.

    python recipes/tiny/train.py --env best_arm --seed 0 --to runs/tiny/best_arm-0 [--steps N] [--quick] [--no-gate]

All randomness comes from `--seed`: on one machine, equal seeds give equal weights. It uses one thread, so that CPU
seconds are comparable. `--quick` trains a twentieth as long, to test the recipe; such a model does not pass the gate.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from pathlib import Path

import corpus
import games
import gate
import learn
import torch
import vocab
from games import Game
from learn import Trained

from sonde.core import Rng
from sonde.train.training_folder import COMMAND


def build_model(game: Game, seed: int, steps: int) -> tuple[Trained, corpus.Encoder]:
    """Make the tokenizer and the data, and train the model."""
    words = corpus.list_texts(game, Rng(0, "tiny", game.env.name, "words"))
    encoder = corpus.Encoder(vocab.make_tokenizer(words, game.window, game.phrases))
    tok = encoder.tokenizer
    model = learn.make_network(len(tok), game.window, tok.eos_token_id, tok.pad_token_id, seed)
    size = sum(p.numel() for p in model.parameters())
    print(f"{game.name}, seed {seed}: {len(tok)} words, {size:,} parameters, {steps} steps", flush=True)
    source = corpus.generate_course(game, encoder, Rng(seed, "tiny", game.env.name, "data"), steps)
    return learn.train_network(game.plan, model, source, steps, show_progress(steps)), encoder


def show_progress(steps: int) -> learn.Report:
    """Prints a line every 100 steps."""

    def report(step: int, loss: float, seconds: float) -> None:
        if step % 100 == 0 or step == steps:
            print(f"  step {step:6d}  loss of the agent's tokens {loss:.4f}  {seconds:6.1f} CPU s", flush=True)

    return report


def save_model(trained: Trained, encoder: corpus.Encoder, folder: Path, game: Game, seed: int, typed: str) -> None:
    """Write the folder that `models:hf` loads, with the command as `typed`, and the facts of the training in
    `training.json`. CPU seconds are those of the whole process: imports, vocabulary, play of the teachers and
    training."""
    trained.model.config.use_cache = True
    trained.model.generation_config.use_cache = True
    trained.model.save_pretrained(folder)
    encoder.tokenizer.save_pretrained(folder)
    facts = {
        "env": game.env.config,
        "context": game.context,
        "seed": seed,
        "parameters": sum(p.numel() for p in trained.model.parameters()),
        "words": len(encoder.tokenizer),
        "tokens": trained.tokens,
        "loss": round(trained.loss, 4),
        "cpu_seconds": round(time.process_time(), 1),
    }
    (folder / "training.json").write_text(json.dumps(facts, indent=2) + "\n")
    (folder / COMMAND).write_text(typed + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", choices=sorted(games.GAMES), required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--to", type=Path, default=None, help="folder to write (default runs/tiny/ENV-SEED)")
    parser.add_argument("--steps", type=int, default=None, help="updates (default: the plan's)")
    parser.add_argument("--episodes", type=int, default=500, help="test episodes of the gate")
    parser.add_argument("--quick", action="store_true", help="a twentieth of the steps, and a gate of 50 episodes")
    parser.add_argument("--no-gate", action="store_true", help="only train")
    args = parser.parse_args()
    torch.set_num_threads(1)
    game = games.GAMES[args.env]()
    steps = args.steps or game.plan.steps
    steps, episodes = (max(1, steps // 20), 50) if args.quick else (steps, args.episodes)
    folder = args.to or Path("runs") / "tiny" / f"{args.env}-{args.seed}"
    trained, encoder = build_model(game, args.seed, steps)
    save_model(
        trained, encoder, folder, game, args.seed, shlex.join(["python", "recipes/tiny/train.py", *sys.argv[1:]])
    )
    print(f"written: {folder}", flush=True)
    if not args.no_gate:
        sys.exit(judge_model(game, folder, episodes))


def judge_model(game: Game, folder: Path, episodes: int) -> int:
    """Print the gate's table; 0 if the model passes, else 1."""
    found = gate.measure_model(game, folder, episodes)
    gate.save_measurements(found, folder)
    print(gate.format_table(game, [found]))
    missed = gate.list_failures(found)
    print("\n".join(missed) or "passes the gate")
    return int(bool(missed))


if __name__ == "__main__":
    main()
