"""The paper's own trainings: Qwen3 1.7B and 4B, StarPO and ΔBelief-RL (ΔBelief-RL, sections 4.1 and 5).

    python recipes/delta_belief/paper.py --dry-run [--only NAME ...] [--json]    # resolved settings and cost; no model
    python recipes/delta_belief/paper.py --only delta_belief-1.7B --out runs/delta_belief/paper

It needs two GPUs: one trains, one serves Qwen3-14B as the user, at localhost:8000. The presets `starpo_code` and
`delta_belief_code` have all other settings, those of the paper's code where it differs from the paper. The paper starts
from weights that were fine-tuned (`delta_belief_sft`) on games of a stronger model; `--model` takes a folder of such
weights, and the names here are their base models. The checkpoint to test is the one that wins most games of the 198
words of `val`, in the folder `best`. This has not been run, for lack of a GPU.

The cost of a training is estimated from games of 20 turns (the maximum) with the questions of the reference solver. It
counts the tokens that the model says, those on which it is trained, and those that its beliefs add, and the operations
for them: 2 per weight and token to compute, 6 to train, 8 with activation checkpointing. This is a lower bound:
sampling is bound by memory and takes longer, and serving the user is not counted.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import sonde
from sonde.beliefs.elicitation import belief_probes
from sonde.core import Episode
from sonde.core.types import Json
from sonde.runs.rollout import collect_trajectories
from sonde.train.by_name import learn_online
from sonde.train.collect import Game
from sonde.train.presets import describe_preset, preset
from sonde.train.rewarders import BeliefGain
from sonde.train.training import Training

ENV = {"name": "twenty_questions", "preset": "delta_belief", "rules": "code"}
USER = {
    "name": "users:llm",
    "model": {"name": "models:http", "model": "Qwen/Qwen3-14B", "base_url": "http://localhost:8000/v1"},
    "temperature": 0.0,
}
TRIED = 4
CHARACTERS_PER_TOKEN = 4
WEIGHTS = {"1.7B": 1.72e9, "4B": 4.02e9}
"""Sizes of the Qwen3 models, from their model cards."""
TERA_PER_SECOND = 400.0
"""Of an H100 in training with bfloat16, at two fifths of its peak."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """One training: a preset, and the weights from which it starts."""

    method: str
    size: str

    @property
    def model(self) -> str:
        return f"Qwen/Qwen3-{self.size}"

    @property
    def training(self) -> Training:
        """The preset of this size, as in the paper's code, with an evaluation on the words of `val` every four
        rollouts."""
        found = preset(f"{self.method}_code" + ("_4b" if self.size == "4B" else ""))
        every = 4 * found.online.updates_per_rollout
        return replace(found, online=replace(found.online, eval_every=every, eval_split="val", eval_k=4))


CONFIGS: Mapping[str, Config] = {
    f"{method}-{size}": Config(method=method, size=size) for size in WEIGHTS for method in ("starpo", "delta_belief")
}


def estimate_cost(config: Config) -> dict[str, Json]:
    """Estimate the cost of a training; see the module."""
    said, read, probed = _count_tokens(config.training)
    episodes, weights = config.training.n_episodes, WEIGHTS[config.size]
    per_weight = (8 if config.training.settings.gradient_checkpointing else 6) * read + 2 * (read + said + probed)
    operations = per_weight * weights * episodes
    return {
        "episodes": episodes,
        "steps": config.training.settings.max_steps,
        "tokens_said": said * episodes,
        "tokens_trained": read * episodes,
        "tokens_elicited": probed * episodes,
        "user_calls": episodes * sonde.build(ENV).spec.max_turns,
        "exaflop": round(operations / 1e18),
        "gpu_hours": round(operations / (TERA_PER_SECOND * 1e12) / 3600, 1),
    }


def _count_tokens(training: Training) -> tuple[int, int, int]:
    """The tokens of a game: those that the model says, all of them, and those that its beliefs add (the game once, and
    the target before every turn)."""
    env = sonde.build(ENV)
    games = collect_trajectories(env, {"agent": sonde.make(f"agents:{env.spec.reference}")}, env.tasks("test")[:TRIED])
    said = read = probed = 0.0
    for t in games:
        stretch = env.spec.max_turns / len(t.turns)
        messages = list(Episode.stages(env, t))[-1].view("agent").messages
        said += stretch * sum(len(m.content) for m in messages if m.role == "assistant")
        read += stretch * sum(len(m.content) for m in messages)
        for rewarder in training.online.rewarders:
            if isinstance(rewarder, BeliefGain):
                probes = belief_probes(env, t, rewarder.elicitation).probes
                probed += stretch * sum(len(p.messages[-1].content) for p in probes)
    probed += read if probed else 0.0
    return tuple(round(n / len(games) / CHARACTERS_PER_TOKEN) for n in (said, read, probed))  # type: ignore[return-value]


def resolve_config(name: str, config: Config) -> dict[str, Json]:
    """A training's resolved settings and its cost."""
    return {
        "config": name, "model": config.model, "env": sonde.build(ENV).config, "user": sonde.build(USER).config,
        "training": config.training.to_json(), "cost": estimate_cost(config),
    }  # fmt: skip


def train_config(config: Config, model: str | None, folder: Path) -> None:
    env, found = sonde.build(ENV), config.training
    ready = replace(found, settings=replace(found.settings, folder=str(folder)))
    games = [Game(env, env.tasks("train"), "twenty_questions")]
    learn_online(model or config.model, ready, games, policies={"user": sonde.build(USER)}, resume=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=CONFIGS, default=list(CONFIGS))
    parser.add_argument("--dry-run", action="store_true", help="resolve and say what it would cost; no model is loaded")
    parser.add_argument("--model", help="other weights to begin with: a folder, say of delta_belief_sft")
    parser.add_argument("--json", action="store_true", help="with --dry-run: everything that was resolved")
    parser.add_argument("--out", type=Path, default=Path("runs/delta_belief/paper"), help="where trainings go")
    args = parser.parse_args()
    if not args.dry_run:
        for name in args.only:
            train_config(CONFIGS[name], args.model, args.out / name)
        return
    found = [resolve_config(name, CONFIGS[name]) for name in args.only]
    if args.json:
        print(json.dumps(found))
        return
    for row in found:
        print(f"{row['config']}: {describe_preset(CONFIGS[str(row['config'])].training)}")
        print("    " + ", ".join(f"{name} {value:,}" for name, value in row["cost"].items()))  # type: ignore[union-attr]


if __name__ == "__main__":
    main()
