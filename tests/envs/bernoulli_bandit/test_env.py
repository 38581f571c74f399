"""Bandits whose rewards count: presets, rules, names, histories, and the posterior over the best arm by hand."""

from typing import Any

import numpy as np
import pytest

import sonde
from sonde.core import Episode, Outcome, UserError, entropy
from sonde.envs.bernoulli_bandit.env import BernoulliBandit, _format_reward, _parse_arm
from tests.cases import each

PSRL = BernoulliBandit()
BUTTONS = BernoulliBandit(preset="krishnamurthy")
INFORMATIVE = BernoulliBandit(preset="informative")
COLOURS = ("blue", "green", "red", "yellow", "purple")


def play_episode(env: BernoulliBandit, hidden: Any, *answers: str, seed: int = 0) -> Episode:
    ep = Episode.begin(env, env.task(hidden), seed=seed)
    for answer in answers:
        ep = ep.step(env.say(answer))
    return ep


# --- tasks -----------------------------------------------------------------------------------------------------------


def test_worlds_follow_the_paper() -> None:
    """Five random letters, one best arm at 0.6, drawn uniformly, the others at 0.4; a hundred pulls."""
    places: list[int] = []
    for seed in range(10):
        for task in PSRL.tasks("test"):
            state = Episode.begin(PSRL, task, seed=seed).state
            assert state.arms == task.public["arms"] and len(set(state.arms)) == 5
            assert sorted(state.means) == [0.4, 0.4, 0.4, 0.4, 0.6]
            places.append(state.means.index(0.6))
    # 1000 draws, 200 expected each, standard deviation 12.6.
    assert all(140 < places.count(arm) < 260 for arm in range(5))
    assert len({task.public["arms"] for task in PSRL.tasks("train")}) > 990
    assert PSRL.spec.max_turns == BUTTONS.spec.max_turns == 100


def test_buttons_are_always_the_same() -> None:
    assert {t.public["arms"] for t in (*BUTTONS.tasks("train")[:20], *BUTTONS.tasks("test"))} == {COLOURS}
    assert (BUTTONS.decision_problem({"arms": COLOURS}).rewards, BUTTONS._arm_means) == ((0.0, 1.0), (0.6, 0.4))


def test_the_standard_bandit_with_twenty_arms() -> None:
    """Twenty buttons of different colours, one best; the first five are those of the preset; each can be pressed."""
    env = BernoulliBandit(preset="krishnamurthy", arms=20)
    (colours,) = {t.public["arms"] for t in env.tasks("test")}
    assert len(set(colours)) == 20 and colours[:5] == COLOURS
    bests = {env.hypothesis(Episode.begin(env, env.tasks("test")[0], seed=s).state) for s in range(200)}
    assert bests == set(colours), "all 20 come within 200 draws: 20 * 0.95^200 = 0.0007 of missing one"
    ep = play_episode(env, {"best": "coral"}, *colours)
    assert [t.info["action"] for t in ep.turns] == list(colours) and ep.state.means[19] == 0.6
    prior: Any = env.filter({"arms": colours})
    assert prior.entropy == pytest.approx(np.log2(20))
    # One press of any: the mixture pays 0.41; its entropy less that of 0.6 (1 in 20) and 0.4.
    bits = entropy([0.41, 0.59]) - entropy([0.4, 0.6])
    assert prior.expected_gain(env.say("lime")) == pytest.approx(bits)


def test_the_informative_arm_tells_the_best() -> None:
    task = INFORMATIVE.tasks("test")[0]
    bests: list[str] = []
    for seed in range(400):
        state = Episode.begin(INFORMATIVE, task, seed=seed).state
        best = INFORMATIVE.hypothesis(state)
        bests.append(best)
        assert state.means[0] == 1 / (2 * int(best)) and sum(state.means[1:]) == 1.0
    assert set(bests) == {str(i) for i in range(1, 11)}


def test_arms_best_and_gap_can_be_set() -> None:
    env = BernoulliBandit(arms=3, best=0.75, gap=0.5, max_turns=10)
    assert sorted(Episode.begin(env, env.tasks("train")[0]).state.means) == [0.25, 0.25, 0.75]
    assert env.decision_problem({"arms": ("A", "B", "C")}).sub_episodes == 10
    assert sonde.build(env.config) == env
    small = BernoulliBandit(preset="informative", arms=4)
    assert small.tasks("train")[0].public["arms"] == ("0", "1", "2", "3")


@each("wrong",
    [
        {"preset": "x"}, {"arms": 1}, {"arms": 27}, {"preset": "krishnamurthy", "arms": 21}, {"best": 1.0},
        {"gap": 0.0}, {"gap": 0.6}, {"preset": "informative", "best": 0.6}, {"preset": "informative", "gap": 0.1},
        {"history": "all"}, {"max_turns": 0}, {"max_turns": 10_001},
    ],
)  # fmt: skip
def test_bad_arguments_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=r"^bernoulli_bandit: "):
        BernoulliBandit(**wrong)


