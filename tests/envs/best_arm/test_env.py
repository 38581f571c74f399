"""Best-arm identification: rules, names, the prior of means, and the exact posterior against two other ways to it."""

import random
from itertools import product
from typing import Any

import numpy as np
import pytest

import sonde
from sonde.core import Episode, TabularFilter, UserError
from sonde.envs.best_arm.env import BestArm, _parse_arm
from sonde.envs.best_arm.filter import ArmsFilter, Counts, counts_posterior, quadrature_nodes
from tests.cases import each

ENV = BestArm()
ROOM = ("blue", "green", "red", "yellow", "purple")
SURE = {"means": {"blue": 1.0, "green": 0.0, "red": 0.0, "yellow": 0.0, "purple": 0.0}}


def play_episode(env: BestArm, hidden: Any, *answers: str, seed: int = 0) -> Episode:
    ep = Episode.begin(env, env.task(hidden), seed=seed)
    for answer in answers:
        ep = ep.step(env.say(answer))
    return ep


# --- tasks -----------------------------------------------------------------------------------------------------------


def test_tasks_are_81_scenarios_and_100_worlds_of_one() -> None:
    train, test = ENV.tasks("train"), ENV.tasks("test")
    assert (len(train), len(test)) == (81, 100)
    assert len({t.public["scenario"] for t in train}) == 81
    assert {(t.public["scenario"], t.public["arms"]) for t in test} == {("five-buttons", ROOM)}
    assert len({t.id for t in (*train, *test)}) == 181
    assert {t.hidden for t in (*train, *test)} == {None}


def test_means_follow_the_paper() -> None:
    bests: list[int] = []
    for seed in range(20):
        for task in ENV.tasks("test"):
            means = Episode.begin(ENV, task, seed=seed).state.means
            top = max(means)
            bests.append(means.index(top))
            assert 0.6 <= top <= 0.7
            # top = 0.5 + eps, so the others end at 0.5 - eps = 1 - top.
            assert all(0.0 <= m <= 1.0 - top + 1e-12 for m in means if m != top)
    # 2000 draws, 400 expected each, standard deviation 17.9.
    assert all(320 < bests.count(arm) < 480 for arm in range(5))


def test_a_group_shares_its_means_and_another_seed_does_not() -> None:
    task = ENV.tasks("test")[0]
    one, two = (Episode.begin(ENV, task, seed=3, sample=k).state for k in (0, 1))
    assert one == two != Episode.begin(ENV, task, seed=4).state


def test_custom_arms_meet_their_scenario_or_a_general_one() -> None:
    room = ENV.task({"means": {"red": 0.1, "green": 0.2, "blue": 0.63, "purple": 0.0, "yellow": 0.3}})
    assert room.public == {"scenario": "five-buttons", "arms": ROOM}
    assert Episode.begin(ENV, room).state.means == (0.63, 0.2, 0.1, 0.3, 0.0)
    other = ENV.task({"means": {"B{o}b": 1, "Eve": 0}})
    assert other.public == {"scenario": "custom", "arms": ("B{o}b", "Eve")}
    told = Episode.begin(ENV, other).messages["agent"][0].content
    assert "The machines: B{o}b, Eve." in told and "machine" in told
    assert "You start Eve." in play_episode(ENV, {"means": {"B{o}b": 1, "Eve": 0}}, "eve").turns[-1].told


@each(
    "hidden",
    [
        None, "blue", {}, {"means": ["blue"]}, {"means": {"blue": 0.5, "red": 0.1}, "eps": 0.1},
        {"means": {"blue": 0.5}}, {"means": {str(i): i / 20 for i in range(11)}}, {"means": {"blue": 0.5, "red": 0.5}},
        {"means": {"blue": 1.5, "red": 0.5}}, {"means": {"blue": float("nan"), "red": 0.5}},
        {"means": {"blue": True, "red": 0.5}}, {"means": {"blue": "0.7", "red": 0.5}},
        {"means": {"Blue": 0.7, "'blue'": 0.5}}, {"means": {"": 0.7, "red": 0.5}}, {"means": {"a\nb": 0.7, "red": 0.5}},
        {"means": {"</Answer>": 0.7, "red": 0.5}}, {"means": {3: 0.7, "red": 0.5}},
    ],
)  # fmt: skip
def test_bad_hidden_setups_are_refused(hidden: Any) -> None:
    with pytest.raises(UserError, match=r"^best_arm: "):
        ENV.task(hidden)


