"""What the documentation shows is what happens.

Every `python` block runs, the blocks of a page one after another. A `text` block right after one is what it prints. A
block under `<!-- file: NAME -->` is saved as that file, for the blocks after it to import. Every `sonde ...` line of a
`console` block parses, and all but those under `<!-- not run -->` are run and print what is shown. `quickstart.ipynb`
runs and prints what it holds.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
import runpy
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from sonde.cli.app import app

ROOT = Path(__file__).parents[2]
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]
CONSOLE = runpy.run_path(str(ROOT / "docs" / "build_console.py"))
_BLOCK = re.compile(
    r"^(?:<!-- file: (?P<file>\S+) -->\n)?```python\n(?P<code>.*?)^```$(?:\n+```text\n(?P<printed>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
_COMMAND = typer.main.get_command(app)


def python_pages() -> list[Any]:
    return [pytest.param(page, id=page.name) for page in PAGES if "```python\n" in page.read_text("utf-8")]


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to be in, from which modules can be imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def printed_by(code: str, where: str, namespace: dict[str, Any]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, where, "exec"), namespace)
    return out.getvalue()


@pytest.mark.parametrize("page", python_pages())
def test_python_blocks_run_and_print_what_is_shown(page: Path, empty: Path) -> None:
    text, namespace = page.read_text("utf-8"), {"__name__": "__main__"}
    saved: set[str] = set()
    for block in _BLOCK.finditer(text):
        where = f"{page.name}:{text.count(chr(10), 0, block.start('code')) + 1}"
        if block["file"]:
            ast.parse(block["code"])
            (empty / block["file"]).write_text(block["code"], "utf-8")
            saved.add(Path(block["file"]).stem)
        else:
            printed = printed_by(block["code"], where, namespace)
            assert printed == (block["printed"] or ""), where
    for module in saved:
        assert sys.modules.pop(module, None), f"{page.name}: {module} is shown, but never used"


@pytest.mark.parametrize("page", [pytest.param(p, id=p.name) for p in PAGES])
def test_every_python_block_is_found(page: Path) -> None:
    text = page.read_text("utf-8")
    assert len(_BLOCK.findall(text)) == text.count("```python")
    assert text.count("\n```") % 2 == 0


def parse(line: str) -> None:
    """Parse `sonde ...` as the command line would, down to the last option, without running it."""
    arguments = shlex.split(line, comments=True)
    command, context = _COMMAND, None
    assert arguments.pop(0) == "sonde"
    while True:
        context = command.make_context(command.name, list(arguments), parent=context, resilient_parsing=False)
        if not hasattr(command, "resolve_command"):
            return
        arguments = context._protected_args + context.args if hasattr(context, "_protected_args") else context.args
        _, command, arguments = command.resolve_command(context, arguments)


def sonde_lines() -> list[Any]:
    lines = [(page, line) for page in PAGES for line in CONSOLE["commands"](page.read_text("utf-8"))]
    parts = [(page, part.strip()) for page, line in lines for part in re.split(r"\s\|\s|\s&&\s", line)]
    return [pytest.param(part, id=f"{page.name}:{part}") for page, part in parts if part.startswith("sonde ")]


@pytest.mark.parametrize("line", sonde_lines())
def test_commands_parse(line: str) -> None:
    parse(line)


def test_a_wrong_command_does_not_parse() -> None:
    for line in ("sonde evaluate wordle", "sonde eval wordle --modle x", "sonde models get smollm2"):
        with pytest.raises(Exception, match=r"No such|no such"):
            parse(line)


@pytest.mark.parametrize("page", [p for p in PAGES if "```console\n" in p.read_text("utf-8")], ids=lambda p: p.name)
def test_commands_print_what_is_shown(page: Path) -> None:
    text = page.read_text("utf-8")
    assert CONSOLE["filled"](text).splitlines() == text.splitlines(), "out of date: run `python docs/build_console.py`"


def test_quickstart_runs_and_prints_what_it_holds(empty: Path) -> None:
    cells = json.loads((ROOT / "quickstart.ipynb").read_text("utf-8"))["cells"]
    namespace: dict[str, Any] = {"__name__": "__main__"}
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(code) >= 5
    for i, cell in enumerate(code):
        held = "".join("".join(o["text"]) for o in cell["outputs"] if o["output_type"] == "stream")
        assert cell["execution_count"] == i + 1, "cells were run out of order"
        assert printed_by("".join(cell["source"]), f"cell {i}", namespace) == held
    assert "torch" not in namespace
