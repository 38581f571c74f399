"""The movie fan says what is true, in words that the environment reads back."""

from __future__ import annotations

import pytest

import sonde
from sonde.core import Episode, UserError
from sonde.envs.movie_recommendation.movies import read_stars, read_verdict
from sonde.envs.movie_recommendation.user import MovieFan, answer_sentence
from tests.cases import each

ENV = sonde.make("movie_recommendation")


def test_is_found_by_name_as_the_default_of_its_seat() -> None:
    assert ENV.spec.seats["user"] == "users:movie_fan"
    assert sonde.make("users:movie_fan") == MovieFan()
    assert MovieFan().config == {"name": "users:movie_fan"}


@each("truth", ["more", "less", "equal"])
def test_every_verdict_is_read_back(truth: str) -> None:
    assert read_verdict(answer_sentence("compare M1 M20", truth, 5)) == truth


@each("truth, most", [(1, 5), (5, 5), (3, 10), (10, 10), (2, 2)])
def test_every_rating_is_read_back(truth: int, most: int) -> None:
    assert read_stars(answer_sentence("rate M11", truth, most), most) == truth


def test_tells_the_truth_about_every_question() -> None:
    task = ENV.tasks("train")[7]
    start = Episode.begin(ENV, task)
    weights = [round(10 * w) for w in task.hidden["weights"].values()]
    profiles = ENV.movie_set(task.public["movies"]).seen.profiles
    liked = [sum(w * s for w, s in zip(weights, p, strict=True)) for p in profiles]
    for question in start.view().legal or ():
        ep = start.step(ENV.say(question))
        reply = ep.step(MovieFan().act_now(ep.view("user"))).turns[0].info["reply"]
        first, *rest = (liked[int(name[1:]) - 1] for name in question.split()[1:])
        if rest:
            assert reply == ("more" if first > rest[0] else "less" if first < rest[0] else "equal")
        else:
            share = (first - min(liked)) / (max(liked) - min(liked))
            assert abs(1 + 4 * share - reply) <= 0.5


def test_refuses_a_seat_without_a_true_answer() -> None:
    with pytest.raises(UserError, match="no true answer"):
        MovieFan().act_now(Episode.begin(ENV, ENV.tasks("train")[0]).view("user"))
