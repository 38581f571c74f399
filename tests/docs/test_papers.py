"""The pages of the papers are what their tables say."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
BUILD = runpy.run_path(str(DOCS / "build_papers.py"))
ROWS = runpy.run_path(str(DOCS.parent / "recipes" / "rows.py"))


def test_every_paper_has_a_page_that_is_up_to_date() -> None:
    for paper in BUILD["list_papers"]():
        page = (DOCS / "papers" / f"{paper}.md").read_text("utf-8")
        assert page == BUILD["write_page"](paper), "run `python docs/build_papers.py`"
        assert not BUILD["find_unused_tables"](paper), "each saved table is shown on the page"


def test_the_page_of_all_papers_is_up_to_date() -> None:
    assert (DOCS / "papers" / "index.md").read_text("utf-8") == BUILD["write_index"]()


def test_a_reading_takes_its_numbers_from_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ROWS["save_table"].__globals__, "TABLES", tmp_path)
    monkeypatch.setitem(BUILD["read_table"].__globals__, "RESULTS", tmp_path)
    ROWS["save_table"]("a", "figure7", "python x.py", ["arm", "success"], [["ema", 0.25], ["relu", None]], seeds=[0, 1])
    item = BUILD["Item"](
        id="Figure 7", about="Shapings.", results=["figure7"], reading="EMA: {figure7[ema][success]:.2f}."
    )
    text = "\n\n".join(BUILD["write_item"]("a", item))
    assert "| ema | 0.250 |\n| relu |  |" in text
    assert "*`python x.py`; seeds 0, 1.*" in text and text.endswith("EMA: 0.25.")


def test_a_page_takes_the_numbers_of_its_paper_from_the_leaderboards_table() -> None:
    published = """
| limit | {published[1][models]} |
| 20 | {published[1][word_chaining]} |
From {published[1][word_chaining][GPT-4o]:.2f} on."""
    item = BUILD["Item"](id="Table 2", about="Turns.", published=published, reading="Ours.")
    text = "\n".join(BUILD["write_item"]("mtp", item))
    assert "| limit | Gemini 2.5 Pro | Claude 3.5 Sonnet | GPT-4o |\n| 20 | 9 | 9.3 | 5.1 |\nFrom 5.10 on." in text
    (maze, partial) = (BUILD["read_published"]("lmrl")[0][f"maze {name}"] for name in ("lmrl", "lmrl_partial"))
    assert maze["MC"] == 75 and partial["MC"] is None and "50.1 |  | 76.3" in str(partial)


def test_bad_tables_and_items_are_refused() -> None:
    with pytest.raises(ValueError, match="a row of 1 cells, allowed: 2"):
        ROWS["save_table"]("a", "b", "c", ["arm", "success"], [["ema"]])
    with pytest.raises(ValueError, match="two rows of one name"):
        ROWS["save_table"]("a", "b", "c", ["arm"], [["ema"], ["ema"]])
    with pytest.raises(ValueError, match="Figure 1: paper: got no command"):
        BUILD["Item"](id="Figure 1", about="")
