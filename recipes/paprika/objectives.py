"""PAPRIKA's main result at the size of a laptop: base, SFT, SFT then RPO, and GRPO, at equal numbers of episodes.

    python recipes/paprika/objectives.py [maze|best_arm] [--methods SFT GRPO ...] [--quick] [--json]

The paper's figures 2, 5, 7 and 17: success, pass@k, turns and information per turn on held-out tasks. SFT and RPO are
the pipeline of `sonde paprika` on 1,200 training tasks, 3 samples each; GRPO plays about as many episodes during
training (56 steps of 8 tasks x 8 samples). Every model is tested at temperature 1, untruncated, and at temperature 0.
The tables also have SFT on the wins of a teacher (the reference solver) on the same tasks, success among the episodes
without an illegal reply (the possible effect of learning the format alone), random legal play and the reference solver.

Departure: the paper samples at temperature 1.5 with min-p 0.3; a model of 0.34 M weights varies enough at 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from common import (
    BEST_ARM,
    GREEDY,
    MAZE,
    SAMPLED,
    Budget,
    Parser,
    Subject,
    Table,
    choose_budget,
    choose_subject,
    configure,
    estimate_gain,
    map_seeds,
    mean_metric,
    name_models,
    play_greedily,
    play_test,
    publish,
    resume_pipeline,
    share_legal,
    success_if_legal,
)

from sonde.core import AGENT, Action, Episode, ProgramPolicy, Task, Trajectory, View, make
from sonde.evaluation.evaluate import Evaluation, evaluate
from sonde.models.chat.chat import Chat
from sonde.runs.rollout import Plan, collect_trajectories
from sonde.train.by_name import learn, learn_online
from sonde.train.collect import Game
from sonde.train.data import as_sampled
from sonde.train.model_io import load_model
from sonde.train.presets import preset

METHODS = ("SFT", "SFT + RPO", "GRPO", "SFT on the teacher")
FULL = Budget(tasks=1200, k=3, tests=250, test_k=2, seeds=3)
QUICK = Budget(tasks=24, k=8, tests=32, test_k=2, seeds=1)

Tests = dict[str, dict[str, Evaluation]]
"""By temperature and method."""


def run_seed(seed: int, subject: Subject, b: Budget, folder: Path, methods: Sequence[str] = METHODS) -> Tests:
    """Train with the requested methods, and test all models."""
    env, here = subject.make_env(), seed_folder(folder, subject, seed)
    tasks = env.tasks("train")[: b.tasks]
    stages = tuple(stage for stage, name in (("sft", "SFT"), ("rpo", "SFT + RPO")) if name in methods)
    sampled: dict[str, Evaluation] = {}
    models = {"base": subject.model}
    if stages:
        outcome = resume_pipeline(configure(subject, b, seed, stages=stages), here / "pipeline")
        models = name_models(outcome)
        sampled = {name: stage.evaluations[0] for name, stage in zip(models, outcome.stages, strict=True)}
    if "GRPO" in methods:
        models["GRPO"] = train_grpo(subject, tasks, here / "grpo", seed, b.tasks * b.k // 64)
    if "SFT on the teacher" in methods:
        models["SFT on the teacher"] = train_on_teacher(subject, tasks, here / "teacher", seed)
    for name in models.keys() - sampled.keys():
        sampled[name] = play_test(subject, models[name], env, env.tasks("test")[: b.tests], b.test_k, name)
    greedy = {name: play_greedily(subject, model, env, b.tests, name) for name, model in models.items()}
    return {SAMPLED: {name: sampled[name] for name in models}, GREEDY: greedy}


def seed_folder(folder: Path, subject: Subject, seed: int) -> Path:
    return folder / "objectives" / str(subject.env["name"]) / f"seed-{seed}"


def train_grpo(subject: Subject, tasks: Sequence[Task], folder: Path, seed: int, steps: int) -> str:
    """GRPO on these tasks; the folder of the model."""
    known = preset("tiny_grpo", folder=str(folder), seed=seed, max_steps=steps)
    training = replace(known, online=replace(known.online, context=subject.context))
    games = [Game(subject.make_env(), tasks, str(subject.env["name"]))]
    return str(learn_online(subject.model, training, games, resume=True).model)


def train_on_teacher(subject: Subject, tasks: Sequence[Task], folder: Path, seed: int) -> str:
    """SFT on the reference solver's wins; the folder of the model."""
    known = preset("tiny_sft", folder=str(folder), seed=seed)
    training = replace(known, learning=replace(known.learning, context=subject.context, seed=seed))
    return str(learn(subject.model, training, play_teacher(subject, tasks), resume=True).model)


