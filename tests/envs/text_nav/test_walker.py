"""The walkers of the paper's text-nav data: which rooms they know, what they do there, and what data they make."""

from __future__ import annotations

from collections import Counter

from sonde.core import Action, Episode
from sonde.envs.text_nav.env import TextNav
from sonde.envs.text_nav.plan import LMRL, build_house
from sonde.envs.text_nav.solver import TextNavSolver
from sonde.envs.text_nav.walker import TextNavWalker, known_rooms, near_rooms
from tests.cases import each

FO, PO = TextNav(), TextNav(preset="po")
NEAR = {"kitchen", "dining room", "garden", "backyard", "living room"}


def finish_episode(env: TextNav, walker: TextNavWalker, start: str, sample: int) -> Episode:
    ep = Episode.begin(env, env.task({"start": start}), sample=sample)
    while ep.to_act is not None:
        ep = ep.step(walker.act_now(ep.view()))
    return ep


def test_the_near_half_by_hand() -> None:
    house = build_house(LMRL)
    assert {house.rooms[room] for room in near_rooms(house)} == NEAR
    known = {half: {house.rooms[room] for room in known_rooms(house, half)} for half in ("near", "far")}
    assert known["near"] == NEAR and known["near"] & known["far"] == {"living room"}
    assert known["near"] | known["far"] == set(house.rooms)


@each("half", ["near", "far"])
def test_it_is_optimal_in_its_half_and_random_in_the_other(half: str) -> None:
    walker, best, said = TextNavWalker(half=half), TextNavSolver(), dict[str, Counter[str]]()
    for room in build_house(LMRL).rooms:
        task = FO.task({"start": room})
        views = [Episode.begin(FO, task, sample=k).view() for k in range(300)]
        said[room] = Counter(walker.act_now(view).text for view in views)
        legal = views[0].legal
        assert legal is not None
        if room == "living room" or (room in NEAR) == (half == "near"):
            assert set(said[room]) == {best.act_now(views[0]).text}
        else:
            assert set(said[room]) == set(legal)
            # 300 draws: five standard errors around an equal share for each.
            share = 1 / len(legal)
            assert all(abs(n / 300 - share) <= 5 * (share * (1 - share) / 300) ** 0.5 for n in said[room].values())


def test_near_the_goal_only_the_policy_of_that_half_wins_at_once() -> None:
    for start in NEAR:
        wins = [finish_episode(FO, TextNavWalker(half="near"), start, k) for k in range(3)]
        assert all(ep.outcome is not None and ep.outcome.success for ep in wins)
        assert len({len(ep.turns) for ep in wins}) == 1
    lost = [finish_episode(FO, TextNavWalker(half="far"), start, k) for start in NEAR for k in range(8)]
    assert sum(ep.outcome is not None and ep.outcome.success for ep in lost) <= 1


def test_a_half_is_drawn_for_every_episode_and_kept() -> None:
    walker, halves = TextNavWalker(), Counter[str]()
    for k in range(200):
        ep = finish_episode(TextNav(max_turns=4), walker, "garden", k)
        (half,) = {act.action.memory for act in ep.acts}
        halves[half] += 1
        again = TextNavWalker(half=half)
        view = Episode.begin(FO, FO.task({"start": "garden"}), sample=k).view()
        assert half == "far" or again.act_now(view).text == "go south"
    assert set(halves) == {"near", "far"} and 19 <= halves["near"] <= 81  # 50 +- 5 standard errors


def test_its_data_are_as_hard_as_the_papers() -> None:
    """Table 1: .26 successes, 12.2 replies on average, deviation 8.77. Ours have 15.9 and 8.3 (1,000 episodes)."""
    eps = [finish_episode(FO, TextNavWalker(), t.hidden["start"], k) for k, t in enumerate(FO.tasks("train")[:250])]
    length = sum(len(ep.turns) for ep in eps) / len(eps)
    success = sum(ep.outcome is not None and ep.outcome.success for ep in eps) / len(eps)
    assert abs(success - 0.25) < 0.12 and abs(length - 15.9) < 2.5
    assert {ep.outcome.kind for ep in eps if ep.outcome} == {"win", "loss", "out_of_turns"}


def test_not_told_the_room_it_is_lost_where_it_may_be_in_either_half() -> None:
    task = PO.task({"start": "garden"})
    said = {TextNavWalker(half="near").act_now(Episode.begin(PO, task, sample=k).view()).text for k in range(40)}
    assert said == {"go south"}
    ep = Episode.begin(PO, task).step(Action("go south"))
    assert TextNavWalker(half="near").act_now(ep.view()).text == "go east"
