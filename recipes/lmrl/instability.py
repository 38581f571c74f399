"""Figure 5: does the policy collapse during training? The return over the steps, with the best window and the last.

    python recipes/lmrl/instability.py TRAINING ... [--out figure.svg] [--window 5] [--save]

The script reads the `history.jsonl` of online trainings: the return of an episode (`score`), averaged over `window`
steps. If a training rose and fell, its best window is well above its last. The paper observed this with PPO on the
fully observed maze, and prevented it by more rollouts and another weight of the penalty.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.append(str(Path(__file__).parents[1]))
from rows import save_table

from sonde.core import UserError, invalid

COLUMNS = ("training", "steps", "first", "best", "step of the best", "last", "lost since the best")


class Curve(NamedTuple):
    """A training's return by step, as a moving mean."""

    name: str
    steps: list[float]
    values: list[float]

    @property
    def best(self) -> int:
        return max(range(len(self.values)), key=self.values.__getitem__)

    def format_cells(self) -> list[str | float | int | None]:
        numbers = [round(x, 2) for x in (self.values[0], self.values[self.best], self.values[-1])]
        lost = round(self.values[self.best] - self.values[-1], 2)
        return [self.name, int(self.steps[-1]), *numbers[:2], int(self.steps[self.best]), numbers[2], lost]


def read_curve(folder: Path, window: int) -> Curve:
    """The curve of a training; each point is the mean of `window` steps, at the last of them."""
    file = folder / "history.jsonl"
    if not file.is_file():
        raise UserError(f"{folder}: got no history.jsonl, allowed: the folder of a training")
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    points = [(float(row["step"]), float(row["score"])) for row in rows if "score" in row]
    if len(points) < window:
        raise invalid(f"{folder}: entries with a return", len(points), f"{window} or more, of an online training")
    means = [sum(y for _, y in points[i - window + 1 : i + 1]) / window for i in range(window - 1, len(points))]
    return Curve("/".join(folder.parts[-2:]), [x for x, _ in points[window - 1 :]], means)


def write_figure(curves: Sequence[Curve], file: Path) -> None:
    """The curves as SVG."""
    from sonde.evaluation.metrics import Estimate
    from sonde.viewer.figures.axes import AgentStyle, Line, draw_lines

    lines = [
        Line(AgentStyle.from_number(i, c.name, i), [Estimate(y, y, y, 1) for y in c.values], c.steps)
        for i, c in enumerate(curves)
    ]
    labels = {"xlabel": "optimizer step", "ylabel": "return of an episode"}
    figure = draw_lines(lines, "Return over the steps of online trainings", labels)
    file.write_text(figure.to_svg("instability"), "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, help="folders of online trainings")
    parser.add_argument("--out", type=Path, help="a figure, as SVG")
    parser.add_argument("--window", type=int, default=5, help="steps of a moving mean (default 5)")
    parser.add_argument("--save", action="store_true", help="keep the table for the page of the paper")
    args = parser.parse_args()
    try:
        curves = [read_curve(folder, max(1, args.window)) for folder in args.folders]
    except UserError as e:
        parser.error(str(e))
    print(f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|")
    for curve in curves:
        print(f"| {' | '.join(map(str, curve.format_cells()))} |")
    if args.out is not None:
        write_figure(curves, args.out)
    if args.save:
        rows = [curve.format_cells() for curve in curves]
        save_table("lmrl", "figure5", "python recipes/lmrl/instability.py FOLDER ...", COLUMNS, rows)


if __name__ == "__main__":
    main()
