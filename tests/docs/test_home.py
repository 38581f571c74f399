"""The first page of the site shows a recorded game and a measured result as they are."""

from __future__ import annotations

import runpy
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"
BUILD: dict[str, Any] = runpy.run_path(str(DOCS / "build_home.py"))


def test_the_first_page_is_up_to_date() -> None:
    assert (DOCS / "index.md").read_text("utf-8") == BUILD["page"](), "run `python docs/build_home.py`"
    for name, svg in BUILD["pictures"]().items():
        assert (DOCS / "home" / name).read_text("utf-8") == svg, "run `python docs/build_home.py`"


def test_the_picture_shows_the_posterior_of_the_game() -> None:
    """Every city is a dot; those that the answer leaves are marked, and named below."""
    question = BUILD["load_question"]()
    possible = [city for city, p in zip(question.after.hypotheses, question.after.probs, strict=True) if p > 0]
    assert question.secret in possible and len(possible) < 20
    for name, picture in BUILD["pictures"]().items():
        svg = ET.fromstring(picture)
        dots = [dot.get("class") for dot in svg.iter("{http://www.w3.org/2000/svg}circle")]
        assert dots.count("open") == len(question.before.hypotheses) + len(possible), name
        assert dots.count("out") == len(question.before.hypotheses) - len(possible), name
        words = " ".join(text.text or "" for text in svg.iter("{http://www.w3.org/2000/svg}text"))
        assert f"+{question.gain:.1f} bits" in words and question.asked in words
        assert all(city.partition(",")[0] in words for city in possible)
