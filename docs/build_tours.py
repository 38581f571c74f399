"""Run the notebooks in `tours/` and store their outputs in them.

    python docs/build_tours.py [NAME ...]

Each notebook runs in an empty folder of its own, its cells in order. `tests/docs/test_tours.py` fails when a notebook
prints something else than it holds; that of the notebook which trains is slow.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import runpy
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[1]
TOURS = ROOT / "tours"
DPI = 72
LAST = "_last_value"

Cell = dict[str, Any]


def run(path: Path) -> list[Cell]:
    """Run a notebook; return its cells with their current outputs."""
    os.environ["MPLBACKEND"] = "Agg"
    capture_prints = runpy.run_path(str(ROOT / "docs" / "build_outputs.py"))["capture_prints"]
    cells: list[Cell] = json.loads(path.read_text("utf-8"))["cells"]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), _as_main() as names:
        code = [cell for cell in cells if cell["cell_type"] == "code"]
        for i, cell in enumerate(code):
            with contextlib.redirect_stderr(io.StringIO()):
                text = capture_prints(_keep_last("".join(cell["source"])), names)
                value = names.pop(LAST, None)
            cell["execution_count"] = i + 1
            shown = [] if value is None else [_value_output(value, i + 1)]
            cell["outputs"] = [*([_text_output(text)] if text else []), *shown, *_figure_outputs()]
    return cells


def _keep_last(code: str) -> str:
    """The code of a cell, changed to assign the value of its last line, which a notebook shows, to `LAST`."""
    body = ast.parse(code).body
    if not body or not isinstance(last := body[-1], ast.Expr):
        return code
    before = "\n".join(code.splitlines()[: last.lineno - 1])
    return f"{before}\n{LAST} = {ast.unparse(last)}\n"


def _value_output(value: Any, number: int) -> Cell:
    """The output of a cell's last value, with its HTML if it has any."""
    html = getattr(value, "_repr_html_", lambda: None)()
    data = {
        **({"text/html": html.splitlines(keepends=True)} if html else {}),
        "text/plain": repr(value).splitlines(keepends=True),
    }
    return {"output_type": "execute_result", "execution_count": number, "data": data, "metadata": {}}


@contextlib.contextmanager
def _as_main() -> Iterator[dict[str, Any]]:
    """Make a new module `__main__` and yield its names, so that what a notebook defines is found by name."""
    before, module = sys.modules["__main__"], ModuleType("__main__")
    sys.modules["__main__"] = module
    try:
        yield vars(module)
    finally:
        sys.modules["__main__"] = before


def _text_output(text: str) -> Cell:
    return {"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)}


def _figure_outputs() -> list[Cell]:
    """The figures that a cell drew, as pictures."""
    from matplotlib import pyplot as plt

    found: list[Cell] = []
    for number in plt.get_fignums():
        buffer = io.BytesIO()
        plt.figure(number).savefig(buffer, format="png", dpi=DPI, metadata={"Software": None})
        data = {"image/png": base64.b64encode(buffer.getvalue()).decode(), "text/plain": ["a figure"]}
        found.append({"output_type": "display_data", "data": data, "metadata": {}})
    plt.close("all")
    return found


def list_outputs(cells: Sequence[Cell]) -> list[str]:
    """The outputs that a notebook holds, one text per cell of code."""
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    return ["".join(map(_text_of, cell["outputs"])) for cell in code]


def _text_of(output: Cell) -> str:
    return "".join(output.get("text", ()) or output.get("data", {}).get("text/plain", ()))


def main(only: Sequence[str]) -> None:
    """Fill the notebooks, or those named."""
    for path in sorted(TOURS.glob("*.ipynb")):
        if not only or path.stem in only:
            book = json.loads(path.read_text("utf-8")) | {"cells": run(path)}
            path.write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
