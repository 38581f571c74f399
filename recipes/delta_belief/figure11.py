"""The components of a turn's reward (ΔBelief-RL, figure 11, for a tiny model).

    python recipes/delta_belief/figure11.py [--quick] [--json] [--save]

All of equation 3; equation 3 without each of its parts (ΔBelief, the cost of a turn, of a repeated and of an invalid
question); and the win alone. Otherwise as `delta_belief` in `compare.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import common
from common import END, PENALTIES, delta_belief, with_online

from sonde.train.rewards import RewardMix
from sonde.train.training import Training

WHOLE = "delta_belief"
TURNS = {"belief": 0.1, **PENALTIES}


def mix_rewards(turns: Mapping[str, float], every: Mapping[str, float]) -> Training:
    """Equation 3 of these rewards."""
    training = with_online(delta_belief(), rewards=RewardMix(dict(turns), every=dict(every)))
    return training if "belief" in turns else with_online(training, rewarders=())


def drop_reward(name: str) -> Training:
    return mix_rewards({k: v for k, v in TURNS.items() if k != name}, {k: v for k, v in END.items() if k != name})


ARMS: Mapping[str, Callable[[], Training]] = {
    WHOLE: delta_belief,
    "outcome_turnwise": partial(drop_reward, "belief"),
    **{f"no-{name}": partial(drop_reward, name) for name in ("extra_turns", "repeated", "invalid")},
    "win_turnwise": lambda: mix_rewards({}, {"success": 2.0}),
}


def main() -> None:
    args = common.make_parser(__doc__).parse_args()
    lab = common.make_lab(args)
    found = {"base": common.test_base(lab), **common.run_arms(lab, ARMS)}
    common.show_table(common.compare_models(found, WHOLE), WHOLE, args, "figure11")


if __name__ == "__main__":
    main()