@each("preset, hidden",
    [
        ("psrl", None), ("psrl", "A"), ("psrl", {}), ("psrl", {"best": "F"}), ("psrl", {"best": ["A"]}),
        ("psrl", {"best": "A", "arms": ["A", "B"]}), ("psrl", {"best": "A", "arms": ["A", "B", "C", "D", "D"]}),
        ("psrl", {"best": "A", "arms": ["A", "B", "C", "D", "é"]}), ("psrl", {"best": "A", "arms": "ABCDE"}),
        ("psrl", {"best": "A", "arms": ["A", "B", "C", "D", 5]}), ("psrl", {"best": "A", "means": [0.5]}),
        ("krishnamurthy", {"best": "black"}), ("krishnamurthy", {"best": "blue", "arms": [*COLOURS[:4], "pink"]}),
        ("informative", {"best": "0"}), ("informative", {"best": 3}), ("informative", {"best": "11"}),
    ],
)  # fmt: skip
def test_bad_hidden_setups_are_refused(preset: str, hidden: Any) -> None:
    with pytest.raises(UserError, match=r"^bernoulli_bandit: "):
        BernoulliBandit(preset=preset).task(hidden)


def test_custom_worlds() -> None:
    assert Episode.begin(PSRL, PSRL.task({"best": "C"})).state.means == (0.4, 0.4, 0.6, 0.4, 0.4)
    task = PSRL.task({"best": "Z", "arms": ["Q", "Z", "K", "M", "B"]})
    assert task.public["arms"] == ("Q", "Z", "K", "M", "B") and PSRL.task(task.hidden).public == task.public
    assert Episode.begin(BUTTONS, BUTTONS.task({"best": "red"})).state.means[2] == 0.6


# --- rules -----------------------------------------------------------------------------------------------------------


def test_pulls_pay_what_the_world_says() -> None:
    env = BernoulliBandit(best=0.9, gap=0.8, max_turns=1000)
    ep = play_episode(env, {"best": "B"}, *["B"] * 500, *["D"] * 500)
    paid = [t.rewards["agent"] for t in ep.turns]
    assert set(paid) == {0.0, 1.0}
    assert sum(paid[:500]) == pytest.approx(450, abs=35) and sum(paid[500:]) == pytest.approx(50, abs=35)
    assert ep.outcome is not None and ep.outcome.score == pytest.approx(sum(paid) / 1000)


def test_info_and_messages_of_a_pull() -> None:
    ep = play_episode(INFORMATIVE, {"best": "4"}, "0", "4", "7")
    assert [t.info["reward"] for t in ep.turns] == [0.125, 1.0, 0.0]
    assert dict(ep.turns[1].info) == {
        "result": "step", "sub_episode": 1, "step": 0, "state": "pull", "action": "4", "reward": 1.0, "next": "pull",
    }  # fmt: skip
    assert ep.turns[0].told.startswith("Arm 0 is pulled. Reward: 0.125.\nPull 2 of 20")
    assert [t.sub_episode for t in ep.view().transitions] == [0, 1, 2]
    pressed = play_episode(BUTTONS, {"best": "red"}, "Green").turns[0].told
    assert pressed.startswith("You press the green button. Reward: ")


@each(
    "pulls, kind",
    [(("4", "4", "1"), "win"), (("4", "1", "4"), "win"), (("4", "1", "2"), "loss"), (("1", "1", "4"), "loss")],
)
def test_won_when_the_best_arm_was_pulled_most(pulls: tuple[str, ...], kind: str) -> None:
    ep = play_episode(BernoulliBandit(preset="informative", max_turns=3), {"best": "4"}, *pulls)
    assert ep.outcome == Outcome(kind, pulls.count("4") / 3)  # type: ignore[arg-type]
    assert "That was the last one." in ep.turns[-1].told and "best" not in ep.turns[-1].told


def test_an_unreadable_name_costs_its_pull_and_never_wins() -> None:
    env = BernoulliBandit(preset="informative", max_turns=3)
    ep = play_episode(env, {"best": "4"}, "4", "4", "twelve")
    assert ep.outcome == Outcome("loss", 2 / 3)
    info = ep.turns[-1].info
    assert (info["result"], info["action"], info["reward"], ep.turns[-1].rewards) == (
        "invalid", None, 0.0, {"agent": 0.0},
    )  # fmt: skip
    over = play_episode(env, {"best": "4"}, "4").step("I pull arm 4.")
    assert over.outcome == Outcome("unreadable") and over.to_act is None and over.turns[-1].info["action"] is None


@each("text", ["blue or red", "not blue", "the blue button", "bl ue", "blue" * 20, "Blue, red"])
def test_similar_names_are_not_names(text: str) -> None:
    assert _parse_arm(COLOURS, f"<Answer>{text}</Answer>") is None


# --- histories in one message ----------------------------------------------------------------------------------------


