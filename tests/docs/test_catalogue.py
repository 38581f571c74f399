"""The pages of agents, users, models and objectives say what the registry and the docstrings say."""

from __future__ import annotations

import doctest
import json
import runpy
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import sonde
from sonde.train import objectives

DOCS = Path(__file__).parents[2] / "docs"
WRITTEN: dict[str, Any] = runpy.run_path(str(DOCS / "written.py"))


def test_users_and_models_are_up_to_date() -> None:
    for path, expected in runpy.run_path(str(DOCS / "build_catalogue.py"))["pages"]().items():
        assert (DOCS / path).read_text("utf-8") == expected, "out of date: run `python docs/build_catalogue.py`"
    rest = (DOCS / "users-and-models.md").read_text("utf-8")
    assert all(f"\n### {kind}:{name}\n" in rest for kind in ("users", "models") for name in sonde.names(kind))


def test_every_agent_has_a_page_that_is_up_to_date() -> None:
    build = runpy.run_path(str(DOCS / "build_agents.py"))
    written, known = build["pages"](), build["load_notes"]()
    for name, text in written.items():
        assert (DOCS / "agents" / name).read_text("utf-8") == text, "run `python docs/build_agents.py`"
    for name in sonde.names("agents"):
        page = (DOCS / "agents" / f"{name}.md").read_text("utf-8")
        assert f"| [{name}]({name}.md)" in written["index.md"] and page.startswith(f"# {name}\n")
        assert "env" not in known.get(name, {}) or build["describe_curve"](name, known[name]) in page
    drawn = {name for name, told in known.items() if "env" in told}
    assert drawn == json.loads(build["DATA"].read_text("utf-8")).keys()
    assert drawn | {name for name, told in known.items() if "curveless" in told} == set(sonde.names("agents"))


@pytest.mark.thorough
def test_curves_of_agents_are_up_to_date() -> None:
    for name, picture in runpy.run_path(str(DOCS / "build_agents.py"))["curves"]().items():
        assert (DOCS / "agents" / f"{name}.svg").read_text("utf-8") == picture, name
        ET.fromstring(picture)


@pytest.mark.thorough
def test_objectives_are_up_to_date() -> None:
    build = runpy.run_path(str(DOCS / "build_algorithms.py"))
    for name, text in build["pages"]().items():
        assert (DOCS / "algorithms" / name).read_text("utf-8") == text, "run `python docs/build_algorithms.py`"
    for name, picture in build["curves"]().items():
        assert (DOCS / "algorithms" / f"{name}.svg").read_text("utf-8") == picture, name
        ET.fromstring(picture)


@pytest.mark.thorough
def test_a_new_objective_gets_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its file is enough: the page is of its docstrings and settings."""
    lines = [
        '"""Likelihood, once more.',
        "",
        "Source: nobody.",
        '"""',
        "from sonde.train.objectives.sft import SFT",
        "",
    ]
    (tmp_path / "anew.py").write_text("\n".join([*lines, "class Anew(SFT):", '    """As it was."""', ""]))
    monkeypatch.setattr(objectives, "__path__", [*objectives.__path__, str(tmp_path)])
    sonde.names.cache_clear()
    try:
        written = runpy.run_path(str(DOCS / "build_algorithms.py"))["pages"]()
    finally:
        sonde.names.cache_clear()
        sys.modules.pop("sonde.train.objectives.anew", None)
    assert "| [anew](anew.md) | As it was. | good episodes |" in written["index.md"]
    assert written["anew.md"].startswith("# anew\n") and "Source: nobody." in written["anew.md"]
    assert "mean" in written["anew.md"].partition("## Settings")[2] and "## Curve" not in written["anew.md"]


def test_every_objective_has_a_page() -> None:
    text = (DOCS / "algorithms" / "index.md").read_text("utf-8")
    assert all(f"| [{name}](" in text for name in sonde.names("objectives"))


def test_docstrings_become_markdown() -> None:
    module = ModuleType("written")
    module.__dict__.update(WRITTEN)
    tests = [
        t for name in ("prose", "code") for t in doctest.DocTestFinder(recurse=False).find(WRITTEN[name], name, module)
    ]
    assert [doctest.DocTestRunner().run(test).failed for test in tests if test.examples] == [0, 0]
    text = WRITTEN["prose"]("Two.\n\n    a\n\n    b\n\n>>> f(<x>)\n1\n\n- one\n  more\n| a | b |")
    assert text == "Two.\n\n```text\na\n\nb\n```\n\n```pycon\n>>> f(<x>)\n1\n```\n\n- one\n  more\n\n| a | b |"
