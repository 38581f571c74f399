"""PAPRIKA's main result at the size of a laptop: base, SFT, SFT then RPO, and GRPO, with as many played episodes each.

    python recipes/paprika/objectives.py [maze|best_arm] [--methods SFT GRPO ...] [--quick] [--json]

The paper's figures 2, 5, 7 and 17: success, pass@k, turns and information per turn on held-out tasks. The model plays
1,200 training tasks 3 times each; SFT and RPO learn from these 3,600 episodes, GRPO plays as many on the way (56 steps
of 8 tasks x 8 samples). Every model is evaluated at temperature 1, untruncated, and at temperature 0: at 1 a model may
gain by saying more often what it would have said at 0 anyway. Shown beside: SFT on the wins of a teacher (the reference
solver) on the same tasks, success among the episodes without an illegal reply (what learning the format alone could
bring), random legal play and the reference solver.

Departure: the paper samples at temperature 1.5 with min-p 0.3; a model of 0.34 M weights varies enough at 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import charts
from common import (
    SUBJECTS,
    Budget,
    Clock,
    Part,
    Subject,
    Tested,
    among_legal,
    arguments,
    budget,
    gain,
    judged,
    mean_of,
    offline,
    online,
    over_seeds,
    pass_over_seeds,
    play,
    publish,
    share_legal,
    subject_of,
    success_over_seeds,
    test_tasks,
    tested,
    train_tasks,
)

from sonde.core import AGENT, Action, Episode, ProgramPolicy, Task, Trajectory, View, make
from sonde.metrics import Estimate
from sonde.models.chat import Chat
from sonde.rollout import Plan, collect
from sonde.train.data import as_sampled
from sonde.train.model_io import load_model

METHODS = ("SFT", "SFT + RPO", "GRPO", "SFT on the teacher")


def greedy(name: str) -> str:
    """What a test of this model at temperature 0 is called."""
    return f"{name}, temperature 0"


class Result(NamedTuple):
    """What one training seed gave: tests by condition, CPU seconds by part, counts of data."""

    tests: dict[str, Tested]
    cpu: dict[str, float]


def one_seed(seed: int, subject: Subject, b: Budget, folder: Path, methods: Sequence[str] = METHODS) -> Result:
    """Play, train in the ways that were asked for, and test everything."""
    here = folder / subject.env / f"seed-{seed}"
    tasks, tests = train_tasks(subject, b.tasks, seed), test_tasks(subject, b.tests)
    cpu: dict[str, float] = {}
    found: dict[str, Tested] = {}

    def timed(name: str, job: Any, *args: Any, **more: Any) -> Any:
        clock = Clock.start()
        result = job(*args, **more)
        cpu[name] = clock.read()[1]
        return result

    def test(name: str, model: str) -> None:
        found[name] = timed(f"test {name}", tested, subject, model, tests, b.test_k, name)
        found[greedy(name)] = timed(f"test {greedy(name)}", tested, subject, model, tests, 1, name, temperature=0.0)

    def train(name: str, job: Any, model: str, *args: Any) -> str:
        trained = timed(name, job, subject, model, *args)
        test(name, trained)
        return trained

    test("base", subject.model)
    if "SFT" in methods:
        played = timed("play", play, subject, subject.model, tasks, b.k, seed)
        sft = train("SFT", offline, subject.model, "sft", played, here / "sft", seed)
        if "SFT + RPO" in methods:
            train("SFT + RPO", offline, sft, "rpo", played, here / "rpo", seed)
    if "GRPO" in methods:
        train("GRPO", online, subject.model, tasks, here / "grpo", seed, b.tasks * b.k // 64)
    if "SFT on the teacher" in methods:
        lessons = timed("teacher", teach, subject, tasks)
        train("SFT on the teacher", offline, subject.model, "sft", lessons, here / "teacher", seed)
    return Result(found, cpu)


@dataclass(frozen=True, kw_only=True)
class Voiced(ProgramPolicy):
    """A program that says things as the model would: in the spacing that its tokenizer gives back."""

    program: ProgramPolicy
    chat: Chat

    def act_now(self, view: View) -> Action:
        return Action(self.chat.decode(self.chat.encode(self.program.act_now(view).text)))


def teach(subject: Subject, tasks: Sequence[Task]) -> list[Trajectory]:
    """The reference solver's episodes, in the tokens of the model."""
    env = subject.game
    chat = Chat(load_model(subject.model)[1], label=subject.model, template={})
    shown = make("agents:llm", model=make("models:hf", model=subject.model), context=subject.context)
    solver = make(f"agents:{env.spec.reference}")
    found: list[Trajectory] = []
    for task in tasks:
        ep = Episode.begin(env, task)
        while ep.to_act is not None:
            ep = ep.step(Voiced(program=solver, chat=chat).act_now(ep.view()))
        found.append(as_sampled(ep.trajectory(policies={AGENT: solver}), shown, chat))
    return found


