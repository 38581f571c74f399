"""Pages as files in a real browser, opened from their folder: tables, comparisons and search without a server.

Needs what `test_site_browser.py` needs.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from sonde.viewer.site.export import Extent, export_site

from .conftest import Tab

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def folder(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first page of an exported site."""
    return export_site([runs], tmp_path_factory.mktemp("exported") / "site", Extent(episodes=4))


def test_exported_pages_are_opened_from_a_folder(tab: Tab, runs: Path, tmp_path: Path) -> None:
    first = export_site(
        [next(p for p in runs.iterdir() if "--entropy--" in p.name)], tmp_path / "site", Extent(episodes=2)
    )
    page = tab.page
    page.goto(first.as_uri())
    page.locator("tbody th a").first.click()
    page.locator("figure svg").first.wait_for()
    page.locator(".matrix .cell").first.click()
    page.locator(".beliefs li").first.wait_for()
    page.keyboard.press("j")
    assert page.locator("[data-left]").inner_text().endswith("after turn 1")
    assert page.evaluate("getComputedStyle(document.querySelector('.timeline')).display") == "flex"
    page.locator(".bits summary").first.click()
    page.get_by_role("button", name="best question").first.click()
    assert page.locator(".best").inner_text().endswith("bits")


def test_tables_in_a_folder_are_sorted_filtered_and_grouped(tab: Tab, folder: Path) -> None:
    page = tab.page
    page.goto(folder.as_uri())
    told = page.locator("form[data-filters] output")
    assert page.locator("#runs tbody tr:not(.group)").count() == 4 and told.inner_text() == ""
    page.locator("select[name=env]").select_option("mastermind")
    assert told.inner_text() == "3 of 4 shown" and page.url.endswith("?env=mastermind")
    for first in ("entropy", "random"):
        page.get_by_role("button", name="success").click()
        top = page.locator("#runs tbody tr:visible td[data-label=agent]").first.inner_text()
        assert (top == "entropy") == (first == "entropy")
    page.get_by_label("group by").select_option("agent")
    heads = page.locator("tr.group").all_inner_texts()
    assert len(heads) == 3 and heads == sorted(heads) and "<script>" in heads[1]
    page.reload()
    assert told.inner_text() == "3 of 4 shown" and page.locator("tr.group").count() == 3
    page.get_by_label("name", exact=True).fill("ENTR")
    assert page.locator("#runs tbody tr:visible").count() == 2  # a head and a run
    page.get_by_label("name", exact=True).fill("")
    compare = page.get_by_role("button", name="compare")
    page.get_by_label("pick entropy").check()
    assert compare.is_disabled()
    page.get_by_label("pick random").check()
    compare.click()
    page.wait_for_url("**/compare/**")
    page.get_by_role("link", name="entropy").first.click()
    page.locator("select[name=kind]").select_option("win")
    assert page.locator("#list tbody tr:visible").count() == 4
    page.locator("input[name=task]").fill("1")
    assert page.locator("#list tbody tr:visible").count() == 2 and page.url.endswith("?kind=win&task=1")
    page.get_by_label("compare with").select_option(label="random")
    page.wait_for_url("**/compare/**")
    page.locator("select[name=only]").select_option("a")
    assert page.url.endswith("?only=a")


def test_what_was_said_is_searched_in_a_folder(tab: Tab, folder: Path) -> None:
    page = tab.page
    page.goto(folder.as_uri())
    page.get_by_label("search conversations").fill("ONERROR")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?text=ONERROR")
    page.locator("[data-search]", has_text="No more hits").wait_for()
    n = page.locator(".hits li").count()
    assert n and page.locator("[data-search]").inner_text() == f"{n} hits in 14 episodes. No more hits."
    assert set(page.locator(".hits mark").all_inner_texts()) == {"onerror"}
    assert page.locator("main img, main script").count() == 0 and page.title() != "taken"
    page.get_by_label("environment").select_option("minesweeper")
    page.get_by_role("button", name="search").click()
    page.locator("[data-search]", has_text="0 hits in 2 episodes").wait_for()
    page.go_back()
    page.locator(".hits a").first.click()
    page.wait_for_url("**/episode/**")
    assert page.locator(".turn.now", has_text="onerror").count() == 1
    page.get_by_role("link", name="mastermind").first.click()
    page.get_by_label("search conversations").fill("nobody said this")
    page.keyboard.press("Enter")
    page.locator("[data-search]", has_text="0 hits in 4 episodes. No more hits.").wait_for()
    assert "/search/" in page.url
