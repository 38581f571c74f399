"""Measure how far a model's own belief is from the exact posterior, which ΔBelief-RL (section 3.1, figure 2) could not.

    python recipes/delta_belief/calibration.py [--only NAME ...] [--tasks 100] [--quick] [--dry-run] [--json]

Each case plays episodes of an environment with a filter, elicits a model's beliefs over them (`sonde elicit`), and
compares them. Folders are ordinary runs: `sonde report` draws their figures, and an interrupted recipe continues.

    tiny            sonde-tiny-best_arm on its own play of best_arm, preset small, with its next answer as its belief.
                    Before the last turn that answer is a pull, which is not quite the same
    tiny-decide     the same, but asked at every turn for the decision, which otherwise comes only at the end
    tiny-off        tiny-decide over the play of another policy, the reference solver, as in the paper's figure 2
    arms            SmolLM2-135M over the same episodes, with a sentence that says which machine is best
    twenty-*        SmolLM2-135M over games of twenty_questions, preset lmrl, 4 random questions and then at most 4 of
                    the reference solver, so that some are lost: beliefs in the truth and 19 others, under the paper's
                    template, that of its code, and as the answer that the model would give
    paper-*         the paper's setting: Qwen3 1.7B and 4B, not thinking, over DeepSeek-v3.2's games of the preset
                    delta_belief. The rule user replies, so that there is an exact posterior. These cases run only if
                    `--only` names them: they need an endpoint at localhost:8000, weights, and a GPU
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import sonde
from sonde.agents.llm import LLM, SHOWN
from sonde.beliefs import records as believed
from sonde.beliefs.calibration import BeliefSummary, split_by_outcome
from sonde.beliefs.elicitation import ANSWER, Elicitation, belief_probes
from sonde.core import Message, View
from sonde.core.types import Json
from sonde.evaluation.metrics import Estimate
from sonde.evaluation.run_evaluation import execute_run
from sonde.runs.rollout import collect_trajectories
from sonde.runs.run import RunConfig, prepare_run
from sonde.runs.store import Run

TINY = {"name": "models:hf", "model": "sonde-tiny-best_arm"}
SMOLLM2 = {"name": "models:hf", "model": "smollm2"}
ENDPOINT = {"name": "models:http", "model": "deepseek-ai/DeepSeek-V3.2", "base_url": "http://localhost:8000/v1"}
BEST = "The machine with the highest chance is <target>."
ARMS = {"name": "best_arm", "preset": "small"}
TWENTY = {"name": "twenty_questions", "preset": "lmrl", "max_turns": 8}
LATE = {
    "name": "agents:switch",
    "first": {"name": "agents:random"},
    "then": {"name": "agents:twenty_questions"},
    "turn": 4,
}
TRIED = 4
"""The number of games from which a cost is estimated."""
CHARACTERS_PER_TOKEN = 4
HEADS = (
    "ln b first", "ln b last", "belief", "exact", "KL bits", "TV", "ECE", "corr", "among", "odds", "pairs", "outside",
)  # fmt: skip
NOTES = """\
ln b first, last: of the truth in nats, before turn 1 and after the last turn after which half of the games were on.
belief, exact, KL, TV: there, of the truth and of all candidates. corr: of ΔBelief with the exact truth gain. among:
of ΔBelief among the candidates. odds, pairs: updating factors, of the truth and of all pairs. outside: mean mass of
all other messages (template answer).
"""


@dataclass(frozen=True, kw_only=True)
class Case:
    """Whose games, whose beliefs, and how they are elicited. `share` is the part of the requested tasks that is played;
    `decide` asks for the decision at every turn; a `named` case runs only if `--only` names it."""

    env: Mapping[str, Json]
    plays: Mapping[str, Json]
    model: Mapping[str, Json]
    how: Elicitation
    context: str = "full"
    decide: bool = False
    share: float = 1.0
    named: bool = False

    def seat(self) -> LLM:
        return sonde.build({"name": "agents:llm", "model": self.model, "context": self.context})


def decision(view: View) -> Sequence[Message]:
    """The message with the tallies as after the last try, at any turn."""
    shown = view.rendered or ""
    return (Message("user", re.sub(r"Tries left: \d+\. Name a machine\.", "Tries left: 0. Decide.", shown)),)


def _twenty_questions_case(how: str) -> Case:
    given = Elicitation(template=how, candidates=20)
    return Case(env=TWENTY, plays=LATE, model=SMOLLM2, how=given, share=0.4)


def _paper_case(size: str) -> Case:
    """A case of the paper's setting: as in its code, with further candidates besides the truth."""
    env = {"name": "twenty_questions", "preset": "delta_belief", "rules": "code"}
    model = {"name": "models:hf", "model": f"Qwen/Qwen3-{size}", "template": {"enable_thinking": False}}
    return Case(
        env=env, plays={"name": "agents:llm", "model": ENDPOINT}, model=model, named=True,
        how=Elicitation(template="question", candidates=128),
    )  # fmt: skip


