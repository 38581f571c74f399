"""The paper's own trainings, written out: GPT-2 small, medium and xl on the datasets of LMRL-Gym, at its sizes.

    python recipes/lmrl/paper.py --dry-run [--only NAME ...] [--json]    # resolve; what it would cost; no model
    python recipes/lmrl/paper.py --only maze-ilql --out runs/lmrl/paper

A name is TASK-METHOD. Numbers are those of table 5 (`sonde.train.presets.lmrl`), which prints no number of epochs: one
here. All but `bc` and `filtered_bc` begin with the model that `TASK-bc` left in the same folder, as in the paper;
datasets are played there on first use (`docs/datasets.md` says how long that takes). None has been run: no GPU was at
hand.

The cost is estimated from some episodes of the behaviour policy: operations on all tokens, 6 per weight and token to
train and 2 to play, and on the agent's tokens those of the value heads, which are as large as GPT-2 small itself. An
H100 is taken to do a tenth of what it could: GPT-2 is too small to keep it busy, and sampling is bound by memory.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from sonde import datasets
from sonde.core import AGENT, Episode, UserError, build
from sonde.core.types import Json
from sonde.models.local.heads import HeadSpec
from sonde.runs.rollout import Plan, collect_trajectories
from sonde.train.collect import Game
from sonde.train.learn import learn, learn_online
from sonde.train.objectives import make_objective
from sonde.train.presets import preset
from sonde.train.presets.lmrl import BETA, MODELS
from sonde.train.training import Training

METHODS = ("bc", "filtered_bc", "mc", "ilql", "ppo", "online_filtered_bc")
COLUMNS: Mapping[str, str] = {
    "maze": "maze", "maze_partial": "maze", "text_nav": "text_nav", "text_nav_partial": "text_nav",
    "wordle": "wordle", "chess": "chess", "endgames": "endgames", "twenty_questions": "dialogue",
    "guess_my_city": "dialogue", "car_dealer": "dialogue",
}  # fmt: skip
"""Of table 5, by dataset."""
CONTEXTS = {"maze": "told", "maze_partial": "last:20", "chess": "told", "endgames": "told"}
"""Positions and observed places are shown alone; a place to be guessed with the last 40 messages."""
SPACED = frozenset({"wordle", "chess", "endgames"})
"""Their texts are letters with spaces between, so a token is two characters and not some four."""
WEIGHTS = {"gpt2": 1.24e8, "gpt2-medium": 3.55e8, "gpt2-xl": 1.56e9}
WIDTHS = {"gpt2": 768, "gpt2-medium": 1024, "gpt2-xl": 1600}
VOCABULARY = 50_257
TRIED = 8
TERA_PER_SECOND = 100.0
"""Of an H100 in training such small models with bfloat16: a tenth of its peak, assumed."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """One training."""

    task: str
    method: str

    @property
    def model(self) -> str:
        """The hub name of what the first of them begins with."""
        return "gpt2-xl" if self.task == "car_dealer" else MODELS[COLUMNS[self.task]]

    @property
    def training(self) -> Training:
        found = preset(f"lmrl_{COLUMNS[self.task]}_{self.method}")
        context = CONTEXTS.get(self.task, "full")
        if found.is_online:
            return replace(found, online=replace(found.online, context=context))
        return replace(found, learning=replace(found.learning, context=context))

    @property
    def beta(self) -> float | None:
        """What its values are multiplied by when it plays."""
        return BETA.get(self.method, {}).get(COLUMNS[self.task])


CONFIGS: Mapping[str, Config] = {
    f"{task}-{method}": Config(task=task, method=method) for task in COLUMNS for method in METHODS
}


@cache
def _tokens(task: str) -> tuple[float, float]:
    """Of an episode, by its behaviour policy: what the model reads and what the agent says."""
    part = datasets.make_parts(datasets.find_dataset(task), n=TRIED)[0]
    characters = 2 if task in SPACED else 4
    read = said = 0
    for t in collect_trajectories(part.run.env, part.run.policies, part.run.tasks, Plan(k=1, span=(0, TRIED))):
        messages = list(Episode.stages(part.run.env, t))[-1].view(AGENT).messages
        said += sum(len(m.content) for m in messages if m.role == "assistant")
        read += sum(len(m.content) for m in messages)
    return read / TRIED / characters, said / TRIED / characters


def _head_weights(spec: HeadSpec | None, model: str) -> float:
    """Of all value heads together, copies that follow left out."""
    if spec is None:
        return 0.0
    width = WIDTHS[model]
    middle = spec.width * width
    return spec.q * (width * middle + middle * VOCABULARY) + spec.v * (width * middle + middle)


def estimate_cost(config: Config) -> dict[str, Json]:
    """What a training would cost; see the module."""
    training, size = config.training, datasets.find_dataset(config.task).size
    read, said = _tokens(config.task)
    episodes = training.n_episodes if training.is_online else round(size * training.settings.epochs)
    spec = getattr(make_objective(training.objective, **training.options), "heads", None)
    operations = episodes * (
        read * WEIGHTS[config.model] * (8 if training.is_online else 6) + 6 * said * _head_weights(spec, config.model)
    )
    return {
        "episodes": episodes,
        "tokens_read": round(read * episodes),
        "tokens_said": round(said * episodes),
        "petaflop": round(operations / 1e15),
        "gpu_minutes": round(operations / (TERA_PER_SECOND * 1e12) / 60, 1),
    }


def resolve_config(name: str) -> dict[str, Json]:
    """All of a training, and what it would cost."""
    config = CONFIGS[name]
    return {
        "config": name, "model": config.model, "env": datasets.find_dataset(config.task).env, "beta": config.beta,
        "training": config.training.to_json(), "cost": estimate_cost(config),
    }  # fmt: skip


QUICK: Mapping[str, Any] = {"max_steps": 2, "batch_size": 4, "micro_batch": 4, "save_steps": None, "bf16": False}
FEW = 20
"""Recorded episodes of `--quick`."""


def train_config(name: str, out: Path, quick: str | None = None) -> None:
    """The training itself; with `quick`, a few steps of another model, to see that it runs."""
    config, folder = CONFIGS[name], out / name
    start = quick or config.model
    if config.method not in ("bc", "filtered_bc"):
        start = str(out / f"{config.task}-bc" / "model")
        if not Path(start, "config.json").is_file():
            raise UserError(f"{start} is missing; run --only {config.task}-bc first, with the same --out")
    training = config.training
    settings = replace(training.settings, folder=str(folder), **(QUICK if quick else {}))
    ready = replace(training, settings=settings)
    part = datasets.make_parts(datasets.find_dataset(config.task), n=FEW if quick else None)[0]
    if training.is_online:
        env = build(datasets.find_dataset(config.task).env)
        learn_online(start, ready, [Game(env, part.run.tasks, config.task)], resume=True)
    else:
        learn(start, ready, datasets.fill_part(part, out / f"{config.task}-data"), resume=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=CONFIGS, default=list(CONFIGS), metavar="NAME")
    parser.add_argument("--dry-run", action="store_true", help="resolve and say what it would cost; no model is loaded")
    parser.add_argument("--json", action="store_true", help="with --dry-run: everything that was resolved")
    parser.add_argument(
        "--quick", metavar="MODEL", help="two steps of four episodes with this model, to see that it runs"
    )
    parser.add_argument("--out", type=Path, default=Path("runs/lmrl/paper"), help="where datasets and trainings go")
    args = parser.parse_args()
    if not args.dry_run:
        try:
            for name in args.only:
                train_config(name, args.out / "quick" if args.quick else args.out, args.quick)
        except UserError as e:
            parser.error(str(e))
        return
    found = [resolve_config(name) for name in args.only]
    if args.json:
        print(json.dumps(found, default=dict))
        return
    for row in found:
        cost = ", ".join(f"{name} {value:,}" for name, value in row["cost"].items())
        beta = "" if row["beta"] is None else f", beta {row['beta']:g}"
        print(f"{row['config']}: {row['model']}{beta}\n    {cost}")


if __name__ == "__main__":
    main()
