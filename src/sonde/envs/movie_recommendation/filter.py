"""The exact posterior over a movie fan's weights, with its questions and picks.

The prior is uniform over the whole grid of one-decimal weights but the indifferent user: what the agent is told, and
nothing more. A truthful reply is a function of the weights; hence the posterior is uniform over the weights that would
have given every reply seen, and the expected gain of a question is the entropy of its replies. Weights are rows of an
array and never sampled; six attributes of seven levels are 117,648 users.

Likings are integers below 2**24 (see `movies`), which float32 holds exactly. Rounding to stars is exact as well: the
quotients have denominators below 2**19, so they differ from whole numbers by more than float32 loses at 10.

A reply that cannot be read, or that no truthful user could have given (somebody else sits in the user's seat), says
nothing here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from sonde.core import Turn

from .._shared.uniform import RecentValues, UniformFilter
from .movies import Profile

Floats = npt.NDArray[np.float32]
Likings = npt.NDArray[np.float32]
"""Shape `(movies, users)`."""
Rows = npt.NDArray[np.int32]
"""Numbers of users that are still possible, rising."""
Codes = npt.NDArray[np.uint8] | npt.NDArray[np.uint16]
"""What each user would reply, as in `Fact.reply`; shape `(users,)`."""

_VERDICTS = ("less", "equal", "more")
_TIES = 128
"""More than the number of movies in a list."""
_KEPT = 20_000_000
"""Maximum number of rows held by cached filters."""


class Fact(NamedTuple):
    """One observation: `movies` are the numbers named, `reply` is stars, 0-2 for a verdict, or a coded standing."""

    kind: str
    movies: tuple[int, ...]
    reply: int


class WeightGrid:
    """All users: every vector of n weights from `low` to `high` tenths except the zero vector, the last weight varying
    fastest."""

    def __init__(self, n: int, low: int, high: int) -> None:
        self.n, self.levels = n, high - low + 1
        self._digits: Mapping[Any, int] = {(low + d) / 10: d for d in range(self.levels)}
        digits = np.indices((self.levels,) * n, dtype=np.int8).reshape(n, -1)
        self.weights_NA = np.ascontiguousarray(digits.T + np.int8(low), dtype=np.float32)
        self.everybody: Rows = np.flatnonzero(self.weights_NA.any(axis=1)).astype(np.int32)
        self._nodes = RecentValues[Node](_KEPT, lambda node: len(node.alive))

    def row_of(self, weights: Any) -> int:
        """The index of a user given as a tuple of weights; -1 if there is none."""
        values = cast("tuple[Any, ...]", weights if isinstance(weights, tuple) else ())
        if len(values) != self.n or not all(w in self._digits for w in values):
            return -1
        return sum(self._digits[w] * self.levels**i for i, w in enumerate(reversed(values)))

    def user_weights(self, row: int) -> tuple[float, ...]:
        """The weights of a user."""
        return tuple(round(w) / 10 for w in self.weights_NA[row].tolist())

    def node_at(self, game: PreferenceGame, seen: frozenset[Fact], alive: Callable[[], Rows]) -> Node:
        """The state of knowledge after these facts; cached, because episodes share movies and histories."""
        return self._nodes.find((game.name, seen), lambda: Node(game, seen, alive()))


class PreferenceGame:
    """One set of movies for one grid of users.

    `parse(text, is_picking)` gives the answer in an agent's text as `("rate", (i,))`, `("compare", (i, j))` or
    `("pick", (i,))`, if that is what is due, else None; `labels` are the names of seen and of unseen movies, `units`
    their units to the point.
    """

    def __init__(
        self,
        grid: WeightGrid,
        name: Hashable,
        seen: Sequence[Profile],
        unseen: Sequence[Profile],
        *,
        labels: tuple[Sequence[str], Sequence[str]],
        units: tuple[int, int],
        stars: int,
        questions: int,
        parse: Callable[[str, bool], tuple[str, tuple[int, ...]] | None],
    ) -> None:
        self.grid, self.name, self.labels, self.units = grid, name, labels, units
        self.stars, self.questions, self.parse = stars, questions, parse
        self.seen_MA, self.unseen_MA = np.array(seen, np.float32), np.array(unseen, np.float32)
        self.index = {label: i for group in labels for i, label in enumerate(group)}

    def start(self) -> PreferenceFilter:
        """The prior."""
        return PreferenceFilter(self.grid.node_at(self, frozenset(), lambda: self.grid.everybody), 0)

    def movie_likings(self, movies_MA: npt.NDArray[np.float32], rows: Rows) -> Likings:
        """Each of these users' liking of each movie."""
        return movies_MA @ self.grid.weights_NA[rows].T

    def user_replies(self, kind: str, movies: tuple[int, ...], rows: Rows) -> Codes:
        """Each of these users' reply, as in `Fact.reply`."""
        if kind == "compare":
            first, second = self.movie_likings(self.seen_MA[list(movies)], rows)
            return _verdict_codes(first, second)
        if kind == "rate":
            liked = self.movie_likings(self.seen_MA, rows)
            return _user_stars(liked[movies[0]], *_liking_range(liked), self.stars)
        return _user_standings(self.movie_likings(self.unseen_MA, rows), movies[0])


