"""The catalogue says what the registry says."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

import sonde

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.thorough
def test_catalogue_is_up_to_date() -> None:
    build = runpy.run_path(str(DOCS / "build_catalogue.py"))
    found, expected = (DOCS / "catalogue.md").read_text("utf-8"), build["catalogue"]()
    assert found.splitlines() == expected.splitlines(), "out of date: run `python docs/build_catalogue.py`"
    assert found == expected


def test_catalogue_names_everything() -> None:
    text = (DOCS / "catalogue.md").read_text("utf-8")
    for name in sonde.names("envs"):
        assert f"\n### {name}\n" in text
    for kind in ("agents", "users", "models"):
        for name in sonde.names(kind):
            assert f"\n### {kind}:{name}\n" in text
