"""The exact posterior if a message splits the hypotheses by their true reply: one bit mask per reply.

Every hypothesis has one true reply to every message, or none that is known. Likelihood of a reply r under a hypothesis
with the true reply t: 1 if r = t, otherwise rho = e / (1 - e) with the `error_rate` e (so e is the probability of a
wrong reply to a yes/no question).

A knowledge base has gaps, and which ones is no fact about the world. So by default (`evidence="answers"`) a reply that
gives no answer (`SILENT`) says nothing about the hypothesis, and a hypothesis without a known reply gives the replies
as often as the others do on average: with the share s(r) of r among the hypotheses of the prior whose reply is known,
its likelihood is s(r) + (1 - s(r)) rho. An answer thus tells nothing about whether the hypothesis has a gap. The
expected gain counts silence too: a message remains without an answer with probability u, the mass of the hypotheses
without a known reply, whatever the hypothesis. A message that splits the hypotheses as an earlier one did tells nothing
new. That the game goes on is evidence under every reply: with G the hypotheses that would have ended it, of mass g,

    gain = h(g) + (1 - g - u) I(hypothesis; reply | not G)        h: entropy of one bit

With `evidence="silences"` being silent is a reply like any other, as this program's own user gives it: it excludes the
hypotheses whose reply is known. Only an asker who knows the gaps by heart can use that.

A reply that no hypothesis gives, or at rate 0 none of the remaining ones, comes from a user that the filter does not
model; it changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from sonde.core import UNCLEAR, UNKNOWN, Belief, Filter, Turn, unknown
from sonde.core.belief import KEPT, Successors

from .dialogue import GOAL

Floats = npt.NDArray[np.float64]
Split = Mapping[str, int]
"""Maps a reply to the mask of the hypotheses whose true reply it is. The masks are disjoint and cover all
hypotheses."""
EVIDENCE = ("answers", "silences")
"""What the posterior counts: answers alone, or silences too."""
SILENT = frozenset((UNKNOWN, UNCLEAR))
"""Replies that give no answer."""


def check_evidence(env: str, value: str) -> None:
    """Raise an error for a value that is not in `EVIDENCE`."""
    if value not in EVIDENCE:
        raise unknown(f"{env}: evidence", value, EVIDENCE)


class Answers(Protocol):
    """A set of hypotheses with their replies, and the questions worth asking."""

    @property
    def names(self) -> Sequence[Any]:
        """The hypotheses; bit i of a mask is the i-th."""
        ...

    @property
    def questions(self) -> Sequence[str]:
        """Questions (legal answers in the sense of `Env.actions`) that may split the hypotheses, excluding guesses."""
        ...

    def split(self, said: str) -> Split:
        """Map each true reply to a message to its hypotheses. The implementation caches it."""
        ...

    def guess(self, index: int) -> str:
        """The answer that proposes a hypothesis."""
        ...


class _Prior:
    """What all posteriors of one game share: the hypotheses with prior mass, their replies, and the likelihoods."""

    def __init__(self, answers: Answers, say: Any, error_rate: float, pool: int, evidence: str) -> None:
        self.answers, self.say, self.rho = answers, say, error_rate / (1.0 - error_rate)
        self.members = np.array(mask_bits(pool), dtype=np.int64)
        self.silent = SILENT if evidence == "answers" else frozenset[str]()
        self._coded: dict[str, _Coded] = {}

    def code(self, said: str) -> _Coded:
        """The replies to a message, by number."""
        found = self._coded.get(said)
        if found is None:
            if len(self._coded) >= 4 * KEPT:
                self._coded.clear()
            found = self._coded[said] = self._code_split(self.answers.split(said))
        return found

    def _code_split(self, split: Split) -> _Coded:
        replies = [reply for reply in split if reply not in self.silent and reply != GOAL]
        codes = np.zeros(len(self.members), dtype=np.int64)
        for number, reply in enumerate((GOAL, *replies), 1):
            codes[self._mask_flags(split.get(reply, 0))] = number
        count = np.bincount(codes, minlength=len(replies) + _HEAD)[_HEAD:].astype(float)
        return _Coded(replies, codes, count / max(count.sum(), 1.0))

    def _mask_flags(self, mask: int) -> npt.NDArray[np.bool_]:
        size = (len(self.answers.names) + 7) // 8
        bits = np.unpackbits(np.frombuffer(mask.to_bytes(size, "little"), np.uint8), bitorder="little")
        return bits[self.members].astype(bool)

    @cached_property
    def questions(self) -> _Questions:
        """The known questions that split the prior."""
        coded = {q: self._code_split(self.answers.split(q)) for q in self.answers.questions}
        return _Questions({q: found for q, found in coded.items() if found.splits})


_UNKNOWN, _GOAL, _HEAD = 0, 1, 2
"""Numbers of no known reply, of the end of the game, and of the first other reply."""


class _Coded:
    """The replies to a message: `codes[i]` is the number of hypothesis i's reply, `shares` are the shares of the
    replies among those that do not end the game."""

    def __init__(self, replies: Sequence[str], codes: npt.NDArray[np.int64], shares: Floats) -> None:
        self.replies, self.codes, self.shares = replies, codes, shares
        self.goal = codes == _GOAL

    @cached_property
    def splits(self) -> bool:
        """Whether a reply to the message can tell anything."""
        return len(self.replies) > 1 or 0 < int(self.goal.sum()) < len(self.codes)

    @cached_property
    def key(self) -> bytes:
        """Equal for messages that split the hypotheses alike, in whatever words and order of the replies."""
        found, first = np.unique(self.codes, return_index=True)
        order = [code for code in found[np.argsort(first)] if code >= _HEAD]
        rank = np.arange(len(self.replies) + _HEAD)
        rank[order] = range(_HEAD, len(order) + _HEAD)
        return blake2b(rank[self.codes].tobytes(), digest_size=16).digest()

    def likelihood(self, reply: str, rho: float) -> Floats:
        """The likelihood of a reply under every hypothesis; of one that is not known, whether the game goes on."""
        if reply == GOAL:
            return self.goal.astype(float)
        if reply not in self.replies:
            return 1.0 - self.goal
        number = self.replies.index(reply)
        table = np.full(len(self.replies) + _HEAD, rho)
        table[_UNKNOWN] = self.shares[number] + (1.0 - self.shares[number]) * rho
        table[_GOAL], table[number + _HEAD] = 0.0, 1.0
        return table[self.codes]


class _Questions:
    """The replies to all questions, numbered in one row: `offsets[q] + code` is the number of a reply to question q."""

    def __init__(self, coded: Mapping[str, _Coded]) -> None:
        self._coded, self.texts = coded, tuple(coded)
        sizes = [len(c.replies) + _HEAD for c in coded.values()]
        self.offsets = np.cumsum([0, *sizes])
        self.shares = np.array([share for c in coded.values() for share in (*[0.0] * _HEAD, *c.shares)])

    @cached_property
    def _given_HN(self) -> Floats:
        """1 where a hypothesis gives a reply, so that sums over the hypotheses are one product of matrices."""
        size = len(next(iter(self._coded.values())).codes) if self._coded else 0
        given_HN = np.zeros((size, int(self.offsets[-1])))
        for offset, coded in zip(self.offsets, self._coded.values(), strict=False):
            given_HN[np.arange(size), offset + coded.codes] = 1.0
        return given_HN

    @cached_property
    def _rows(self) -> Mapping[bytes, Sequence[int]]:
        """Key of a split -> the questions that make it."""
        rows: dict[bytes, list[int]] = {}
        for row, coded in enumerate(self._coded.values()):
            rows.setdefault(coded.key, []).append(row)
        return rows

    def gains(self, weights_BH: Floats, rho: float, asked: Sequence[Collection[bytes]]) -> Floats:
        """The expected gain in bits of every question, `(B, Q)`, for B rows of weights that sum to 1 each; 0 for the
        splits that row's `asked` names."""
        alive = np.flatnonzero(weights_BH.any(0))
        whole = 2 * len(alive) > weights_BH.shape[1]  # copying most of the table takes longer than reading all of it
        given_HN, w_BH = (self._given_HN, weights_BH) if whole else (self._given_HN[alive], weights_BH[:, alive])
        mass_BN, logs_BN = np.split(_round(np.concatenate([w_BH, _times_log(w_BH)])) @ given_HN, 2)
        found_BQ = _expected_gains(mass_BN, logs_BN, self.shares, self.offsets, rho)
        for row, keys in enumerate(asked):
            found_BQ[row, [question for key in keys for question in self._rows.get(key, ())]] = 0.0
        return found_BQ


