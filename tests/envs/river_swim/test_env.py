"""RiverSwim: tables by hand under both conventions, rounds, labels, and what a labelling hides."""

from typing import Any

import numpy as np
import pytest

import sonde
from sonde.core import Episode, Outcome, Rng, TabularEnv, UserError
from sonde.envs._shared.finite import DirichletPosterior
from sonde.envs.river_swim.currents import Labels
from sonde.envs.river_swim.env import RiverSwim, _parse_tunnel
from sonde.envs.river_swim.filter import known_downstream, labelled_world, list_labellings, river_world
from sonde.testing import check_env
from tests.cases import each

ENV = RiverSwim()
HIDDEN = {"order": ["2", "1", "3"], "up": ["B", "A", "B"]}
"""The river runs from cave 2 (up is B) over cave 1 (up is A) to cave 3 (up is B)."""


def play_episode(env: RiverSwim, hidden: Any, *answers: str, seed: int = 0) -> Episode:
    ep = Episode.begin(env, env.task(hidden), seed=seed)
    for answer in answers:
        ep = ep.step(env.say(answer))
    return ep


# --- tables and values -----------------------------------------------------------------------------------------------


def test_tables_by_hand() -> None:
    stated = river_world(3, "stated")
    assert stated.transition_SAS[:, 0].tolist() == [[1, 0, 0], [1, 0, 0], [0, 1, 0]]
    assert stated.transition_SAS[:, 1].tolist() == [[0.65, 0.35, 0], [0.05, 0.6, 0.35], [0, 0.05, 0.95]]
    assert stated.reward_SA.tolist() == [[0.005, 0], [0, 0], [0, 1]]
    osband = river_world(4, "osband").transition_SAS[:, 1]
    assert osband.tolist() == [[0.4, 0.6, 0, 0], [0.05, 0.6, 0.35, 0], [0, 0.05, 0.6, 0.35], [0, 0, 0.4, 0.6]]
    assert river_world(2, "stated").transition_SAS[:, 1].tolist() == [[0.65, 0.35], [0.05, 0.95]]


def test_optimal_values_by_hand() -> None:
    # Two caves, two steps: up first (0.35 to reach the end, then 1), else 0.005 from downstream.
    env = RiverSwim(caves=2, horizon=2, sub_episodes=1)
    assert env.optimal_value(Episode.begin(env, env.tasks("train")[0]).state) == pytest.approx(0.35 + 0.65 * 0.005)
    one = RiverSwim(caves=2, horizon=1, sub_episodes=1)
    assert one.optimal_value(Episode.begin(one, one.tasks("train")[0]).state) == 0.005


@each(
    "preset, ends, value",
    [("length3", "stated", 1.31318), ("length3", "osband", 1.36836), ("length4", "stated", 9.63076)],
)
def test_optimal_values_of_the_presets(preset: str, ends: str, value: float) -> None:
    """As computed; they change only with the rules."""
    env = RiverSwim(preset=preset, ends=ends)
    for seed in range(3):
        state = Episode.begin(env, env.tasks("train")[seed], seed=seed).state
        assert env.optimal_value(state) == pytest.approx(value, abs=1e-5)


def test_labelled_tables() -> None:
    world = labelled_world(ENV.decision_problem({"start": "2"}), "stated", Labels(("2", "1", "3"), ("B", "A", "B")))
    # By label 1, 2, 3 and tunnel A, B; cave 1 is the middle one.
    assert world.transition_SAS[0].tolist() == [[0.6, 0.05, 0.35], [0, 1, 0]]
    assert world.transition_SAS[1].tolist() == [[0, 1, 0], [0.35, 0.65, 0]]
    assert world.transition_SAS[2].tolist() == [[1, 0, 0], [0.05, 0, 0.95]]
    assert world.reward_SA.tolist() == [[0, 0], [0.005, 0], [0, 1]]


def test_presets_are_the_papers() -> None:
    sizes = {p: (e.cave_count, e.step_count, e.round_count) for p in RiverSwim.presets for e in [RiverSwim(preset=p)]}
    assert sizes == {"length3": (3, 6, 35), "length4": (4, 20, 35), "length6": (6, 50, 35)}
    assert RiverSwim(caves=5, horizon=9, sub_episodes=2).spec.max_turns == 18
    assert sonde.build(RiverSwim(caves=5).config) == RiverSwim(caves=5)


# --- labels ----------------------------------------------------------------------------------------------------------


