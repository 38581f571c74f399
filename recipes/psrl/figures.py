"""The paper's figures: one command per figure, with any language model, with none, or with one that makes no mistakes.

    python recipes/psrl/figures.py 7                                     classic agents, 1,000 trials
    python recipes/psrl/figures.py 7 --model oracle                      and LLM-PSRL with exact and flawed oracles
    python recipes/psrl/figures.py 7 --model http:NAME --base-url http://localhost:8000/v1 [--agents llm_psrl,psrl]
    python recipes/psrl/figures.py 7 --model http:NAME --base-url http://localhost:8000/v1 --dry-run    # calls, tokens

Agents, environments, temperatures and numbers of trials are the paper's where it states them; prompts are ours unless
--prompts names a folder with others (`sonde prompts agents:llm_psrl --out FOLDER` writes ours for you to change; see
docs/psrl.md). RiverSwim uses the policy cache of appendix C and, for LLM-PSRL, the prior Dirichlet(0.1, ...) of section
4.2; rows "alpha .1" give classic PSRL the same prior, which the paper does not. Figure 4 compares four sampling
temperatures, of which the text names 1 and 1.2; 0.7 and 1.5 are ours. Figure 4 also makes figures 9 to 11. In figure 5
the agents may say any text, except ICPI, which simulates the messages that the environment lists; --user and --judge
seat language models as the customer and as the one who decides whether the trouble is gone, as in the paper, where by
default rules do both. `ends` is RiverSwim with the two readings of its ends.

`--model oracle` plays `llm_psrl` and `llm_ids` without mistakes, and adds rows of imperfect oracles: a greedy sampler,
a forgetting updater, a short-sighted planner (`models:oracle`). It leaves out the other language-model agents, and
figure 5, whose beliefs are prose. In figure 8 it gets all words as its prior.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from trials import PAPER, Row, Table, bandit_table, measure_agent, regret_table, show_tables

import sonde
from sonde.cli.estimate import PlannedPlay, print_estimate
from sonde.cli.players import model_config, model_seats
from sonde.cli.terminal import out
from sonde.core import UserError, build, default_policies, invalid, run_sync
from sonde.runs.games import add_judge_seat


class Agent(NamedTuple):
    """A row of a figure. `env` changes the figure's environment for this row. `flaw` is the defect of its oracle, for
    rows that only `--model oracle` has."""

    label: str
    name: str
    settings: Mapping[str, Any] = {}
    env: Mapping[str, Any] = {}
    flaw: Mapping[str, Any] = {}


class Figure(NamedTuple):
    """A figure: its environment, its agents, the numbers of trials of language models and of classic agents, and its
    tables."""

    title: str
    env: Mapping[str, Any]
    agents: Sequence[Agent]
    trials: int
    tables: Sequence[Table]
    classic: int = 1000


_ICRL = [Agent(f"ICRL, p = {p:g}", "icrl", {"keep": p}) for p in (1.0, 0.5, 0.1)]
_BASE = [Agent("Reflexion", "reflexion"), *_ICRL, Agent("ICPI", "icpi")]
_CACHED = {"cache": True, "alpha": 0.1}
_COLD = {**_CACHED, "sampler_temperature": 0.5, "policy_temperature": 0.0, "updater_temperature": 0.0}
_TOLD = {"downstream_known": True}
_RIVER_BASE = [Agent("Reflexion", "reflexion", {"cache": True}), Agent("ICRL, p = 1", "icrl", {"cache": True})]
_FLAWS = {
    "greedy sampler": {"greedy": 0.9},
    "forgetting updater": {"forgets": 0.3},
    "short-sighted planner": {"sight": 1},
}
_STEP = {"updates": "step"}
_LOCK, _WORDLE = {"name": "combination_lock"}, {"name": "letter_wordle"}
_RIVER = {"name": "river_swim"}
_SERVICE = {"name": "customer_service_bandit", "told_prior": "hint"}
_ENDS = ("solved", "in", "calls", "k tokens", "fallback")
_COSTS = ("last 5", "calls", "k tokens", "fallback")
_UNIFORM = Agent("uniform", "random")
_CODES = [
    Agent("posterior sampling", "psrl"),
    Agent("information-directed", "ids"),
    Agent("most information", "entropy"),
]


def flawed_agents(settings: Mapping[str, Any], flaws: Sequence[str], env: Mapping[str, Any] = {}) -> list[Agent]:
    """LLM-PSRL on imperfect oracles."""
    return [Agent(f"LLM-PSRL, {flaw}", "llm_psrl", settings, env, _FLAWS[flaw]) for flaw in flaws]


FIGURES: Mapping[str, Figure] = {
    "4": Figure(
        "Bernoulli bandit, 5 arms, gap 0.2, T = 100 (also figures 9 to 11)",
        {"name": "bernoulli_bandit"},
        [
            *(
                Agent(f"LLM-PSRL, sampling at {t:g}", "llm_psrl", {"sampler_temperature": t, **_STEP})
                for t in (0.7, 1.0, 1.2, 1.5)
            ),
            *flawed_agents(_STEP, ["greedy sampler", "forgetting updater"]),
            Agent("Thompson, Beta(1, 1)", "thompson"),
            Agent("Thompson, true prior", "psrl"),
            Agent("UCB1", "ucb1"),
            Agent("epsilon-greedy, 0.1", "epsilon_greedy"),
            _UNIFORM,
        ],
        20,
        [
            regret_table("figure4", (25, 50, 100), _COSTS),
            bandit_table("figure9", {f"period {t}": ("suffix_failures", t) for t in (25, 50, 75)}),
            bandit_table("figure10", {f"period {t}": ("minimum_action_frequency", t) for t in (25, 50, 75, 100)}),
            bandit_table(
                "figure11",
                {
                    "suffix failures, period 50": ("suffix_failures", 50),
                    "least action x 5, period 100": ("minimum_action_frequency", 100),
                },
            ),
        ],
    ),
    "5": Figure(
        "customer service bandit",
        _SERVICE,
        [
            Agent("LLM-PSRL, a model's prior", "llm_psrl", {"prior": "model", **_STEP}),
            Agent("LLM-PSRL, well-specified", "llm_psrl", {"prior": "hinted", **_STEP}),
            *_BASE,
        ],
        20,
        [regret_table("figure5", (5, 10, 20), _ENDS)],
    ),
    "6": Figure(
        "RiverSwim, 3 caves, H = 6, K = 35",
        _RIVER,
        [
            Agent("LLM-PSRL", "llm_psrl", _CACHED),
            *flawed_agents(_CACHED, [*_FLAWS]),
            *_RIVER_BASE,
            Agent("PSRL", "psrl"),
            Agent("PSRL, alpha .1", "psrl", {"alpha": 0.1}),
            _UNIFORM,
        ],
        40,
        [regret_table("figure6", (5, 15, 35), _COSTS)],
    ),
    "7": Figure(
        "combination lock",
        _LOCK,
        [
            Agent("LLM-PSRL", "llm_psrl"),
            *flawed_agents({}, ["forgetting updater"]),
            *_BASE,
            Agent("Bayes-optimal", "combination_lock"),
            *_CODES,
            _UNIFORM,
        ],
        20,
        [regret_table("figure7", (2, 4, 8), _ENDS)],
        classic=1440,
    ),
    "8": Figure(
        "letter Wordle",
        _WORDLE,
        [Agent("LLM-PSRL", "llm_psrl"), *flawed_agents({}, ["forgetting updater"]), *_BASE, *_CODES, _UNIFORM],
        40,
        [regret_table("figure8", (2, 5, 6), _ENDS)],
    ),
    "13": Figure(
        "RiverSwim, 3 caves, cold language models",
        _RIVER,
        [
            Agent("LLM-PSRL", "llm_psrl", _COLD),
            Agent("LLM-PSRL, downstream known", "llm_psrl", _COLD, _TOLD),
            *(
                agent._replace(label=f"{agent.label}, downstream known")
                for agent in flawed_agents(_COLD, ["forgetting updater", "short-sighted planner"], _TOLD)
            ),
            *_RIVER_BASE,
            Agent("PSRL", "psrl"),
            Agent("PSRL, downstream known", "psrl", {}, _TOLD),
            Agent("PSRL, alpha .1", "psrl", {"alpha": 0.1}),
            Agent("PSRL, alpha .1, downstream known", "psrl", {"alpha": 0.1}, _TOLD),
        ],
        40,
        [regret_table("figure13", (5, 15, 35), _COSTS)],
    ),
    "14": Figure(
        "RiverSwim, 3 and 4 caves (H = 6 and 20)",
        _RIVER,
        [
            Agent("LLM-PSRL, 3 caves", "llm_psrl", _CACHED),
            Agent("PSRL, 3 caves", "psrl"),
            *(
                agent._replace(label=f"{agent.label}, 4 caves", env={"preset": "length4"})
                for agent in (
                    Agent("LLM-PSRL", "llm_psrl", _CACHED),
                    *flawed_agents(_CACHED, ["short-sighted planner"]),
                    Agent("PSRL", "psrl"),
                    Agent("PSRL, alpha .1", "psrl", {"alpha": 0.1}),
                    _UNIFORM,
                )
            ),
        ],
        40,
        [regret_table("figure14", (5, 15, 35), _COSTS)],
    ),
    "16": Figure(
        "informative-action bandit, 11 arms, T = 20 (also figure 17)",
        {"name": "bernoulli_bandit", "preset": "informative"},
        [
            Agent("LLM-IDS", "llm_ids"),
            Agent("LLM-PSRL", "llm_psrl", _STEP),
            Agent("information-directed", "ids"),
            Agent("Thompson, true prior", "psrl"),
            _UNIFORM,
        ],
        10,
        [regret_table("figure16", (1, 5, 20), _COSTS)],
    ),
    "18": Figure(
        "combination lock, with LLM-IDS",
        _LOCK,
        [Agent("LLM-IDS", "llm_ids"), Agent("LLM-PSRL", "llm_psrl"), Agent("information-directed", "ids")],
        20,
        [regret_table("figure18", (2, 4, 8), _ENDS)],
        classic=1440,
    ),
    "ends": Figure(
        "RiverSwim with the ends of Osband et al. (2013)",
        {**_RIVER, "ends": "osband"},
        [
            agent._replace(label=f"{agent.label}, {n} caves", env={**agent.env, "preset": f"length{n}"})
            for n in (3, 4)
            for agent in (Agent("PSRL", "psrl"), Agent("PSRL, downstream known", "psrl", {}, _TOLD), _UNIFORM)
        ],
        40,
        [regret_table("ends", (5, 15, 35), ("last 5",))],
    ),
}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figure", choices=[*FIGURES], help="number of the figure in the paper")
    parser.add_argument("--model", help="http:NAME, hf:NAME, smollm2, a folder or oracle; without it, classic agents")
    parser.add_argument("--base-url", help="address of the endpoint of http:NAME")
    parser.add_argument("--user", help="a language model as the customer, in figure 5")
    parser.add_argument("--judge", help="a language model as the judge, in figure 5")
    parser.add_argument("--user-url", help="address of the endpoint of --user and --judge")
    parser.add_argument("--prompts", help="folder with prompts of the language-model agents, in place of ours")
    parser.add_argument("--agents", help="only these, by registry name, with commas between them")
    parser.add_argument("--trials", type=int, help="of language models, by default the paper's number")
    parser.add_argument("--classic", type=int, help="trials of classic agents, by default --trials, or else 1,000")
    parser.add_argument("--seed", type=int, default=0, help="world seed")
    parser.add_argument("--dry-run", action="store_true", help="only estimate the number of calls and tokens")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--save", action="store_true", help="keep the tables for the page of the paper")
    args = parser.parse_args()
    for name in ("trials", "classic"):
        if (n := getattr(args, name)) is not None and n < 2:
            parser.error(f"--{name}: got {n}, allowed: 2 or more")
    if (args.user or args.judge) and FIGURES[args.figure].env != _SERVICE:
        parser.error(f"--user, --judge: got figure {args.figure}, allowed: figure 5, the only one with a customer")
    return args


def needs_model(agent: Agent) -> bool:
    return "model" in sonde.core.find(f"agents:{agent.name}").__dataclass_fields__


def choose_agents(figure: Figure, args: argparse.Namespace) -> Sequence[Agent]:
    """The rows to play: the requested ones of the figure that this model (or none) can play."""
    oracle = args.model == "oracle"
    if oracle and figure.env == _SERVICE:
        raise invalid("figures.py: model", "oracle", "a language model in figure 5: the oracle reads no prose")
    able = [a for a in figure.agents if _can_play(a, args.model)]
    if not able:
        raise invalid("figures.py: model", None, f"a language model: figure {args.figure} has no classic agent")
    names = list(dict.fromkeys(a.name for a in able))
    wanted = args.agents.split(",") if args.agents else names
    for name in wanted:
        if name not in names:
            played = f" with --model {args.model}" if args.model else " without --model"
            raise invalid("figures.py: agents", name, f"{', '.join(names)} in figure {args.figure}{played}")
    return [a for a in able if a.name in wanted]


def _can_play(agent: Agent, model: str | None) -> bool:
    if not needs_model(agent):
        return True
    if model == "oracle":
        return agent.name in ("llm_psrl", "llm_ids")
    return model is not None and not agent.flaw


def count_trials(figure: Figure, agent: Agent, args: argparse.Namespace) -> int:
    return args.trials or figure.trials if needs_model(agent) else args.classic or args.trials or figure.classic


def make_player(figure: Figure, agent: Agent, args: argparse.Namespace) -> Any:
    """The agent of a row, with its model if it needs one."""
    settings = dict(agent.settings)
    if args.model == "oracle" and agent.name == "llm_psrl" and figure.env == _WORDLE:
        settings["prior"] = "worlds"
    if needs_model(agent):
        settings |= {"prompts": args.prompts} if args.prompts else {}
        settings["model"] = build({**model_config(args.model, args.base_url), **agent.flaw})
    return sonde.make(f"agents:{agent.name}", **settings)


def make_env(figure: Figure, agent: Agent, args: argparse.Namespace) -> sonde.Env[Any]:
    """The environment of a row, with a seat for the judge if there is one."""
    return build(add_judge_seat({**figure.env, **agent.env}, list_partners(args)))


def list_partners(args: argparse.Namespace) -> Mapping[str, Any]:
    """The configurations of the customer and the judge, where language models take their seats."""
    return model_seats(args.user, args.judge, args.user_url, None)


def play_row(figure: Figure, agent: Agent, args: argparse.Namespace) -> Row:
    """Play a row of the figure and measure it."""
    player, n = make_player(figure, agent, args), count_trials(figure, agent, args)
    others = {seat: build(config) for seat, config in list_partners(args).items()}
    try:
        return measure_agent(make_env(figure, agent, args), agent.label, player, n, args.seed, others)
    finally:
        for policy in (player, *others.values()):
            run_sync(policy.close())


def plan_row(figure: Figure, agent: Agent, args: argparse.Namespace) -> PlannedPlay:
    """The trials of a row, to estimate their cost."""
    env, others = make_env(figure, agent, args), list_partners(args)
    seats = {**default_policies(env), **{seat: build(config) for seat, config in others.items()}}
    seats["agent"] = make_player(figure, agent, args)
    return PlannedPlay(env, seats, env.tasks("test")[0], count_trials(figure, agent, args), args.seed, agent.label)


def main() -> None:
    args = parse_arguments()
    figure = FIGURES[args.figure]
    if args.dry_run:
        print_estimate([plan_row(figure, agent, args) for agent in choose_agents(figure, args)], out, args.json)
        return
    rows = [play_row(figure, agent, args) for agent in choose_agents(figure, args)]
    played = f"model {args.model}" if args.model else "classic agents"
    show_tables(f"{PAPER}, {args.figure}: {figure.title}; {played}", figure.tables, rows, args)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        raise SystemExit(str(error)) from None
