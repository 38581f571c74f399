"""The gallery is what the drawing code makes of the golden playthroughs now."""

from __future__ import annotations

import re
import runpy
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import sonde

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.thorough
def test_the_gallery_is_up_to_date() -> None:
    build = runpy.run_path(str(DOCS / "build_gallery.py"))
    kept = {path.stem: path.read_text("utf-8") for path in (DOCS / "gallery").glob("*.svg")}
    assert kept == build["pictures"](), "run `python docs/build_gallery.py`"


def test_every_environment_has_a_picture_that_stands_for_itself() -> None:
    pictures = {path.stem: ET.fromstring(path.read_text("utf-8")) for path in (DOCS / "gallery").glob("*.svg")}
    assert set(pictures) == set(sonde.names("envs"))
    for name, picture in pictures.items():
        style = picture.find("{http://www.w3.org/2000/svg}style")
        assert style is not None and style.text and "prefers-color-scheme:dark" in style.text, name
        used = set(re.findall(r"var\((--[a-z0-9]+)\)", ET.tostring(picture, "unicode")))
        day, night = (set(re.findall(r"(--[a-z0-9]+):", part)) for part in style.text.split("@media"))
        assert used <= day and day - night <= {"--mono"}, name
        assert picture.get("aria-label")