def test_labellings_are_drawn_uniformly_after_the_first_cave() -> None:
    task = ENV.tasks("test")[0]
    drawn = [str(Episode.begin(ENV, task, seed=s).state.labels) for s in range(1600)]
    assert {d[0] for d in drawn} == {task.public["start"]} and len(set(drawn)) == 16
    # 100 expected each, standard deviation 9.7.
    assert all(50 < drawn.count(d) < 150 for d in set(drawn))
    assert {t.public["start"] for t in ENV.tasks("test")} == {"1", "2", "3"}


def test_every_labelling_is_listed_once() -> None:
    rows = list_labellings(("1", "2", "3", "4"), "3")
    assert len(rows) == len(set(rows)) == 6 * 16 and all(r.order[0] == "3" for r in rows)


def test_known_downstream_tunnels_determine_the_labels() -> None:
    env = RiverSwim(downstream_known=True)
    labels = Labels(("2", "1", "3"), ("B", "A", "B"))
    rows = (("1", "B", "2"), ("2", "A", "2"), ("3", "A", "1"))
    assert known_downstream(labels) == rows
    task = env.task(HIDDEN)
    assert task.public["known"] == rows and env.decision_problem(task.public).known == rows
    told = Episode.begin(env, task).messages["agent"][0].content
    assert "- In cave 3, tunnel A always leads to cave 1." in told
    known: Any = env.filter(task.public)
    assert known.belief().top(2) == [("2B 1A 3B", 1.0)]
    assert known.dirichlet_posterior().mean_world().transition_SAS[2, 0].tolist() == [1, 0, 0]
    drawn = env.tasks("train")[5]
    assert {Episode.begin(env, drawn, seed=s).state.labels for s in range(5)} == {
        Episode.begin(env, drawn, seed=9).state.labels
    }
    assert known_downstream(Episode.begin(env, drawn).state.labels) == drawn.public["known"]


@each("hidden",
    [
        None, "2B 1A 3B", {}, {"order": ["1", "2", "3"]}, {"order": ["1", "2", "3"], "up": "ABA"},
        {"order": ["1", "2", "2"], "up": ["A"] * 3}, {"order": ["1", "2", "3"], "up": ["A", "B"]},
        {"order": [1, 2, 3], "up": ["A"] * 3}, {"order": ["1", "2", "3"], "up": ["A", "B", "C"]},
        {"order": ["1", "2", "3"], "up": ["A"] * 3, "start": "1"}, {"order": None, "up": None},
    ],
)  # fmt: skip
def test_bad_hidden_setups_are_refused(hidden: Any) -> None:
    with pytest.raises(UserError, match=r"^river_swim: "):
        ENV.task(hidden)


@each("wrong",
    [
        {"preset": "length5"}, {"caves": 1}, {"caves": 8}, {"horizon": 0}, {"sub_episodes": 0}, {"ends": "open"},
        {"max_turns": 0}, {"max_turns": 211}, {"horizon": 5000, "sub_episodes": 3},
    ],
)  # fmt: skip
def test_bad_arguments_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=r"^river_swim: "):
        RiverSwim(**wrong)


# --- rules -----------------------------------------------------------------------------------------------------------


def test_downstream_is_certain_and_pays_in_the_first_cave() -> None:
    ep = play_episode(ENV, HIDDEN, "A", "a", "tunnel A", "A", "A", "A", "A")
    assert [t.rewards["agent"] for t in ep.turns] == [0.005] * 7
    assert [t.info["next"] for t in ep.turns] == ["2"] * 7
    assert [(t.info["sub_episode"], t.info["step"]) for t in ep.turns[4:]] == [(0, 4), (0, 5), (1, 0)]
    assert "Reward: 0.005.\nRound 1, step 2 of 6. You are in cave 2." in ep.turns[0].told
    assert "Round 2 of 35 begins, step 1 of 6. You start in cave 2." in ep.turns[5].told


def test_every_round_begins_in_the_first_cave_of_the_same_river() -> None:
    """The far end may be left at the end of a round, and chances are the same in each."""
    ep = Episode.begin(ENV, ENV.task(HIDDEN), seed=3)
    ends: list[str] = []
    for _ in range(35):
        start = ep.state
        assert start.place == 0 and start.labels.order == ("2", "1", "3")
        for _ in range(6):
            cave = ep.turns[-1].info["next"] if ep.turns and len(ep.turns) % 6 else "2"
            ep = ep.step(ENV.say({"2": "B", "1": "A", "3": "B"}[cave]))
        ends.append(ep.turns[-1].info["next"])
    assert ep.to_act is None and set(ends) == {"1", "2", "3"}
    assert ep.outcome is not None and ep.outcome.kind == "win" and len(ep.turns) == 210
    assert "That was the last step." in ep.turns[-1].told and "Round 36" not in ep.turns[-1].told


