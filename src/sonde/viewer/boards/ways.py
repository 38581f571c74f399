"""Walks: mazes with the path so far, and the river with the visits to its caves."""

from __future__ import annotations

from typing import Any

from sonde.core import Episode

from .pen import Pen

_STEPS = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}


def draw_maze(ep: Episode, reveal: bool) -> Pen | None:
    """The map, the goal and the path so far. If only the history is told, the walls around the place, until all is
    revealed; if the map is told, but not the place, the map without it."""
    env: Any = ep.env
    if env.view_kind == "history" and not reveal:
        return _draw_surroundings(ep)
    state: Any = ep.state
    layout, place = state.layout, state.place
    rows, cols = len(layout), max(map(len, layout))
    side = max(14, min(30, 340 // max(rows, cols)))
    full = ep.filter() is None  # with a filter the place is the hidden state
    pen = Pen(cols * side, rows * side, f"A maze of {rows} by {cols}, goal at {state.goal}, {len(ep.turns)} moves")
    for r, row in enumerate(layout):
        for c, sign in enumerate(row):
            if sign == "#":
                pen.add_rect(c * side, r * side, side + 0.5, side + 0.5, "b-wall")
    gr, gc = state.goal
    pen.add_rect(gc * side + 3, gr * side + 3, side - 6, side - 6, "b-goal", round=3)
    pen.add_text((gc + 0.5) * side, (gr + 0.5) * side, "★", "b-on", size=side * 0.55)
    if full or reveal:
        way = [state.begun, *(tuple(t.info["position"]) for t in ep.turns if t.info.get("position"))] if full else []
        points = [f"{(c + 0.5) * side:g} {(r + 0.5) * side:g}" for r, c in way]
        if len(points) > 1:
            pen.add_path("M " + " L ".join(points), "b-way")
        pen.add_circle((place[1] + 0.5) * side, (place[0] + 0.5) * side, side * 0.3, "b-me" if full else "b-ghost")
    for direction, (down, right) in _STEPS.items() if full else ():
        r, c = place[0] + down, place[1] + right
        if layout[r][c] != "#":
            pen.add_place(c * side, r * side, side, side, f"move {direction}")
    return pen


def _draw_surroundings(ep: Episode) -> Pen:
    """The four cells around the present one, which is all that is told of the place."""
    state: Any = ep.state
    side, (row, col) = 40, state.place
    pen = Pen(3 * side, 3 * side, f"A place in an unknown maze and the ways from it, {len(ep.turns)} moves")
    pen.add_circle(1.5 * side, 1.5 * side, side * 0.3, "b-me")
    for direction, (down, right) in _STEPS.items():
        x, y = (1 + right) * side, (1 + down) * side
        if state.layout[row + down][col + right] == "#":
            pen.add_rect(x, y, side, side, "b-wall")
        else:
            pen.add_place(x, y, side, side, f"move {direction}")
    return pen


def draw_river(ep: Episode, reveal: bool) -> Pen:
    """The caves in a row by label, with the visits to each and the swimmer's cave."""
    caves = [str(cave) for cave in ep.task.public["caves"]]
    visits = dict.fromkeys(caves, 0)
    reward = dict.fromkeys(caves, 0.0)
    here = str(ep.task.public["start"])
    for turn in ep.turns:
        if "next" in turn.info:
            here = str(turn.info["next"])
            visits[str(turn.info["state"])] = visits.get(str(turn.info["state"]), 0) + 1
            reward[str(turn.info["state"])] = max(reward.get(str(turn.info["state"]), 0.0), float(turn.info["reward"]))
    most = max(1, *visits.values())
    pen = Pen(74 * len(caves) + 10, 118, f"{len(caves)} caves, now in cave {here}")
    for i, cave in enumerate(caves):
        x = 10 + 74 * i
        height = 50 * visits[cave] / most
        pen.add_rect(x, 60 - height, 54, height, "b-bar", round=2)
        pen.add_rect(x, 64, 54, 28, "b-right" if cave == here else "b-absent", round=6)
        pen.add_text(x + 27, 78, f"cave {cave}", "b-on" if cave == here else "b-ink", size=13)
        pen.add_text(x + 27, 106, f"{visits[cave]}×, {reward[cave]:g}", "b-quiet", size=11)
    return pen
