"""Rewards per turn: named arrays, and weighted mixes of them. Pure functions of the record, numpy only.

    named = named_rewards(trajectory)                       # {"env": ..., "success": ..., "turns": ..., ...}
    per_turn = RewardMix({"success": 1.0, "turns": -0.02})(named)

Rewards that need a model or the environment (`belief`, `exact_gain`, ...) come from a `Rewarder` (`rewarders.py`) under
their own names; a mix weights them like any other.

**ΔBelief-RL** (section 3.2, equation 3): r_t = end + 0.1 max(gain_t, 0) + penalties of the turn, where `end` is 2 for a
win minus 0.05 for every turn of the game (none for a game of one turn), *added in full to every turn*; that every turn
carries the length of the whole game appears only in the code. Invalid questions cost 5, repeated ones 1. The winning
turn has no gain. The paper's baseline `StarPO` sums the same rewards without gains, `end` once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sonde._util.argument_checks import Checked
from sonde._util.frozen import Frozen, as_frozen
from sonde.core import AGENT, EMPTY, Trajectory, invalid, unknown
from sonde.core.types import Json
from sonde.evaluation.per_turn import CALLED, marked_turns

from .credit import Values

RECORDED = (
    "env", "turns", "extra_turns", "invalid", "repeated", "success", "loss", "unreadable", "out_of_turns", "score",
)  # fmt: skip
"""Names of rewards computed from the record alone."""


def named_rewards(trajectory: Trajectory) -> dict[str, Values]:
    """The reward arrays of a trajectory for mixing, by name, one number per turn.

    `env`: the environment's own reward (any before the first turn counts for the first). `turns`: 1 per turn;
    `extra_turns`: the same, but 0 in a game of one turn. `invalid`, `repeated`: 1 on turns that the environment marked
    so. On the last turn only: `success`, 1 if won (and confirmed by a judge, where there is one); `loss`, `unreadable`
    and `out_of_turns`, 1 for that outcome; `score`, the outcome's.
    """
    turns, outcome = trajectory.turns, trajectory.outcome
    n, kind = len(turns), outcome.kind if outcome else "error"
    said = marked_turns(trajectory)
    return {
        "env": np.array(turn_rewards(trajectory), np.float64),
        "turns": np.ones(n),
        "extra_turns": np.full(n, float(n > 1)),
        **{name: np.array([float(t in said.get(name, ())) for t in range(n)]) for name in CALLED},
        "success": _on_last_turn(n, float(outcome is not None and outcome.success)),
        **{name: _on_last_turn(n, float(kind == name)) for name in ("loss", "unreadable", "out_of_turns")},
        "score": _on_last_turn(n, outcome.score if outcome else 0.0),
    }


def turn_rewards(t: Trajectory, seat: str = AGENT) -> tuple[float, ...]:
    """The seat's reward per turn. Rewards from acts before the first turn count for the first."""
    rewards = [float(turn.rewards.get(seat, 0.0)) for turn in t.turns]
    early = sum(act.rewards.get(seat, 0.0) for act in t.opening)
    if rewards and early:
        rewards[0] += early
    return tuple(rewards)


def _on_last_turn(n: int, value: float) -> Values:
    values = np.zeros(n)
    values[-1:] = value
    return values


_PENALTIES: Mapping[str, float] = {"invalid": -5.0, "repeated": -1.0}
_END: Mapping[str, float] = {"success": 2.0, "extra_turns": -0.05}
_PUBLISHED: Mapping[str, tuple[Mapping[str, float], Mapping[str, float]]] = {
    "success": ({"success": 1.0}, {}),  # PAPRIKA: only success counts
    "delta_belief": ({**_PENALTIES, "belief": 0.1}, _END),
    "starpo": ({**_END, **_PENALTIES}, {}),
    "igpo": ({"success": 1.0, "unreadable": -2.0, "probability_gain": 1.0}, {}),  # IGPO, equation 5 and its code
    "env": ({"env": 1.0}, {}),  # LMRL-Gym: the environment's return
}


@dataclass(frozen=True)
class RewardMix(Checked):
    """A weighted sum of named reward arrays; the recorded rewards of the environment stay unchanged. Rewards in `every`
    are summed over the game and added to each of its turns.

    >>> RewardMix({"success": 1.0, "turns": -0.02})({"success": [0, 1], "turns": [1, 1]}).tolist()
    [-0.02, 0.98]
    >>> RewardMix({"turns": -0.02}, every={"success": 1.0})({"success": [0, 1], "turns": [1, 1]}).tolist()
    [0.98, 0.98]
    """

    called = "rewards"

    weights: Mapping[str, float] = field(default_factory=lambda: Frozen(_PUBLISHED["success"][0]))
    every: Mapping[str, float] = EMPTY

    def __post_init__(self) -> None:
        for name, weight in (*self.weights.items(), *self.every.items()):
            if not np.isfinite(weight):
                raise invalid(f"rewards: {name}", weight, "a finite number")
        if not (self.weights or self.every):
            raise invalid("rewards", dict(self.weights), "at least one name with its weight")
        object.__setattr__(self, "weights", as_frozen(self.weights))
        object.__setattr__(self, "every", as_frozen(self.every))

    @classmethod
    def from_paper(cls, name: str) -> RewardMix:
        """`success` (PAPRIKA), `delta_belief` (ΔBelief-RL, equation 3; `belief` needs shaping, see `BeliefGain`),
        `starpo` (the same without beliefs, per game), `igpo` (`train.igpo`) or `env` (LMRL-Gym)."""
        if name not in _PUBLISHED:
            raise unknown("rewards", name, _PUBLISHED)
        return cls(*_PUBLISHED[name])

    @property
    def names(self) -> frozenset[str]:
        """The names of the arrays that are mixed."""
        return frozenset(self.weights) | frozenset(self.every)

    def to_json(self) -> dict[str, Json]:
        return {**self.weights, **({"every": dict(self.every)} if self.every else {})}

    def total_reward(self, named: Mapping[str, Sequence[float] | Values]) -> float:
        """The total reward of a game: the sum over its turns, with the rewards in `every` counted once.

        >>> RewardMix({"turns": -0.5}, every={"success": 2.0}).total_reward({"success": [0, 1], "turns": [1, 1]})
        1.0
        """
        both = (*self.weights.items(), *self.every.items())
        return float(sum(weight * self._find_array(name, named).sum() for name, weight in both))

    def __call__(self, named: Mapping[str, Sequence[float] | Values]) -> Values:
        """The reward per turn. `named` comes from `named_rewards`, with any further arrays (gains, say) added."""
        arrays = [weight * self._find_array(name, named) for name, weight in self.weights.items()]
        for name, weight in self.every.items():
            array = self._find_array(name, named)
            arrays.append(np.full(len(array), weight * array.sum()))
        lengths = sorted({len(a) for a in arrays})
        if len(lengths) > 1:
            raise invalid("rewards: lengths", lengths, "one number per turn in every array")
        return np.sum(arrays, axis=0)

    def _find_array(self, name: str, named: Mapping[str, Sequence[float] | Values]) -> Values:
        if name not in named:
            raise unknown("rewards", name, named)
        return np.asarray(named[name], np.float64)
