"""Appendix F: the informative-action bandit of Russo and Van Roy (2018, example 2), 11 arms. IDS and Thompson sampling.

    python recipes/psrl/informative.py [--trials 1000] [--quick] [--json]

Arm 0 pays 1/(2 A*) and so tells which of the arms 1 to 10 is the best; no posterior sampler ever pulls it. Figures 16
and 17: language-model IDS explores optimally, its regret is the one of a single informative pull; PSRL's is not. By
hand, over the prior: IDS loses 1 - (1/20) (1 + 1/2 + ... + 1/10) = 0.8536 once; Thompson sampling tries the arms in
random order, 4.5 wrong ones on average. The paper leaves T open; 20 here.
"""

from __future__ import annotations

from common import PAPER, arguments, measure, show

import sonde

AGENTS = {
    "random": ("uniform", "not shown"),
    "psrl": ("Thompson, true prior", "as LLM agent: no informative pull"),
    "ids": ("information-directed", "as LLM agent: one, then optimal"),
}


def main() -> None:
    args, env = arguments(__doc__), sonde.make("bernoulli_bandit", preset="informative")
    rows = [
        measure(env, label, sonde.make(f"agents:{name}"), args, (1, 5, 20), paper)
        for name, (label, paper) in AGENTS.items()
    ]
    by_hand = 1.0 - sum(1.0 / (2 * best) for best in range(1, 11)) / 10
    notes = [f"By hand: {by_hand:.4f} for one informative pull; 4.5 for Thompson sampling."]
    show(f"{PAPER}, figures 16 and 17: informative-action bandit, 11 arms, T = 20", rows, args, notes)


if __name__ == "__main__":
    main()
