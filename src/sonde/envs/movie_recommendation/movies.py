"""Movies, linear preferences over them, and how a person talks about both. Integers throughout, so ties are exact.

Source: Multi-Turn Puzzles, appendix A.1. A *profile* is a movie's attribute scores in units of the last decimal shown;
a *liking* is the sum of weight times score, with weights in tenths.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from operator import mul
from typing import NamedTuple

from .._shared.answer import Which, begins_another, parse_answer
from .._shared.frames import split_words

Profile = tuple[int, ...]

TOP = 10
"""The highest score of an attribute."""

_VERDICT = re.compile(r"\b(yes|no|equally|equal|same)\b", re.IGNORECASE)
_COUNT = re.compile(r"(?<![\w.,-])([0-9]{1,2})(?![\w%]|[.,][0-9])")
_MEANING = {"yes": "more", "no": "less"}


def spread_units(rng: random.Random, amount: int, room: Sequence[int]) -> list[int]:
    """`amount` units distributed at random, at most `room[i]` to the i-th; in random order, each takes what is left.

    Needs `0 <= amount <= sum(room)`.
    """
    shares, left, behind = [0] * len(room), amount, sum(room)
    for i in rng.sample(range(len(room)), len(room)):
        behind -= room[i]
        shares[i] = rng.randint(max(0, left - behind), min(room[i], left))
        left -= shares[i]
    return shares


def draw_profile(
    rng: random.Random, n: int, *, unit: int, budget: tuple[float, float], credit: int, sparse: int = 0
) -> Profile:
    """A random movie with n attributes, `unit` units per point.

    Its total is n times a number drawn from `budget`, in points: `credit` for every attribute and the rest at random,
    at most `TOP` each. Then `sparse` attributes fall back to `credit`.
    """
    total = round(rng.uniform(*budget) * n * unit)
    scores = [
        credit * unit + share for share in spread_units(rng, total - n * credit * unit, [(TOP - credit) * unit] * n)
    ]
    for i in rng.sample(range(n), sparse):
        scores[i] = credit * unit
    return tuple(scores)


def user_likings(weights: Sequence[int], profiles: Iterable[Profile]) -> list[int]:
    """The user's liking of each movie."""
    return [sum(map(mul, weights, p)) for p in profiles]


def movie_stars(liked: Sequence[int], i: int, most: int) -> int:
    """The i-th movie in stars: 1 for the least liked of the list, `most` for the best liked, linear in between, halves
    up.

    A user who likes all of them equally gives the middle.

    >>> [movie_stars([-4, 0, 5, 6], i, 5) for i in range(4)]
    [1, 3, 5, 5]
    """
    low = min(liked)
    span = max(liked) - low
    if span == 0:
        return (most + 1) // 2
    return 1 + (2 * (most - 1) * (liked[i] - low) + span) // (2 * span)


def compare_likings(first: int, second: int) -> str:
    """Whether the first movie is liked `more`, `less` or as much as (`equal`) the second."""
    return "more" if first > second else "less" if first < second else "equal"


class Standing(NamedTuple):
    """A movie's rank for a user: how many movies are liked better, and how many others equally."""

    better: int
    ties: int

    def score(self, n: int) -> float:
        """Normalised rank among n movies: 1 for the first, 0 for the last; tied movies share their mean, so a random
        movie has 0.5.

        >>> Standing(0, 0).score(40), Standing(39, 0).score(40), Standing(0, 39).score(40)
        (1.0, 0.0, 0.5)
        """
        return 1.0 - (self.better + self.ties / 2) / (n - 1)


def movie_standing(liked: Sequence[int], i: int) -> Standing:
    """The standing of the i-th movie.

    >>> [tuple(movie_standing([7, 9, 7, 1], i)) for i in range(4)]
    [(1, 1), (0, 0), (1, 1), (3, 0)]
    """
    return Standing(sum(x > liked[i] for x in liked), liked.count(liked[i]) - 1)


def read_verdict(reply: str) -> str | None:
    """The comparison that a user's words express: `more`, `less`, `equal`; None if they express none.

    >>> read_verdict("No, I like M7 more than M3."), read_verdict("I like both equally."), read_verdict("Hm.")
    ('less', 'equal', None)
    """
    found = _VERDICT.search(reply)
    return None if found is None else _MEANING.get(found[1].lower(), "equal")


