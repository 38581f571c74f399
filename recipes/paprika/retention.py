"""Retention: does a model that learns to win forget other things that it knew?

    python recipes/paprika/objectives.py maze            # trains the models of (a), once
    python recipes/paprika/smollm2.py                    # trains the model of (b), once
    python recipes/paprika/retention.py [--quick] [--json] [--seeds N]

The paper's table 2 tests its models on standard benchmarks, which models of this size cannot take. This script measures
instead the negative log-likelihood, in nats per token, of text without a loss in training, before and after:

(a) the maze models of `objectives.py`: the *environment's* messages (the result of a move and the open ways) in walks
    on held-out pairs. The small model was trained from scratch to predict these words, with a weight of 0.1, so they
    are its knowledge of the world; SFT, RPO and GRPO train only the agent's words. The walkers mix random moves with
    moves along the shortest path, as its first teachers did.
(b) SmolLM2 of `smollm2.py`: 24 passages of plain English on various subjects, written for this test
    (`plain_english.txt`).
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from common import MAZE, Budget, Parser, Subject, Table, choose_budget, choose_subject, publish
from sizes import TRAINED, find_models

from sonde.core import AGENT, Action, ProgramPolicy, Rng, Task, Trajectory, UserError, View, make
from sonde.envs.maze.grid import MOVES
from sonde.envs.maze.solver import MazeSolver
from sonde.evaluation.metrics import Estimate, difference_over_seeds
from sonde.models.chat.chat import Chat
from sonde.models.files.fetch import fetch_model
from sonde.models.files.saving import hide_progress_bars
from sonde.runs.rollout import Plan, collect_trajectories
from sonde.train.data import as_sampled, make_rows
from sonde.train.logprobs import LogprobScorer
from sonde.train.model_io import load_model
from sonde.train.types import Row, Sample

SLIPS = (1.0, 0.6, 0.2)
"""The rates of random moves of the walkers."""
TEXT = Path(__file__).with_name("plain_english.txt")
BETWEEN = "<|endoftext|>"
"""The token between documents in SmolLM2's training."""
FULL = Budget(tasks=0, k=1, tests=100, test_k=1, seeds=3)
QUICK = Budget(tasks=0, k=1, tests=12, test_k=1, seeds=1)

Nats = list[list[float]]
"""Per text, the mean negative log-likelihood of its tokens."""


@dataclass(frozen=True, kw_only=True)
class Walker(ProgramPolicy):
    """Makes a random one of the four moves, possibly into a wall, or takes the shortest path."""

    slip: float

    def act_now(self, view: View) -> Action:
        rng = Rng(view.seed)
        if rng.random() < self.slip:
            return Action(view.say(MOVES[rng.randrange(len(MOVES))]))
        return MazeSolver().act_now(view)


# --- likelihood ------------------------------------------------------------------------------------------------------


def mark_environment(row: Row) -> Row:
    """The same tokens, with marks on the environment's tokens after the agent's first message. The environment's first
    message, with start and goal, cannot be predicted."""
    begun = row.agent.index(1)
    marks = bytes(int(i > begun and not mine) for i, mine in enumerate(row.agent))
    return replace(row, agent=marks, turns=array("i", [0 if mark else -1 for mark in marks]), logprobs=None)


def mark_text(ids: Sequence[int], start: int) -> Row:
    """A text alone: all tokens but the first are marked."""
    n = len(ids)
    return Row(ids=array("i", [start, *ids]), agent=b"\0" + b"\1" * n, turns=array("i", [-1] + [0] * n))


def measure_nats(module: Any, pad_id: int, given: Sequence[Row]) -> Nats:
    """The mean negative log-likelihood of each row's marked tokens."""
    samples = [
        Sample(rows=(row,), trajectory=str(i), group="", task="", env="", kind="", score=0.0, rewards=(), tags={})
        for i, row in enumerate(given)
    ]
    scored = LogprobScorer(model=module.eval(), pad_id=pad_id)(samples)
    return [[_mean_nats(sample.rows[0])] for sample in scored if isinstance(sample, Sample)]


def _mean_nats(row: Row) -> float:
    values = [v for v in row.reference or () if not math.isnan(v)]
    return -sum(values) / len(values)


