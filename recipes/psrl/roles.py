"""Which role is to blame? Regret and scores of all roles of LLM-PSRL, with one role at a time made worse.

    python recipes/psrl/roles.py [--env river_swim] [--trials 20] [--model http:NAME --base-url URL] [--save]
    python recipes/psrl/roles.py --env combination_lock --model smollm2 --retries 0 --max-new-tokens 64 --trials 4

The rows are oracles (`models:oracle`): exact, with a greedy sampler, a forgetting updater, a short-sighted planner.
With --model the rows are the exact oracle, that language model in all roles, and the model in each single role with
exact oracles in the others, which shows the loss in that role alone. The scores are those of `sonde roles`
(`sonde.evaluation.roles`): regret shows that something is wrong, the scores show what. `unreadable` is the share of a
role's calls that were given up, or that no reference can judge; the role's other scores are those of its other calls.
--sub-episodes, --retries and --max-new-tokens shorten a trial, for a model that runs on a CPU. --dry-run only estimates
the calls and tokens of the language model; oracles cost nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any, NamedTuple

from trials import PAPER, play_trials, print_cells, save_cells

import sonde
from sonde.cli.estimate import PlannedPlay, print_estimate
from sonde.cli.players import model_config
from sonde.cli.terminal import out
from sonde.core import UserError, build, default_policies, run_sync, unknown
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
LIMITS = ("retries", "max_new_tokens")
"""Arguments of the agent that options of this script set."""
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
    """The models of each row, by role."""
    rows: dict[str, dict[str, Mapping[str, Any]]] = {name: {"model": {**EXACT, **flaw}} for name, flaw in FLAWS.items()}
    if model is None:
        return rows
    alone = {f"the model as {role}": {"model": EXACT, f"{role}_model": model} for role in ROLES}
    return {"exact": rows["exact"], "the model": {"model": model}, **alone}


def make_player(models: Mapping[str, Mapping[str, Any]], args: argparse.Namespace) -> Any:
    built = {role: build(config) for role, config in models.items()}
    limits = {name: n for name in LIMITS if (n := getattr(args, name)) is not None}
    return sonde.make("agents:llm_psrl", **built, **limits, cache=args.env == "river_swim")


def plan_player(
    env: sonde.Env[Any], name: str, models: Mapping[str, Mapping[str, Any]], args: argparse.Namespace
) -> PlannedPlay:
    """The trials of a row, to estimate their cost."""
    seats = {**default_policies(env), "agent": make_player(models, args)}
    return PlannedPlay(env, seats, env.tasks("test")[0], args.trials, args.seed, name)


def score_player(env: sonde.Env[Any], models: Mapping[str, Mapping[str, Any]], args: argparse.Namespace) -> Scored:
    """Play the trials and grade every call."""
    agent = make_player(models, args)
    played = [t for t in play_trials(env, agent, args.trials, args.seed) if not t.error]
    run_sync(agent.close())
    curve = regret.cumulative_regret(regret.regret_table(env, played))
    lost = f"{curve.mean[-1]:.3f}" + (f" ± {curve.error[-1]:.3f}" if len(played) > 1 else "")
    return Scored(len(played), lost, score_roles(grade_run(env, played)))


def format_row(name: str, row: Scored) -> list[str | int | float | None]:
    measures: dict[tuple[str, str], Estimate | None] = {
        (of.role, measure): value for of in row.scores.roles for measure, value in of.measures.items()
    }
    unreadable = [None if of.unreadable is None else round(of.unreadable, 4) for of in row.scores.roles]
    found = (measures[key] for key in MEASURES)
    scores = (None if value is None else round(value.mean, 4) for value in found)
    return [name, row.trials, row.regret, *unreadable, *scores]


def make_env(name: str, sub_episodes: int | None) -> sonde.Env[Any]:
    """The environment with this many sub-episodes (in a bandit, pulls) per trial."""
    env = sonde.make(name)
    if sub_episodes is None:
        return env
    setting = "sub_episodes" if "sub_episodes" in env.config else "max_turns"
    return sonde.make(name, **{setting: sub_episodes})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", default="river_swim", help="a finite problem: river_swim, bernoulli_bandit, ...")
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0, help="world seed")
    parser.add_argument("--model", help="a language model, to be scored role by role")
    parser.add_argument("--only", nargs="+", metavar="ROW", help="these rows only, such as 'the model as updater'")
    parser.add_argument("--base-url", help="address of the endpoint of http:NAME")
    parser.add_argument("--sub-episodes", type=int, help="sub-episodes (pulls) to a trial (default: the environment's)")
    parser.add_argument("--retries", type=int, help="how often an unreadable reply is asked for again (default 2)")
    parser.add_argument("--max-new-tokens", type=int, help="limit of a reply (default 2048)")
    parser.add_argument("--save", action="store_true", help="keep the table for the page of the paper")
    parser.add_argument("--dry-run", action="store_true", help="only estimate the number of calls and tokens")
    args = parser.parse_args()
    env = make_env(args.env, args.sub_episodes)
    model = model_config(args.model, args.base_url) if args.model else None
    players = list_players(model)
    if others := set(args.only or ()) - set(players):
        raise unknown("--only", min(others), players)
    chosen = {name: models for name, models in players.items() if not args.only or name in args.only}
    if args.dry_run:
        print_estimate([plan_player(env, name, models, args) for name, models in chosen.items()], out, as_json=False)
        return
    rows = [format_row(name, score_player(env, models, args)) for name, models in chosen.items()]
    unreadable = [f"{role}: unreadable" for role in ROLES]
    columns = ["models", "trials", "regret", *unreadable, *(f"{role}: {measure}" for role, measure in MEASURES)]
    print(f"{PAPER}: roles of LLM-PSRL in {env.spec.name}")
    print_cells([columns, *rows])
    if args.save:
        player = f"_{args.model.rpartition('/')[2].rpartition(':')[2]}" if args.model else ""
        save_cells(f"roles_{args.env}{player}", columns, rows, args.seed)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        raise SystemExit(str(error)) from None
