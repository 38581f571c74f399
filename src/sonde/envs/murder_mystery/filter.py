"""The exact model of a murder mystery: the evidence about each person, and the posterior over the culprit.

Inspired by the murder-mystery task group of PAPRIKA (arXiv:2502.17543, appendix B.4.4), where a language model plays
the world. This model is ours: it derives the culprit by probability instead of judgement.

- The culprit is drawn first: with probability 0.18 a witness, otherwise a suspect, uniform within the group.
- Every person has one value per *channel* (alibi, trace, ...): `CLEARS`, `OPEN` or `IMPLICATES`. Vectors of different
  people are independent: from P_innocent, or P_culprit for the culprit. Both are products of `_WEIGHTS` restricted to
  their supports. An innocent has at least one clearing value on a *solid* channel (motive and slip are not solid); the
  culprit has none, and at least two implicating values. The supports are disjoint, so full evidence always decides.
- The trace is the only channel that needs two observations. Its mark at the scene is uniform over `marks` kinds; a
  person has the same mark (implicates), another one, uniformly (clears), or nobody can tell (open). A trace is open
  with probability 0.2 for everybody, so neither the mark nor one person's trait alone carries information about the
  culprit. Two people's traits carry a little even before the mark is seen, because they agree or not; the posterior
  counts this, because it sums over the mark.

An observation is a mapping from *slots* to values. For everything but unmatched traits the posterior is prior(i) *
P_culprit(seen of i) / P_innocent(seen of i), normalised.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from math import prod
from typing import Literal, NamedTuple

from sonde.core import entropy

Channel = Literal["alibi", "trace", "access", "motive", "sighting", "slip"]
Vector = tuple[int, ...]
"""One value per channel of the model; -1 for an unknown one."""

CHANNELS: tuple[Channel, ...] = ("alibi", "trace", "access", "motive", "sighting", "slip")
SOLID: frozenset[Channel] = frozenset(("alibi", "trace", "access", "sighting"))
"""Channels that never clear the culprit."""

CLEARS, OPEN, IMPLICATES = 0, 1, 2
VALUES = ("clears", "open", "implicates")
WITNESS = 0.18
"""Probability that the culprit is one of the witnesses."""
SOURCE = -1
"""The "person" of the mark at the scene, in a slot."""

_OPEN_TRACE = 0.2
_WEIGHTS: Mapping[Channel, tuple[tuple[int, int, int], tuple[int, int, int]]] = {
    "alibi": ((35, 40, 25), (0, 45, 55)),
    "trace": ((60, 20, 40), (0, 20, 80)),
    "access": ((25, 35, 40), (0, 35, 65)),
    "motive": ((30, 35, 35), (10, 35, 55)),
    "sighting": ((25, 45, 30), (0, 50, 50)),
    "slip": ((25, 55, 20), (10, 50, 40)),
}
"""Weights of clears, open, implicates for an innocent person and for the culprit, before restriction to the
supports."""


class Slot(NamedTuple):
    """Something to learn: a person's value on a channel; the person's mark, or `marks` if nobody can tell it (channel
    "trace"); the mark at the scene (person `SOURCE`, channel "trace"); or, if a wrong accusation does not end the game,
    whether an accusation of the person was right, 0 or 1 (channel "accused")."""

    person: int
    channel: Channel | Literal["accused"]


MARK = Slot(SOURCE, "trace")
Seen = Mapping[Slot, int]


class Truth(NamedTuple):
    """The hidden part of a case: the culprit, one vector per person, the mark at the scene, and everybody's own
    mark."""

    culprit: int
    vectors: tuple[Vector, ...]
    mark: int
    traits: tuple[int, ...]


def is_allowed(channels: Sequence[Channel], vector: Vector, guilty: bool) -> bool:
    """Whether the culprit, or an innocent person, can have this vector."""
    cleared = any(v == CLEARS and c in SOLID for c, v in zip(channels, vector, strict=True))
    return not cleared and vector.count(IMPLICATES) >= 2 if guilty else cleared


@lru_cache(maxsize=64)
def channel_vectors(channels: tuple[Channel, ...], guilty: bool) -> Mapping[Vector, float]:
    """P_culprit or P_innocent: every vector of its support with its probability."""
    found: dict[Vector, float] = {}
    for vector in product(range(3), repeat=len(channels)):
        weight = prod(_WEIGHTS[c][guilty][v] for c, v in zip(channels, vector, strict=True))
        if weight and is_allowed(channels, vector, guilty):
            found[vector] = weight
    trace = channels.index("trace")
    total = {is_open: sum(w for v, w in found.items() if (v[trace] == OPEN) is is_open) for is_open in (True, False)}
    share = {True: _OPEN_TRACE / total[True], False: (1 - _OPEN_TRACE) / total[False]}
    return {v: w * share[v[trace] == OPEN] for v, w in found.items()}


@lru_cache(maxsize=8192)
def marginal_probability(channels: tuple[Channel, ...], guilty: bool, partial: Vector) -> float:
    """The probability of the given values, summed over the channels at -1."""
    known = [(i, v) for i, v in enumerate(partial) if v >= 0]
    return sum(p for vector, p in channel_vectors(channels, guilty).items() if all(vector[i] == v for i, v in known))


@dataclass(frozen=True)
class CaseModel:
    """The distribution of everything hidden in a case with these sizes. People are numbered, suspects first."""

    channels: tuple[Channel, ...]
    suspects: int
    witnesses: int
    marks: int

    @property
    def people_count(self) -> int:
        return self.suspects + self.witnesses

    @cached_property
    def prior(self) -> tuple[float, ...]:
        """The probability that each person is the culprit."""
        suspect, witness = (1 - WITNESS) / self.suspects, WITNESS / self.witnesses
        return (suspect,) * self.suspects + (witness,) * self.witnesses

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """Everything that can be learned."""
        return (MARK, *(Slot(p, c) for p in range(self.people_count) for c in self.channels))

    def size(self, slot: Slot) -> int:
        """The number of values of a slot."""
        return 3 if slot.channel != "trace" else self.marks + (slot.person != SOURCE)

    def draw_truth(self, rng: random.Random) -> Truth:
        """A truth from the distribution."""
        culprit = rng.choices(range(self.people_count), self.prior)[0]
        drawn = [self._draw_vector(rng, p == culprit) for p in range(self.people_count)]
        mark, trace = rng.randrange(self.marks), self.channels.index("trace")
        traits = [self._draw_trait(rng, vector[trace], mark) for vector in drawn]
        return Truth(culprit, tuple(drawn), mark, tuple(traits))

    def _draw_vector(self, rng: random.Random, guilty: bool) -> Vector:
        table = channel_vectors(self.channels, guilty)
        return rng.choices(list(table), list(table.values()))[0]

    def _draw_trait(self, rng: random.Random, value: int, mark: int) -> int:
        other = rng.choice([m for m in range(self.marks) if m != mark])
        return (other, self.marks, mark)[value]

    def slot_value(self, truth: Truth, slot: Slot) -> int:
        """The true value of a slot."""
        if slot == MARK:
            return truth.mark
        if slot.channel == "trace":
            return truth.traits[slot.person]
        return truth.vectors[slot.person][self.channels.index(slot.channel)]

    def truth_prob(self, truth: Truth) -> float:
        """The probability of a truth; 0.0 if it is impossible, including one of wrong sizes."""
        people, trace = range(self.people_count), self.channels.index("trace")
        if truth.culprit not in people or not len(truth.vectors) == len(truth.traits) == self.people_count:
            return 0.0
        p = self.prior[truth.culprit] / self.marks if truth.mark in range(self.marks) else 0.0
        for i in people:
            vector = truth.vectors[i]
            p *= channel_vectors(self.channels, i == truth.culprit).get(vector, 0.0)
            p *= self._trait_prob(vector[trace], truth.traits[i], truth.mark) if p else 0.0
        return p

    def _trait_prob(self, value: int, trait: int, mark: int) -> float:
        """The probability of a person's mark, given the value of their trace and the mark at the scene."""
        if value == CLEARS:
            return 1 / (self.marks - 1) if trait in range(self.marks) and trait != mark else 0.0
        return float(trait == (self.marks if value == OPEN else mark))

    def joint_weights(self, seen: Seen) -> tuple[float, ...]:
        """The joint probability of each person being the culprit and of all observations."""
        mark = seen.get(MARK)
        compared = any(s.channel == "trace" and s != MARK and v < self.marks for s, v in seen.items())
        # An unseen mark matters only if somebody's own mark is known; a seen one was one of `marks`.
        rows = [
            self._compute_joint(seen, m) for m in (range(self.marks) if compared and mark is None else (mark or 0,))
        ]
        share = 1.0 if mark is None and not compared else 1 / self.marks
        return tuple(share * sum(column) for column in zip(*rows, strict=True))

    def _compute_joint(self, seen: Seen, mark: int) -> list[float]:
        people = range(self.people_count)
        innocent = [self._person_weight(seen, p, mark, False) for p in people]
        guilty = [self._person_weight(seen, p, mark, True) for p in people]
        verdicts = [(slot.person, right) for slot, right in seen.items() if slot.channel == "accused"]
        return [
            self.prior[i] * guilty[i] * prod(innocent[p] for p in people if p != i)
            if all((p == i) == bool(right) for p, right in verdicts)
            else 0.0
            for i in people
        ]

    def _person_weight(self, seen: Seen, person: int, mark: int, guilty: bool) -> float:
        """The probability of the observations of one person, given the mark at the scene."""
        partial = [seen.get(Slot(person, c), -1) for c in self.channels]
        trait, trace = seen.get(Slot(person, "trace"), -1), self.channels.index("trace")
        if trait >= 0:
            partial[trace] = OPEN if trait == self.marks else IMPLICATES if trait == mark else CLEARS
        share = 1 / (self.marks - 1) if partial[trace] == CLEARS else 1.0
        return share * marginal_probability(self.channels, guilty, tuple(partial))

    def likelihood(self, seen: Seen) -> tuple[float, ...]:
        """The probability of the observations under each culprit."""
        return tuple(j / p for j, p in zip(self.joint_weights(seen), self.prior, strict=True))

    def posterior(self, seen: Seen) -> tuple[float, ...]:
        """The probability that each person is the culprit. Raises ValueError if no truth fits the observations."""
        joint = self.joint_weights(seen)
        total = sum(joint)
        if total <= 0.0:
            raise ValueError(f"no culprit fits the revealed values: {dict(seen)}")
        return tuple(j / total for j in joint)

    def slot_outcomes(self, seen: Seen, slots: Sequence[Slot]) -> dict[tuple[int, ...], tuple[float, ...]]:
        """Map the possible observations of these slots to the joint probabilities after them."""
        fixed = [(seen[s],) if s in seen else range(self.size(s)) for s in slots]
        found = {row: self.joint_weights({**seen, **dict(zip(slots, row, strict=True))}) for row in product(*fixed)}
        return {row: joint for row, joint in found.items() if sum(joint) > 0.0}

    def expected_gain(self, seen: Seen, slots: Sequence[Slot]) -> float:
        """The expected information about the culprit, in bits, of observing these slots."""
        if all(s in seen for s in slots):
            return 0.0
        rows = self.slot_outcomes(seen, slots).values()
        total = sum(map(sum, rows))
        after = sum(sum(row) / total * entropy(j / sum(row) for j in row) for row in rows)
        return max(0.0, entropy(self.posterior(seen)) - after)
