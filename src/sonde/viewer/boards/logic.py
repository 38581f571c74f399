"""Automata as rows of cells, circuits as truth tables of the probed outputs."""

from __future__ import annotations

from typing import Any

from sonde.core import Episode

from .pen import Pen

_CELL, _ROW = 24, 27


def draw_automata(ep: Episode, reveal: bool) -> Pen:
    """Each row, its successor, and where the last guess predicts another one."""
    public = ep.task.public
    last = ep.turns[-1].info if ep.turns else {}
    made = last.get("outputs") or ()
    inputs, outputs = public["inputs"], public["outputs"]
    wide = max(map(len, inputs))
    block = 2 * _CELL + (_CELL if made else 0) + 14
    right = sum(map(bool, last.get("correct") or ()))
    about = f"{len(inputs)} rows of cells and what they become" + (f"; the last guess gives {right}" if made else "")
    pen = Pen(70 + wide * _CELL + 6, len(inputs) * block + 18 * reveal, about)
    for i, (before, after) in enumerate(zip(inputs, outputs, strict=True)):
        y = i * block + 2
        _draw_cells(pen, y, "row", before)
        _draw_cells(pen, y + _CELL, "becomes", after)
        if i < len(made):
            _draw_cells(pen, y + 2 * _CELL, "guess", str(made[i]), str(after))
    if reveal:
        pen.add_text(
            70, len(inputs) * block + 6, f"rule {ep.env.hypothesis(ep.state)}", "b-ghost-ink", size=12, anchor="start"
        )
    return pen


def _draw_cells(pen: Pen, y: float, title: str, row: str, wanted: str = "") -> None:
    pen.add_text(62, y + _CELL / 2, title, "b-quiet", size=11, anchor="end")
    for c, bit in enumerate(row):
        x = 70 + c * _CELL
        pen.add_rect(x + 1, y + 1, _CELL - 2, _CELL - 2, "b-wall" if bit == "1" else "b-open", round=2)
        if wanted and wanted[c : c + 1] != bit:
            pen.add_text(x + _CELL / 2, y + _CELL / 2, "✕", "b-bad", size=13)


def draw_circuits(ep: Episode, reveal: bool) -> Pen:
    """A truth table per circuit, with the probed outputs."""
    n, inputs = int(ep.task.public["circuits"]), int(ep.task.public["inputs"])
    seen: dict[tuple[int, str], int] = {}
    last = None
    for turn in ep.turns:
        if turn.info.get("result") == "output":
            last = (int(turn.info["circuit"]), str(turn.info["input"]))
            seen[last] = int(turn.info["output"])
    env: Any = ep.env
    truth: Any = env.hypothesis(ep.state) if reveal else None
    probes = len(ep.turns) < ep.env.spec.max_turns - 1
    gates = ep.task.public["gates"]
    width = 44 + n * 62
    pen = Pen(
        width, 50 + (1 << inputs) * _ROW, f"{n} circuits of {inputs} inputs, {len(seen)} of {n << inputs} outputs seen"
    )
    pen.add_text(
        4, 10, "  ".join(f"{count} {kind}" for kind, count in gates.items()), "b-quiet", size=11, anchor="start"
    )
    for k in range(n):
        pen.add_text(44 + k * 62 + 28, 34, f"circuit {k + 1}", "b-quiet", size=11)
    for i in range(1 << inputs):
        bits, y = f"{i:0{inputs}b}", 46 + i * _ROW
        pen.add_text(36, y + _ROW / 2, bits, "b-mono", size=13, anchor="end")
        for k in range(n):
            x, key = 44 + k * 62 + 12, (k + 1, bits)
            out = seen.get(key)
            style = "b-empty" if out is None else "b-wall" if out else "b-open"
            pen.add_rect(x, y + 2, 32, _ROW - 4, style + (" b-last" if key == last else ""), round=4)
            if out is not None:
                pen.add_text(x + 16, y + _ROW / 2, str(out), "b-paper" if out else "b-ink")
            elif truth is not None:
                pen.add_text(x + 16, y + _ROW / 2, str(truth[k])[i], "b-ghost-ink", size=12)
            if out is None and probes:
                pen.add_place(x, y + 2, 32, _ROW - 4, env.probe_answer(k, i))
    return pen