_OWN = {"name": "agents:llm", "model": TINY, "context": "render", "max_new_tokens": 8}
_ALL = Elicitation(template=ANSWER, candidates="all")
CASES: Mapping[str, Case] = {
    "tiny": Case(env=ARMS, plays=_OWN, model=TINY, how=_ALL, context="render"),
    "tiny-decide": Case(env=ARMS, plays=_OWN, model=TINY, how=_ALL, context="render", decide=True),
    "tiny-off": Case(env=ARMS, plays={"name": "agents:best_arm"}, model=TINY, how=_ALL, context="render", decide=True),
    "arms": Case(
        env=ARMS, plays={"name": "agents:best_arm"}, model=SMOLLM2, context="render", share=0.4,
        how=Elicitation(template=BEST, candidates="all"),
    ),
    "twenty-statement": _twenty_questions_case("statement"),
    "twenty-question": _twenty_questions_case("question"),
    "twenty-answer": _twenty_questions_case(ANSWER),
    "paper-1.7B": _paper_case("1.7B"),
    "paper-4B": _paper_case("4B"),
}  # fmt: skip


def run_calibration(name: str, case: Case, args: argparse.Namespace) -> dict[str, Any]:
    """Play missing episodes, elicit missing beliefs, and compare."""
    folder: Path = args.out / name
    played = _play_case(case, folder, args.tasks)
    seat, begun, env = case.seat(), time.process_time(), sonde.build(case.env)
    shown = {setting: seat.config[setting] for setting in SHOWN} | {"decide": case.decide}
    prompt = decision if case.decide else seat.build_prompt

    async def elicit_case() -> None:
        found = believed.elicit_run(folder, env, played, seat.model, case.how, prompt=prompt, shown=shown)
        async with aclosing(found):
            async for _ in found:
                pass
        await seat.close()

    asyncio.run(elicit_case())
    found = split_by_outcome(believed.belief_courses(env, played, believed.load_beliefs(folder).beliefs))
    return {"case": name, "seconds": time.process_time() - begun, "beliefs": found, "outside": _mass_outside(folder)}


def _play_case(case: Case, folder: Path, tasks: int) -> Run:
    n = _count_tasks(case, tasks)
    config = RunConfig(env=case.env, seats={"agent": case.plays}, n_tasks=n, k=1, gains=False)
    execute_run(prepare_run(config), folder)
    return Run.load(folder)


def _count_tasks(case: Case, wanted: int) -> int:
    return min(max(2, round(case.share * wanted)), len(sonde.build(case.env).tasks("test")))


def _mass_outside(folder: Path) -> float | None:
    """The mean mass outside the candidates."""
    rows = [b.outside for row in believed.load_beliefs(folder).beliefs.values() for b in row if b.outside is not None]
    return sum(rows) / len(rows) if rows else None


