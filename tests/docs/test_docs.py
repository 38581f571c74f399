"""What the documentation shows is what happens.

Every `python` block and every command of a `console` block runs and prints what is shown (`docs/build_outputs.py` says
how); every `sonde ...` line parses, those that are not run included. Notebooks: `test_tours.py`.
"""

from __future__ import annotations

import re
import runpy
import shlex
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer
import yaml

from sonde.cli.app import app
from sonde.cli.games import is_about_env
from sonde.cli.train import _split_objective
from sonde.cli.training_overrides import override_training
from sonde.train.objectives import find_objective
from sonde.train.presets import preset
from tests.cases import each

ROOT = Path(__file__).parents[2]
OUTPUTS = runpy.run_path(str(ROOT / "docs" / "build_outputs.py"))
HOOKS = runpy.run_path(str(ROOT / "docs" / "hooks.py"))
PAGES: tuple[Path, ...] = OUTPUTS["PAGES"]
_COMMAND: Any = typer.main.get_command(app)


def pages(wanted: Callable[[str], bool]) -> list[Any]:
    return [pytest.param(page, id=page.name) for page in PAGES if wanted(page.read_text("utf-8"))]


@pytest.mark.thorough
@each("page", pages(OUTPUTS["has_examples"]))
def test_examples_run_and_print_what_is_shown(page: Path) -> None:
    text = page.read_text("utf-8")
    assert OUTPUTS["fill_outputs"](text).splitlines() == text.splitlines(), (
        "out of date: run `python docs/build_outputs.py`"
    )


FILE = "<!-- file: shown.py -->\n```python\nx = 5\n```\n\n"


@each(
    "page, wrong",
    [
        ("```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n", "3"),
        ("```console\n$ echo sonde is\nwrong\n```\n", "wrong"),
        (FILE + "```python\nimport shown\nprint(shown.x)\n```\n\n```text\n6\n```\n", "6"),
    ],
)
def test_wrong_output_is_replaced(page: str, wrong: str) -> None:
    assert wrong in page
    assert wrong not in OUTPUTS["fill_outputs"](page)


def test_examples_that_fail_are_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        OUTPUTS["fill_outputs"]("```python\n1 / 0\n```\n")
    with pytest.raises(SystemExit, match="no text block"):
        OUTPUTS["fill_outputs"]("```python\nprint(1)\n```\n")
    with pytest.raises(SystemExit, match="not run"):
        OUTPUTS["fill_outputs"]("```console\n$ make demo\n```\n")


def test_what_is_not_run_is_left_alone() -> None:
    page = "<!-- not run -->\n```console\n$ false\nas it was\n```\n"
    assert OUTPUTS["fill_outputs"](page) == page


@each("page", pages(bool))
def test_no_block_is_missed(page: Path) -> None:
    """Blocks begin and end at the start of a line, and are of a kind that is checked or is no example of ours."""
    text = page.read_text("utf-8")
    fences = [line.removeprefix("```") for line in text.splitlines() if line.lstrip().startswith("```")]
    assert len(fences) % 2 == 0
    assert set(fences[::2]) <= {"python", "console", "text", "sh", "yaml", "toml"}
    assert set(fences[1::2]) <= {""}


def parse_command(line: str) -> None:
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
    """Every command of this library in a `console` or `sh` block, without what it is piped from or into."""
    found: list[Any] = []
    for page in PAGES:
        text = page.read_text("utf-8")
        shell = "".join(re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)).splitlines()
        parts = [
            part.strip() for line in (*OUTPUTS["list_commands"](text), *shell) for part in re.split(r" \| | && ", line)
        ]
        found += [pytest.param(part, id=f"{page.name}: {part}") for part in parts if part.startswith("sonde ")]
    return found


@each("line", sonde_lines())
def test_commands_parse(line: str) -> None:
    if "--help" in line.split():
        with pytest.raises(typer.Exit) as ended:
            parse_command(line)
        assert ended.value.exit_code == 0
    else:
        parse_command(line)


@each("line", [line for line in sonde_lines() if line.values[0].startswith("sonde train ")])
def test_trainings_name_settings_that_exist(line: str) -> None:
    """Objectives, named settings, and the places of `-o`, which parsing does not check."""
    pytest.importorskip("torch")
    words = shlex.split(line, comments=True)
    given = {option: [b for a, b in pairwise(words) if a == option] for option in ("--settings", "-o")}
    objective, settings = _split_objective(words[2], next(iter(given["--settings"]), None))
    training = preset(settings or find_objective(objective).preset).for_objective(objective)
    override_training(training, {}, [assignment for assignment in given["-o"] if not is_about_env(assignment)])


def test_a_wrong_command_does_not_parse() -> None:
    for line in ("sonde evaluate wordle", "sonde eval wordle --modle x", "sonde models get smollm2"):
        with pytest.raises(Exception, match=r"No such|no such"):
            parse_command(line)


def test_every_page_is_in_the_navigation_or_behind_an_index() -> None:
    docs = ROOT / "docs"
    nav = str(yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"])
    for page in sorted(docs.rglob("*.md")):
        path = page.relative_to(docs).as_posix()
        if f"'{path}'" not in nav:
            assert f"]({page.name})" in page.with_name("index.md").read_text("utf-8"), path
            assert f"'{page.parent.name}/index.md'" in nav and page.parent.name in HOOKS["LISTED"], path


def test_the_address_of_the_project_stands_in_one_place() -> None:
    """In pyproject.toml; pages have a name for it, where no command prints it."""
    address = HOOKS["project_url"]()
    assert address.startswith("https://") and address in (ROOT / "pyproject.toml").read_text("utf-8")
    printed = ["command-line.md"]  # what `sonde submit` prints
    assert [page.name for page in PAGES if address in page.read_text("utf-8")] == printed
    config = SimpleNamespace(extra={})
    HOOKS["on_config"](config)
    page = SimpleNamespace(file=SimpleNamespace(src_uri="first-ten-minutes.md"), meta={})
    text = (ROOT / "docs" / page.file.src_uri).read_text("utf-8")
    assert f"git clone {address} " in HOOKS["on_page_markdown"](text, page, config, None)


def test_ci_shows_warnings_of_the_docs_build() -> None:
    gate, recipe = (ROOT / ".ci" / "run").read_text("utf-8"), (ROOT / "Makefile").read_text("utf-8")
    assert re.search(r"make .* docs\b", gate.replace("\\\n", " "))
    (build,) = re.findall(r"^docs: dev\n\t(.*)$", recipe, re.M)
    assert "--strict" in build and "--quiet" not in build


def test_design_names_every_package() -> None:
    """The layout fits on a screen and leaves nothing out."""
    text = (ROOT / "docs" / "design.md").read_text("utf-8")
    layout = text[text.index("## 2. Layout") : text.index("## 3.")].split("```")[1].splitlines()[1:]
    source = ROOT / "src" / "sonde"
    packages = {path.parent.name for path in source.glob("*/__init__.py")}
    assert packages <= {line.split("/")[0] for line in layout}
    assert len(layout) <= 40
    core = next(line for line in layout if line.startswith("core/"))
    files = {path.stem for path in (source / "core").glob("*.py")} - {"__init__"}
    assert files == set(core.removeprefix("core/").replace(" ", "").split(","))