def test_the_last_turn_decides() -> None:
    assert (ENV.pull_count, ENV.spec.max_turns) == (20, 21)
    assert sonde.build(BestArm(max_turns=5).config) == BestArm(max_turns=5)
    for wrong in ({"max_turns": 1}, {"max_turns": 202}, {"preset": "x"}):
        with pytest.raises(UserError, match="best_arm"):
            BestArm(**wrong)  # type: ignore[arg-type]


# --- rules -----------------------------------------------------------------------------------------------------------


def test_pulls_pay_and_are_counted() -> None:
    ep = play_episode(ENV, SURE, "blue", "Green", "blue")
    assert [t.info["reward"] for t in ep.turns] == [1, 0, 1]
    assert [t.info["arm"] for t in ep.turns] == ["blue", "green", "blue"]
    assert ep.turns[-1].info["pulls"] == {
        "blue": (2, 2), "green": (1, 0), "red": (0, 0), "yellow": (0, 0), "purple": (0, 0),
    }  # fmt: skip
    assert all(t.rewards.get("agent", 0.0) == 0.0 for t in ep.turns)
    assert "press the blue button. Reward: 1." in ep.turns[0].told and "Tries left: 17" in ep.turns[2].told


def test_the_right_decision_wins() -> None:
    ep = play_episode(BestArm(max_turns=3), SURE, "red", "red", "blue")
    assert ep.outcome == sonde.Outcome("win", 1.0)
    assert ep.turns[-1].rewards == {"agent": 1.0} and ep.turns[-1].info["result"] == "win"


def test_a_wrong_decision_loses_and_does_not_tell_the_right_one() -> None:
    ep = play_episode(BestArm(max_turns=3), SURE, "red", "red", "green")
    assert ep.outcome is not None and ep.outcome.kind == "loss"
    assert ep.turns[-1].info["result"] == "loss" and "blue" not in ep.turns[-1].told


def test_a_wrong_name_costs_the_pull_and_the_decision_is_still_asked_for() -> None:
    ep = play_episode(BestArm(max_turns=3), SURE, "blue", "pink")
    assert ep.turns[-1].info["result"] == "invalid" and ep.turns[-1].info["pulls"]["blue"] == (1, 1)
    assert "Now decide" in ep.turns[-1].told and ep.to_act == "agent"
    lost = ep.step("<Answer>pink</Answer>")
    assert lost.outcome is not None and lost.outcome.kind == "loss" and lost.turns[-1].info["result"] == "invalid"


@each("turn", [0, 2])
def test_no_answer_ends_the_episode(turn: int) -> None:
    ep = play_episode(BestArm(max_turns=3), SURE, *["red"] * turn).step("blue")
    assert ep.outcome == sonde.Outcome("unreadable") and ep.to_act is None


@each("text", ["blue or red", "blue, red", "not blue", "the blue button", "bl ue", "blue?", "<b>blue"])
def test_near_names_are_invalid(text: str) -> None:
    assert _parse_arm(ROOM, f"<Answer>{text}</Answer>") is None


# --- the exact posterior ---------------------------------------------------------------------------------------------


def test_posterior_by_hand() -> None:
    # Prior means: the best 0.5 + 0.15 = 0.65, the others half of 0.5 - 0.15, that is 0.175.
    prior = counts_posterior(((0, 0), (0, 0)), quadrature_nodes(20))
    assert prior.best == pytest.approx([0.5, 0.5])
    assert prior.pays == pytest.approx(np.array([[0.325, 0.0875], [0.0875, 0.325]]))
    assert counts_posterior(((1, 1), (0, 0)), 11).best == pytest.approx([0.65 / 0.825, 0.175 / 0.825])
    assert counts_posterior(((1, 0), (0, 0), (0, 0)), 11).best == pytest.approx(np.array([0.35, 0.825, 0.825]) / 2.0)
    # Two of two: E[(0.5 + eps)^2] for the best, E[u^2] / 3 for another, and eps has variance 1/1200.
    best, other = 0.4225 + 1 / 1200, (0.1225 + 1 / 1200) / 3
    assert counts_posterior(((2, 2), (0, 0)), 11).best[0] == pytest.approx(best / (best + other))


