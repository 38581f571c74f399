"""Pages as files: all of them, linked to each other and to nothing else."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pytest

from sonde.core import UserError
from sonde.viewer.site.export import export
from sonde.viewer.site.library import Library

from .conftest import SCRIPT, named

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def site(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export([runs], tmp_path_factory.mktemp("site") / "pages", episodes=4).parent


def test_links_lead_to_files_that_are_there(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    for page in pages:
        text = page.read_text("utf-8")
        for link in re.findall(r'\b(?:href|src|action|data-fragment|data-load)="([^"]*)"', text):
            target = unquote(unescape(link).partition("#")[0])
            assert ":" not in target and not target.startswith("/")
            assert not target or (page.parent / target).is_file(), (page, link)
    assert {p.parent.name for p in pages} >= {"pages", "run", "training"}


def test_whole_groups_are_written_up_to_a_number_of_episodes(site: Path, library: Library) -> None:
    for label in ("random", "entropy", "llm"):
        assert len(list((site / "episode" / named(library, label)).glob("*.html"))) == 4
    assert len(list((site / "group" / named(library, "random")).rglob("*.html"))) == 2


def test_what_comes_on_demand_is_in_place(site: Path, library: Library) -> None:
    name = named(library, "random")
    page = next((site / "episode" / name).glob("*.html")).read_text("utf-8")
    assert 'class="moments"' in page and "<svg" in page and " data-fragment=" not in page
    assert "Won within n turns" in (site / "run" / f"{name}.html").read_text("utf-8")
    assert "Won within n turns" in (site / "report.html").read_text("utf-8")


def test_pages_are_safe_whatever_was_said(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        assert text.count("<script") == 1 and SCRIPT not in text
        assert "default-src 'none'" in text


def test_a_folder_with_something_in_it_is_left_alone(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(UserError, match="not empty"):
        export([runs], tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]