def read_stars(reply: str, most: int) -> int | None:
    """The first whole number in a user's words if it is a possible rating; names such as M3 do not count.

    >>> read_stars("I would give M3 a 4 out of 5.", 5), read_stars("About 3.5 stars", 5), read_stars("9 stars", 5)
    (4, None, None)
    """
    found = _COUNT.search(reply)
    return int(found[1]) if found and 1 <= int(found[1]) <= most else None


class MovieTable(NamedTuple):
    """Movies, and the text that shows them."""

    profiles: tuple[Profile, ...]
    text: str


class MovieSet(NamedTuple):
    """The movies of one task."""

    seen: MovieTable
    unseen: MovieTable


def draw_movies(
    rng: random.Random,
    labels: Sequence[str],
    attributes: Sequence[str],
    unit: int,
    *,
    budget: tuple[float, float],
    credit: int,
    sparse: int,
) -> MovieTable:
    """One random movie per label."""
    n = len(attributes)
    made = tuple(draw_profile(rng, n, unit=unit, budget=budget, credit=credit, sparse=sparse) for _ in labels)
    return make_table(labels, attributes, unit, made)


def make_table(
    labels: Sequence[str], attributes: Sequence[str], unit: int, profiles: tuple[Profile, ...]
) -> MovieTable:
    """Movies with lines of text that show them: the attribute names, then one movie each.

    >>> print(make_table(["M1", "M2"], ["action", "comedy"], 10, ((15, 100), (0, 7))).text)
    movie action comedy
    M1 1.5 10.0
    M2 0.0 0.7
    """
    decimals, lines = len(str(unit)) - 1, [" ".join(["movie", *attributes])]
    for label, scores in zip(labels, profiles, strict=True):
        lines.append(" ".join([label, *(f"{s / unit:.{decimals}f}" for s in scores)]))
    return MovieTable(profiles, "\n".join(lines))


class MovieAnswers:
    """The agent's possible answers: questions about seen movies and picks of unseen ones, each with their numbers.

    >>> said = MovieAnswers(("M1", "M2"), ("U1",))
    >>> said.read_request("Compare M2 and m1", picking=False), said.listing
    ('compare M2 M1', (('rate M1', 'rate M2', 'compare M1 M2'), ('pick U1',)))
    """

    def __init__(self, seen: Sequence[str], unseen: Sequence[str]) -> None:
        pairs = {f"compare {a} {b}": (i, j) for i, a in enumerate(seen) for j, b in enumerate(seen) if i != j}
        self.questions: Mapping[str, tuple[int, ...]] = {f"rate {a}": (i,) for i, a in enumerate(seen)} | pairs
        self.picks: Mapping[str, tuple[int, ...]] = {f"pick {name}": (i,) for i, name in enumerate(unseen)}
        once = (question for question, movies in self.questions.items() if movies[0] <= movies[-1])
        self.listing = tuple(once), tuple(self.picks)
        """Questions (a comparison in one of its two directions) and picks."""

    def read_request(self, answer: str, *, picking: bool) -> str | None:
        """The question or pick in an answer, ignoring case and spaces; commas, brackets, and `and`, `with`, `to` or
        `vs` between two movies are allowed."""
        if len(answer) > 100:
            return None
        kind, *names = split_words(answer.replace(",", " ").replace(":", " ")) or [""]
        if len(names) == 3 and names[1].casefold().rstrip(".") in ("and", "with", "to", "vs"):
            names = [names[0], names[2]]
        text = " ".join([kind.lower(), *(name.upper() for name in names)])
        return text if text in (self.picks if picking else self.questions) else None

    def parse_reply(self, text: str, picking: bool, which: Which) -> str | None:
        """The same for a whole reply; `which` of several answers counts."""
        listed = self.picks if picking else self.questions
        return parse_answer(text, partial(self.read_request, picking=picking), begins_another(listed), which=which)

    def parse_movies(self, which: Which, text: str, picking: bool) -> tuple[str, tuple[int, ...]] | None:
        """The kind of a reply, question or pick, and the numbers of its movies."""
        found = self.parse_reply(text, picking, which)
        return None if found is None else (found.partition(" ")[0], (self.picks if picking else self.questions)[found])