def test_strokes_follow_the_chances() -> None:
    state = Episode.begin(ENV, ENV.task(HIDDEN)).state._replace(place=1, turn=2)
    rows = ENV.outcomes(state, "<Answer>A</Answer>")
    assert [(p, s.info["next"]) for p, s in rows] == [(0.05, "2"), (0.6, "1"), (0.35, "3")]
    after = [ENV.step(state, "<Answer>A</Answer>", Rng(0, "test", i)).info["next"] for i in range(1000)]
    assert after.count("3") == pytest.approx(350, abs=75) and after.count("2") == pytest.approx(50, abs=35)


def test_won_at_half_the_optimal_value() -> None:
    env = RiverSwim(caves=2, horizon=2, sub_episodes=1)
    hidden = {"order": ["1", "2"], "up": ["A", "A"]}
    down = play_episode(env, hidden, "B", "B")
    assert down.outcome is not None and down.outcome.kind == "loss"
    assert down.outcome.score == pytest.approx(0.01 / 0.35325)
    seeds = [s for s in range(30) if play_episode(env, hidden, "A", "A", seed=s).turns[0].info["next"] == "2"]
    assert play_episode(env, hidden, "A", "A", seed=seeds[0]).outcome == Outcome("win", 1.0)
    wrong = play_episode(env, hidden, "A", "C", seed=seeds[0])
    assert wrong.outcome is not None and wrong.outcome.kind == "loss" and wrong.turns[-1].info["result"] == "invalid"


def test_an_unreadable_answer_costs_its_step() -> None:
    ep = play_episode(ENV, HIDDEN, "A", "both", "A")
    info = ep.turns[1].info
    assert (info["result"], info["action"], info["state"], info["next"], info["step"]) == ("invalid", None, "2", "2", 1)
    assert ep.turns[2].info["step"] == 2 and "you stay in cave 2" in ep.turns[1].told
    over = ep.step("I swim into tunnel A.")
    assert over.outcome == Outcome("unreadable") and over.to_act is None


def test_max_turns_cuts_the_last_round_short() -> None:
    env = RiverSwim(max_turns=8)
    assert (env.round_count, env.spec.max_turns, env.decision_problem({"start": "1"}).sub_episodes) == (2, 8, 2)
    ep = play_episode(env, HIDDEN, *["A"] * 8)
    assert ep.to_act is None and ep.outcome is not None and ep.outcome.kind == "loss"


@each("text", ["A or B", "AB", "C", "", "tunnel", "A" * 50, "А", "not A", "tunnel tunnel A"])
def test_similar_names_are_not_tunnels(text: str) -> None:
    assert _parse_tunnel(f"<Answer>{text}</Answer>") is None


# --- exact beliefs ---------------------------------------------------------------------------------------------------


def test_the_first_stroke_reveals_which_tunnel_leads_up() -> None:
    prior: Any = ENV.filter(ENV.task(HIDDEN).public)
    assert prior.entropy == pytest.approx(4.0)
    paid: Any = play_episode(ENV, HIDDEN, "A").filter()
    assert paid.entropy == pytest.approx(3.0) and paid.prob("2B 1A 3B") == pytest.approx(1 / 8)
    assert paid.prob("2A 1A 3B") == 0.0
    # The stroke also may tell which cave is the next: 0.35 of the time, one bit, where the tunnel was the upper one.
    assert prior.expected_gains == pytest.approx([1.0 + 0.5 * 0.35] * 2)


def test_a_beaten_swimmer_learns_by_the_chances() -> None:
    """From the middle cave, washing back to the start may be the certain way down or the 5 % of the way up."""
    env = RiverSwim(caves=3, horizon=30)
    ep = Episode.begin(env, env.task(HIDDEN), seed=0)
    while not ep.turns or ep.turns[-1].info["next"] != "1":
        ep = ep.step(env.say("B"))
    ep = ep.step(env.say("B"))
    known: Any = ep.filter()
    up = sum(p for h, p in zip(known.belief().hypotheses, known.belief().probs, strict=True) if "1B" in h)
    assert ep.turns[-1].info["next"] == "2" and up == pytest.approx(0.05 / 1.05)


def test_the_conjugate_posterior_counts_what_happened() -> None:
    ep = play_episode(ENV, HIDDEN, "A", "A", "both", "B", seed=5)
    known: Any = ep.filter()
    tables = known.dirichlet_posterior()
    assert tables.alpha == pytest.approx(1 / 3) and known.dirichlet_posterior(0.1).alpha == 0.1
    assert tables.counts_SAS.sum() == 3 and tables.counts_SAS[1, 0].tolist() == [0, 2, 0]
    assert tables.paid_SAN[1].tolist() == [[0.005], [0.0]] and np.isnan(tables.paid_SAN[0]).all()


# --- rewards by the next cave too ------------------------------------------------------------------------------------

