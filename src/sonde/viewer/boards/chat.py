"""The last turns of a conversation as a picture, for environments without a board."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from sonde._util.escaping import make_visible
from sonde.agents.human import strip_tags, strip_thinking
from sonde.core import AGENT, Act, Episode

from .pen import Pen

WIDE, LINES, TURNS = 46, 3, 2
"""Characters of a line, lines of a message, and number of turns shown."""
_LINE, _PAD, _WIDTH = 17, 8, 420


def draw_chat(ep: Episode) -> Pen:
    """The last turns, with the agent at the right."""
    said = [
        (seat, _wrap_text(text))
        for turn in ep.turns[-TURNS:]
        for act in turn.acts
        for seat, text in _list_messages(act)
    ]
    height = sum(len(lines) * _LINE + 2 * _PAD + 22 for _, lines in said) + 6
    pen = Pen(_WIDTH, height, "; ".join(f"{seat}: {' '.join(lines)}" for seat, lines in said)[:400] or "nothing said")
    y = 4.0
    for seat, lines in said:
        mine, tall = seat == AGENT, len(lines) * _LINE + 2 * _PAD
        width = 7.6 * max(map(len, lines)) + 24
        x = _WIDTH - width - 4 if mine else 4
        pen.add_text(_WIDTH - 6 if mine else 6, y + 7, seat, "b-quiet", size=11, anchor="end" if mine else "start")
        pen.add_rect(x, y + 15, width, tall, "b-mine" if mine else "b-theirs", round=9)
        for i, line in enumerate(lines):
            pen.add_text(x + 12, y + 15 + _PAD + (i + 0.5) * _LINE, line, "b-ink", size=13.5, anchor="start")
        y += tall + 22
    return pen


def _list_messages(act: Act) -> Iterator[tuple[str, str]]:
    yield act.seat, strip_thinking(act.action.text)
    told = act.told.get(AGENT, "")
    if told and told != act.action.text:
        yield "told", strip_tags(told)


def _wrap_text(text: str) -> list[str]:
    lines = textwrap.wrap(make_visible(" ".join(text.split())), WIDE) or ["(nothing)"]
    return [*lines[: LINES - 1], lines[LINES - 1] + " …"] if len(lines) > LINES else lines
