"""Guesses in rows: words with marks, codes with counts, and locks with a mark for each digit.

A mark is a colour and a sign: full for the right place, a bar below for another place, none for absent.
"""

from __future__ import annotations

from collections.abc import Sequence

from sonde.core import Episode

from .pen import Pen

_TILE, _GAP = 36, 4
_STYLES = {"g": "b-right", "y": "b-other", "b": "b-absent", "": "b-empty"}
_SAID = {"g": "right place", "y": "other place", "b": "absent"}


def draw_words(ep: Episode, reveal: bool) -> Pen | None:
    """The guesses of Wordle and of related games that mark letters."""
    rows = [
        (str(turn.info["guess"]), str(turn.info.get("feedback") or turn.info.get("marks")))
        for turn in ep.turns
        if turn.info.get("guess") and (turn.info.get("feedback") or turn.info.get("marks"))
    ]
    secret = str(ep.env.hypothesis(ep.state))
    if not rows and ep.turns and ep.env.name == "word_guess":
        return None
    return _draw_rows(ep, rows, len(secret), secret if reveal else "")


def _draw_rows(ep: Episode, rows: Sequence[tuple[str, str]], length: int, secret: str) -> Pen:
    shown = rows[-10:]
    more = min(max(1, ep.env.spec.max_turns - len(rows)), max(1, 6 - len(shown))) if ep.outcome is None else 0
    n = len(shown) + more + bool(secret)
    pen = Pen(length * (_TILE + _GAP) + _GAP, n * (_TILE + _GAP) + _GAP, _describe_rows(rows))
    for r, (word, marks) in enumerate(shown):
        _draw_row(pen, r, word, marks)
    for r in range(len(shown), len(shown) + more):
        _draw_row(pen, r, " " * length, [""] * length)
    if secret:
        _draw_row(pen, n - 1, secret, [""] * length)
    return pen


def _describe_rows(rows: Sequence[tuple[str, str]]) -> str:
    last = rows[-1] if rows else ("", "")
    told = ", ".join(f"{letter} {_SAID.get(mark, '')}" for letter, mark in zip(*last, strict=False))
    return f"{len(rows)} guesses" + (f"; the last: {told}" if told else "")


def _draw_row(pen: Pen, r: int, word: str, marks: Sequence[str]) -> None:
    for c, (letter, mark) in enumerate(zip(word, marks, strict=False)):
        x, y = _GAP + c * (_TILE + _GAP), _GAP + r * (_TILE + _GAP)
        pen.add_rect(x, y, _TILE, _TILE, _STYLES.get(mark, "b-empty"), round=4)
        if letter.strip():
            style = "b-on" if mark == "g" else "b-ink" if mark != "b" else "b-quiet"
            pen.add_text(x + _TILE / 2, y + _TILE / 2 - (2 if mark == "y" else 0), letter.upper(), style, size=18)
        if mark == "y":
            pen.add_rect(x + _TILE / 2 - 8, y + _TILE - 7, 16, 3, "b-under", round=1)


def draw_mastermind(ep: Episode, reveal: bool) -> Pen:
    """Codes with their counts: a full dot for each digit in its place, a ring for each in another place."""
    length = int(ep.task.public["length"])
    rows = [turn.info for turn in ep.turns if turn.info.get("guess") and "exact" in turn.info]
    n = len(rows) + (1 if ep.outcome is None or reveal or not rows else 0)
    width = _GAP + length * (_TILE + _GAP)
    last = rows[-1] if rows else None
    about = f"{len(rows)} guesses" + (
        f"; the last, {last['guess']}: {last['exact']} exact, {last['partial']} partial" if last else ""
    )
    pen = Pen(width + 16 * length + 10, max(1, n) * (_TILE + _GAP) + _GAP, about)
    for r, info in enumerate(rows):
        _draw_row(pen, r, str(info["guess"]), ["code"] * length)
        y = _GAP + r * (_TILE + _GAP) + _TILE / 2
        for i in range(int(info["exact"]) + int(info["partial"])):
            pen.add_circle(width + 10 + 16 * i, y, 5, "b-full" if i < int(info["exact"]) else "b-ring")
    if n > len(rows):
        code = str(ep.env.hypothesis(ep.state)) if reveal else " " * length
        _draw_row(pen, len(rows), code, [""] * length)
    return pen


def draw_lock(ep: Episode, reveal: bool) -> Pen:
    """The latest six attempts, place by place."""
    code = str(ep.env.hypothesis(ep.state))
    attempts: dict[int, tuple[str, str]] = {}
    for turn in ep.turns:
        if turn.info.get("mark"):
            word, marks = attempts.get(turn.info["sub_episode"], ("", ""))
            attempts[turn.info["sub_episode"]] = (word + str(turn.info["action"]), marks + str(turn.info["mark"]))
    rows = [(word, marks) for _, (word, marks) in sorted(attempts.items())][-6:]
    n = max(1, len(rows)) + bool(reveal)
    pen = Pen(len(code) * (_TILE + _GAP) + _GAP, n * (_TILE + _GAP) + _GAP, _describe_rows(rows))
    for r, (word, marks) in enumerate(rows or [("", "")]):
        pad = len(code) - len(word)
        _draw_row(pen, r, word + " " * pad, [*marks, *[""] * pad])
    if reveal:
        _draw_row(pen, n - 1, code, [""] * len(code))
    return pen
