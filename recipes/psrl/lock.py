"""Section 4.3: the combination lock, 3 distinct digits, K = 8 sub-episodes. Classic agents, no model.

    python recipes/psrl/lock.py [--trials 1440] [--quick] [--json]

The paper computes the Bayes-optimal policy and plots it beside its language-model agents (figure 7), without numbers.
Of uniform choice it says that it opens the lock with less than 0.14 % per attempt: 1/720 among codes of distinct
digits, or 1/1000 where the digits of an attempt may repeat, as here. By default each of the 720 codes is played
twice, so that the Bayes-optimal policy is measured exactly. `solved`: share of locks opened in eight attempts; `in`:
mean attempts of those.
"""

from __future__ import annotations

from common import PAPER, arguments, measure, show

import sonde
from sonde.envs.combination_lock.solver import expected_sub_episodes

AGENTS = {
    "random": ("uniform", "< 0.14 % per attempt"),
    "combination_lock": ("Bayes-optimal", "plotted (figure 7)"),
    "psrl": ("posterior sampling", "as LLM agent (figure 7)"),
    "ids": ("information-directed", "as LLM agent below PSRL (figure 18)"),
    "entropy": ("most information", "not shown"),
}


def main() -> None:
    args, env = arguments(__doc__, trials=1440), sonde.make("combination_lock")
    rows = [
        measure(env, label, sonde.make(f"agents:{name}"), args, (2, 4, 8), paper)
        for name, (label, paper) in AGENTS.items()
    ]
    chance = 1.0 - (1.0 - (rows[0].more["solved"] or 0.0)) ** (1 / 8)
    notes = [
        f"Bayes-optimal, computed: {expected_sub_episodes():.4f} sub-episodes in expectation.",
        f"Uniform play: {100 * chance:.3f} % per attempt measured, 0.1 % by hand.",
    ]
    show(f"{PAPER}, figure 7: combination lock", rows, args, notes)


if __name__ == "__main__":
    main()
