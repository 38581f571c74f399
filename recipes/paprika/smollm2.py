"""PAPRIKA's pipeline with a language model that was not made for it: SmolLM2-135M learns the format of one game.

    python recipes/paprika/smollm2.py [--quick] [--json]

`best_arm`, preset `small`. Told the rules alone, SmolLM2-135M-Instruct chats and the game ends at its first reply. With
one game that somebody else won in front of its own (without thinking, which it only copies) it plays, and a third of
its games are won by chance. The won ones are kept, their texts are encoded again as if no example had been shown
(`Learning(encode=True)`), and the model learns them by SFT with an adapter of rank 16 in bfloat16 autocast. Before and
after it plays the same test tasks without an example.

Source: PAPRIKA (arXiv 2502.17543), sections 3.2 and 4, for the pipeline. Departures: the example (the paper's models
know the format); temperature 1 instead of 1.5 with the same min-p 0.3, because at 1.5 few games survive ten replies;
all won games are learnt from (`distinct=False`), since every game here has the same number of turns; no RPO, one seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import charts
from common import BEST_ARM, Part, arguments, cpu_seconds, publish, wins

from sonde.core import AGENT, Task, Trajectory, make
from sonde.evaluate import Evaluation, evaluate
from sonde.metrics import Estimate, difference, rate
from sonde.models.fetch import fetch
from sonde.rollout import Plan, collect
from sonde.train.learn import Learning, learn
from sonde.train.selection import SFTRule
from sonde.train.settings import LoraSettings, TrainSettings

NAME = "smollm2"
REPLY = 16
"""Tokens of the longest answer; a legal one has about 9."""
UNREAD = ("format", "invalid")


class Size(NamedTuple):
    """Training tasks, samples of each, and test tasks."""

    tasks: int
    k: int
    tests: int


FULL, QUICK = Size(24, 4, 48), Size(2, 4, 4)


class Shown(NamedTuple):
    """How a model did: success, episodes without a reply that could not be read, and the share of turns with one."""

    evaluation: Evaluation
    fine: Estimate
    turns_read: float


def trained(out: Path) -> Path:
    """Where the trained model is."""
    return out / NAME / "sft" / "model"


def player(model: str, *, examples: int = 0) -> Any:
    """The model in the agent's seat. The whole chat is shown, so every turn adds to what is computed already."""
    backend = make("models:hf", model=model, dtype="bfloat16", max_batch=32)
    return make(
        "agents:llm", model=backend, examples=examples, answer_only=True, temperature=1.0, min_p=0.3,
        max_new_tokens=REPLY,
    )  # fmt: skip


def test(model: str, tasks: Sequence[Task], label: str, *, examples: int = 0) -> Shown:
    """One game of each task."""
    return shown(collect(BEST_ARM.game, {AGENT: player(model, examples=examples)}, tasks, Plan()), label)


def shown(played: Sequence[Trajectory], label: str) -> Shown:
    e = evaluate(played, label=label, gains=False)
    turns = [[turn.info.get("result") not in UNREAD for turn in t.turns] for t in played]
    fine = rate([[float(all(read))] for read in turns])
    return Shown(e, fine, sum(map(sum, turns)) / sum(map(len, turns)))


def settings(folder: Path) -> TrainSettings:
    return TrainSettings(
        folder=str(folder), lr=1e-3, epochs=2.0, batch_size=2, micro_batch=2, micro_tokens=4096, bf16=True,
        lora=LoraSettings(r=16, alpha=32.0),
    )  # fmt: skip


def experiment(size: Size, out: Path) -> dict[str, Any]:
    """Everything, in order; the CPU seconds of each part."""
    source, game = str(fetch("smollm2")), BEST_ARM.game
    tasks, tests = game.tasks("train")[: size.tasks], game.tasks("test")[: size.tests]
    cpu: dict[str, float] = {}

    def timed(name: str, job: Any, *args: Any, **more: Any) -> Any:
        begun = cpu_seconds()
        result = job(*args, **more)
        cpu[name] = round(cpu_seconds() - begun, 1)
        return result

    before = timed("test, zero-shot", test, source, tests, "SmolLM2, zero-shot")
    example = timed("test, one example", test, source, tests, "SmolLM2, one example", examples=1)
    played = timed(
        "play, one example", collect, game, {AGENT: player(source, examples=1)}, tasks, Plan(k=size.k, seed=1)
    )
    rules = Learning(encode=True, sft=SFTRule(distinct=False))
    found = timed("SFT", learn, source, "sft", played, settings(out / NAME / "sft"), learning=rules)
    after = timed("test after SFT", test, str(found.model), tests, "after SFT, zero-shot")
    random = shown(collect(game, {AGENT: make("agents:random")}, tests, Plan()), "random")
    return {
        "tests": {s.evaluation.label: s for s in (random, before, example, after)},
        "play": shown(played, "play, one example"),
        "steps": found.steps,
        "loss": [found.history[0]["loss"], found.history[-1]["loss"]],
        "cpu": cpu,
        "gain": difference(wins(after.evaluation), wins(before.evaluation)),
    }


def row(s: Shown) -> list[Any]:
    return [s.evaluation.label, str(s.evaluation.metrics["success"]), str(s.fine), s.turns_read]


def report(found: dict[str, Any]) -> tuple[list[Part], dict[str, Any]]:
    """The tables, and the same as numbers."""
    shows: list[Shown] = [*found["tests"].values(), found["play"]]
    heads = ["", "success", "episodes that could be read", "turns that could be read"]
    learned = [["training games that were won", f"{sum(map(sum, wins(found['play'].evaluation))):.0f} of "
                f"{len(found['play'].evaluation.rows)}"], ["steps", found["steps"]],
               ["loss, first and last step", " ".join(f"{x:.3f}" for x in found["loss"])],
               ["success after minus before, by task", str(found["gain"])]]  # fmt: skip
    parts = [
        Part("SmolLM2-135M-Instruct in best_arm, preset small", heads, [row(s) for s in shows]),
        Part("SFT on its own won games", ["", ""], learned),
        Part("CPU seconds", ["", "s"], [[name, s] for name, s in found["cpu"].items()]),
    ]
    table = [
        {"condition": s.evaluation.label, "episodes": len(s.evaluation.rows), "episodes_read": s.fine,
         "success": s.evaluation.metrics["success"], "turns_read": s.turns_read}
        for s in shows
    ]  # fmt: skip
    return parts, {"table": table, **{key: found[key] for key in ("steps", "loss", "cpu", "gain")}}


def draw(found: dict[str, Any], folder: Path) -> Path:
    tests: dict[str, Shown] = found["tests"]
    names = {"random": "random", "SmolLM2, zero-shot": "zero-shot", "SmolLM2, one example": "one example",
             "after SFT, zero-shot": "after SFT"}  # fmt: skip
    series = {
        short: [_known(tests[label].evaluation.metrics["success"]), tests[label].fine] for label, short in names.items()
    }
    return charts.bars(folder / NAME / f"{NAME}.png", ["success", "could be read"], series, ylabel="episodes (%)")


def _known(e: Estimate | None) -> Estimate:
    assert e is not None
    return e


def main() -> None:
    args = arguments(__doc__).parse_args()
    found = experiment(QUICK if args.quick else FULL, args.out)
    parts, numbers = report(found)
    publish(args, NAME, parts, numbers, draw(found, args.out))


if __name__ == "__main__":
    main()
