"""The pages of environments say what code, playthroughs and shipped data say now."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

import sonde
from tests.cases import each

DOCS = Path(__file__).parents[2] / "docs"
BUILD: dict[str, Any] = runpy.run_path(str(DOCS / "build_environments.py"))


@pytest.mark.thorough
@each("name", sonde.names("envs"))
def test_a_page_is_up_to_date(name: str) -> None:
    found = (DOCS / "environments" / f"{name}.md").read_text("utf-8")
    assert found == BUILD["environment"](name), f"out of date: run `python docs/build_environments.py {name}`"


def test_every_environment_has_a_page_and_a_place_in_the_gallery() -> None:
    pages = {path.stem for path in (DOCS / "environments").glob("*.md")}
    assert pages == {*sonde.names("envs"), "index"}
    gallery = (DOCS / "environments" / "index.md").read_text("utf-8")
    assert gallery == BUILD["gallery"](), "out of date: run `python docs/build_environments.py`"
    assert all(gallery.count(f"\n### [{name}]({name}.md)\n") == 1 for name in sonde.names("envs"))


def test_cards_of_the_gallery_say_what_is_so() -> None:
    """Of one that has a user, one that has an opponent and no posterior, and one that has neither."""
    gallery = (DOCS / "environments" / "index.md").read_text("utf-8")
    cards = {card.partition("### [")[2].partition("]")[0]: card for card in gallery.split("<article ")[1:]}
    for name, partner, beliefs, difficulty in (
        ("guess_my_city", "user", "yes", "medium"),
        ("chess", "opponent", "no", "hard"),
        ("word_guess", "none", "yes", "easy"),
    ):
        assert f'data-beliefs="{beliefs}" data-partner="{partner}" data-difficulty="{difficulty}"' in cards[name]
    assert 'data-suite="delta_belief|lmrl|paprika"' in cards["guess_my_city"]
    prior = sonde.make("word_guess").filter(sonde.make("word_guess").tasks("test")[0].public)
    assert f" {prior.entropy:.1f} bits are hidden." in cards["word_guess"]
    script = (DOCS / "gallery.js").read_text("utf-8")
    assert all(f"{fact}: " in script for fact in ("suite", "kind", "beliefs", "partner", "difficulty"))


@each("name", sonde.names("envs"))
def test_every_environment_has_its_rules_in_five_lines(name: str) -> None:
    """Each of them says something, and stands on the page with the numbers of `spec`."""
    written, turns = BUILD["rules"]()[name], f"{sonde.make(name).spec.max_turns:,}"
    assert list(written) == list(BUILD["LINES"]) and "{turns}" in written["end"] + written["say"]
    page = (DOCS / "environments" / f"{name}.md").read_text("utf-8").partition("## Rules")[2].partition("\n## ")[0]
    for key, label in BUILD["LINES"].items():
        text = " ".join(written[key].format(turns=turns).split())
        assert text.endswith(".") and len(text.split()) >= 5, key
        assert f"- **{label}:** {text}\n" in page, f"run `python docs/build_environments.py {name}`"


def test_rules_are_those_of_environments_that_exist() -> None:
    assert BUILD["rules"]().keys() == set(sonde.names("envs"))