@dataclass(frozen=True, kw_only=True)
class Respaced(ProgramPolicy):
    """A program whose texts have the spacing of the model's tokenizer."""

    program: ProgramPolicy
    chat: Chat

    def act_now(self, view: View) -> Action:
        return Action(self.chat.decode_ids(self.chat.encode(self.program.act_now(view).text)))


def play_teacher(subject: Subject, tasks: Sequence[Task]) -> list[Trajectory]:
    """Play the reference solver's episodes, in the tokens of the model."""
    env = subject.make_env()
    chat = Chat(load_model(subject.model)[1], label=subject.model, template={})
    student = make("agents:llm", model=make("models:hf", model=subject.model), context=subject.context)
    solver = make(f"agents:{env.spec.reference}")
    played: list[Trajectory] = []
    for task in tasks:
        ep = Episode.begin(env, task)
        while ep.to_act is not None:
            ep = ep.step(Respaced(program=solver, chat=chat).act_now(ep.view()))
        played.append(as_sampled(ep.to_trajectory(policies={AGENT: solver}), student, chat))
    return played


def play_bounds(subject: Subject, b: Budget) -> dict[str, Evaluation]:
    """Play floor and ceiling: random play and the reference solver."""
    env = subject.make_env()
    tasks = env.tasks("test")[: b.tests]
    ids = [task.id for task in tasks]
    return {
        name: evaluate(
            collect_trajectories(env, {AGENT: make(f"agents:{agent}")}, tasks, Plan(k=b.test_k)), tasks=ids, k=b.test_k
        )
        for name, agent in (("random", env.spec.floor), ("reference", env.spec.reference))
    }


def report(title: str, results: Sequence[Tests], bounds: Mapping[str, Evaluation]) -> tuple[list[Table], Any]:
    """Print the tables; return their numbers."""
    columns = {name: [e] for name, e in bounds.items()}
    columns |= {name: [r[SAMPLED][name] for r in results] for name in results[0][SAMPLED]}
    heads = ["", "success", "pass@k", "turns", "bits / turn", "success if legal", "legal episodes"]
    rows = [
        [name, *(mean_metric(tests, m) for m in ("success", f"pass@{tests[0].k}", "turns", "bits_per_turn")),
         *(sum(map(f, tests)) / len(tests) for f in (success_if_legal, share_legal))]
        for name, tests in columns.items()
    ]  # fmt: skip
    gains = {
        name: {at: estimate_gain([r[at][name] for r in results], [r[at]["base"] for r in results]) for at in results[0]}
        for name in results[0][SAMPLED]
        if name != "base"
    }
    tables = [
        Table(f"{title}: {len(results)} seeds", heads, rows),
        Table("success minus base at that temperature, by task, 95 % interval over seeds and tasks",
              ["", *results[0]], [[name, *map(str, gain.values())] for name, gain in gains.items()]),
    ]  # fmt: skip
    numbers = [dict(zip(["condition", *heads[1:]], row, strict=True)) for row in rows]
    return tables, {"table": numbers, "gains": gains, "seeds": len(results)}


def main() -> None:
    parser = Parser(__doc__)
    parser.add_argument("env", nargs="?", default="maze", choices=("best_arm", "maze"))
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS, help="what to train (default all)")
    args = parser.parse_args()
    if "SFT + RPO" in args.methods and "SFT" not in args.methods:
        parser.error("--methods: SFT + RPO needs SFT")
    b, subject = choose_budget(args, FULL, QUICK), choose_subject(args, MAZE if args.env == "maze" else BEST_ARM)
    results = map_seeds(run_seed, b.seeds, args.workers, subject, b, args.out, tuple(args.methods))
    tables, numbers = report(f"{args.env}, {b.tests} test tasks", results, play_bounds(subject, b))
    publish(args, args.env, tables, numbers, {args.env: tables[0], f"{args.env}_gains": tables[1]}, b.seeds)


if __name__ == "__main__":
    main()
