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
from common import ARMS, PENALTIES

from sonde.train.credit import GroupRelative, ReturnToGo, TurnWise
from sonde.train.rewarders import BeliefGain, ExactGain
from sonde.train.training import Training

CREDITS = {GroupRelative: "whole game", TurnWise: "turn by turn", ReturnToGo: "return-to-go"}
GAINS = {BeliefGain: "ΔBelief", ExactGain: "exact"}


def main() -> None:
    parser = common.make_parser(__doc__)
    parser.add_argument("--only", nargs="+", choices=ARMS, help="these arms, besides starpo")
    args = parser.parse_args()
    lab = common.make_lab(args)
    chosen = {name: arm for name, arm in ARMS.items() if name in ("starpo", *(args.only or ARMS))}
    found = {"base": common.test_base(lab), **common.run_arms(lab, chosen)}
    about = {"arm": ("credit", "penalties", "gains"), **{name: describe_arm(arm()) for name, arm in chosen.items()}}
    common.show_table(common.compare_models(found, "starpo"), "starpo", args, "table1", about)


def describe_arm(arm: Training) -> tuple[str, str, str]:
    """An arm's credit, whether it has penalties, and the gains that it is paid for."""
    credit = CREDITS[type(arm.online.credit)]
    padded = ", padded" if isinstance(arm.online.credit, TurnWise) and arm.online.credit.rules == "code" else ""
    gains = ", ".join(GAINS[type(rewarder)] for rewarder in arm.online.rewarders)
    among = [r.among for r in arm.online.rewarders if isinstance(r, BeliefGain) and r.among is not None]
    penalised = PENALTIES.keys() <= arm.online.rewards.weights.keys()
    return credit + padded, "yes" if penalised else "no", "".join([gains or "none", *(f" among {n}" for n in among)])


if __name__ == "__main__":
    main()
