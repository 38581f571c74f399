"""Information losses: the expected gain of the best question at each turn, minus that of the agent's question.

At each belief the best question has an expected gain of `best` bits and the action played one of `expected`
(`core.belief`). The difference is lost, for one of four causes. Sums over turns are means per episode, so an agent
whose episodes end early could gain fewer bits in total; what it never asked about remains as entropy at the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sonde.core import Gain
from sonde.evaluation.rows import Row

CAUSES = {
    "poor": "poorer question",
    "nothing": "no information",
    "invalid": "invalid",
    "unreadable": "no answer",
}
"""Causes in stacking order, with their names on the page."""
MEANINGS = {
    "poor": "a valid question with a lower expected gain than the best one",
    "nothing": "a valid question with an expected gain of 0: a repetition, or a move made to win",
    "invalid": "an answer that the rules do not allow; it costs the turn",
    "unreadable": "no answer could be read; it ends the episode",
}
_INVALID = ("invalid", "outside")
_NOTHING = 1e-9


def find_cause(gain: Gain, result: str) -> str:
    """Why a turn whose `info["result"]` is `result` lost bits; empty if it lost none.

    >>> find_cause(Gain(realised=0.0, truth=0.0, expected=0.0, best=2.0), "invalid")
    'invalid'
    """
    if lost_bits(gain) <= _NOTHING:
        return ""
    if result == "unreadable":
        return "unreadable"
    if result in _INVALID:
        return "invalid"
    return "poor" if (gain.expected or 0.0) > _NOTHING else "nothing"


def lost_bits(gain: Gain) -> float:
    """Expected gain of the best question minus that of the action played; 0 if they were not computed."""
    return max(0.0, (gain.best or 0.0) - (gain.expected or 0.0))


@dataclass(frozen=True)
class Losses:
    """Means per episode, in bits. `taken` and every entry of `lost` have one value per turn."""

    taken: tuple[float, ...]
    lost: Mapping[str, tuple[float, ...]]
    prior: float
    unknown: float
    """Posterior entropy when the episode ended."""

    @property
    def best_bits(self) -> float:
        return sum(self.taken) + sum(map(sum, self.lost.values()))

    @property
    def highest_turn(self) -> float:
        """The most bits of any turn."""
        return max(t + sum(values[i] for values in self.lost.values()) for i, t in enumerate(self.taken))


def compute_losses(rows: Sequence[Row], results: Mapping[str, Sequence[str]], max_turns: int) -> Losses | None:
    """The losses over all episodes; None (n/a) if no episode has gains.

    `results` gives `info["result"]` of every turn by trajectory id.
    """
    known = [(row.gains, row.entropy, results[row.trajectory]) for row in rows if row.gains is not None and row.entropy]
    if not known:
        return None
    turns = max([max_turns, *(len(gains) for gains, _, _ in known)])
    taken, missed = [0.0] * turns, {name: [0.0] * turns for name in CAUSES}
    for gains, _, said in known:
        for t, (gain, result) in enumerate(zip(gains, said, strict=False)):  # a turn that broke off has no gain
            taken[t] += (gain.expected or 0.0) / len(known)
            if why := find_cause(gain, result):
                missed[why][t] += lost_bits(gain) / len(known)
    return Losses(
        tuple(taken),
        {name: tuple(values) for name, values in missed.items()},
        sum(entropy[0] for _, entropy, _ in known) / len(known),
        sum(entropy[-1] for _, entropy, _ in known) / len(known),
    )
