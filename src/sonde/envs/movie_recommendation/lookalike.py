"""A weak recommender: asks for ratings down the list, then picks the movie most similar to the user's favourite.

It has no model of the user's preferences. It stands for the weaker model of Multi-Turn Puzzles, section 3.3, whose
questions follow the order of the table. `recipes/mtp/handover.py` compares it with the reference, and lets each of them
conclude what the other began.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from sonde.core import Action, ProgramPolicy, View

from .._shared.needs import require_filter
from .._shared.sub_episodes import require_legal_actions


class _Preferences(Protocol):
    """What this agent requires of a filter: the record of the talk, nothing derived from it."""

    def stated_replies(self) -> Sequence[tuple[str, tuple[str, ...], int]]: ...

    def shown_profiles(self) -> Mapping[str, Sequence[float]]: ...


@dataclass(frozen=True, kw_only=True)
class LookalikeRecommender(ProgramPolicy):
    """See the module docstring. Reads questions asked by others too: a comparison won counts one star more, one lost
    one less."""

    def act_now(self, view: View) -> Action:
        talk, legal = (
            require_filter(view, _Preferences, "movie_recommendation_lookalike", "over preferences"),
            require_legal_actions(view, "movie_recommendation_lookalike"),
        )
        if view.turn < view.spec.max_turns - 1:
            return Action(view.say(legal[view.turn % len(legal)]))
        movies, liked = talk.shown_profiles(), find_favourite(talk.stated_replies())
        return Action(
            view.say(min(legal, key=lambda pick: _squared_distance(movies[pick.split()[1]], movies.get(liked, ()))))
        )


def find_favourite(replies: Sequence[tuple[str, tuple[str, ...], int]]) -> str:
    """The movie with the most points, ties going to the first mentioned; empty if nothing was said.

    >>> find_favourite([("compare", ("M1", "M2"), 1), ("rate", ("M3",), 4), ("rate", ("M4",), 2)])
    'M3'
    """
    points: dict[str, float] = {}
    for kind, movies, reply in replies:
        for movie, sign in zip(movies, (1, -1), strict=False):
            points[movie] = points.get(movie, 0.0) + (reply if kind == "rate" else sign * reply)
    return max(points, key=lambda m: points[m], default="")


def _squared_distance(a: Sequence[float], b: Sequence[float]) -> float:
    return sum((x - y) ** 2 for x, y in zip(a, b, strict=False))