class Node:
    """The users compatible with some facts, and the values of the next question or pick."""

    def __init__(self, game: PreferenceGame, seen: frozenset[Fact], alive: Rows) -> None:
        self.game, self.seen, self.alive = game, seen, alive
        alive.setflags(write=False)

    def with_fact(self, fact: Fact) -> Node:
        """The knowledge after one more fact; unchanged if no user would have replied so."""

        def find_survivors() -> Rows:
            return self.alive[self.game.user_replies(fact.kind, fact.movies, self.alive) == fact.reply]

        found = self.game.grid.node_at(self.game, self.seen | {fact}, find_survivors)
        return found if len(found.alive) else self

    def reply_entropy(self, kind: str, movies: tuple[int, ...]) -> float:
        """Entropy of the reply in bits."""
        return _entropy(np.bincount(self.game.user_replies(kind, movies, self.alive)), len(self.alive))

    @cached_property
    def best_question(self) -> tuple[str, float]:
        """Ratings before comparisons before list order; comparisons only if they can gain more."""
        liked, n, names = self.game.movie_likings(self.game.seen_MA, self.alive), len(self.alive), self.game.labels[0]
        low, span = _liking_range(liked)
        bits = [_entropy(np.bincount(_user_stars(row, low, span, self.game.stars)), n) for row in liked]
        best = max(range(len(bits)), key=lambda i: round(bits[i], 9))
        answer, most = f"rate {names[best]}", bits[best]
        for i in range(len(names) - 1 if most < math.log2(len(_VERDICTS)) else 0):
            more = np.count_nonzero(liked[i] > liked[i + 1 :], axis=1)
            equal = np.count_nonzero(liked[i] == liked[i + 1 :], axis=1)
            for j in range(len(more)):
                gain = _entropy(np.array([n - more[j] - equal[j], equal[j], more[j]]), n)
                if gain > most + 1e-9:
                    answer, most = f"compare {names[i]} {names[i + 1 + j]}", gain
        return answer, most

    @cached_property
    def is_decided(self) -> bool:
        """Whether all these users like one unseen movie best (or as much as any)."""
        liked = self.game.movie_likings(self.game.unseen_MA, self.alive)
        return bool((liked >= liked.max(axis=0)).all(axis=1).any())

    @cached_property
    def pick_values(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """For every unseen movie its expected normalised rank, and the entropy of its standing in bits."""
        liked, n = self.game.movie_likings(self.game.unseen_MA, self.alive), len(self.alive)
        counts = [np.bincount(_user_standings(liked, i), minlength=_TIES * len(liked)) for i in range(len(liked))]
        better, ties = np.divmod(np.arange(_TIES * len(liked)), _TIES)
        scores = 1.0 - np.array(counts) @ (better + ties / 2) / (n * (len(liked) - 1))
        return scores, np.array([_entropy(c, n) for c in counts])


class PreferenceFilter(UniformFilter):
    """The exact posterior over weights, as tuples of one-decimal numbers. Make it with `PreferenceGame.start`."""

    def __init__(self, node: Node, turn: int) -> None:
        self.node, self.alive, self.turn = node, node.alive, turn

    @property
    def is_picking(self) -> bool:
        """Whether the question phase is over."""
        return self.turn >= self.node.game.questions

    def observe(self, turn: Turn) -> PreferenceFilter:
        fact = self._read_fact(turn)
        return PreferenceFilter(self.node if fact is None else self.node.with_fact(fact), self.turn + 1)

    def _read_fact(self, turn: Turn) -> Fact | None:
        info, index = turn.info, self.node.game.index
        if "place" in info:
            return Fact("pick", (index[info["movie"]],), (info["place"] - 1) * _TIES + info["ties"])
        reply = info.get("reply")
        if reply is None:
            return None
        kind, *names = info["question"].split()
        return Fact(kind, tuple(index[n] for n in names), _VERDICTS.index(reply) if kind == "compare" else reply)

    def name_row(self, row: int) -> tuple[float, ...]:
        return self.node.game.grid.user_weights(row)

    def find_row(self, hypothesis: Any) -> int:
        return self.node.game.grid.row_of(hypothesis)

    def expected_gain(self, action: str) -> float:
        asked = self.node.game.parse(action, self.is_picking)
        return 0.0 if asked is None else self.node.reply_entropy(*asked)

    def best_question(self) -> tuple[str, float]:
        """Ties prefer a rating, then the first; when the pick is due, the movie whose standing is most informative."""
        if not self.is_picking:
            return self.node.best_question
        bits = self.node.pick_values[1]
        best = int(bits.argmax())
        return f"pick {self.node.game.labels[1][best]}", float(bits[best])

    @property
    def is_decided(self) -> bool:
        """Whether one unseen movie is liked best by every user that is left."""
        return self.node.is_decided

    def read_answer(self, text: str) -> tuple[str, tuple[str, ...]] | None:
        """The kind of a legal answer and the movies it names; None for any other text."""
        said = self.node.game.parse(text, self.is_picking)
        names = self.node.game.labels[self.is_picking]
        return None if said is None else (said[0], tuple(names[i] for i in said[1]))

    def pick_index(self, name: str) -> int:
        """The place of an unseen movie in `expected_scores`."""
        return self.node.game.labels[1].index(name)

    def expected_scores(self) -> npt.NDArray[np.float64]:
        """The expected normalised rank of every unseen movie, shape `(movies,)`, in the order of the list."""
        return self.node.pick_values[0]

    def stated_replies(self) -> tuple[tuple[str, tuple[str, ...], int], ...]:
        """The user's answers so far: `("rate", ("M3",), stars)` and `("compare", ("M3", "M7"), -1, 0 or 1)`, sorted."""
        names = self.node.game.labels[0]
        facts = sorted(f for f in self.node.seen if f.kind != "pick")
        return tuple((f.kind, tuple(names[i] for i in f.movies), f.reply - (f.kind == "compare")) for f in facts)

    def shown_profiles(self) -> dict[str, tuple[float, ...]]:
        """The attribute scores, in points, of the movies shown to the agent so far."""
        game = self.node.game
        shown = zip(game.labels, (game.seen_MA, game.unseen_MA), game.units, strict=True)
        tables = [(names, movies.tolist(), unit) for names, movies, unit in shown][: 2 if self.is_picking else 1]
        return {
            n: tuple(s / unit for s in row) for names, rows, unit in tables for n, row in zip(names, rows, strict=True)
        }


def _verdict_codes(first: Floats, second: Floats) -> npt.NDArray[np.uint8]:
    return (first > second).astype(np.uint8) + (first >= second)


def _liking_range(liked: Likings) -> tuple[Floats, Floats]:
    """Each user's liking of the least liked movie, and the distance to the best liked one."""
    low = liked.min(axis=0)
    return low, liked.max(axis=0) - low


def _user_stars(liked: Floats, low: Floats, span: Floats, most: int) -> npt.NDArray[np.uint8]:
    """`movies.movie_stars` of one movie for every user."""
    steps = np.floor((2 * (most - 1) * (liked - low) + span) / np.maximum(2 * span, 1))
    return np.where(span > 0, 1 + steps, (most + 1) // 2).astype(np.uint8)


def _user_standings(liked: Likings, i: int) -> npt.NDArray[np.uint16]:
    """`movies.movie_standing` of the i-th movie for every user, as `better * _TIES + ties`."""
    better = (liked > liked[i]).sum(axis=0, dtype=np.uint8)
    ties = (liked == liked[i]).sum(axis=0, dtype=np.uint8) - np.uint8(1)
    return better.astype(np.uint16) * np.uint16(_TIES) + ties


def _entropy(counts: npt.NDArray[np.intp], n: int) -> float:
    p = counts[counts > 0] / n
    return max(0.0, float(-(p * np.log2(p)).sum()))
