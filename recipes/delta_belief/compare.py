"""Ways to give credit on one task, at equal episodes: does ΔBelief pay? (ΔBelief-RL, table 1, for a tiny model.)

    python recipes/delta_belief/compare.py [--only ARM ...] [--quick] [--json] [--save]

The base model (`recipes/tiny`, 0.35 M weights) asks any question and has beliefs: it was trained on statements of the
truth too. Every arm trains it on its own play of the train split, with as many games for each seed:

    starpo          the outcome, for the whole game (the paper's baseline)
    delta_belief    ΔBelief-RL, equations 3 and 4: turn by turn; games that are over are left out
    published       the same with zeros in their place, as in the paper's code
    among           as delta_belief, belief as the truth's share among eight candidates
    outcome_turnwise, exact_turnwise    as delta_belief, without gains and with exact ones: what is due to belief
    to_go           the same rewards, each once, under `ReturnToGo`
    exact           as to_go, gains in bits of the exact posterior: what ΔBelief is an estimate of
    outcome_to_go   as to_go, no gains
    win, win_turnwise, win_belief       no penalties: starpo and delta_belief for the win alone, and with ΔBelief

Success is that of new games of the things that were secrets in training (40 of 64), and of the other 24, which the base
model knows as well, but which training teaches are never the secret.
"""

from __future__ import annotations

import common
from common import ARMS


def main() -> None:
    parser = common.make_parser(__doc__)
    parser.add_argument("--only", nargs="+", choices=ARMS, help="these arms, besides starpo")
    args = parser.parse_args()
    lab = common.lab_of(args)
    chosen = {name: arm for name, arm in ARMS.items() if name in ("starpo", *(args.only or ARMS))}
    found = {"base": common.test_base(lab), **common.run_arms(lab, chosen)}
    common.show_table(common.compare_models(found, "starpo"), "starpo", args, "table1")


if __name__ == "__main__":
    main()
