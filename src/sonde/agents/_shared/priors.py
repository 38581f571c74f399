"""Well-specified priors as text: what is known about the world of a finite problem before the first step.

A prior is words first, and then the same once more as a fenced JSON block `{"belief": ...}`, which models can keep up
to date more easily than prose:

    beta       one Beta distribution per arm of a Bernoulli bandit (the paper's Beta(1, 1))
    worlds     a list of equally likely worlds, for bandits that pay other values; from the environment's exact prior
    dirichlet  one Dirichlet per state and action with parameter `alpha`, rewards uniform over what may be paid, by
               state and action, and by next state too where the problem says so
    case       the possible causes of a customer's trouble, in words only
    code       all sequences of different symbols, or all words of a length, alike; `candidates` lists them

The paper gives its tabular agent of language models Dirichlet(0.1, 0.1, 0.1) for three states and classic PSRL 1/|S|.
Both have 1/|S| here by default, so that they may be compared.
"""

from __future__ import annotations

from math import perm

from sonde.core import UserError, View
from sonde.core.prompts import Pieces
from sonde.core.types import Json
from sonde.envs._shared.finite import FiniteProblem
from sonde.envs._shared.sub_episodes import prior_support, require_explored_filter

from .calls import json_block, load_prompts


def well_specified_prior(
    view: View, *, worlds: bool = False, alpha: float | None = None, say: Pieces | None = None
) -> str:
    """The prior at the start of an episode; `worlds` lists the worlds of a bandit whatever it pays, and all codes;
    `alpha` is for tables, by default 1/|S|; `say` are the texts."""
    say = load_prompts("priors") if say is None else say
    problem: FiniteProblem | None = view.problem
    if problem is None:
        name = view.spec.name
        raise UserError(
            f"agents: prior: {name} describes no finite problem; allowed: prior=model or the text of a prior"
        )
    if problem.kind == "tabular":
        return _dirichlet_prior(say, problem, alpha or 1.0 / len(problem.states))
    if problem.kind == "case":
        return _case_prior(say, problem)
    if problem.kind == "code":
        return _code_prior(say, view, problem, worlds)
    binary = set(problem.rewards) == {0.0, 1.0}
    return (
        _beta_prior(say, problem)
        if binary and not worlds
        else _worlds_prior(say, view, problem, "bernoulli" if binary else "fixed")
    )


def _beta_prior(say: Pieces, problem: FiniteProblem) -> str:
    rows = "\n".join(f"- {arm}: Beta(1, 1)" for arm in problem.actions)
    belief: Json = {"kind": "beta", "arms": {arm: [1, 1] for arm in problem.actions}}
    return say["beta"].format(rows=rows, block=json_block(belief=belief))


def _worlds_prior(say: Pieces, view: View, problem: FiniteProblem, pays: str) -> str:
    known = require_explored_filter(view, "llm_psrl")
    tables = [known.world(h).reward_SA[0].tolist() for h in prior_support(view)]
    means = [{a: round(m, 6) for a, m in zip(problem.actions, row, strict=True)} for row in tables]
    rows = "\n".join("- " + ", ".join(f"{a}: {m:g}" for a, m in row.items()) for row in means)
    belief: Json = {"kind": "worlds", "pays": pays, "worlds": [{"weight": 1, "means": row} for row in means]}
    return say[f"worlds-{pays}"].format(rows=rows, block=json_block(belief=belief))


def _dirichlet_prior(say: Pieces, problem: FiniteProblem, alpha: float) -> str:
    alpha = round(alpha, 6)
    table = {s: {a: dict.fromkeys(problem.states, alpha) for a in problem.actions} for s in problem.states}
    unseen: Json = dict.fromkeys(problem.states) if problem.by_next else None
    rewards: Json = {s: dict.fromkeys(problem.actions, unseen) for s in problem.states}
    belief: dict[str, Json] = {"kind": "dirichlet", "transitions": table, "rewards": rewards, "pays": problem.rewards}
    moves = "; ".join(f"{a} in {s} leads to {t}" for s, a, t in problem.known)
    if problem.known:
        belief["certain"] = problem.known
    rows = "\n".join(
        f"- {a} in {s}: {alpha:g} for each of {', '.join(problem.states)}" for s in table for a in table[s]
    )
    return say["dirichlet"].format(
        rows=rows,
        pays=say["pays-next" if problem.by_next else "pays"],
        rewards=", ".join(f"{r:g}" for r in problem.rewards),
        known=f" {say['known'].format(moves=moves)}" if moves else "",
        block=json_block(belief=belief),
    )


def _case_prior(say: Pieces, problem: FiniteProblem) -> str:
    return say["case"].format(rows="\n".join(f"- {p:.2f}: {cause}" for p, cause in problem.causes))


def _code_prior(say: Pieces, view: View, problem: FiniteProblem, worlds: bool) -> str:
    n, length = len(problem.actions), problem.horizon
    belief: dict[str, Json] = {"kind": "code", "symbols": "".join(problem.actions), "length": length, "marks": []}
    words = prior_support(view)
    if worlds:
        belief["candidates"] = list(words)
    if len(words) == perm(n, length):
        symbols = f"{problem.actions[0]} to {problem.actions[-1]}"
        return say["code"].format(length=length, symbols=symbols, block=json_block(belief=belief))
    return say["words"].format(length=length, block=json_block(belief=belief | {"words": True}))
