"""What is made while the site is built: the API reference."""

from __future__ import annotations

import inspect
import runpy
from pathlib import Path
from typing import Any

import pytest

import sonde

DOCS = Path(__file__).parents[2] / "docs"
HOOKS: dict[str, Any] = runpy.run_path(str(DOCS / "hooks.py"))


def test_the_reference_has_every_name_of_the_package() -> None:
    text = HOOKS["reference"]("Core", ("sonde",))
    offered = {name: getattr(sonde, name) for name in sonde.__all__}
    names = [name for name, value in offered.items() if inspect.isclass(value) or inspect.isfunction(value)]
    assert len(names) > 20
    assert [name for name in names if f"\n### {name}\n" not in text] == []
    assert "- `fork(...)`: " in text and "```text\nmake(" in text


def test_long_signatures_have_a_parameter_per_line() -> None:
    wrapped = HOOKS["_wrapped"]
    assert wrapped("f(a: int) -> None") == "f(a: int) -> None"
    assert wrapped("f(a: dict[str, int], b) -> tuple[int]", 10) == "f(\n    a: dict[str, int],\n    b,\n) -> tuple[int]"


@pytest.mark.parametrize("name", HOOKS["API"])
def test_pages_of_the_reference_are_in_the_navigation(name: str) -> None:
    assert f": api/{name}.md\n" in (DOCS.parent / "mkdocs.yml").read_text("utf-8")