def ends(subject: Subject, b: Budget) -> dict[str, Tested]:
    """Floor and ceiling."""
    env, tasks = subject.game, test_tasks(subject, b.tests)
    return {
        name: judged(collect(env, {AGENT: make(f"agents:{agent}")}, tasks, Plan(k=b.test_k)), tasks, b.test_k, name)
        for name, agent in (("random", env.spec.floor), ("reference", env.spec.reference))
    }


def report(subject: Subject, results: list[Result], known: dict[str, Tested]) -> tuple[list[Part], dict[str, Any]]:
    """The tables, and the same as numbers."""
    names = [*known, *results[0].tests]
    rows: list[list[Any]] = []
    for name in names:
        tests = [known[name]] if name in known else [r.tests[name] for r in results]
        k = tests[0].evaluation.k
        rows.append([
            name, *(_number(mean_of(tests, m)) for m in ("success", f"pass@{k}", "turns", "bits_per_turn")),
            sum(map(among_legal, tests)) / len(tests), sum(map(share_legal, tests)) / len(tests),
        ])  # fmt: skip
    heads = ["", "success", "pass@k", "turns", "bits / turn", "success if legal", "legal episodes"]
    title = f"{subject.env}: {len(results)} seeds, {results[0].tests['base'].evaluation.n_tasks} test tasks"

    def minus_base(name: str, of: Callable[[str], str]) -> Estimate:
        return gain([r.tests[of(name)] for r in results], [r.tests[of("base")] for r in results])

    trained = [name for name in METHODS if name in results[0].tests]
    gains = {of(name): minus_base(name, of) for of in (str, greedy) for name in trained}
    cpu = {name: sum(r.cpu[name] for r in results) / len(results) for name in results[0].cpu}
    parts = [
        Part(title, heads, rows),
        Part("success minus base at that temperature, by task, 95 % interval over seeds and tasks",
             ["", "temperature 1", "temperature 0"], [[n, str(gains[n]), str(gains[greedy(n)])] for n in trained]),
        Part("CPU seconds per seed", ["", "s"], [[name, f"{s:.1f}"] for name, s in cpu.items()]),
    ]  # fmt: skip
    table = [dict(zip(["condition", *heads[1:]], row, strict=True)) for row in rows]
    return parts, {"table": table, "gains": gains, "cpu": cpu, "seeds": len(results)}


def draw(results: list[Result], known: dict[str, Tested], path: Path) -> Path:
    """Success and pass@k of what was played equally often."""
    k = results[0].tests["base"].evaluation.k
    shown = [name for name in ("base", *METHODS) if name in results[0].tests]
    tests = {name: [t] for name, t in known.items()} | {name: [r.tests[name] for r in results] for name in shown}
    series = {name: [success_over_seeds(found), pass_over_seeds(found)] for name, found in tests.items()}
    return charts.bars(path, ["success", f"pass@{k}"], series, ylabel="tasks (%)")


def _number(value: float | None) -> Any:
    return "n/a" if value is None else value


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("env", nargs="?", default="maze", choices=sorted(SUBJECTS))
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS, help="what to train (default all)")
    args = parser.parse_args()
    if "SFT + RPO" in args.methods and "SFT" not in args.methods:
        parser.error("--methods: SFT + RPO needs SFT")
    b, subject = budget(args), subject_of(args, SUBJECTS[args.env])
    results = over_seeds(one_seed, b.seeds, args.workers, subject, b, args.out / "objectives", tuple(args.methods))
    known = ends(subject, b)
    parts, found = report(subject, results, known)
    publish(args, args.env, parts, found, draw(results, known, args.out / "objectives" / f"{args.env}.png"))


if __name__ == "__main__":
    main()
