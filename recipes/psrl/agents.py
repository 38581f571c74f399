"""The paper's figures with language models: one command per figure, for any endpoint or local model.

    python recipes/psrl/agents.py 7 --model http:NAME --base-url http://localhost:8000/v1
    python recipes/psrl/agents.py 6 --model hf:NAME [--trials 10] [--agents llm_psrl,psrl] [--json]

Agents, environments, temperatures and numbers of trials are the paper's as far as it states them; prompts are ours, so
equal numbers are not to be expected, not even of equal models. RiverSwim uses the policy cache of appendix C and, for
LLM-PSRL, the prior Dirichlet(0.1, ...) of section 4.2. Figure 4 compares four sampling temperatures of which the text
names 1 and 1.2; these two are played. In figure 5 the agents say what they like, except ICPI, which simulates the
messages that the environment lists. A figure's classic agents are played in as many trials as its language models.
Columns: cumulative regret, model calls and thousands of tokens per trial (figures 19 and 20 plot regret over tokens),
and the share of calls that ended in a fallback.
`--model oracle` plays `llm_psrl` and `llm_ids` without mistakes, which needs no model; the other language-model agents
are left out, and so is figure 5, whose beliefs are prose. In figure 8 it is handed all words as its prior.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from common import PAPER, Row, play, row, show

import sonde
from sonde.cli.players import model_config
from sonde.core import UserError, build, invalid, run_sync
from sonde.evaluation import regret

Agent = tuple[str, str, Mapping[str, Any]]


class Figure(NamedTuple):
    """What a figure shows: where, which agents (label, name, settings), in how many trials, and where to read it."""

    title: str
    env: Mapping[str, Any]
    agents: Sequence[Agent]
    trials: int
    points: Sequence[int]


_ICRL = [(f"ICRL, p = {p:g}", "icrl", {"keep": p}) for p in (1.0, 0.5, 0.1)]
_BASE = [("Reflexion", "reflexion", {}), *_ICRL, ("ICPI", "icpi", {})]
_RIVER = [
    ("LLM-PSRL", "llm_psrl", {"cache": True, "alpha": 0.1}),
    ("Reflexion", "reflexion", {"cache": True}),
    ("ICRL, p = 1", "icrl", {"cache": True}),
    ("PSRL", "psrl", {}),
]
_COLD = {"sampler_temperature": 0.5, "policy_temperature": 0.0, "updater_temperature": 0.0, "cache": True, "alpha": 0.1}
_STEP = {"updates": "step"}
_LOCK, _WORDLE = {"name": "combination_lock"}, {"name": "letter_wordle"}
_SERVICE = {"name": "customer_service_bandit", "told_prior": "hint"}

FIGURES: Mapping[str, Figure] = {
    "4": Figure(
        "Bernoulli bandit",
        {"name": "bernoulli_bandit"},
        [
            *((f"LLM-PSRL, sampling at {t:g}", "llm_psrl", {"sampler_temperature": t, **_STEP}) for t in (1.0, 1.2)),
            ("Thompson, Beta(1, 1)", "thompson", {}),
        ],
        20,
        (25, 50, 100),
    ),
    "5": Figure(
        "customer service bandit",
        _SERVICE,
        [
            ("LLM-PSRL, a model's prior", "llm_psrl", {"prior": "model", **_STEP}),
            ("LLM-PSRL, well-specified", "llm_psrl", {"prior": "hinted", **_STEP}),
            *_BASE,
        ],
        20,
        (5, 10, 20),
    ),
    "6": Figure("RiverSwim, 3 caves", {"name": "river_swim"}, _RIVER, 40, (5, 15, 35)),
    "7": Figure(
        "combination lock",
        _LOCK,
        [("LLM-PSRL", "llm_psrl", {}), *_BASE, ("Bayes-optimal", "combination_lock", {})],
        20,
        (2, 4, 8),
    ),
    "8": Figure("letter Wordle", _WORDLE, [("LLM-PSRL", "llm_psrl", {}), *_BASE], 40, (2, 4, 6)),
    "13": Figure(
        "RiverSwim, 3 caves, downstream known",
        {"name": "river_swim", "downstream_known": True},
        [("LLM-PSRL", "llm_psrl", _COLD), ("PSRL", "psrl", {})],
        40,
        (5, 15, 35),
    ),
    "14": Figure(
        "RiverSwim, 4 caves", {"name": "river_swim", "preset": "length4"}, [_RIVER[0], _RIVER[3]], 40, (5, 15, 35)
    ),
    "16": Figure(
        "informative-action bandit",
        {"name": "bernoulli_bandit", "preset": "informative"},
        [("LLM-IDS", "llm_ids", {}), ("LLM-PSRL", "llm_psrl", _STEP), ("IDS", "ids", {})],
        10,
        (1, 5, 20),
    ),
    "18": Figure(
        "combination lock, with LLM-IDS",
        _LOCK,
        [("LLM-IDS", "llm_ids", {}), ("LLM-PSRL", "llm_psrl", {}), ("IDS", "ids", {})],
        20,
        (2, 4, 8),
    ),
}


def trials(env: sonde.Env[Any], label: str, agent: Any, args: argparse.Namespace, points: Sequence[int]) -> Row:
    """One agent of a figure. Trials that the world failed are left out and said to be."""
    begun = time.perf_counter()
    played = play(env, agent, args.trials, args.seed, keep_open=True)
    failed = [t.error for t in played if t.error]
    good = [t for t in played if not t.error]
    if not good:
        raise SystemExit(f"{label}: all {len(played)} trials failed: {failed[0]}")
    spent = [cost for t in good for cost in regret.cost_by_call(t).items()]
    calls = sum(cost.calls for _, cost in spent)
    fallbacks = sum(cost.calls for name, cost in spent if name.endswith(":fallback"))
    told = f"{len(failed)} trials failed: {failed[0][:60]}" if failed else ""
    more = {
        "calls": calls / len(good),
        "k tokens": sum(cost.tokens for _, cost in spent) / len(good) / 1000,
        "fallback": fallbacks / calls if calls else None,
    }
    return row(env, label, good, points, told, time.perf_counter() - begun, **more)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figure", choices=sorted(FIGURES, key=int), help="number of the figure in the paper")
    parser.add_argument("--model", required=True, help="http:NAME, hf:NAME, smollm2, a folder or oracle")
    parser.add_argument("--base-url", help="address of the endpoint of http:NAME")
    parser.add_argument("--agents", help="only these, by registry name, with commas between them")
    parser.add_argument("--trials", type=int, help="by default the paper's number")
    parser.add_argument("--seed", type=int, default=0, help="world seed")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser.parse_args()


def needs_model(agent: str) -> bool:
    return "model" in sonde.core.find(f"agents:{agent}").__dataclass_fields__


def chosen(figure: Figure, args: argparse.Namespace) -> Sequence[Agent]:
    """The agents to play: those asked for that the figure has, and with the oracle those that it can play."""
    names = list(dict.fromkeys(name for _, name, _ in figure.agents))
    able = names
    if args.model == "oracle":
        if figure.env == _SERVICE:
            raise invalid("agents.py: model", "oracle", "a language model in figure 5: the oracle reads no prose")
        able = [name for name in names if name in ("llm_psrl", "llm_ids") or not needs_model(name)]
    wanted = args.agents.split(",") if args.agents else able
    for name in wanted:
        if name not in able:
            with_model = " with --model oracle" if name in names else ""
            raise invalid("agents.py: agents", name, f"{', '.join(able)} in figure {args.figure}{with_model}")
    listed = {"prior": "worlds"} if args.model == "oracle" and figure.env == _WORDLE else {}
    return [(label, a, {**had, **listed} if a == "llm_psrl" else had) for label, a, had in figure.agents if a in wanted]


def main() -> None:
    args = arguments()
    figure = FIGURES[args.figure]
    args.trials = args.trials or figure.trials
    model, env = build(model_config(args.model, args.base_url)), build(figure.env)
    rows: list[Row] = []
    for label, name, settings in chosen(figure, args):
        with_model = {"model": model} if needs_model(name) else {}
        agent = sonde.make(f"agents:{name}", **with_model, **settings)
        rows.append(trials(env, label, agent, args, figure.points))
    run_sync(model.close())
    show(f"{PAPER}, figure {args.figure}: {figure.title}; model {args.model}", rows, args)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        raise SystemExit(str(error)) from None
