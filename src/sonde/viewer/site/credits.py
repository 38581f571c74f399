"""What a training made of an episode that it played: the reward of every turn and its advantage over the group.

A run folder kept by online training says in its configuration how it was credited, so the numbers are computed again
from the record (`train.rewards`, `train.credit`). Where a model or a filter brought a part of the reward, or a critic
the credit, they are not on record, and nothing is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from sonde.core import Trajectory, UserError
from sonde.train import credit
from sonde.train.rewards import RECORDED, RewardMix, named_rewards

from .library import Shelf

ESTIMATORS = {
    kind.__name__: kind for kind in (credit.GroupRelative, credit.TurnWise, credit.ReturnToGo, credit.Progress)
}
"""Those that need nothing but rewards."""


class Credit(NamedTuple):
    """Of a turn: what was learned from, and what it is above the group's."""

    reward: float
    advantage: float


def credited(shelf: Shelf, t: Trajectory) -> list[Credit]:
    """One for every turn; none for an episode that no training played, or whose credit cannot be computed again."""
    made = _settings(shelf.config.get("online"))
    if made is None or t.error:
        return []
    mix, estimator = made
    valid = "task = ? AND seed = ? AND error = '' AND kind != 'error'"
    same = shelf.run.trajectories.where(valid, t.task.id, t.seed, order="sample")
    group = list(same)
    mine = next((i for i, other in enumerate(group) if other.id == t.id), None)
    if mine is None:
        return []
    rewards = [mix(named_rewards(other)) for other in group]
    advantages = estimator({"group": rewards})["group"]
    return [Credit(float(r), float(a)) for r, a in zip(rewards[mine], advantages[mine], strict=True)]


def _settings(online: Any) -> tuple[RewardMix, credit.Estimator] | None:
    if not isinstance(online, Mapping) or online.get("rewarders"):
        return None
    named, how = online.get("rewards"), online.get("credit")
    if not isinstance(named, Mapping) or not isinstance(how, Mapping) or how.get("is") not in ESTIMATORS:
        return None
    weights = {name: weight for name, weight in named.items() if name != "every"}
    every = named.get("every") or {}
    if not {*weights, *every} <= set(RECORDED):
        return None
    try:
        kind: Any = ESTIMATORS[how["is"]]
        return RewardMix(weights, every), kind(**{k: v for k, v in how.items() if k != "is"})
    except (TypeError, UserError):  # settings of another version of sonde
        return None
