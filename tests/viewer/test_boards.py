"""Boards: what is drawn of a game, and that nothing hidden is."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from typing import Any

import sonde
from sonde.core import AGENT, Episode, ProgramPolicy, advance_to_agent_now, default_policies
from sonde.viewer.boards import FAMILIES, draw_board
from sonde.viewer.boards.pen import Pen
from tests.cases import each


def begun(env: Any, index: int = 0, seed: int = 0) -> Episode:
    return advance_to_agent_now(Episode.begin(env, env.tasks("test")[index], seed=seed), default_policies(env))


def said(ep: Episode, *lines: str) -> Episode:
    others = default_policies(ep.env)
    for line in lines:
        ep = advance_to_agent_now(ep.step(ep.env.say(line)), others)
    return ep


def answers_on(svg: str | None) -> list[str]:
    """What the places of a picture say when they are pressed, one after the other where two make an answer."""
    if svg is None:
        return []
    board = ET.fromstring(svg)
    places = [e.get("data-say", "") for e in board.iter() if e.get("class") == "b-place"]
    pairs: dict[str, dict[str, str]] = json.loads(board.get("data-pairs", "{}"))
    assert {*pairs, *(to for ends in pairs.values() for to in ends)} <= set(places)
    return [answer for ends in pairs.values() for answer in ends.values()] if pairs else places


def words(svg: str | None) -> list[str]:
    """The texts of a picture, which has to be well-formed."""
    assert svg is not None
    return [e.text or "" for e in ET.fromstring(svg).iter("text")]


def styles(svg: str | None) -> list[str]:
    assert svg is not None
    return [e.get("class", "") for e in ET.fromstring(svg).iter()]


@each("name", FAMILIES)
def test_every_board_is_drawn_at_every_moment_of_a_game(name: str) -> None:
    env = sonde.make(name, **({"max_turns": 6} if name in ("chess", "river_swim", "bernoulli_bandit") else {}))
    policy, others = sonde.make("agents:random"), default_policies(env)
    assert isinstance(policy, ProgramPolicy)
    ep = begun(env)
    for _ in range(6):
        for reveal in (False, True):
            svg = draw_board(ep, reveal=reveal, name="x")
            words(svg)
            assert svg is None or re.search(r'aria-label="[^"]{5,}"', svg)
        assert set(answers_on(draw_board(ep, live=True))) <= set(env.actions(ep.state) or ())
        if ep.to_act != AGENT:
            break
        ep = advance_to_agent_now(ep.step(policy.act_now(ep.view())), others)


@each("name", FAMILIES)
def test_a_board_shows_nothing_that_was_not_told(name: str) -> None:
    """Worlds whose agents have been told the same look the same."""
    env = sonde.make(name, **({"preset": "lmrl_partial"} if name == "maze" else {}))
    pictures: dict[str, set[str | None]] = {}
    for index in range(12):
        ep = begun(env, index % len(env.tasks("test")), seed=index)
        told = ep.messages[AGENT][0].content + repr(sorted(dict(ep.task.public).items()))
        pictures.setdefault(told, set()).add(draw_board(ep))
    assert all(len(found) == 1 for found in pictures.values())


def test_a_mine_field_by_hand() -> None:
    env = sonde.make("minesweeper")
    ep = Episode.begin(env, env.task({"rows": 4, "cols": 4, "mines": [[0, 0], [3, 0]]}))
    one = said(ep, "reveal 0 1")
    assert words(draw_board(one)) == ["0", "1", "2", "3", "0", "1", "1", "2", "3"]
    assert styles(draw_board(one)).count("b-shut") == 15 and "b-ghost" not in styles(draw_board(one))
    assert styles(draw_board(one, reveal=True)).count("b-ghost") == 2
    assert "✕" in words(draw_board(said(one, "reveal 3 0")))


def test_shots_by_hand() -> None:
    env = sonde.make("battleship")
    fleet = {"size": 5, "carrier": ["A1", "A2", "A3", "A4", "A5"], "battleship": ["B1", "B2", "B3", "B4"],
             "destroyer": ["C1", "C2"]}  # fmt: skip
    ep = said(Episode.begin(env, env.task(fleet)), "A1", "E5", "C2")
    assert [w for w in words(draw_board(ep)) if w in "CBD" and w][-2:] == ["C", "D"]
    assert styles(draw_board(ep)).count("b-miss") == 1
    assert styles(draw_board(ep, reveal=True)).count("b-ghost") == 9


def test_marks_by_hand() -> None:
    env = sonde.make("wordle")
    svg = draw_board(said(Episode.begin(env, env.task("toast")), "roast"))
    assert words(svg) == list("ROAST")
    assert styles(svg).count("b-right") == 4 and styles(svg).count("b-absent") == 1
    assert "r absent, o right place" in str(svg)
    other = draw_board(said(Episode.begin(env, env.task("toast")), "stain"))
    assert styles(other).count("b-under") == styles(other).count("b-other") == 2
    assert words(draw_board(said(Episode.begin(env, env.task("toast")), "roast"), reveal=True))[-5:] == list("TOAST")


def test_counts_by_hand() -> None:
    env = sonde.make("mastermind")
    svg = draw_board(said(Episode.begin(env, env.task("0427")), "4420"))
    assert styles(svg).count("b-full") == 2 and styles(svg).count("b-ring") == 1
    assert "4420: 2 exact, 1 partial" in str(svg)


def test_a_walk_by_hand() -> None:
    env = sonde.make("maze")
    ep = said(begun(env), "move right", "move right")
    svg = str(draw_board(ep))
    assert styles(svg).count("b-wall") == sum(row.count("#") for row in ep.state.layout)  # type: ignore[attr-defined]
    (way,) = [e.get("d", "") for e in ET.fromstring(svg).iter() if e.get("class") == "b-way"]
    assert way.count("L") == 2
    told = sonde.make("maze", preset="lmrl_partial", observed="map")
    assert not {"b-way", "b-me"} & set(styles(draw_board(begun(told)))) and "b-ghost" in styles(
        draw_board(begun(told), reveal=True)
    )


def test_a_walk_by_history_shows_what_the_model_is_told() -> None:
    """The ways from the place, and neither map nor goal before all is revealed."""
    ep = begun(sonde.make("maze", preset="lmrl_partial"))
    layout, (row, col) = ep.state.layout, ep.state.place  # type: ignore[attr-defined]
    steps = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
    ways = {f"move {way}" for way, (r, c) in steps.items() if layout[row + r][col + c] == "."}
    svg = draw_board(ep, live=True)
    assert set(answers_on(svg)) == ways and styles(svg).count("b-wall") == 4 - len(ways)
    assert "b-goal" not in styles(svg) and "★" not in words(svg)
    assert "b-goal" in styles(draw_board(ep, reveal=True))
    after = said(ep, min(ways))
    assert styles(draw_board(after)).count("b-wall") == len(after.turns[-1].info["walls"])


def test_a_position_by_hand() -> None:
    svg = draw_board(said(begun(sonde.make("chess")), "e4"))
    found = styles(svg)
    assert found.count("b-white") == found.count("b-black") == 16
    assert found.count("b-light") == found.count("b-dark") == 32
    assert "agent e4" in str(svg)


def test_outputs_by_hand() -> None:
    env = sonde.make("circuit_decoding")
    ep = said(begun(env), "probe 2 101")
    assert str(ep.turns[0].info["output"]) in words(draw_board(ep))
    truth = words(draw_board(ep, reveal=True))
    assert sum(w in ("0", "1") for w in truth) == 24


def test_a_rule_that_is_wrong_shows_where() -> None:
    env = sonde.make("cellular_automata")
    ep = Episode.begin(env, env.task({"rule": 255, "inputs": ["0101"]}))
    assert "✕" not in words(draw_board(ep))
    assert words(draw_board(said(ep, "0"))).count("✕") == 4


def test_arms_by_hand() -> None:
    env = sonde.make("best_arm")
    ep = said(begun(env), "blue", "blue", "green")
    assert next(w for w in words(draw_board(ep)) if " of " in w).endswith("of 2")


def test_places_stand_for_the_answers_that_are_left() -> None:
    env = sonde.make("minesweeper")
    ep = said(Episode.begin(env, env.task({"rows": 4, "cols": 4, "mines": [[0, 0], [3, 0]]})), "reveal 0 1")
    svg = draw_board(ep, live=True)
    assert sorted(answers_on(svg)) == sorted(env.actions(ep.state) or ()) and 'role="group"' in str(svg)
    assert answers_on(draw_board(ep)) == answers_on(draw_board(said(ep, "reveal 3 0"), live=True)) == []
    corner = Episode.begin(sonde.make("maze"), sonde.make("maze").tasks("test")[0])
    ways = set(answers_on(draw_board(corner, live=True)))
    moved = {way for way in ways if said(corner, way).turns[0].info["position"] != list(corner.state.place)}  # type: ignore[attr-defined]
    assert ways == moved and ways < {"move up", "move down", "move left", "move right"}
    told = sonde.make("maze", preset="lmrl_partial", observed="map")
    assert answers_on(draw_board(begun(told), live=True)) == []
    assert {"Nf3", "e4"} <= set(answers_on(draw_board(begun(sonde.make("chess")), live=True)))
    assert answers_on(draw_board(begun(sonde.make("best_arm")), live=True)) == [
        "blue",
        "green",
        "red",
        "yellow",
        "purple",
    ]


def test_words_that_are_drawn_are_escaped() -> None:
    pen = Pen(10, 10, 'a "quoted" <b>')
    pen.add_text(1, 1, "<script>&", 'b-ink" onload="x')
    svg = pen.to_svg("n")
    assert words(svg) == ["<script>&"] and "<script" not in svg
    (text,) = ET.fromstring(svg).iter("text")
    assert text.get("class") == 'b-ink" onload="x' and text.get("onload") is None
    assert ET.fromstring(svg).get("aria-label") == 'a "quoted" <b>'


def test_a_conversation_has_no_board() -> None:
    assert draw_board(begun(sonde.make("twenty_questions"))) is None