def _expected_gains(
    mass_BN: Floats, logs_BN: Floats, shares: Floats, offsets: npt.NDArray[np.int64], rho: float
) -> Floats:
    """The expected gain per message, `(B, Q)`. `mass_BN` and `logs_BN` are the sums of w and of w log2 w over the
    hypotheses of each reply, for B rows of weights w that sum to 1; `offsets` says where the replies of each message
    begin."""
    first, sizes = offsets[:-1], np.diff(offsets)
    unknown, goal = mass_BN[:, first], mass_BN[:, first + _GOAL]
    rest, rest_logs = 1.0 - goal, _sum_replies(logs_BN, first) - logs_BN[:, first + _GOAL]
    u, u_logs = np.repeat(unknown, sizes, 1), np.repeat(logs_BN[:, first], sizes, 1)
    other, other_logs = np.repeat(rest, sizes, 1) - u - mass_BN, np.repeat(rest_logs, sizes, 1) - u_logs - logs_BN
    chance = shares + (1.0 - shares) * rho
    # sums of w L and of w L log2(w L) over the hypotheses that go on, for each reply
    joint = mass_BN + rho * other + chance * u
    inner = (
        logs_BN + rho * other_logs + chance * u_logs + _times_log(chance) * u + float(_times_log(np.array(rho))) * other
    )
    after = _times_log(joint) - inner
    for head in (first, first + _GOAL):
        joint[:, head] = after[:, head] = 0.0
    norm, left = _sum_replies(joint, first), np.maximum(rest, 1e-300)
    before = np.log2(left) - rest_logs / left
    gain = np.maximum(0.0, before - _sum_replies(after, first) / np.where(norm > 0.0, norm, 1.0))
    gain = np.where(norm > 0.0, gain, 0.0) * np.maximum(0.0, rest - unknown)
    return np.maximum(0.0, gain - _times_log(goal) - _times_log(rest))


