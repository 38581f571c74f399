"""Run the notebooks in `tours/` and keep what they print and draw.

    python docs/build_tours.py [NAME ...]

Each runs in an empty folder of its own, its cells in order. `tests/docs/test_tours.py`, which is slow, fails when one
prints something else than it holds.
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
    """The cells of a notebook with their outputs as they are now."""
    os.environ["MPLBACKEND"] = "Agg"
    printed_by = runpy.run_path(str(ROOT / "docs" / "build_outputs.py"))["printed_by"]
    cells: list[Cell] = json.loads(path.read_text("utf-8"))["cells"]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), _as_main() as names:
        code = [cell for cell in cells if cell["cell_type"] == "code"]
        for i, cell in enumerate(code):
            with contextlib.redirect_stderr(io.StringIO()):
                text = printed_by(_keep_last("".join(cell["source"])), names)
                value = names.pop(LAST, None)
            cell["execution_count"] = i + 1
            shown = [] if value is None else [_shown(value, i + 1)]
            cell["outputs"] = [*([_printed(text)] if text else []), *shown, *_drawn()]
    return cells


def _keep_last(code: str) -> str:
    """A cell that assigns the value of its last line, which a notebook shows, to `LAST`."""
    body = ast.parse(code).body
    if not body or not isinstance(last := body[-1], ast.Expr):
        return code
    before = "\n".join(code.splitlines()[: last.lineno - 1])
    return f"{before}\n{LAST} = {ast.unparse(last)}\n"


def _shown(value: Any, number: int) -> Cell:
    """The value of the last line of a cell, as a card or a table where it has one."""
    html = getattr(value, "_repr_html_", lambda: None)()
    data = {
        **({"text/html": html.splitlines(keepends=True)} if html else {}),
        "text/plain": repr(value).splitlines(keepends=True),
    }
    return {"output_type": "execute_result", "execution_count": number, "data": data, "metadata": {}}


@contextlib.contextmanager
def _as_main() -> Iterator[dict[str, Any]]:
    """Names that are those of `__main__`, as they are in a notebook: what is defined there is found by its name."""
    before, module = sys.modules["__main__"], ModuleType("__main__")
    sys.modules["__main__"] = module
    try:
        yield vars(module)
    finally:
        sys.modules["__main__"] = before


def _printed(text: str) -> Cell:
    return {"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)}


def _drawn() -> list[Cell]:
    """What a cell drew, as pictures."""
    from matplotlib import pyplot as plt

    found: list[Cell] = []
    for number in plt.get_fignums():
        buffer = io.BytesIO()
        plt.figure(number).savefig(buffer, format="png", dpi=DPI, metadata={"Software": None})
        data = {"image/png": base64.b64encode(buffer.getvalue()).decode(), "text/plain": ["a figure"]}
        found.append({"output_type": "display_data", "data": data, "metadata": {}})
    plt.close("all")
    return found


def printed(cells: Sequence[Cell]) -> list[str]:
    """What the cells of a notebook hold as printed, one text per cell of code."""
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
