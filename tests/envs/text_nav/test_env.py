"""Text-nav: the paper's house, walks by hand, what is told and hidden, exact posteriors, splits and settings."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from sonde.core import Episode, TabularFilter, Task, UserError
from sonde.envs.text_nav.env import TextNav
from sonde.envs.text_nav.plan import LMRL, Setup
from sonde.testing import check_env
from tests.cases import each

FO = TextNav()
PO = TextNav(preset="po")
MADE = TextNav(preset="generated")
LOST = TextNav(preset="generated", observed="partial", rooms=8)

SMALL = {
    "rooms": [["hall", "attic", "", "", ""], ["attic", "", "", "hall", ""]],
    "furniture": [["box", "hall", "closed"], ["shelf", "attic", "surface"], ["chest", "attic", "open"]],
    "things": [["key", ["attic", "shelf"], ["hall", "box"]], ["cup", ["attic", "chest"]]],
    "goal": ["key", ["attic", "chest"], True],
}


def play_episode(env: TextNav, task: Task, *texts: str) -> Episode:
    ep = Episode.begin(env, task)
    for text in texts:
        ep = ep.step(text)
    return ep


def list_results(ep: Episode) -> list[str]:
    """What came of each command; of one that was invalid, why."""
    assert all((turn.info["result"] == "invalid") == ("why" in turn.info) for turn in ep.turns)
    return [turn.info.get("why", turn.info["result"]) for turn in ep.turns]


# --- the paper's house -----------------------------------------------------------------------------------------------


def test_the_house_of_the_paper() -> None:
    assert len(LMRL["rooms"]) == 10 and len({row[0] for row in LMRL["rooms"]}) == 10
    assert LMRL["goal"] == ("stale food", ("kitchen", "fridge"), False)
    assert ("stale food", ("living room", "table")) in LMRL["things"]
    assert [FO.spec.reward_range, FO.spec.max_turns, PO.spec.max_turns] == [(0.0, 1.0), 25, 25]
    assert {t.hidden["start"] for t in FO.tasks("test")} == {row[0] for row in LMRL["rooms"]}


def test_a_walk_by_hand() -> None:
    ep = play_episode(FO, FO.task({"start": "bedroom"}), "go west", "take stale food from table", "go west", "go west")
    assert ep.turns[0].told == (
        "You go west. You are in the living room. There is a table with the stale food and the fresh food on it. "
        "Doors lead east, south and west. You carry nothing."
    )
    assert ep.turns[1].told.endswith("You carry the stale food.")
    ep = ep.step("open fridge").step("put stale food in fridge")
    assert list_results(ep) == ["moved", "taken", "moved", "moved", "opened", "win"]
    assert [turn.rewards.get("agent", 0.0) for turn in ep.turns] == [0.0] * 5 + [1.0]
    assert ep.outcome is not None and ep.outcome.success and ep.to_act is None


def test_other_things_in_the_fridge_or_a_closed_fridge_do_not_win() -> None:
    task = FO.task({"start": "living room"})
    to_kitchen = ("take fresh food", "take stale food", "west", "w")
    ep = play_episode(FO, task, *to_kitchen, "put stale food in fridge", "open fridge", "put fresh food in fridge")
    assert list_results(ep)[4:] == ["shut", "opened", "put"] and ep.outcome is None
    ep = ep.step("drop stale food")
    assert ep.outcome is None and ep.step("take stale food").step("insert the stale food into the fridge").outcome


def test_impossible_commands_are_answered_and_change_nothing() -> None:
    task = FO.task({"start": "office"})
    for text, result in (
        ("go east east", "unreadable"), ("", "unreadable"), ("dance", "unreadable"), ("go up", "unreadable"),
        ("take stale food", "absent"), ("take utensils", "absent"), ("take unicorn", "absent"), ("take chest", "fixed"),
        ("open desk", "stays"), ("open lamp", "stays"), ("close chest", "already"), ("open fridge", "absent"),
        ("put lamp in chest", "not_held"), ("drop lamp", "not_held"), ("go south", "no_way"),
        ("take lamp from chest", "absent"), ("examine fridge", "absent"), ("examine lamp", "examined"),
        ("look", "looked"), ("inventory", "carried"),
    ):  # fmt: skip
        ep = play_episode(FO, task, text)
        assert list_results(ep) == [result], text
        assert ep.state.world == Episode.begin(FO, task).state.world
        assert ep.outcome is None and ep.turns[0].rewards.get("agent", 0.0) == 0.0


def test_the_content_of_closed_containers_is_hidden_and_not_admissible() -> None:
    ep = Episode.begin(FO, FO.task({"start": "office"}))
    assert "utensils" not in ep.messages["agent"][0].content
    assert ep.view().legal == (
        "go north", "go east", "go west", "open chest", "take letter from desk", "take lamp from desk",
    )  # fmt: skip
    ep = ep.step("open chest")
    assert "utensils" in ep.turns[0].told
    ep = ep.step("take utensils")
    assert ep.view().legal == (
        "go north", "go east", "go west", "close chest", "take letter from desk", "take lamp from desk",
        "put utensils in chest", "put utensils on desk", "drop utensils",
    )  # fmt: skip
    assert "utensils" not in ep.step("put utensils in chest").step("close chest").turns[-1].told


def test_whoever_eats_the_stale_food_has_lost() -> None:
    task = FO.task({"start": "living room"})
    ep = play_episode(FO, task, "eat stale food", "take fresh food", "eat fresh food", "eat table", "take stale food")
    assert list_results(ep) == ["not_held", "taken", "eaten", "not_held", "taken"] and ep.outcome is None
    assert ep.view().legal == (
        "go east", "go south", "go west", "put stale food on table", "drop stale food", "eat stale food",
    )  # fmt: skip
    ep = ep.step("eat the stale food")
    assert ep.outcome is not None and ep.outcome.kind == "loss" and ep.to_act is None
    assert ep.turns[-1].rewards.get("agent", 0.0) == 0.0
    plate = play_episode(FO, FO.task({"start": "dining room"}), "take plate", "eat plate", "eat cup")
    assert list_results(plate) == ["taken", "inedible", "absent"]


def test_turns_run_out() -> None:
    env = TextNav(max_turns=2)
    ep = play_episode(env, env.task({"start": "garden"}), "look", "look")
    assert ep.outcome is not None and (ep.outcome.kind, ep.outcome.truncated) == ("out_of_turns", "turns")
    assert ep.turns[-1].told.endswith("No commands are left.")


# --- what is told and what is hidden ---------------------------------------------------------------------------------


def test_under_partial_observation_room_and_inventory_are_hidden() -> None:
    task = PO.task({"start": "living room"})
    ep = play_episode(PO, task, "take stale food", "go west", "look")
    for turn in ep.turns:
        assert "living room" not in turn.told and "dining room" not in turn.told
    assert not any("stale food" in turn.told for turn in ep.turns[1:])
    assert "You carry the stale food." in ep.step("inventory").turns[-1].told
    assert ep.view().legal is not None and "drop stale food" in ep.view().legal
    first = ep.messages["agent"][0].content
    assert "kitchen: north to the garden, east to the dining room, west to the backyard." in first
    assert "storeroom" not in Episode.begin(FO, FO.task({"start": "kitchen"})).messages["agent"][0].content


def test_rooms_that_look_alike_are_told_apart_by_what_is_behind_the_door() -> None:
    task = PO.task({"start": "garden"})
    table = ("living room", "table")
    both = {Setup("garden", table), Setup("nursery", table)}
    for text, left in (("look", both), ("go east", both), ("go south", {Setup("garden", table)})):
        assert set(play_episode(PO, task, text).posterior().hypotheses) == left  # type: ignore[union-attr]
    turned = play_episode(PO, PO.task({"start": "nursery"}), "go south")
    assert turned.information_gain() == pytest.approx((1.0,))
    known = Episode.begin(PO, task).filter()
    assert known is not None and known.best_question() == ("go south", pytest.approx(1.0))
    assert PO.in_words(Setup("garden", table)) == (
        "you began in the garden, and the thing to find was in the living room, table"
    )


def setups_by_hand(env: TextNav, task: Task, texts: Sequence[str]) -> set[Setup]:
    """All setups of the house that would have been told the same, played one by one."""
    shape = {key: task.hidden[key] for key in ("house", "plan", "wording") if key in task.hidden}
    plan = task.hidden.get("plan", LMRL)
    spots = next(row[1:] for row in plan["things"] if row[0] == plan["goal"][0])
    starts = [row[0] for row in plan["rooms"]] if "start" not in task.public else [task.hidden["start"]]
    told = [m.content for m in play_episode(env, task, *texts).messages["agent"]]
    left: set[Setup] = set()
    for start in starts:
        for place in spots:
            other = env.task({**shape, "start": start, "place": place})
            if [m.content for m in play_episode(env, other, *texts).messages["agent"]] == told:
                left.add(Setup(start, place))
    return left


@pytest.mark.thorough
@each("env", [PO, MADE, LOST], ids=["po", "generated", "lost"])
def test_the_posterior_equals_enumeration(env: TextNav) -> None:
    for index in range(4):
        ep, rng = Episode.begin(env, env.tasks("train")[index]), Random(index)
        for n in range(13):
            if n % 4 == 0:
                belief, left = ep.posterior(), setups_by_hand(env, ep.task, [turn.text for turn in ep.turns])
                assert belief is not None and set(belief.hypotheses) == left
                assert all(p == pytest.approx(1 / len(left)) for p in belief.probs)
            legal = ep.view().legal
            assert legal is not None
            ep = ep.step(rng.choice([*legal, "look"]))
            if ep.to_act is None:
                break


def test_where_nothing_may_be_hidden_there_is_no_filter() -> None:
    assert FO.filter(FO.tasks("test")[0].public) is None
    assert isinstance(PO.filter(PO.tasks("test")[0].public), TabularFilter)
    task = MADE.task({"plan": SMALL, "start": "hall", "place": ["hall", "box"]})
    assert Episode.begin(MADE, task).filter().entropy == pytest.approx(1.0)  # type: ignore[union-attr]
    seen = MADE.task({"plan": SMALL, "start": "attic", "place": ["attic", "shelf"]})
    assert Episode.begin(MADE, seen).filter().entropy == 0.0  # type: ignore[union-attr]


def test_a_custom_house_whose_goal_must_be_closed() -> None:
    task = FO.task({"plan": SMALL, "start": "hall", "place": ["hall", "box"], "wording": 5})
    first = Episode.begin(FO, task).messages["agent"][0].content
    assert "put the key into the chest in the attic and close it. The key is in the attic or the hall." in first
    ep = play_episode(FO, task, "open box", "take key", "north", "put key in chest")
    assert ep.outcome is None and ep.step("close chest").outcome.success  # type: ignore[union-attr]
    early = play_episode(FO, task, "open box", "take key", "north", "close chest", "put key in chest")
    assert list_results(early)[-1] == "shut" and early.outcome is None


def test_every_turn_is_told_in_other_words_and_every_task_too() -> None:
    told = [t.told for t in play_episode(FO, FO.task({"start": "garden", "wording": 7}), *["look"] * 12).turns]
    assert len(set(told)) == 12
    plain = [t.told for t in play_episode(FO, FO.task({"start": "garden", "wording": 0}), *["look"] * 12).turns]
    assert len(set(plain)) == 1
    firsts = {
        Episode.begin(FO, t).messages["agent"][0].content for t in FO.tasks("train") if t.public["start"] == "office"
    }
    assert len(firsts) == 12


# --- splits and settings ---------------------------------------------------------------------------------------------


def test_splits() -> None:
    assert [len(env.tasks(s)) for env in (FO, PO, MADE) for s in ("test", "train")] == [100, 900] * 2 + [100, 1000]
    words = [{t.public["wording"] for t in FO.tasks(s)} for s in ("test", "train")]
    assert [len(some) for some in words] == [10, 90] and not words[0] & words[1]
    houses = [{t.public["plan"] for t in MADE.tasks(s)[:100]} for s in ("test", "train")]
    assert len(houses[0]) == len(houses[1]) == 100 and not houses[0] & houses[1]
    sizes = {int(t.tags["rooms"]) for t in MADE.tasks("train")[:200]}
    assert sizes == set(range(8, 21))
    assert {t.tags["rooms"] for t in LOST.tasks("test")[:20]} == {"8"}


def test_generated_houses_are_whole() -> None:
    kinds: set[tuple[str, bool]] = set()
    for task in MADE.tasks("train")[:100]:
        again = MADE.task({**task.hidden, "plan": dict(task.hidden["plan"])})
        assert again.public == task.public
        plan = task.public["plan"]
        thing, place, shut = plan["goal"]
        spots = next(row[1:] for row in plan["things"] if row[0] == thing)
        assert task.hidden["place"] in spots and len({room for room, _ in spots}) == 3
        assert place[0] not in {room for room, _ in spots}
        kinds.add((next(kind for name, room, kind in plan["furniture"] if (room, name) == place), shut))
    assert kinds == {("surface", False), ("open", False), ("open", True), ("closed", False), ("closed", True)}


def change_plan(**parts: Any) -> dict[str, Any]:
    return {"plan": {**SMALL, **parts}, "start": "hall", "place": ["hall", "box"]}


ROOMS = SMALL["rooms"]


@each("hidden, field",
    [
        (None, "hidden"), ({}, "hidden"), ({"start": "garden", "size": 3}, "hidden"), (["garden"], "hidden"),
        ({"start": "garden", "house": "lmrl", "plan": SMALL}, "hidden"), ({"start": "moon"}, "hidden: start"),
        ({"start": ["garden"]}, "hidden: start"), ({"start": "garden", "house": "mine"}, "hidden: house"),
        ({"start": "garden", "wording": 144}, "hidden: wording"),
        ({"start": "garden", "wording": True}, "hidden: wording"),
        ({"start": "garden", "place": ["kitchen", "fridge"]}, "hidden: place"),
        ({"start": "hall", "plan": SMALL}, "hidden: place"), ({"start": "hall", "plan": 3}, "hidden: plan"),
        ({"start": "hall", "plan": {"rooms": []}}, "hidden: plan"),
        (change_plan(rooms=ROOMS[:1]), "hidden: plan: rooms"),
        (change_plan(rooms=[["hall", "attic", "", "", ""], ["attic", "", "", "", ""]]), "hidden: plan: rooms"),
        (change_plan(rooms=[["hall", "", "", "", ""], ["attic", "", "", "", ""]]), "hidden: plan: rooms"),
        (change_plan(rooms=[["hall", "hall", "", "hall", ""], *ROOMS]), "hidden: plan: rooms"),
        (change_plan(rooms=[["hall", "attic", "", ""], ROOMS[1]]), "hidden: plan: rooms"),
        (change_plan(rooms=[["Hall", "attic", "", "", ""], ROOMS[1]]), "hidden: plan: rooms"),
        (change_plan(furniture=[["box", "hall", "locked"]]), "hidden: plan: furniture"),
        (change_plan(furniture=[["box", "moon", "open"]]), "hidden: plan: furniture"),
        (change_plan(furniture=[["box", "hall", "open"], ["box", "hall", "closed"]]), "hidden: plan: furniture"),
        (change_plan(furniture=[["floor", "hall", "surface"]]), "hidden: plan: furniture"),
        (change_plan(things=[["key in box", ["hall", "box"]]]), "hidden: plan: things"),
        (change_plan(things=[["box", ["hall", "box"]]]), "hidden: plan: things"),
        (change_plan(things=[["key", ["hall", "bag"]]]), "hidden: plan: things"),
        (change_plan(things=[["key", ["hall", "box"], ["hall", "box"]]]), "hidden: plan: things"),
        (change_plan(things=[["key", ["hall", "box"]], ["key", ["hall", ""]]]), "hidden: plan: things"),
        (change_plan(things=[*SMALL["things"], ["pen", ["hall", ""], ["attic", ""]]]), "hidden: plan: goal"),
        (change_plan(goal=["pen", ["attic", "chest"], True]), "hidden: plan: goal"),
        (change_plan(goal=["key", ["attic", "shelf"], False]), "hidden: plan: goal"),
        (change_plan(goal=["cup", ["attic", "shelf"], True]), "hidden: plan: goal"),
        (change_plan(goal=["key", ["attic", "chest"], 1]), "hidden: plan: goal"),
        (change_plan(goal="key"), "hidden: plan: goal"),
    ],
)  # fmt: skip
def test_bad_hidden_setups_are_refused(hidden: Any, field: str) -> None:
    with pytest.raises(UserError, match=rf"^text_nav: {field}: got"):
        FO.task(hidden)


@each(
    "wrong",
    [{"preset": "of"}, {"observed": "half"}, {"rooms": 9}, {"preset": "generated", "rooms": 7}, {"max_turns": 0}],
)
def test_bad_arguments_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=rf"^text_nav: {list(wrong)[-1]}: "):
        TextNav(**wrong)


@pytest.mark.thorough
@each("env", [TextNav(preset="po", observed="full"), LOST], ids=["po", "generated"])
def test_observed_otherwise_they_keep_the_contract(env: TextNav) -> None:
    check_env(env, episodes=8)