def _sum_replies(values_BN: Floats, first: npt.NDArray[np.int64]) -> Floats:
    """The sum over the replies of each message."""
    return np.add.reduceat(values_BN, first, 1)


def _round(x: Floats) -> Floats:
    """Multiples of 2^-48, whose sums float64 holds exactly up to 32: they come out the same in any order, in batches of
    any size and on any machine. No sum is off by more than 2^-49 per hypothesis."""
    return np.rint(x * 2.0**48) * 2.0**-48


def _times_log(x: Floats) -> Floats:
    """x log2 x, 0 at 0."""
    return x * np.log2(np.where(x > 0.0, x, 1.0))


class PartitionFilter(Filter):
    """See the module. `pool` is the mask of the hypotheses with prior mass; by default all of them."""

    def __init__(
        self, answers: Answers, say: Any, error_rate: float = 0.0, pool: int | None = None, evidence: str = "answers"
    ) -> None:
        every = (1 << len(answers.names)) - 1
        prior = _Prior(answers, say, error_rate, every if pool is None else pool, evidence)
        self._start(prior, np.full(len(prior.members), 1.0 / len(prior.members)), frozenset())

    def _start(self, prior: _Prior, weights: Floats, asked: frozenset[bytes]) -> None:
        self._prior, self._weights, self._asked = prior, weights, asked
        self._successors = Successors[PartitionFilter]()
        self._best: tuple[str, float] | None = None
        self._entropy: float | None = None

    def _with_weights(self, weights: Floats, asked: frozenset[bytes]) -> PartitionFilter:
        found = PartitionFilter.__new__(PartitionFilter)
        found._start(self._prior, weights, asked)
        return found

    @property
    def answers(self) -> Answers:
        """The hypotheses with their replies."""
        return self._prior.answers

    def splits_alike(self, first: str, second: str) -> bool:
        """Whether two messages get the same reply as each other under every hypothesis, up to the replies' words."""
        return self._prior.code(first).key == self._prior.code(second).key

    def observe(self, turn: Turn) -> PartitionFilter:
        reply = turn.info.get("reply")
        if not isinstance(reply, str):
            return self
        return self._successors.find((turn.text, reply), lambda: self._observe_reply(turn.text, reply))

    def _observe_reply(self, said: str, reply: str) -> PartitionFilter:
        coded = self._prior.code(said)
        if not coded.splits or coded.key in self._asked:
            return self
        if reply not in (*coded.replies, *self._prior.silent, GOAL):
            return self
        weights = self._weights * coded.likelihood(reply, self._prior.rho)
        total = weights.sum()
        return self._with_weights(weights / total, self._asked | {coded.key}) if total > 0.0 else self

    # --- the posterior -----------------------------------------------------------------------------------------------

    def belief(self) -> Belief:
        alive = np.flatnonzero(self._weights)
        names = tuple(self.answers.names[i] for i in self._prior.members[alive].tolist())
        return Belief(names, tuple(self._weights[alive].tolist()), self.entropy)

    def prob(self, hypothesis: Any) -> float:
        try:
            index = self.answers.names.index(hypothesis)
        except ValueError:
            return 0.0
        return float(self._weights[self._prior.members == index].sum())

    @property
    def entropy(self) -> float:
        if self._entropy is None:
            self._entropy = max(0.0, -float(_times_log(self._weights).sum()))
        return self._entropy

    @property
    def lead(self) -> int:
        """The position of the most likely hypothesis, the first of equals."""
        return int(self._prior.members[np.argmax(self._weights > (1.0 - 1e-9) * self._weights.max())])

    # --- questions ---------------------------------------------------------------------------------------------------

    def expected_gain(self, action: str) -> float:
        coded = self._prior.code(action)
        if not coded.splits or coded.key in self._asked:
            return 0.0
        n, shares = len(coded.replies) + _HEAD, np.array([*[0.0] * _HEAD, *coded.shares])
        mass, logs = (
            np.bincount(coded.codes, _round(w), n).astype(np.float64)[None]
            for w in (self._weights, _times_log(self._weights))
        )
        return float(_expected_gains(mass, logs, shares, np.array([0, n]), self._prior.rho)[0, 0])

    def question_gains(self) -> Mapping[str, float]:
        """The expected gain of every known question."""
        gains_BQ = self._compute_question_gains([self])
        return dict(zip(self._prior.questions.texts, gains_BQ[0].tolist(), strict=True))

    def best_question(self) -> tuple[str, float]:
        return self.find_best_questions([self])[0]

    def find_best_questions(self, later: Sequence[Filter]) -> Sequence[tuple[str, float]]:
        mine = cast("Sequence[PartitionFilter]", later)
        new = {id(one): one for one in mine if one._best is None}
        gains_BQ = self._compute_question_gains([*new.values()]).tolist() if new else ()
        for one, gains in zip(new.values(), gains_BQ, strict=True):
            one._best = one._choose_best(gains)
        return [best for one in mine if (best := one._best) is not None]

    def _compute_question_gains(self, filters: Sequence[PartitionFilter]) -> Floats:
        """The expected gains of all questions under every one of the posteriors, `(B, Q)`."""
        weights_BH = np.stack([one._weights for one in filters])
        return self._prior.questions.gains(weights_BH, self._prior.rho, [one._asked for one in filters])

    def _choose_best(self, gains: Sequence[float]) -> tuple[str, float]:
        """Guess the most likely hypothesis, unless a question gains more."""
        best = self.answers.guess(self.lead)
        gain = self.expected_gain(self._prior.say(best))
        for question, found in zip(self._prior.questions.texts, gains, strict=True):
            if found > gain + 1e-9:
                best, gain = question, found
        return best, gain


def mask_bits(mask: int) -> Sequence[int]:
    """The positions of the set bits.

    >>> mask_bits(0b1101)
    [0, 2, 3]
    """
    found: list[int] = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found
