"""Section 4.1.1 and appendix B.1: the Bernoulli bandit of 5 arms (0.6 and 0.4), T = 100. Classic agents, no model.

    python recipes/psrl/bandit.py [--trials 1000] [--quick] [--json]

The paper's figure 4 shows Thompson sampling from Beta(1, 1) over 1,000 trials; figures 9 to 11 its suffix failures
(the best arm is never pulled again) and scaled minimum action frequency. It prints no numbers. Uniform play is exact
by hand: 0.2 * 4/5 = 0.16 a pull. `late` is the mean regret of the last five pulls.
"""

from __future__ import annotations

import argparse

from common import PAPER, arguments, measure, play, show

import sonde
from sonde.evaluation import regret

AGENTS = {
    "random": ("uniform", "0.16 a pull, by hand"),
    "ucb1": ("UCB1", "not shown"),
    "epsilon_greedy": ("epsilon-greedy (0.1)", "not shown"),
    "thompson": ("Thompson, Beta(1, 1)", "plotted, 1,000 trials (figure 4)"),
    "psrl": ("Thompson, true prior", "not shown"),
}


def surrogates(env: sonde.Env[object], args: argparse.Namespace) -> list[str]:
    """The two curves of appendix B.1 for Thompson sampling, at four periods."""
    report = regret.bandit_report(env, play(env, sonde.make("agents:thompson"), args.trials, args.seed))
    lines = ["", f"Thompson sampling    {'suffix failures':>18}{'min frequency x 5':>20}"]
    for t in (25, 50, 75, 100):
        failed, least = report.suffix_failures, report.minimum_action_frequency
        lines.append(f"  period {t:<14}{failed.mean[t - 1]:18.3f}{least.mean[t - 1]:20.3f}")
    return lines


def main() -> None:
    args, env = arguments(__doc__), sonde.make("bernoulli_bandit")
    rows = [
        measure(env, label, sonde.make(f"agents:{name}"), args, (25, 50, 100), paper)
        for name, (label, paper) in AGENTS.items()
    ]
    notes = [] if args.json else surrogates(env, args)
    show(f"{PAPER}, figure 4: Bernoulli bandit, 5 arms, gap 0.2, T = 100", rows, args, notes)


if __name__ == "__main__":
    main()