def test_raw_and_summarised_histories() -> None:
    hidden = {"best": "red"}
    answers = ("blue", "red", "grey", "blue")
    raw = play_episode(BUTTONS, hidden, *answers)
    shown = raw.view().rendered
    assert shown is not None
    paid = [t.info["reward"] for t in raw.turns]
    assert f"1. blue: reward {paid[0]:g}\n2. red: reward {paid[1]:g}\n3. (no valid choice): reward 0\n4. blue:" in shown
    assert shown.startswith(raw.messages["agent"][0].content.split("\n\n")[0]) and "Press 5 of 100" in shown
    summary = play_episode(BernoulliBandit(preset="krishnamurthy", history="summary"), hidden, *answers).view().rendered
    assert summary is not None and f"- blue: tried 2 times, mean reward {(paid[0] + paid[3]) / 2:.2f}" in summary
    assert "- green: not tried yet" in summary and "reward 0\n" not in summary
    assert play_episode(PSRL, {"best": "A"}, "A").view().rendered is None
    assert play_episode(BernoulliBandit(history="raw"), {"best": "A"}, "A").view().rendered is not None
    start = Episode.begin(BUTTONS, BUTTONS.task(hidden)).view().rendered
    assert start is not None and "Nothing has been tried yet." in start and "Press 1 of 100" in start


# --- exact beliefs ---------------------------------------------------------------------------------------------------


def test_posterior_by_hand() -> None:
    ep = Episode.begin(PSRL, PSRL.task({"best": "C"}), seed=1)
    while ep.to_act is not None and (not ep.turns or ep.turns[-1].info["reward"] == 0.0):
        ep = ep.step(PSRL.say("A"))
    failures = len(ep.turns) - 1
    known: Any = ep.filter()
    odds = (0.6 / 0.4) * (0.4 / 0.6) ** failures
    assert known.prob("A") == pytest.approx(odds / (odds + 4))
    assert known.prob("B") == pytest.approx(1 / (odds + 4))
    assert known.counts[0] == (failures + 1, 1.0) and known.counts[1] == (0, 0.0)


def test_gains_and_regrets_of_the_prior() -> None:
    known: Any = PSRL.filter({"arms": ("A", "B", "C", "D", "E")})
    assert known.expected_regrets == pytest.approx([0.16] * 5)
    # The next reward is 1 with 0.44: its entropy less that of a chance of 0.6, which a chance of 0.4 shares.
    assert known.expected_gains == pytest.approx([entropy([0.44, 0.56]) - entropy([0.6, 0.4])] * 5)
    told: Any = INFORMATIVE.filter({"arms": tuple(map(str, range(11)))})
    assert told.expected_gains == pytest.approx([np.log2(10), *[entropy([0.1, 0.9])] * 10])
    harmonic = sum(1 / (2 * i) for i in range(1, 11)) / 10
    assert told.expected_regrets == pytest.approx([1 - harmonic, *[0.9] * 10])
    assert told.best_question() == ("0", pytest.approx(np.log2(10)))


def test_the_informative_pull_settles_everything() -> None:
    ep = play_episode(INFORMATIVE, {"best": "6"}, "0")
    known: Any = ep.filter()
    assert known.belief().top(1) == [("6", 1.0)] and known.entropy == 0.0
    assert known.best_question() == ("6", 0.0) and known.expected_regrets[6] == 0.0
    two: Any = play_episode(INFORMATIVE, {"best": "6"}, "0", "0", "3").filter()
    assert two.prob("6") == 1.0
    others: Any = play_episode(INFORMATIVE, {"best": "6"}, "1", "2", "1").filter()
    assert others.prob("6") == pytest.approx(1 / 8) and others.prob("1") == 0.0


def test_posterior_agrees_with_the_simulator() -> None:
    """Among simulated episodes with the same rewards, each arm is the best as often as the posterior says."""
    env = BernoulliBandit(arms=2, best=0.8, gap=0.5, max_turns=3)
    task = env.tasks("train")[0]
    first, second = task.public["arms"]
    seen: dict[tuple[float, ...], list[bool]] = {}
    beliefs: dict[tuple[float, ...], float] = {}
    for seed in range(1500):
        ep = Episode.begin(env, task, seed=seed)
        for arm in (first, second, first):
            ep = ep.step(env.say(arm))
        key = tuple(t.info["reward"] for t in ep.turns)
        seen.setdefault(key, []).append(env.hypothesis(ep.state) == first)
        known = ep.filter()
        assert known is not None
        beliefs[key] = known.prob(first)
    assert len(seen) == 8
    for key, firsts in seen.items():
        p = beliefs[key]
        assert abs(sum(firsts) / len(firsts) - p) < 4.0 * (p * (1.0 - p) / len(firsts)) ** 0.5


def test_rewards_of_a_hundred_arms_print_differently() -> None:
    told = [_format_reward(1 / (2 * i)) for i in range(1, 100)]
    assert len(set(told)) == 99