# --- (a) the world of the maze models --------------------------------------------------------------------------------


def play_walks(subject: Subject, tasks: Sequence[Task]) -> list[Trajectory]:
    """Play a walk of every walker on every task."""
    game = subject.make_env()
    return [t for slip in SLIPS for t in collect_trajectories(game, {AGENT: Walker(slip=slip)}, tasks, Plan())]


def predict_world(subject: Subject, model: str, walked: Sequence[Trajectory]) -> Nats:
    """Measure how well a model predicts the environment's messages."""
    module, tokenizer = load_model(model)
    chat = Chat(tokenizer, label=model, template={})
    shown = make("agents:llm", model=make("models:hf", model=model), context=subject.context)
    found = [mark_environment(row) for t in walked if len(t.turns) > 1 for row in make_rows(as_sampled(t, shown, chat))]
    return measure_nats(module, tokenizer.pad_token_id, found)


# --- (b) plain English for SmolLM2 -----------------------------------------------------------------------------------


def predict_english(model: str, passages: Sequence[str]) -> Nats:
    """Measure how well a model predicts the passages."""
    module, tokenizer = load_model(model)
    start = tokenizer.convert_tokens_to_ids(BETWEEN)
    given = [mark_text(tokenizer.encode(text, add_special_tokens=False), start) for text in passages]
    return measure_nats(module, tokenizer.pad_token_id, given)


# --- report ----------------------------------------------------------------------------------------------------------


class Retention(NamedTuple):
    """A model before and after training: nats per token, and the change with its interval over seeds and texts."""

    name: str
    texts: int
    before: float
    after: float
    change: Estimate


def compare_nats(name: str, before: Nats, after: Sequence[Nats]) -> Retention:
    change = difference_over_seeds(after, [before] * len(after))
    start = sum(map(sum, before)) / len(before)
    return Retention(name, len(before), start, start + change.mean, change)


def compare_maze_models(args: Any, b: Budget) -> list[Retention]:
    """Compare the models of every training seed. Raises `UserError` if they are missing."""
    subject = choose_subject(args, MAZE)
    models: list[Mapping[str, str]] = [find_models(args.out, subject, seed) for seed in range(b.seeds)]
    walked = play_walks(subject, subject.make_env().tasks("test")[: b.tests])
    before = predict_world(subject, subject.model, walked)
    return [
        compare_nats(f"maze, {name}", before, [predict_world(subject, m[name], walked) for m in models])
        for name in TRAINED
    ]


def compare_smollm2(model: Path) -> list[Retention]:
    """Compare SmolLM2, if `smollm2.py` has trained it."""
    if not (model / "config.json").is_file():
        return []
    passages = TEXT.read_text("utf-8").splitlines()
    return [
        compare_nats(
            "SmolLM2, SFT",
            predict_english(str(fetch_model("smollm2")), passages),
            [predict_english(str(model), passages)],
        )
    ]


def report(found: Sequence[Retention], skipped: str) -> list[Table]:
    """Print the table."""
    heads = ["", "texts", "before", "after", "change", "perplexity, after / before"]
    cells = [[k.name, k.texts, k.before, k.after, _format_signed(k.change), math.exp(k.change.mean)] for k in found]
    return [Table(f"nats per token of what was not trained on{skipped}", heads, cells)]


def _format_signed(e: Estimate) -> str:
    return f"{e.mean:+.4f} [{e.low:+.4f}, {e.high:+.4f}]"


def main() -> None:
    parser = Parser(__doc__)
    args = parser.parse_args()
    model = args.out / "smollm2" / "sft" / "model"
    try:
        with hide_progress_bars():
            b = choose_budget(args, FULL, QUICK)
            found = compare_maze_models(args, b) + compare_smollm2(model)
    except UserError as e:
        parser.error(str(e))
    skipped = "" if len(found) > len(TRAINED) else f" (SmolLM2 is left out: no {model}; run smollm2.py first)"
    tables = report(found, skipped)
    publish(args, "retention", tables, {"rows": [k._asdict() for k in found]}, {"retention": tables[0]}, b.seeds)


if __name__ == "__main__":
    main()
