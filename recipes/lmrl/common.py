"""Train one method on one task with one seed, and test the trained model.

The row of each is stored in `results.jsonl` and never made twice, so an interrupted run continues. Datasets, random
models and clones are shared by the methods of a seed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import network
from small import Small

sys.path.append(str(Path(__file__).parents[1]))
from rows import Row, load_or_make_row

from sonde import datasets, make
from sonde.core import AGENT, AnyPolicy, Episode, Message, Policy, Task, Trajectory
from sonde.runs.rollout import Plan, collect_trajectories
from sonde.runs.store import Run
from sonde.train.by_name import learn, learn_online
from sonde.train.collect import Game
from sonde.train.presets import preset
from sonde.train.rewards import RewardMix
from sonde.train.training import Training


def time_row(job: Callable[[], Row]) -> Row:
    """Make a row, and add its CPU seconds."""
    begun = time.process_time()
    return {**job(), "cpu_seconds": round(time.process_time() - begun, 1)}


# --- what all methods of a seed share --------------------------------------------------------------------------------


def load_dataset(task: Small, out: Path) -> list[Trajectory]:
    """The dataset's episodes, played at first use."""
    part = datasets.make_parts(task.dataset, n=task.episodes)[0]
    folder = out / task.name / f"data-{task.episodes}"
    return list(datasets.fill_part(part, folder, processes=1))


def encode_chats(task: Small, played: Sequence[Trajectory]) -> list[tuple[Message, ...]]:
    """All messages of the agent's conversations in the dataset, and the first messages of the test games."""
    env = task.game()
    begun = [Episode.begin(env, t).view().messages for t in env.tasks("test")[: task.tests]]
    return [list(Episode.stages(env, t))[-1].view(AGENT).messages for t in played] + begun


def train_clone(task: Small, seed: int, out: Path) -> Path:
    """Train the clone by behavioural cloning; the other methods start from it."""
    folder = out / task.name / f"seed-{seed}"
    played = load_dataset(task, out)
    start = network.write_network(
        folder / "start", encode_chats(task, played), width=task.width, layers=task.layers, window=task.window,
        often=task.often, seed=seed,
    )  # fmt: skip
    return train_offline(task, "BC", str(start), preset("tiny_bc"), folder / "bc", seed, played)


def train_offline(
    task: Small, method: str, model: str, training: Training, folder: Path, seed: int, played: Sequence[Trajectory]
) -> Path:
    """Train on recorded episodes."""
    learning = replace(training.learning, context=task.context, seed=seed)
    settings = training.settings.with_overrides({
        "folder": str(folder), "seed": seed, "save_steps": None, "packing": True, "batch_size": task.batch,
        "micro_batch": task.batch, "epochs": task.epochs.get(method, 3.0), **task.settings.get(method, {}),
    })  # fmt: skip
    return learn(model, replace(training, learning=learning, settings=settings), played, fresh=True).model


def play_and_train(task: Small, model: str, training: Training, folder: Path, seed: int) -> Path:
    """Train on the model's own play of the dataset's tasks."""
    how = replace(training.online, context=task.context, max_new_tokens=task.new_tokens)
    settings = training.settings.with_overrides(
        {"folder": str(folder), "seed": seed, "save_steps": None, "packing": True}
    )
    game = task.game(task.turns)
    games = [Game(game, game.tasks(task.dataset.splits["train"]), task.name)]
    return learn_online(model, replace(training, online=how, settings=settings), games, fresh=True).model


# --- testing ---------------------------------------------------------------------------------------------------------


def make_free_player(task: Small, model: str, temperature: float, **values: Any) -> Policy:
    """A player that may say any text."""
    backend = make("models:hf", model=model, max_batch=256, **values)
    return make(
        "agents:llm", model=backend, context=task.context, temperature=temperature, min_p=0.0,
        max_new_tokens=task.new_tokens,
    )  # fmt: skip


def make_legal_player(task: Small, model: str, temperature: float, **values: Any) -> Policy:
    """A player that says only legal answers."""
    backend = make("models:hf", model=model, max_batch=256, **values)
    return make("agents:ranked", model=backend, context=task.context, temperature=temperature)


def list_returns(task: Small, policy: AnyPolicy, k: int) -> dict[str, Any]:
    """The return of every test task, by task and sample, and the rates over episodes."""
    env = task.game()
    tasks: Sequence[Task] = env.tasks("test")[: task.tests]
    found = collect_trajectories(env, {AGENT: policy}, tasks, Plan(k=k))
    earned = [sum(turn.rewards.get(AGENT, 0.0) for turn in t.turns) for t in found]
    turns = [turn for t in found for turn in t.turns]
    return {
        "returns": [earned[i : i + k] for i in range(0, len(earned), k)],
        "success": sum(t.outcome is not None and t.outcome.success for t in found) / len(found),
        "length": len(turns) / len(found),
        "invalid": sum(turn.info.get("result") in ("invalid", "unreadable") for turn in turns) / len(turns),
    }