def brute_force(counts: Counts, n_eps: int = 400, n_mean: int = 64) -> tuple[Any, Any]:
    """`counts_posterior` on a fine grid over eps and, for each arm, over its mean: no binomial sums, no closed form."""
    x, w = np.polynomial.legendre.leggauss(n_eps)
    y, v = np.polynomial.legendre.leggauss(n_mean)
    eps = 0.15 + 0.05 * x
    p = np.outer(0.5 - eps, (y + 1.0) / 2.0)
    pulled = [p**s * (1.0 - p) ** (n - s) @ (v / 2.0) for n, s in counts]
    paid = [p ** (s + 1) * (1.0 - p) ** (n - s) @ (v / 2.0) for n, s in counts]
    best = np.zeros(len(counts))
    pays = np.zeros((len(counts),) * 2)
    for i, (n, s) in enumerate(counts):
        mine = w * (0.5 + eps) ** s * (0.5 - eps) ** (n - s)
        rest = [np.ones_like(eps) if j == i else other for j, other in enumerate(pulled)]
        best[i] = (mine * np.prod(rest, axis=0)).sum()
        for a in range(len(counts)):
            ahead = [paid[j] if j == a and j != i else f for j, f in enumerate(rest)]
            pays[a, i] = (mine * np.prod(ahead, axis=0) * ((0.5 + eps) if a == i else 1.0)).sum()
    return best / best.sum(), pays / best.sum()


@each("n_arms", [2, 3, 5, 7])
def test_posterior_equals_a_fine_grid(n_arms: int) -> None:
    rng = random.Random(n_arms)
    for pulls in (1, 7, 20, 20, 20, 40):
        counts = [(0, 0)] * n_arms
        for _ in range(pulls):
            arm, reward = rng.randrange(n_arms), rng.randrange(2)
            counts[arm] = (counts[arm][0] + 1, counts[arm][1] + reward)
        best, pays = brute_force(tuple(counts))
        found = counts_posterior(tuple(counts), quadrature_nodes(pulls))
        assert found.best == pytest.approx(best, abs=1e-10) and found.pays == pytest.approx(pays, abs=1e-10)


def test_posterior_holds_at_the_largest_size() -> None:
    counts = ((150, 95), (30, 9), (20, 2)) + ((0, 0),) * 7
    best, pays = brute_force(counts)
    found = counts_posterior(counts, quadrature_nodes(200))
    assert found.best == pytest.approx(best, abs=1e-10) and found.pays == pytest.approx(pays, abs=1e-10)


def tabular(env: BestArm, arms: tuple[str, ...]) -> TabularFilter:
    """The filter of core on a discretised prior with the same moments up to degree 5, so the two agree exactly."""
    x, w = np.polynomial.legendre.leggauss(3)
    public = {"scenario": "custom", "arms": arms}
    rows: list[tuple[float, Any]] = []
    for best, q in product(range(len(arms)), range(3)):
        eps = 0.15 + 0.05 * x[q]
        for others in product(range(3), repeat=len(arms) - 1):
            low = [(0.5 - eps) * (x[o] + 1.0) / 2.0 for o in others]
            means = [*low[:best], 0.5 + eps, *low[best:]]
            weight = float(w[q] * np.prod(w[list(others)]))
            rows.append((weight, env.start(public, {"means": dict(zip(arms, map(float, means), strict=True))})))
    return TabularFilter(rows, env.outcomes, env.hypothesis, env.actions, env.say)


