"""The movie fan's posterior: equal to asking every possible user, and to the rules of play at full size."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

import sonde
from sonde.core import Episode, Rng
from sonde.core.belief import entropy
from sonde.envs.movie_recommendation import movies as rules
from sonde.envs.movie_recommendation.env import ATTRIBUTES, MovieRecommendation
from sonde.envs.movie_recommendation.filter import PreferenceFilter
from sonde.envs.movie_recommendation.user import MovieFan
from tests.cases import each

ENV = MovieRecommendation()
SMALL = MovieRecommendation(attributes=3, weights=(-0.2, 0.2), seen=5, unseen=6, max_turns=5)
"""124 users: few enough to ask each of them."""
HIDDEN = {"movies": "train-9", "weights": dict.fromkeys(ATTRIBUTES[:6], 0.0) | {"music": 0.3}}


def play_episode(answers: Sequence[str], hidden: object = HIDDEN, env: MovieRecommendation = ENV) -> Episode:
    """The truthful user answers."""
    ep = Episode.begin(env, env.task(hidden))
    for answer in answers:
        ep = ep.step(env.say(answer))
        if ep.to_act == "user":
            ep = ep.step(MovieFan().act_now(ep.view("user")))
    return ep


def exact_filter(ep: Episode) -> PreferenceFilter:
    known = ep.filter()
    assert isinstance(known, PreferenceFilter)
    return known


def list_users(env: MovieRecommendation, movies: str) -> list[dict[str, object]]:
    """The hidden setup of every user that the prior allows."""
    names, levels = ATTRIBUTES[: env.attributes], [w / 10 for w in range(-2, 3)]
    rows = itertools.product(levels, repeat=env.attributes)
    return [{"movies": movies, "weights": dict(zip(names, row, strict=True))} for row in rows if any(row)]


def list_told(env: MovieRecommendation, hidden: object, answers: Sequence[str]) -> tuple[str, ...]:
    return tuple(turn.told for turn in play_episode(answers, hidden, env).turns)


@pytest.mark.thorough
@each("seed", range(4))
def test_filter_equals_asking_everybody(seed: int) -> None:
    """After every turn the posterior is uniform over those who would have said the same, and every expected gain is
    the entropy of what they would say next."""
    users, rng = list_users(SMALL, f"test-{seed}"), Rng(seed, "test")
    hidden = users[rng.randrange(len(users))]
    legal = Episode.begin(SMALL, SMALL.task(hidden)).view().legal or ()
    answers = [*rng.sample(list(legal), 3), "nonsense", "pick U2"]
    for n in range(len(answers) + 1):
        ep = play_episode(answers[:n], hidden, SMALL)
        alive = [u for u in users if list_told(SMALL, u, answers[:n]) == tuple(t.told for t in ep.turns)]
        known = exact_filter(ep)
        belief = known.belief()
        assert sorted(belief.hypotheses) == sorted(tuple(u["weights"].values()) for u in alive)  # type: ignore[attr-defined]
        assert math.isclose(known.entropy, math.log2(len(alive))) and math.isclose(sum(belief.probs), 1.0)
        if ep.to_act is not None and n in (0, 2, 4):
            _check_gains(ep, known, alive, answers[:n])


def _check_gains(ep: Episode, known: PreferenceFilter, alive: list[dict[str, object]], said: Sequence[str]) -> None:
    legal = list(ep.view().legal or ())
    bits: dict[str, float] = {}
    for action in legal:
        replies = Counter(list_told(SMALL, u, [*said, action])[-1] for u in alive)
        bits[action] = entropy(c / len(alive) for c in replies.values())
        assert math.isclose(known.expected_gain(SMALL.say(action)), bits[action], abs_tol=1e-9), action
    answer, most = known.best_question()
    assert answer in legal and math.isclose(most, max(bits.values()), abs_tol=1e-9)
    if legal[0].startswith("pick"):
        scores = [_mean_score(alive, [*said, action]) for action in legal]
        assert known.expected_scores() == pytest.approx(scores)


def _mean_score(users: list[dict[str, object]], answers: Sequence[str]) -> float:
    outcomes = [play_episode(answers, u, SMALL).outcome for u in users]
    return sum(o.score for o in outcomes if o is not None) / len(outcomes)


def test_array_rules_equal_the_rules_of_play_at_full_size() -> None:
    """Stars, verdicts and places of 400 users drawn from the whole grid, movie by movie."""
    game, rng = exact_filter(Episode.begin(ENV, ENV.task(HIDDEN))).node.game, Rng(1, "test")
    rows = np.array(sorted(rng.sample(range(7**6), 400)), np.int32)
    users = [tuple(round(10 * w) for w in game.grid.user_weights(int(r))) for r in rows]
    movies = ENV.movie_set("train-9")
    seen = [rules.user_likings(u, movies.seen.profiles) for u in users]
    unseen = [rules.user_likings(u, movies.unseen.profiles) for u in users]
    for i in range(20):
        assert game.user_replies("rate", (i,), rows).tolist() == [rules.movie_stars(x, i, 5) for x in seen]
        verdicts = [["less", "equal", "more"].index(rules.compare_likings(x[i], x[i - 1])) for x in seen]
        assert game.user_replies("compare", (i, (i - 1) % 20), rows).tolist() == verdicts
        standings = [rules.movie_standing(x, i) for x in unseen]
        assert game.user_replies("pick", (i,), rows).tolist() == [128 * s.better + s.ties for s in standings]


def test_rounding_to_stars_is_exact_at_the_finest_precision() -> None:
    env = MovieRecommendation(attributes=3, weights=(-1.0, 1.0), decimals=(2, 2), stars=10, seen=50)
    game, rows = env.filter({"movies": "train-0"}), np.arange(0, 21**3, 7, dtype=np.int32)
    assert game is not None
    for i in (0, 17, 49):
        users = [tuple(round(10 * w) for w in game.node.game.grid.user_weights(int(r))) for r in rows]
        liked = [rules.user_likings(u, env.movie_set("train-0").seen.profiles) for u in users]
        assert game.node.game.user_replies("rate", (i,), rows).tolist() == [rules.movie_stars(x, i, 10) for x in liked]


def test_the_prior_is_the_whole_grid_without_the_indifferent_user() -> None:
    known = exact_filter(Episode.begin(ENV, ENV.task(HIDDEN)))
    assert len(known.belief()) == 7**6 - 1 and math.isclose(known.entropy, math.log2(7**6 - 1))
    assert known.prob((0.0,) * 6) == 0.0 and known.prob((0.3,) * 6) == 1 / (7**6 - 1)
    for nobody in ((0.3,) * 5, (0.4,) * 6, (0.25,) * 6, "music", None, 3):
        assert known.prob(nobody) == 0.0
        with pytest.raises(ValueError, match="not in the support"):
            known.belief().hypotheses.index(nobody)


def test_replies_that_say_nothing_change_nothing() -> None:
    """Unreadable, or impossible for any truthful user: the same question answered in two ways."""
    start = Episode.begin(ENV, ENV.task(HIDDEN)).step(ENV.say("compare M2 M17"))
    known = exact_filter(start.step("Hm."))
    assert len(known.belief()) == 7**6 - 1 and known.turn == 1
    ep = start.step("Yes.").step(ENV.say("compare M2 M17")).step("No.")
    before, after = exact_filter(start.step("Yes.")), exact_filter(ep)
    assert after.node is before.node and after.turn == 2


def test_larger_grids_have_no_filter_and_no_reference() -> None:
    env = sonde.make("movie_recommendation", attributes=8, weights=(-1.0, 1.0))
    assert env.filter(env.tasks("test")[0].public) is None and env.spec.reference == ""
    hidden = dict(env.tasks("test")[0].hidden)
    assert play_episode(["rate M3"] * 10 + ["pick U1"], hidden, env).outcome is not None


def test_profiles_and_replies_equal_those_shown_to_the_agent() -> None:
    ep = play_episode(["compare M2 M17", "rate M17"])
    known = exact_filter(ep)
    assert known.stated_replies() == (("compare", ("M2", "M17"), -1), ("rate", ("M17",), 5))
    assert set(known.shown_profiles()) == {f"M{i}" for i in range(1, 21)}
    late = exact_filter(play_episode(["rate M1"] * 10)).shown_profiles()
    assert late["U7"] == tuple(s / 10 for s in ENV.movie_set("train-9").unseen.profiles[6])
    assert late["M7"] == tuple(float(s) for s in ENV.movie_set("train-9").seen.profiles[6])