BY_NEXT = RiverSwim(rewards="transition")
UP = {"2": "B", "1": "A", "3": "B"}
"""The upstream tunnels of `HIDDEN`."""


def swim_upstream(env: RiverSwim, seed: int = 0) -> Episode:
    ep = Episode.begin(env, env.task(HIDDEN), seed=seed)
    while ep.to_act is not None:
        ep = ep.step(env.say(UP[ep.state.labels.order[ep.state.place]]))
    return ep


def test_the_last_cave_pays_only_who_stays_where_rewards_are_by_transition() -> None:
    """Whole episodes of swimming up, of both kinds: they differ where a stroke from the last cave is washed back."""
    for env, back in ((BY_NEXT, 0.0), (ENV, 1.0)):
        turns = [t for seed in range(4) for t in swim_upstream(env, seed).turns]
        paid = {(t.info["state"], t.info["next"], t.rewards["agent"]) for t in turns if t.info["state"] == "3"}
        assert paid == {("3", "3", 1.0), ("3", "1", back)}
        assert {t.rewards["agent"] for t in turns if t.info["state"] != "3"} == {0.0}


def test_values_by_transition_by_hand() -> None:
    assert river_world(3, "stated", True).reward_SA.tolist() == [[0.005, 0], [0, 0], [0, 0.95]]
    assert river_world(3, "osband", True).reward_SA[2].tolist() == [0, 0.6]
    env = RiverSwim(caves=2, horizon=2, sub_episodes=1, rewards="transition")
    # Up first (0.35 to reach the end, then 0.95 on average), else 0.005 from downstream.
    best = 0.35 * 0.95 + 0.65 * 0.005
    assert env.optimal_value(Episode.begin(env, env.tasks("train")[0]).state) == pytest.approx(best)


@each("env", [BY_NEXT, RiverSwim(rewards="transition", ends="osband"), ENV])
def test_the_filter_equals_brute_force(env: RiverSwim) -> None:
    """Posterior and expected gains of every turn against the listing of all labellings."""
    for seed in range(3):
        ep = Episode.begin(env, env.tasks("train")[seed], seed=seed)
        fast: Any = env.filter(ep.task.public)
        slow: Any = TabularEnv.filter(env, ep.task.public)
        rng = Rng(seed, "brute")
        for _ in range(20):
            mine, other = fast.belief(), slow.belief()
            assert dict(zip(mine.hypotheses, mine.probs, strict=True)) == pytest.approx(
                dict(zip(other.hypotheses, other.probs, strict=True))
            )
            for tunnel in "AB":
                assert fast.expected_gain(env.say(tunnel)) == pytest.approx(slow.expected_gain(env.say(tunnel)))
            ep = ep.step(env.say(rng.choice("AB")))
            fast, slow = fast.observe(ep.turns[-1]), slow.observe(ep.turns[-1])


def test_the_conjugate_posterior_by_transition() -> None:
    """Every next cave has a reward of its own to find out; an action is expected to pay their mean by their chances."""
    known = DirichletPosterior.prior(BY_NEXT.decision_problem({"start": "2"}))
    assert known.paid_SAN.shape == (3, 2, 3)
    known = known.observe("3", "B", 1.0, "3").observe("3", "B", 0.0, "1")
    assert known.paid_SAN[2, 1].tolist() == pytest.approx([0.0, np.nan, 1.0], nan_ok=True)
    mean = known.mean_world()
    # Dirichlet (1/3, 1/3, 1/3) + (1, 0, 1): weights 4/9, 1/9, 4/9; the reward not seen is 1.005 / 3 on average.
    assert mean.reward_SA[2, 1] == pytest.approx(4 / 9 + 1.005 / 27)
    for seed in range(20):
        world = known.sample(Rng(seed, "x"))
        to, expected = world.transition_SAS[2, 1], world.reward_SA[2, 1]
        unseen = (expected - to[2]) / to[1]
        assert min(abs(unseen - r) for r in (0.0, 0.005, 1.0)) < 1e-6, "drawn from the values that may be paid"


def test_the_rules_tell_what_a_reward_depends_on() -> None:
    texts = [Episode.begin(e, e.task(HIDDEN)).messages["agent"][0].content for e in (ENV, BY_NEXT)]
    assert "the cave you come out in" not in texts[0] and "and the cave you come out in." in texts[1]
    assert BY_NEXT.spec.departures[1].startswith("rewards by cave, tunnel and next cave;")
    with pytest.raises(UserError, match=r"^river_swim: rewards: "):
        RiverSwim(rewards="state")


@pytest.mark.thorough
def test_other_configurations_keep_the_contract() -> None:
    check_env(BY_NEXT, episodes=6)
