"""Which role is to blame? Every role of LLM-PSRL made worse in turn, with its regret and the scores of all roles.

    python recipes/psrl/roles.py [--env river_swim] [--trials 20] [--model http:NAME --base-url URL] [--save]

The rows are oracles (`models:oracle`): exact, with a greedy sampler, a forgetting updater, a short-sighted planner.
With --model a row of that language model in all roles, and one for each role that it alone plays, the others exact:
what a model loses in a role when nothing else is wrong. The scores are those of `sonde roles`
(`sonde.evaluation.roles`): regret says that something is wrong, they say what.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any, NamedTuple

from trials import PAPER, play_trials, print_cells, save_cells

import sonde
from sonde.cli.players import model_config
from sonde.core import UserError, build, run_sync
from sonde.evaluation import regret
from sonde.evaluation.metrics import Estimate
from sonde.evaluation.roles import RoleScores, grade_run, score_roles

EXACT = {"name": "models:oracle"}
FLAWS: Mapping[str, Mapping[str, Any]] = {
    "exact": {},
    "greedy sampler": {"greedy": 0.9},
    "forgetting updater": {"forgets": 0.3},
    "short-sighted planner": {"sight": 1},
}
ROLES = ("updater", "sampler", "policy")
MEASURES = (
    ("updater", "distance"), ("updater", "own"), ("updater", "forgotten"), ("updater", "excess"),
    ("sampler", "possible"), ("sampler", "consistent"), ("sampler", "error"), ("sampler", "spread"),
    ("sampler", "true error"),
    ("policy", "optimal"), ("policy", "regret"),
)  # fmt: skip


class Scored(NamedTuple):
    """A row: trials, cumulative regret at the end, and the scores of the roles."""

    trials: int
    regret: str
    scores: RoleScores


def list_players(model: Mapping[str, Any] | None) -> dict[str, dict[str, Mapping[str, Any]]]:
    """Models by role, for each row."""
    rows: dict[str, dict[str, Mapping[str, Any]]] = {name: {"model": {**EXACT, **flaw}} for name, flaw in FLAWS.items()}
    if model is not None:
        rows["the model"] = {"model": model}
        rows |= {f"the model as {role}": {"model": EXACT, f"{role}_model": model} for role in ROLES}
    return rows


def score_player(env: sonde.Env[Any], models: Mapping[str, Mapping[str, Any]], args: argparse.Namespace) -> Scored:
    """Play, and grade every call."""
    built = {role: build(config) for role, config in models.items()}
    agent = sonde.make("agents:llm_psrl", **built, cache=args.env == "river_swim")
    played = [t for t in play_trials(env, agent, args.trials, args.seed) if not t.error]
    run_sync(agent.close())
    curve = regret.cumulative_regret(regret.regret_table(env, played))
    return Scored(len(played), f"{curve.mean[-1]:.3f} ± {curve.error[-1]:.3f}", score_roles(grade_run(env, played)))


def format_row(name: str, row: Scored) -> list[str | int | float | None]:
    measures: dict[tuple[str, str], Estimate | None] = {
        (of.role, measure): value for of in row.scores.roles for measure, value in of.measures.items()
    }
    found = (measures[key] for key in MEASURES)
    return [name, row.trials, row.regret, *(None if value is None else round(value.mean, 4) for value in found)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", default="river_swim", help="a finite problem: river_swim, bernoulli_bandit, ...")
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0, help="world seed")
    parser.add_argument("--model", help="a language model, to be scored role by role")
    parser.add_argument("--base-url", help="address of the endpoint of http:NAME")
    parser.add_argument("--save", action="store_true", help="keep the table for the page of the paper")
    args = parser.parse_args()
    env = sonde.make(args.env)
    model = model_config(args.model, args.base_url) if args.model else None
    rows = [format_row(name, score_player(env, models, args)) for name, models in list_players(model).items()]
    columns = ["models", "trials", "regret", *(f"{role}: {measure}" for role, measure in MEASURES)]
    print(f"{PAPER}: roles of LLM-PSRL in {env.spec.name}")
    print_cells([columns, *rows])
    if args.save:
        save_cells(f"roles_{args.env}", columns, rows, args.seed)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        raise SystemExit(str(error)) from None