def test_model(task: Small, model: str, **values: Any) -> dict[str, Any]:
    """Test a model at temperature 1, as in the paper, and at 0, and again among legal answers if the task has
    `legal`."""
    found: dict[str, Any] = {}
    for name, how in (
        (("", make_free_player), ("legal ", make_legal_player)) if task.legal else (("", make_free_player),)
    ):
        found[f"{name}drawn"] = list_returns(task, how(task, model, 1.0, **values), task.k)
        found[f"{name}greedy"] = list_returns(task, how(task, model, 0.0, **values), 1)
    return found


# --- methods ---------------------------------------------------------------------------------------------------------


def _test_clone(task: Small, seed: int, out: Path) -> dict[str, Any]:
    return test_model(task, str(train_clone(task, seed, out)))


def _clone_folder(task: Small, seed: int, out: Path) -> str:
    return str(out / task.name / f"seed-{seed}" / "bc" / "model")


def _filtered_bc(task: Small, seed: int, out: Path) -> dict[str, Any]:
    known = preset("tiny_filtered_bc")
    training = replace(known, learning=replace(known.learning, share=task.filtered))
    folder = out / task.name / f"seed-{seed}" / "filtered_bc"
    model = train_offline(task, "%BC", _clone_folder(task, seed, out), training, folder, seed, load_dataset(task, out))
    return test_model(task, str(model))


def _train_with_values(task: Small, seed: int, out: Path, *, method: str) -> dict[str, Any]:
    objective = method.lower()
    known = preset(f"tiny_{objective}")
    training = replace(known, options={**known.options, **task.options.get(method, {})})
    folder = out / task.name / f"seed-{seed}" / objective
    policy = _clone_folder(task, seed, out)
    values = str(train_offline(task, method, policy, training, folder, seed, load_dataset(task, out)))
    return test_model(task, policy, heads=values, beta=task.beta)


def _train_online(task: Small, seed: int, out: Path, *, name: str, **changes: Any) -> dict[str, Any]:
    known = preset(name, **changes)
    settings = replace(known.settings, batch_size=task.rollouts, micro_batch=task.rollouts, max_steps=task.steps)
    rewards = RewardMix({"env": task.scale})
    training = replace(known, settings=settings, online=replace(known.online, rewards=rewards))
    folder = out / task.name / f"seed-{seed}" / name
    return test_model(task, str(play_and_train(task, _clone_folder(task, seed, out), training, folder, seed)))


METHODS: Mapping[str, Callable[[Small, int, Path], dict[str, Any]]] = {
    "BC": _test_clone,
    "%BC": _filtered_bc,
    "MC": partial(_train_with_values, method="MC"),
    "ILQL": partial(_train_with_values, method="ILQL"),
    "PPO": partial(_train_online, name="tiny_ppo", lr=1e-3),
    "online %BC": partial(_train_online, name="tiny_online_filtered_bc"),
    "GRPO": partial(_train_online, name="tiny_grpo"),
}
"""As in table 2, and GRPO. All but BC begin with BC's model."""


def run_cell(task: Small, method: str, seed: int, out: Path) -> Row:
    """The row of one method on one task with one seed."""
    key = {"task": task.name, "method": method, "seed": seed, "episodes": task.episodes, "k": task.k}
    return load_or_make_row(out, key, lambda: time_row(lambda: METHODS[method](task, seed, out)))


def measure_known(task: Small, out: Path) -> dict[str, Row]:
    """The rows of floor and reference, and the statistics of the dataset."""

    def measure_row(name: str, job: Callable[[], Row]) -> Row:
        key = {"task": task.name, "method": name, "episodes": task.episodes, "k": task.k}
        return load_or_make_row(out, key, lambda: time_row(job))

    env = task.game()
    return {
        "dataset": measure_row("dataset", lambda: _describe_dataset(load_dataset(task, out))),
        "floor": measure_row("floor", lambda: {"drawn": list_returns(task, make(f"agents:{env.spec.floor}"), task.k)}),
        "reference": measure_row(
            "reference", lambda: {"drawn": list_returns(task, make(f"agents:{env.spec.reference}"), task.k)}
        ),
    }


def _describe_dataset(played: Sequence[Trajectory] | Run) -> dict[str, Any]:
    found = datasets.compute_statistics(played)
    by_task: dict[str, list[float]] = {}
    for t in played:
        by_task.setdefault(t.task.id, []).append(sum(turn.rewards.get(AGENT, 0.0) for turn in t.turns))
    return {
        "drawn": {
            "returns": list(by_task.values()), "success": found.success, "length": found.mean_length, "invalid": 0.0,
        }
    }  # fmt: skip
