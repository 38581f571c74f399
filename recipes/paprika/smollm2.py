"""PAPRIKA's pipeline with a language model that was not made for it: SmolLM2-135M learns the format of one game.

    python recipes/paprika/smollm2.py [--quick] [--json]

`best_arm`, preset `small`. Told the rules alone, SmolLM2-135M-Instruct chats, and the game ends at its first reply.
With two games that somebody else won in front of its own (without thinking, which it only copies) it plays, and wins
about as often as chance would. The won games are kept, their texts are encoded again as if no example had been shown
(`Learning(encode=True)`), and the model learns them by SFT with an adapter of rank 16, in bfloat16 autocast where the
processor computes in it. Before and after, it plays the same test tasks without an example, at the paper's temperature
and greedily. Every turn is shown as a message of its own (`context=render`): with the whole chat in view the model
repeats its first reply eleven times.

Source: PAPRIKA (arXiv 2502.17543), sections 3.2 and 4: training data at temperature 1.5 and min-p 0.3, evaluation at
0.7 and 0.3. Departures: the examples (the paper's models know the format); all won games are learnt from
(`distinct=False`), since every game here has the same number of turns; no RPO; one training, so no spread over seeds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from common import BEST_ARM, Parser, Table, cpu_seconds, publish, tabulate_wins

from sonde.core import AGENT, Task, Trajectory, make
from sonde.evaluation.evaluate import Evaluation, evaluate
from sonde.evaluation.metrics import Estimate, paired_difference, rate
from sonde.models.files.fetch import fetch_model
from sonde.models.files.saving import hide_progress_bars
from sonde.models.hf import native_dtype
from sonde.runs.rollout import Plan, collect_trajectories
from sonde.train.by_name import learn
from sonde.train.selection import SFTRule
from sonde.train.settings import LoraSettings, TrainSettings
from sonde.train.training import Learning, Training

NAME = "smollm2"
REPLY = 16
"""Tokens of the longest answer; a legal one has about 9."""
UNREAD = ("unreadable", "invalid")
AT = (0.7, 0.0)
"""The temperatures of the tests: the paper's, and greedy play, which shows what sharpening alone would bring."""


class Size(NamedTuple):
    """Training tasks, samples of each, and test tasks."""

    tasks: int
    k: int
    tests: int


FULL, QUICK = Size(24, 2, 48), Size(4, 2, 6)
EXAMPLES = 2


class Result(NamedTuple):
    """How a model did: success, episodes in which every reply could be read, the share of turns that could be, and what
    share of these named each machine."""

    evaluation: Evaluation
    fine: Estimate
    turns_read: float
    named: dict[str, float]


def make_agent(model: str, *, examples: int, temperature: float) -> Any:
    """The model in the agent's seat."""
    backend = make("models:hf", model=model, dtype=native_dtype(), max_batch=32)
    return make(
        "agents:llm", model=backend, context=BEST_ARM.context, examples=examples, answer_only=True,
        temperature=temperature, min_p=0.3, max_new_tokens=REPLY,
    )  # fmt: skip


def test_model(model: str, tasks: Sequence[Task], label: str) -> dict[float, Result]:
    """One game of each task at each temperature, without an example."""
    env, results = BEST_ARM.make_env(), dict[float, Result]()
    for at in AT:
        agent = make_agent(model, examples=0, temperature=at)
        results[at] = summarise(collect_trajectories(env, {AGENT: agent}, tasks, Plan()), f"{label}, T={at:g}")
    return results


def summarise(played: Sequence[Trajectory], label: str) -> Result:
    e = evaluate(played, label=label, gains=False)
    turns = [[turn.info.get("result") not in UNREAD for turn in t.turns] for t in played]
    fine = rate([[float(all(read))] for read in turns])
    arms = Counter(turn.info["arm"] for t in played for turn in t.turns if turn.info.get("result") not in UNREAD)
    named = {arm: n / arms.total() for arm, n in sorted(arms.items())}
    return Result(e, fine, sum(map(sum, turns)) / sum(map(len, turns)), named)


