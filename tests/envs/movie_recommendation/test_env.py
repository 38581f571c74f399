"""Movie recommendation: rules by hand, movies and tasks, answers, the user's words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.core import Episode, Rng, UserError
from sonde.envs.movie_recommendation import movies as rules
from sonde.envs.movie_recommendation.env import ATTRIBUTES, MovieRecommendation
from sonde.envs.movie_recommendation.user import MovieFan
from tests.cases import each

ENV = MovieRecommendation()
HIDDEN = {"movies": "train-9", "weights": dict.fromkeys(ATTRIBUTES[:6], 0.0) | {"music": 0.3}}


def play_episode(answers: Sequence[str], hidden: object = HIDDEN, env: MovieRecommendation = ENV) -> Episode:
    """The truthful user answers."""
    ep = Episode.begin(env, env.task(hidden))
    for answer in answers:
        ep = ep.step(env.say(answer))
        if ep.to_act == "user":
            ep = ep.step(MovieFan().act_now(ep.view("user")))
    return ep


# --- likings, stars, places ------------------------------------------------------------------------------------------


def test_likings_by_hand() -> None:
    """Weights 0.3, -0.1, 0.2 on scores (1, 5, 10) and (7, 1, 1): 0.3 - 0.5 + 2.0 = 1.8 and 2.1 - 0.1 + 0.2 = 2.2."""
    assert rules.user_likings((3, -1, 2), [(1, 5, 10), (7, 1, 1)]) == [18, 22]


def test_stars_by_hand() -> None:
    """Likings 0 to 8 in five stars: one star every two, halves up."""
    assert [rules.movie_stars(range(9), i, 5) for i in range(9)] == [1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert [rules.movie_stars([5, 5], i, most) for i, most in ((0, 5), (1, 4), (0, 10))] == [3, 2, 5]
    assert [rules.movie_stars([-10, -9, 10], i, 10) for i in range(3)] == [1, 1, 10]


@given(st.lists(st.integers(-5, 5), min_size=2, max_size=40))
def test_a_random_pick_scores_one_half_whatever_the_ties(liked: list[int]) -> None:
    scores = [rules.movie_standing(liked, i).score(len(liked)) for i in range(len(liked))]
    assert math.isclose(sum(scores) / len(scores), 0.5)
    assert all(0.0 <= s <= 1.0 for s in scores)
    assert scores.index(max(scores)) == liked.index(max(liked))


# --- movies ----------------------------------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.lists(st.integers(0, 30), min_size=1, max_size=8), st.data())
def test_spread_hands_out_everything_and_keeps_the_room(seed: int, room: list[int], data: st.DataObject) -> None:
    amount = data.draw(st.integers(0, sum(room)))
    shares = rules.spread_units(Rng(seed, "spread"), amount, room)
    assert sum(shares) == amount
    assert all(0 <= s <= r for s, r in zip(shares, room, strict=True))


def test_movies_keep_budget_credit_and_precision() -> None:
    for name in ("train-0", "test-0", "test-49"):
        movies = ENV.movie_set(name)
        assert (len(movies.seen.profiles), len(movies.unseen.profiles)) == (20, 40)
        for seen in movies.seen.profiles:
            assert seen.count(1) >= 2, "two of six attributes are set to the minimum"
            assert all(1 <= s <= 10 for s in seen) and 6 <= sum(seen) <= 36
        for unseen in movies.unseen.profiles:
            assert all(10 <= s <= 100 for s in unseen) and 240 <= sum(unseen) <= 360
        assert len(set(movies.unseen.profiles)) == 40
        assert len({s % 10 for u in movies.unseen.profiles for s in u}) == 10, "tenths are used"


def test_tables_show_the_scores() -> None:
    movies = ENV.movie_set("test-3")
    header, *rows = movies.unseen.text.splitlines()
    assert header.split() == ["movie", *ATTRIBUTES[:6]]
    assert [row.split()[0] for row in rows] == [f"U{i}" for i in range(1, 41)]
    shown = [tuple(round(10 * float(x)) for x in row.split()[1:]) for row in rows]
    assert tuple(shown) == movies.unseen.profiles
    assert movies.seen.text.splitlines()[1].split()[1:] == [str(s) for s in movies.seen.profiles[0]]


def test_no_movie_dominates_the_users() -> None:
    """Every user of the test split has a best movie of their own in some set: tastes matter."""
    movies = [t.public["movies"] for t in ENV.tasks("test")[:50]]
    best: Counter[int] = Counter()
    for task in ENV.tasks("test"):
        if task.public["movies"] == movies[0]:
            liked = rules.user_likings(ENV.reset(task, Rng(0)).weights, ENV.movie_set(movies[0]).unseen.profiles)
            best[liked.index(max(liked))] += 1
    assert best.total() == 20 and len(best) >= 8


# --- tasks -----------------------------------------------------------------------------------------------------------


def test_twenty_users_times_fifty_sets_in_each_split() -> None:
    users: dict[str, set[object]] = {}
    for split in ("train", "test"):
        tasks = list(ENV.tasks(split))
        assert len(tasks) == 1000
        assert len({(t.hidden["weights"], t.public["movies"]) for t in tasks}) == 1000
        users[split] = {t.hidden["weights"] for t in tasks}
        assert len(users[split]) == 20 and len({t.public["movies"] for t in tasks}) == 50
        assert len({t.public["movies"] for t in tasks[:50]}) == 50 and len({t.hidden for t in tasks[:20]}) == 20
        assert len({t.hidden["weights"] for t in tasks[:20]}) == 20, "the first tasks are of different users"
    assert not users["train"] & users["test"]


def test_users_have_weights_of_one_decimal_and_some_are_negative() -> None:
    weights = [w for t in ENV.tasks("test")[:20] for w in t.hidden["weights"].values()]
    assert set(weights) == {-0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3}
    assert all(any(t.hidden["weights"].values()) for s in ENV.splits for t in ENV.tasks(s)[:20])


@each(
    "change, field",
    [
        ({"movies": "train-50"}, "movies"), ({"movies": "train-01"}, "movies"), ({"movies": 3}, "movies"),
        ({"weights": {"action": 0.1}}, "weights"), ({"weights": [0.1] * 6}, "weights"),
        ({"weights": dict.fromkeys(ATTRIBUTES[:6], 0.0)}, "weights"),
        ({"weights": dict.fromkeys(ATTRIBUTES[:6], 0.4)}, "weights"),
        ({"weights": dict.fromkeys(ATTRIBUTES[:6], 0.25)}, "weights"),
        ({"weights": dict.fromkeys(ATTRIBUTES[:6], True)}, "weights"),
        ({"weights": dict.fromkeys(ATTRIBUTES[:6], float("nan"))}, "weights"), ({"user": 3}, "hidden"),
    ],
)  # fmt: skip
def test_bad_setups_name_the_field(change: dict[str, object], field: str) -> None:
    with pytest.raises(UserError, match=f"movie_recommendation: {field}.*allowed"):
        ENV.task({**HIDDEN, **change})


@each(
    "change",
    [
        {"attributes": 1}, {"attributes": 9}, {"weights": (0.3, -0.3)}, {"weights": (-0.25, 0.3)}, {"weights": (0.1,)},
        {"weights": 0.3}, {"attributes": 2, "weights": (-0.2, 0.2)}, {"budget": (0.5, 6.0)}, {"budget": (6.0, 11.0)},
        {"min_credit": 10}, {"sparsity": 1.0}, {"decimals": (0, 3)}, {"decimals": (0.0, 1.0)}, {"stars": 1},
        {"seen": 1}, {"unseen": 101}, {"max_turns": 1}, {"preset": "paprika"},
    ],
)  # fmt: skip
def test_bad_arguments_name_the_field(change: dict[str, object]) -> None:
    with pytest.raises(UserError, match=f"movie_recommendation: ({'|'.join(change)})"):
        MovieRecommendation(**change)  # type: ignore[arg-type]


# --- rules -----------------------------------------------------------------------------------------------------------


def test_a_whole_game_by_hand() -> None:
    """A user who cares for music alone, 0.3 a point: M2 has music 9, M17 music 10, M1 music 3 and M20 music 2."""
    asked = ["compare M2 M17", "compare M17 M2", "rate M17", "rate M2", "compare M4 M5", "compare M3 M1", "rate M20"]
    ep = play_episode([*asked, "rate M99", "compare M1 M1", "rate M1"])
    column = [p[4] for p in ENV.movie_set("train-9").seen.profiles]
    assert (column[1], column[16], column[0], column[2], column[19], min(column), max(column)) == (
        9, 10, 3, 3, 2, 1, 10,
    )  # fmt: skip
    replies = [turn.info.get("reply") for turn in ep.turns]
    assert replies[:4] == ["less", "more", 5, 5] and replies[5:] == ["equal", 1, None, None, 2]
    assert [t.info["result"] for t in ep.turns][-3:] == ["invalid", "invalid", "answer"]
    assert ep.view().legal == tuple(f"pick U{i}" for i in range(1, 41))
    assert ENV.movie_set("train-9").unseen.text in ep.turns[-1].told
    assert all("U40" not in turn.told for turn in ep.turns[:-1]), "unseen movies are shown only at the end"
    music = [p[4] for p in ENV.movie_set("train-9").unseen.profiles]
    best, worst = music.index(max(music)), music.index(min(music))
    won, lost = (ep.step(ENV.say(f"pick U{i + 1}")) for i in (best, worst))
    assert won.outcome is not None and (won.outcome.kind, won.outcome.score) == ("win", 1.0)
    assert won.turns[-1].rewards == {"agent": 1.0} and won.turns[-1].info["place"] == 1
    assert lost.outcome is not None and lost.outcome.kind == "loss" and lost.outcome.score < 0.05
    assert lost.turns[-1].rewards["agent"] == lost.outcome.score


def test_ties_are_told_and_share_the_score() -> None:
    """Three movies at the top: place 1 is shared by 3, worth 1 - 1 / 39; and the place below is the fourth."""
    name, i = next((t, i) for t in _sets() for i in range(6) if _column(t, i).count(max(_column(t, i))) == 3)
    column, hidden = _column(name, i), {"movies": name, "weights": _only(i)}
    best, next_best = max(column), sorted(column)[-4]
    ep = play_episode([*["rate M1"] * 10, f"pick U{column.index(best) + 1}"], hidden)
    assert ep.outcome is not None and ep.outcome.kind == "win" and math.isclose(ep.outcome.score, 1 - 1 / 39)
    assert (ep.turns[-1].info["place"], ep.turns[-1].info["ties"]) == (
        1,
        2,
    ) and "1 and shares it with others, 2 in number." in ep.turns[-1].told
    ep = play_episode([*["rate M1"] * 10, f"pick U{column.index(next_best) + 1}"], hidden)
    assert ep.outcome is not None and ep.outcome.kind == "loss" and ep.turns[-1].info["place"] == 4


def _sets() -> list[str]:
    return [f"train-{i}" for i in range(50)]


def _column(name: str, i: int) -> list[int]:
    return [p[i] for p in ENV.movie_set(name).unseen.profiles]


def _only(i: int) -> dict[str, float]:
    return {name: 0.3 if j == i else 0.0 for j, name in enumerate(ATTRIBUTES[:6])}


def test_a_last_turn_that_picks_nothing_loses() -> None:
    for text in ("rate M1", "pick M1", "pick U41", "pick U0", "U1", "pick", "pick U1 U2", ""):
        ep = play_episode([*["rate M1"] * 10, text])
        assert ep.outcome is not None and (ep.outcome.kind, ep.outcome.score) == ("loss", 0.0)


def test_no_answer_ends_the_episode() -> None:
    for n in (0, 3, 10):
        ep = play_episode(["rate M1"] * n).step("rate M1")
        assert ep.outcome is not None and (ep.outcome.kind, ep.outcome.score) == ("unreadable", 0.0)
        assert len(ep.turns) == n + 1


def test_a_pick_before_the_end_costs_a_question() -> None:
    ep = play_episode(["pick U1"])
    assert ep.turns[0].info == {"result": "invalid"} and "Questions left: 9" in ep.turns[0].told


def test_max_turns_counts_the_pick() -> None:
    env = MovieRecommendation(max_turns=2)
    ep = play_episode(["rate M1"], env=env)
    assert ep.view().legal == tuple(f"pick U{i}" for i in range(1, 41))
    assert "one question" in ep.messages["agent"][0].content
    assert play_episode(["rate M1", "pick U1"], env=env).outcome is not None


def test_only_the_user_sees_the_weights() -> None:
    ep = Episode.begin(ENV, ENV.task(HIDDEN)).step(ENV.say("rate M17"))
    assert ep.view("user").private == {"weights": HIDDEN["weights"], "question": "rate M17", "truth": 5, "stars": 5}
    assert dict(ep.view("agent").private) == {}
    assert "music 0.3" in ep.messages["user"][0].content and "music 0.3" not in ep.messages["agent"][0].content


# --- answers and replies ---------------------------------------------------------------------------------------------


@each("answer, question",
    [("rate M3", "rate M3"), ("RATE m3", "rate M3"), ("compare M3 M7", "compare M3 M7")]
    + [(text, "rate M3") for text in ("rate M3.", "rate Ｍ3", "rate: (M3)")]
    + [(text, "compare M7 M3") for text in ("compare M7, M3", "Compare m7 and m3", "compare M7 , and M3")]
    + [(f"Compare M7 {between} M3.", "compare M7 M3") for between in ("with", "to", "vs", "vs.")]
    + [
        (bad, None)
        for bad in (
            "rate", "rate M0", "rate M21", "rate M03", "rate 3", "rate M3 M4", "compare M3", "M3 M7",
            "compare M3 M3", "compare M3 M7 M9", "compare M3 or M7", "rate M3; rate M4", "rate M³",
        )
    ],
)  # fmt: skip
def test_questions_are_read_strictly(answer: str, question: str | None) -> None:
    step = ENV.step(ENV.reset(ENV.task(HIDDEN), Rng(0)), ENV.say(answer), Rng(0))
    assert step.info.get("question") == question
    assert step.state.question == (question or "")  # type: ignore[attr-defined]


@each("reply, read",
    [
        ("Yes.", "more"), ("no, M7", "less"), ("NO!", "less"), ("I like both the same", "equal"),
        ("Equally: yes", "equal"), ("Nothing", None), ("I prefer M3", None), ("", None), ("yesterday", None),
    ],
)  # fmt: skip
def test_verdicts_in_a_users_words(reply: str, read: str | None) -> None:
    assert rules.read_verdict(reply) == read


@each("reply, read",
    [
        ("4", 4), ("4.", 4), ("M3 gets 4 of 5 stars", 4), ("4/5", 4), ("I'd say 2, no more", 2), ("3.5", None),
        ("0 stars", None), ("6 of 5", None), ("M3", None), ("100%", None), ("-2", None), ("five", None), ("²", None),
    ],
)  # fmt: skip
def test_stars_in_a_users_words(reply: str, read: int | None) -> None:
    assert rules.read_stars(reply, 5) == read


@given(st.text(max_size=600))
def test_any_user_reply_reaches_the_agent_and_the_game_continues(text: str) -> None:
    asked = ENV.step(ENV.reset(ENV.task(HIDDEN), Rng(0)), ENV.say("rate M3"), Rng(0)).state
    step = ENV.step(asked, text, Rng(0))  # type: ignore[arg-type]
    assert step.outcome is None and step.state.turn == 1 and ENV.to_act(step.state) == "agent"  # type: ignore[attr-defined,arg-type]
    assert text[:500].strip() in step.told["agent"] and len(step.told["agent"]) < 1000
    assert step.info["reply"] in (None, 1, 2, 3, 4, 5)