@each("last", ["tick", "tack", "nothing", None])
def test_filter_equals_brute_force_through_a_whole_episode(last: str | None) -> None:
    env, arms = BestArm(max_turns=5), ("tick", "tack", "tock")
    task = env.task({"means": {"tick": 0.65, "tack": 0.3, "tock": 0.2}})
    exact, table = env.filter(task.public), tabular(env, arms)
    ep = Episode.begin(env, task, seed=1)
    for answer in ("tick", "tack", "wrong", "tick", last):
        assert exact.belief().probs == pytest.approx(table.belief().probs, abs=1e-10)
        assert exact.entropy == pytest.approx(table.entropy, abs=1e-9)
        for arm in (*arms, "wrong"):
            assert exact.expected_gain(env.say(arm)) == pytest.approx(table.expected_gain(env.say(arm)), abs=1e-9)
        assert exact.best_question()[1] == pytest.approx(table.best_question()[1], abs=1e-9)
        ep = ep.step(env.say(answer) if answer else "")
        exact, table = exact.observe(ep.turns[-1]), table.observe(ep.turns[-1])
    assert ep.outcome is not None
    assert [exact.prob(a) for a in arms] == pytest.approx([table.prob(a) for a in arms], abs=1e-10)
    assert set(exact.belief().hypotheses) == set(table.belief().hypotheses)


def test_posterior_agrees_with_the_simulator() -> None:
    """Among simulated episodes with the same rewards, each arm is the best as often as the posterior says."""
    env = BestArm(max_turns=4)
    task = next(t for t in env.tasks("train") if len(t.public["arms"]) == 3)
    first, second, _ = task.public["arms"]
    seen: dict[tuple[int, ...], list[str]] = {}
    for seed in range(6000):
        ep = Episode.begin(env, task, seed=seed)
        for arm in (first, second, first):
            ep = ep.step(env.say(arm))
        seen.setdefault(tuple(t.info["reward"] for t in ep.turns), []).append(env.hypothesis(ep.state))
    assert len(seen) == 8
    for (a, b, c), bests in seen.items():
        expected = counts_posterior(((2, a + c), (1, b), (0, 0)), quadrature_nodes(3)).best
        for arm, p in zip(task.public["arms"], expected, strict=True):
            error = (p * (1.0 - p) / len(bests)) ** 0.5
            assert abs(bests.count(arm) / len(bests) - p) < 4.0 * error


def test_look_ahead_and_means() -> None:
    known: ArmsFilter = ENV.filter(ENV.tasks("test")[0].public)
    assert known.pulls_posterior.pays.sum(axis=1) == pytest.approx([0.65 / 5 + 0.175 * 4 / 5] * 5)
    # After one pull: 1 points at that arm (0.2 * 0.65), 0 leaves four equals (0.2 * (1 - 0.175) for one of them).
    assert known.expected_successes() == pytest.approx([0.2 * 0.65 + 0.2 * 0.825] * 5)


# --- preset small ----------------------------------------------------------------------------------------------------

SMALL = BestArm(preset="small")


def test_small_has_500_worlds_of_the_same_three_arms_in_each_split() -> None:
    train, test = SMALL.tasks("train"), SMALL.tasks("test")
    assert (len(train), len(test), SMALL.pull_count, SMALL.spec.max_turns) == (500, 500, 10, 11)
    assert {t.public for t in (*train, *test)} == {train[0].public}
    assert train[0].public["arms"] == ("amber", "coral", "indigo")
    worlds = {Episode.begin(SMALL, t).state.means for t in (*train, *test)}
    assert len(worlds) == 1000
    for means in list(worlds)[:200]:
        assert 0.6 <= max(means) <= 0.7 and sorted(means)[1] <= 1.0 - max(means)


def test_small_shows_tallies_and_tries_left() -> None:
    hidden = {"means": {"coral": 1.0, "amber": 0.0, "indigo": 0.0}}
    ep = play_episode(BestArm(preset="small", max_turns=4), hidden, "coral", "indigo")
    tallies = "amber: tries 0, wins 0\ncoral: tries 1, wins 1\nindigo: tries 1, wins 0\nTries left: 1. Name a machine."
    assert ep.turns[-1].told == f"You try indigo. Reward: 0.\n{tallies}"
    begun = Episode.begin(ep.env, ep.task)
    assert begun.view().rendered == begun.messages["agent"][0].content
    rules = begun.messages["agent"][0].content.split("\n")[0]
    assert ep.view().rendered == f"{rules}\n{tallies}" and "in 3 tries" in rules
    decide = ep.step("<Answer>a machine</Answer>")
    assert decide.view().rendered == f"{rules}\n{tallies.rsplit(chr(10), 1)[0]}\nTries left: 0. Decide."
    assert decide.step("<Answer>coral</Answer>").outcome == sonde.Outcome("win", 1.0)