def configure(folder: Path) -> Training:
    settings = TrainSettings(
        folder=str(folder), lr=1e-3, epochs=1.0, batch_size=1, micro_batch=1,
        bf16=native_dtype() == "bfloat16",
        lora=LoraSettings(r=16, alpha=32.0),
    )  # fmt: skip
    rules = Learning(encode=True, sft=SFTRule(distinct=False), context=BEST_ARM.context)
    return Training(objective="sft", settings=settings, learning=rules)


def run_experiment(size: Size, out: Path) -> dict[str, Any]:
    """Everything, in order; the CPU seconds of each part."""
    source, game = str(fetch_model("smollm2")), BEST_ARM.make_env()
    tasks, tests = game.tasks("train")[: size.tasks], game.tasks("test")[: size.tests]
    cpu: dict[str, float] = {}

    def time_job(name: str, job: Any, *args: Any, **more: Any) -> Any:
        begun = cpu_seconds()
        result = job(*args, **more)
        cpu[name] = round(cpu_seconds() - begun, 1)
        return result

    before = time_job("test before", test_model, source, tests, "SmolLM2, zero-shot")
    few_shot = make_agent(source, examples=EXAMPLES, temperature=1.5)
    played = time_job(
        "play with examples", collect_trajectories, game, {AGENT: few_shot}, tasks, Plan(k=size.k, seed=1)
    )
    found = time_job("SFT", learn, source, configure(out / NAME / "sft"), played)
    after = time_job("test after", test_model, str(found.model), tests, "after SFT, zero-shot")
    random = summarise(collect_trajectories(game, {AGENT: make("agents:random")}, tests, Plan()), "random")
    return {
        "random": random,
        "before": before,
        "after": after,
        "play": summarise(played, "SmolLM2 with examples, training tasks"),
        "steps": found.steps,
        "loss": [found.history[0]["loss"], found.history[-1]["loss"]],
        "cpu": cpu,
        "gain": {
            at: paired_difference(tabulate_wins(after[at].evaluation), tabulate_wins(before[at].evaluation))
            for at in AT
        },
    }


def row(s: Result) -> list[Any]:
    named = ", ".join(f"{arm} {share:.2f}" for arm, share in s.named.items())
    return [s.evaluation.label, str(s.evaluation.metrics["success"]), str(s.fine), s.turns_read, named]


def report(found: dict[str, Any]) -> tuple[list[Table], dict[str, Any]]:
    """The tables, and the same as numbers."""
    shows: list[Result] = [found["random"], *found["before"].values(), *found["after"].values(), found["play"]]
    heads = ["", "success", "episodes read", "turns read", "machines named"]
    played = found["play"].evaluation.rows
    learned = [["training games that were won", f"{sum(r.win for r in played)} of {len(played)}"],
               ["steps", found["steps"]],
               ["loss, first and last step", " ".join(f"{x:.4f}" for x in found["loss"])],
               *([f"success after minus before, by task, T={at:g}", str(found["gain"][at])] for at in AT)]  # fmt: skip
    parts = [
        Table("SmolLM2-135M-Instruct in best_arm, preset small", heads, [row(s) for s in shows]),
        Table("SFT on its own won games", ["", ""], learned),
        Table("CPU seconds", ["", "s"], [[name, s] for name, s in found["cpu"].items()]),
    ]
    table = [
        {"condition": s.evaluation.label, "episodes": len(s.evaluation.rows), "episodes_read": s.fine,
         "success": s.evaluation.metrics["success"], "turns_read": s.turns_read,
         "named": s.named}
        for s in shows
    ]  # fmt: skip
    return parts, {"table": table, **{key: found[key] for key in ("steps", "loss", "cpu", "gain")}}


def main() -> None:
    args = Parser(__doc__).parse_args()
    with hide_progress_bars():
        found = run_experiment(QUICK if args.quick else FULL, args.out)
    tables, numbers = report(found)
    publish(args, NAME, tables, numbers, {NAME: tables[0], f"{NAME}_training": tables[1]})


if __name__ == "__main__":
    main()
