"""Bandits: pulls and rewards of every arm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sonde.core import Episode

from .pen import Pen

_ROW, _LEFT, _WIDE = 30, 110, 240


def draw_best_arm(ep: Episode, reveal: bool) -> Pen:
    """The pulls of a short bandit, and the chosen arm."""
    counts: dict[str, tuple[int, int]] = {str(arm): (0, 0) for arm in ep.task.public["arms"]}
    for turn in ep.turns:
        if "pulls" in turn.info:
            counts = {str(arm): (int(n), int(wins)) for arm, (n, wins) in turn.info["pulls"].items()}
    return _draw_arms(ep, counts, reveal)


def draw_bernoulli_bandit(ep: Episode, reveal: bool) -> Pen:
    """The pulls of a long bandit."""
    counts: dict[str, tuple[int, int]] = {str(arm): (0, 0) for arm in ep.task.public["arms"]}
    for turn in ep.turns:
        if turn.info.get("action") in counts:
            n, wins = counts[turn.info["action"]]
            counts[turn.info["action"]] = (n + 1, wins + int(turn.info["reward"]))
    return _draw_arms(ep, counts, reveal)


def _draw_arms(ep: Episode, counts: Mapping[str, tuple[int, int]], reveal: bool) -> Pen:
    most = max(8, *(n for n, _ in counts.values()))
    told = ", ".join(f"{arm} {wins} of {n}" for arm, (n, wins) in counts.items())
    last = (ep.turns[-1].info.get("arm") or ep.turns[-1].info.get("action")) if ep.turns else None
    state: Any = ep.state
    truth = dict(zip(counts, state.means, strict=False)) if reveal else {}
    pen = Pen(_LEFT + _WIDE + 90, _ROW * len(counts) + 8, f"Pulls that paid: {told}")
    for i, (arm, (n, wins)) in enumerate(counts.items()):
        y = 4 + i * _ROW
        pen.add_text(
            _LEFT - 8,
            y + _ROW / 2,
            arm if len(arm) <= 14 else arm[:13] + "…",
            "b-strong" if arm == last else "b-ink",
            anchor="end",
        )
        pen.add_rect(_LEFT, y + 5, _WIDE, _ROW - 10, "b-empty", round=3)
        pen.add_rect(_LEFT, y + 5, _WIDE * n / most, _ROW - 10, "b-soft", round=3)
        pen.add_rect(_LEFT, y + 5, _WIDE * wins / most, _ROW - 10, "b-bar", round=3)
        pen.add_text(_LEFT + _WIDE + 8, y + _ROW / 2, f"{wins} of {n}", "b-quiet", size=12, anchor="start")
        if arm in truth:
            pen.add_text(_LEFT + _WIDE - 6, y + _ROW / 2, f"{truth[arm]:.2f}", "b-ghost-ink", size=11, anchor="end")
        pen.add_place(2, y + 1, pen.width - 4, _ROW - 2, arm)
    return pen
