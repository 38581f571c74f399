"""`sonde dataset pairs`: preference pairs between questions of high and low information gain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal, cast

from typer import Option

from sonde.core import AGENT, Policy, UserError, unknown
from sonde.core.types import Json
from sonde.runs.rollout import Plan
from sonde.train.gain_pairs import GainPairRule, collect_gain_pairs, write_pairs

from . import options as opt
from .estimate import print_estimate
from .evaluate import PlayOptions
from .progress import episode_progress
from .tables import NameTable
from .terminal import out, print_result

BY = ("gain", "belief")


@dataclass(frozen=True, kw_only=True)
class PairsCommand(PlayOptions):
    """Pair questions of high with questions of low information gain, asked at the same point of a game.

    The model proposes several replies on every turn, and the best one is played. The file has TRL's preference
    format: train on it with `sonde train dpo FILE --model M`, or rpo, ipo, simpo.
    """

    env: opt.EnvArg
    file: Annotated[Path, Option("--out", help="The file of JSON lines to write.")]
    by: Annotated[
        str, Option(help="gain: expected gain under the exact posterior; belief: the model's own change of belief.")
    ] = GainPairRule.by
    n: Annotated[int, Option("--candidates", help="Replies proposed on every turn.")] = GainPairRule.n
    least: Annotated[float, Option(help="Least gain of a chosen reply, in bits.")] = GainPairRule.least
    most: Annotated[float, Option(help="Gain that a rejected reply stays below, in bits.")] = GainPairRule.most
    per_turn: Annotated[int | None, Option(help="Most pairs per turn.", show_default="all")] = None
    ask_best: Annotated[float, Option(help="Share of turns on which the best reply is played.")] = GainPairRule.ask_best
    template: Annotated[str, Option(help="How a belief is elicited: statement, question, answer, or a text.")] = (
        GainPairRule.template
    )
    split: opt.TrainSplitOpt = None
    k: Annotated[int | None, opt.tasks_option("-k", help="Games per task.", show_default="1")] = None
    as_json: opt.JsonOpt = False

    def run(self) -> None:
        if self.by not in BY:
            raise unknown("--by", self.by, BY)
        self._check_unused()
        rule = GainPairRule(
            by=cast("Literal['gain', 'belief']", self.by), n=self.n, least=self.least, most=self.most,
            per_turn=self.per_turn, ask_best=self.ask_best, template=self.template,
        )  # fmt: skip
        opt.check_writable("--out", self.file)
        (run,) = self.prepare_runs(
            [(self.env, self.preset)], defaults=lambda env: {"split": "train", "k": 1},
            agent={"temperature": 1.0, "min_p": 0.0},
        )  # fmt: skip
        player = run.policies[AGENT]
        if not isinstance(player, Policy):
            raise UserError(f"--agent: got {player.name!r}, allowed: a policy that proposes replies, such as llm")
        if self.dry_run:
            best = replace(run, policies={**run.policies, AGENT: rule.make_best(player)})
            print_estimate([best], out, self.as_json)
            return
        others = {seat: policy for seat, policy in run.policies.items() if seat != AGENT}
        config = run.config
        plan = Plan(k=config.k, seed=config.seed, concurrency=config.concurrency, budget=config.budget)
        with episode_progress(run.env.spec.name, len(run.tasks) * config.k) as on_done:
            found = collect_gain_pairs(run.env, player, run.tasks, rule, plan, policies=others, on_done=on_done)
        if not found.pairs:
            raise UserError(
                f"--least, --most: got {self.least:g} and {self.most:g} bits, but none of the {found.turns} turns has "
                "replies on both sides; allowed: limits that some turn meets"
            )
        write_pairs(self.file, found.pairs)
        counts = found.to_json()
        print_result(counts, _count_table(counts), self.as_json, self.file)

    def _check_unused(self) -> None:
        """Refuse options of run folders: pairs are collected by one process and written as one file."""
        for option, given in {"--processes": self.processes, "--on": self.on, "--fresh": self.fresh}.items():
            if given:
                raise UserError(f"{option}: got {given!r}, allowed: with `sonde rollout`")


def _count_table(counts: Mapping[str, Json]) -> NameTable:
    rows = ((name, f"{value:.2f}" if isinstance(value, float) else f"{value:,}") for name, value in counts.items())
    return NameTable("", rows)
