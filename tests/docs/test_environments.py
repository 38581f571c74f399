"""The pages of environments say what code, playthroughs and shipped data say now."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

import sonde

DOCS = Path(__file__).parents[2] / "docs"
BUILD: dict[str, Any] = runpy.run_path(str(DOCS / "build_environments.py"))


@pytest.mark.thorough
@pytest.mark.parametrize("name", sonde.names("envs"))
def test_a_page_is_up_to_date(name: str) -> None:
    found = (DOCS / "environments" / f"{name}.md").read_text("utf-8")
    assert found == BUILD["environment"](name), f"out of date: run `python docs/build_environments.py {name}`"


def test_every_environment_has_a_page_and_a_place_in_the_gallery() -> None:
    pages = {path.stem for path in (DOCS / "environments").glob("*.md")}
    assert pages == {*sonde.names("envs"), "index"}
    gallery = (DOCS / "environments" / "index.md").read_text("utf-8")
    assert gallery == BUILD["gallery"](), "out of date: run `python docs/build_environments.py`"
    assert all(gallery.count(f"\n### [{name}]({name}.md)\n") == 1 for name in sonde.names("envs"))
