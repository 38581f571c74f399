"""The notebooks run from their first cell to their last, and print what they hold."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from tests.cases import each

ROOT = Path(__file__).parents[2]
TOURS = sorted((ROOT / "tours").glob("*.ipynb"))
BUILD: dict[str, Any] = runpy.run_path(str(ROOT / "docs" / "build_tours.py"))
WEIGHTS = ("trainer",)
"""Those in which a model draws: its numbers differ a little between processors, and are not compared."""


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=getattr(pytest.mark, "slow" if path.stem in WEIGHTS else "thorough")) for path in TOURS],
    ids=lambda path: path.stem,
)
def test_a_tour_prints_what_it_holds(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "Agg")
    held, found = (
        BUILD["list_outputs"](json.loads(path.read_text("utf-8"))["cells"]),
        BUILD["list_outputs"](BUILD["run"](path)),
    )
    if path.stem in WEIGHTS:
        held, found = ([re.sub(r"[-+]?\d+(\.\d+)?", "#", text) for text in texts] for texts in (held, found))
    assert found == held, f"run `python docs/build_tours.py {path.stem}`"


@each("path", TOURS, ids=lambda path: path.stem)
def test_a_tour_was_run_in_order(path: Path) -> None:
    cells = json.loads(path.read_text("utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(code) >= 5
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert any(BUILD["list_outputs"](cells)) and any(cell["cell_type"] == "markdown" for cell in cells)


def test_there_is_a_tour_for_every_reader() -> None:
    assert [path.stem for path in TOURS] == ["environment_author", "evaluator", "trainer"]
    text = (ROOT / "docs" / "first-ten-minutes.md").read_text("utf-8")
    assert all(f"`tours/{path.name}`" in text for path in TOURS)