def estimate_cost(name: str, case: Case, args: argparse.Namespace) -> dict[str, Any]:
    """Estimate the cost of eliciting from a few games of the reference solver, without a model. It counts the computed
    tokens: a growing conversation once, and every candidate at every turn."""
    env, seat = sonde.build(case.env), case.seat()
    few = collect_trajectories(env, {"agent": sonde.make(f"agents:{env.spec.reference}")}, env.tasks("test")[:TRIED])
    tokens = 0
    for t in few:
        probes = belief_probes(env, t, case.how, decision if case.decide else seat.build_prompt).probes
        shown = {p.messages[:-1][-1].content: sum(len(m.content) for m in p.messages[:-1]) for p in probes}
        trunk = max(shown.values()) if case.context == "full" else sum(shown.values())
        tokens += (trunk + sum(len(p.messages[-1].content) for p in probes)) // CHARACTERS_PER_TOKEN
    n = _count_tasks(case, args.tasks)
    return {"case": name, "model": case.model["model"], "episodes": n, "tokens": n * tokens // len(few)}


def show_calibration(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print a table of all episodes, then one of wins against losses."""
    print(f"{'case':18}{'episodes':>9}" + "".join(f"{h:>11}" for h in HEADS) + f"{'CPU s':>8}")
    for row in rows:
        for part, s in row["beliefs"].items():
            label = row["case"] if part == "all" else f"  {part}"
            outside = row["outside"] if part == "all" else None
            cells = [
                *_first_and_last(s),
                *_curves_at_last(s),
                *_calibration_numbers(s),
                "" if outside is None else f"{outside:.3f}",
            ]
            seconds = f"{row['seconds']:8.0f}" if part == "all" else ""
            print(f"{label:18}{s.episodes:9}" + "".join(f"{c:>11}" for c in cells) + seconds)
    print(NOTES)


def _last_belief(s: BeliefSummary) -> int:
    """The last turn after which at least half of the episodes still run."""
    reach = [t for t, n in enumerate(s.reached) if 2 * n >= s.episodes]
    return reach[-1] if reach else 0


def _first_and_last(s: BeliefSummary) -> list[str]:
    return [_format_mean(s.target, 0), _format_mean(s.target, _last_belief(s))]


def _curves_at_last(s: BeliefSummary) -> list[str]:
    return [_format_mean(curve, _last_belief(s)) for curve in (s.believed, s.exact, s.divergence, s.variation)]


def _calibration_numbers(s: BeliefSummary) -> list[str]:
    ece, changes = s.reliability and s.reliability.ece, (s.correlation_truth, s.correlation_among)
    found = (ece, *changes, s.updating_truth, s.updating_pairs)
    return ["n/a" if e is None else f"{e.mean:.2f}±{(e.high - e.low) / 2:.2f}" for e in found]


def _format_mean(curve: Sequence[Estimate], t: int) -> str:
    return f"{curve[t].mean:.2f}" if t < len(curve) else "n/a"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=CASES, help="these cases")
    parser.add_argument("--tasks", type=int, default=100, help="tasks of the test split (default 100)")
    parser.add_argument("--quick", action="store_true", help="4 tasks, for a first look")
    parser.add_argument("--dry-run", action="store_true", help="say what it would cost; no model is loaded")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--out", type=Path, default=Path("runs/delta_belief/calibration"), help="where the runs go")
    args = parser.parse_args()
    args.tasks = min(args.tasks, 4) if args.quick else args.tasks
    chosen = {name: CASES[name] for name in args.only or CASES if args.only or not CASES[name].named}
    if args.dry_run:
        print(json.dumps([estimate_cost(name, case, args) for name, case in chosen.items()], indent=1))
        return
    rows = [run_calibration(name, case, args) for name, case in chosen.items()]
    if args.json:
        print(json.dumps([{**row, "beliefs": {k: asdict(v) for k, v in row["beliefs"].items()}} for row in rows]))
        return
    show_calibration(rows)


if __name__ == "__main__":
    main()
