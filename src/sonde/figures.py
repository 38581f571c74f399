"""Figures of runs as files for papers: PDF and SVG as vectors, PNG at 300 dpi.

    sonde.figures.save_figures(["runs/a", "runs/b"], "figures")        # figures/wordle-paprika-success.pdf, ...
    figure = sonde.figures.draw_figures(["runs/a"])["wordle-paprika-success"]           # a figure of matplotlib

They are the figures of `sonde report`, drawn again at the width of a column, with fonts of that size. PDF embeds its
fonts as TrueType, SVG draws letters as paths; equal runs give equal bytes. Needs the extra `report`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sonde._util.argument_checks import check_call
from sonde._util.extras import require_extra
from sonde._util.folders import write_atomically
from sonde.core import EMPTY, UserError, invalid, unknown
from sonde.export.tables import find_evaluation
from sonde.runs.store import Run
from sonde.viewer.evaluated_runs import EvaluatedRun, group_by_environment, read_runs
from sonde.viewer.figures.svg import STYLE, Drawing
from sonde.viewer.figures.training import draw_training
from sonde.viewer.sections import draw_section
from sonde.viewer.training_history import read_histories

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 3.25
"""Inches: a column of ICML, and nearly one of ACL and IEEE. The text of NeurIPS and ICLR is 5.5 inches wide."""
FONT_SIZE = 7.5
"""Points, for a figure that is included at its own size."""
DPI = 300
_METADATA: Mapping[str, Mapping[str, None]] = {
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
}
FORMATS = tuple(_METADATA)
_SAVE_STYLE: Any = {"pdf.fonttype": 42, "svg.fonttype": "path", "svg.hashsalt": "sonde"}


@check_call
def save_figures(
    runs: Sequence[Path | str | Run],
    to: Path | str,
    format: str = "pdf",
    *,
    width: float = WIDTH,
    font_size: float = FONT_SIZE,
    font: str = "",
    names: Mapping[str, str] = EMPTY,
    training: Sequence[Path | str] = (),
) -> list[Path]:
    """Write the figures of these runs, and of trainings in these folders, into the folder `to`, and return the
    files.

    Runs of one environment share its figures. `width` is in inches, `font_size` in points, `font` a family that
    matplotlib finds (`serif`, `Times New Roman`; by default DejaVu Sans). `names` replaces labels of agents; other long
    ones are shortened.
    """
    if format not in FORMATS:
        raise unknown("figures: format", format, FORMATS)
    drawn = _draw_all(runs, training, names, _Size(width, font_size, font))
    to = Path(to)
    to.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for name, drawing in drawn.items():
        path = to / f"{name}.{format}"
        write_atomically(path, _to_bytes(drawing, format), durable=False)
        written.append(path)
    return written


@check_call
def draw_figures(
    runs: Sequence[Path | str | Run],
    *,
    width: float = WIDTH,
    font_size: float = FONT_SIZE,
    font: str = "",
    names: Mapping[str, str] = EMPTY,
    training: Sequence[Path | str] = (),
) -> dict[str, Figure]:
    """The same figures as `save_figures` writes, by name, to change before they are saved."""
    drawn = _draw_all(runs, training, names, _Size(width, font_size, font))
    return {name: drawing.figure for name, drawing in drawn.items()}


class _Size(NamedTuple):
    width: float
    font_size: float
    font: str


def _draw_all(
    runs: Sequence[Path | str | Run], training: Sequence[Path | str], names: Mapping[str, str], size: _Size
) -> dict[str, Drawing]:
    require_extra("figures", "matplotlib")
    if not runs and not training:
        raise UserError("figures: got no run folders and no trainings, allowed: at least one")
    for field, value, most in (("width", size.width, 20.0), ("font_size", size.font_size, 40.0)):
        if not 1.0 <= value <= most:
            raise invalid(f"figures: {field}", value, f"1 to {most:g}")
    found = read_runs([Path(folder) for folder in runs], lambda folder: find_evaluation(Run.load(folder)))
    renamed = [_rename(run, names) for run in found]
    drawn: dict[str, Drawing] = {}
    for section in group_by_environment(renamed):
        spec = section.env.spec
        _collect(drawn, f"{spec.name}-{spec.preset}", draw_section(section), size)
    folders = [Path(folder) for folder in training]
    for history in read_histories(folders, [(run.evaluation, run.style) for run in renamed]):
        _collect(drawn, history.name, draw_training(history), size)
    return drawn


def _collect(drawn: dict[str, Drawing], prefix: str, more: Mapping[str, Drawing], size: _Size) -> None:
    for name, drawing in more.items():
        _fit_figure(drawing.figure, size)
        drawn[_free_name(f"{prefix}-{name}", drawn)] = drawing


def _rename(run: EvaluatedRun, names: Mapping[str, str]) -> EvaluatedRun:
    name = names.get(run.evaluation.label, names.get(run.style.name))
    return run if name is None else replace(run, style=replace(run.style, name=name, whole=True))


def _free_name(name: str, taken: Mapping[str, Drawing]) -> str:
    """The name, with a number if another configuration of the environment has taken it."""
    name = "".join(c if c.isalnum() or c in "._-" else "-" for c in name)
    return next(free for free in _number_names(name) if free not in taken)


def _number_names(name: str) -> Iterator[str]:
    yield name
    n = 2
    while True:
        yield f"{name}-{n}"
        n += 1


def _fit_figure(figure: Any, size: _Size) -> None:
    """Give a figure its size in a paper: text, lines and marks in proportion to the font, margins as text needs."""
    from matplotlib.lines import Line2D
    from matplotlib.text import Text

    width, font_size, font = size
    old_width, old_height = figure.get_size_inches()
    figure.set_size_inches(width, old_height * width / old_width)
    grids = [grid for ax in figure.axes if (grid := ax.get_gridspec()) is not None]
    scale = font_size / STYLE["font.size"] if grids else width / old_width  # a key is laid out by hand
    for text in figure.findobj(Text):
        text.set_fontsize(text.get_fontsize() * scale)
        if font:
            text.set_fontfamily(font)
    for line in figure.findobj(Line2D):
        line.set(linewidth=line.get_linewidth() * scale, markersize=line.get_markersize() * scale)
    for ax in figure.axes:
        for drawn in (*ax.lines, *ax.collections):
            drawn.set_in_layout(False)  # margins are for text alone
        ax.tick_params(labelsize=STYLE["xtick.labelsize"] * scale, **({"labelfontfamily": font} if font else {}))
    for grid in grids:
        grid.left = grid.right = grid.bottom = grid.top = None  # those of a page
        figure.subplots_adjust()  # the margins that text needs are measured where the axes now are
        for _ in range(2):  # an axis of another size may have other ticks
            figure.tight_layout(pad=0.2)


def _to_bytes(drawing: Drawing, form: str) -> bytes:
    from matplotlib import rc_context

    buffer, about = BytesIO(), {"Title": drawing.about, **_METADATA[form]}
    with rc_context(STYLE | _SAVE_STYLE):
        drawing.figure.savefig(buffer, format=form, dpi=DPI, metadata=about)
    return buffer.getvalue()
