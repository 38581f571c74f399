"""The weak recommender: questions down the list, favourites by points, the nearest movie."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from sonde.envs.movie_recommendation.lookalike import LookalikeRecommender, find_favourite


def make_view(turn: int, replies: Any) -> Any:
    movies = {"M1": (1.0, 9.0), "M2": (8.0, 2.0), "U1": (2.0, 7.0), "U2": (9.0, 1.0)}
    known = SimpleNamespace(stated_replies=lambda: replies, shown_profiles=lambda: movies)
    legal = ("pick U1", "pick U2") if turn == 2 else ("rate M1", "rate M2", "compare M1 M2")
    spec = SimpleNamespace(name="test", max_turns=3)
    return cast("Any", SimpleNamespace(turn=turn, legal=legal, filter=known, spec=spec, say=lambda a: a))


def test_asks_down_the_list() -> None:
    assert [LookalikeRecommender().act_now(make_view(turn, ())).text for turn in (0, 1)] == ["rate M1", "rate M2"]


def test_picks_the_movie_most_like_the_favourite() -> None:
    assert LookalikeRecommender().act_now(make_view(2, [("rate", ("M1",), 2), ("rate", ("M2",), 4)])).text == "pick U2"
    assert LookalikeRecommender().act_now(make_view(2, [("rate", ("M1",), 5), ("rate", ("M2",), 4)])).text == "pick U1"
    assert LookalikeRecommender().act_now(make_view(2, [("compare", ("M1", "M2"), -1)])).text == "pick U2"
    assert LookalikeRecommender().act_now(make_view(2, [])).text == "pick U1", "where nothing was said, the first"


def test_points_add_up() -> None:
    said = [("compare", ("M1", "M2"), 1), ("compare", ("M3", "M1"), -1), ("compare", ("M2", "M3"), 0)]
    assert find_favourite(said) == "M1"
    assert find_favourite([*said, ("rate", ("M3",), 4)]) == "M3"
    assert find_favourite([]) == ""
