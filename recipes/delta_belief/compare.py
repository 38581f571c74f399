"""Compare credit assignment on one task at equal numbers of episodes: does ΔBelief pay? (ΔBelief-RL, table 1.)

    python recipes/delta_belief/compare.py [--only ARM ...] [--quick] [--json] [--save]

The base model (`recipes/tiny`, 0.35 M weights) asks any question and has beliefs, because it was also trained on
statements of the truth. Every arm trains it on its own play of the train split, with the same number of games per seed:

    starpo          the outcome, for the whole game (the paper's baseline)
    delta_belief    ΔBelief-RL, equations 3 and 4: per turn; finished games are left out
    published       the same with zeros for finished games, as in the paper's code
    among           as delta_belief, with the truth's share among eight candidates as the belief
    outcome_turnwise, exact_turnwise    as delta_belief, without gains and with exact gains: the effect of beliefs
    to_go           the same rewards, each once, under `ReturnToGo`
    exact           as to_go, with gains in bits of the exact posterior, which ΔBelief estimates
    outcome_to_go   as to_go, without gains
    win, win_turnwise, win_belief       without penalties: starpo and delta_belief for the win alone, and with ΔBelief

Success is that of new games of the training secrets (40 of 64 things), and of the other 24, which the base model knows
as well, but which by training are never the secret.
"""

from __future__ import annotations

import common
from common import ARMS


def main() -> None:
    parser = common.make_parser(__doc__)
    parser.add_argument("--only", nargs="+", choices=ARMS, help="these arms, besides starpo")
    args = parser.parse_args()
    lab = common.make_lab(args)
    chosen = {name: arm for name, arm in ARMS.items() if name in ("starpo", *(args.only or ARMS))}
    found = {"base": common.test_base(lab), **common.run_arms(lab, chosen)}
    common.show_table(common.compare_models(found, "starpo"), "starpo", args, "table1")


if __name__ == "__main__":
    main()
