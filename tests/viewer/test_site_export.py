"""Pages as files: all of them, linked to each other and to nothing else."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pytest

from sonde._util.escaping import make_visible
from sonde.core import UserError
from sonde.viewer.site.export import Extent, export_site
from sonde.viewer.site.library import Library

from .conftest import SCRIPT, named, page

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def site(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export_site([runs], tmp_path_factory.mktemp("site") / "pages", Extent(episodes=4)).parent


def test_links_lead_to_files_that_are_there(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    for path in pages:
        text = path.read_text("utf-8")
        for link in re.findall(r'\b(?:href|src|action|data-fragment|data-load)="([^"]*)"', text):
            target, _, part = unquote(re.sub(r"\?[^#]*", "", unescape(link))).partition("#")
            assert ":" not in target and not target.startswith("/")
            assert not target or (path.parent / target).is_file(), (path, link)
            assert target or not part or f' id="{part}"' in text, (path, link)
    assert {p.parent.name for p in pages} >= {"pages", "run", "training"}


def test_whole_groups_are_written_up_to_a_number_of_episodes(site: Path, library: Library) -> None:
    for label in ("random", "entropy", "llm"):
        assert len(list((site / "episode" / named(library, label)).glob("*.html"))) == 4
    assert len(list((site / "group" / named(library, "random")).rglob("*.html"))) == 2


def test_what_comes_on_demand_is_in_place(site: Path, library: Library) -> None:
    name = named(library, "random")
    page = next((site / "episode" / name).glob("*.html")).read_text("utf-8")
    assert 'class="replay"' in page and "<svg" in page and " data-fragment=" not in page
    assert "Won within n turns" in (site / "run" / f"{name}.html").read_text("utf-8")
    assert "Won within n turns" in (site / "report.html").read_text("utf-8")


def test_every_turn_has_its_best_question_and_its_tokens(site: Path, library: Library) -> None:
    name = named(library, "llm")
    shelf = library.run(name)
    for path in (site / "episode" / name).glob("*.html"):
        text, t = path.read_text("utf-8"), shelf.read_trajectory(path.stem)
        for turn in t.turns:
            asked = page(library, "best", name, t.id, str(turn.index))
            kept = re.search(rf'<template id="best-{turn.index + 1}">(.*?)</template>', text, re.DOTALL)
            assert kept is not None and f"<bdi>{asked.answer}</bdi>, {asked.bits:.2f} bits" in kept[1]
            called = re.search(rf'<template id="tokens-{turn.index + 1}">(.*?)</template>', text, re.DOTALL)
            (completion,) = turn.acts[0].action.completions
            assert called is not None and called[1].count("ln p ") >= len(completion.ids)


def test_what_was_said_lies_beside_the_search_as_nothing_but_data(site: Path, library: Library) -> None:
    name = named(library, "llm")
    written = (site / "search" / f"{name}.js").read_text("utf-8")
    assert "<" not in written and "\u202e" not in written and written.isascii()
    begin = f"(globalThis.said ??= {{}})[{json.dumps(name)}] = "
    assert written.startswith(begin) and written.endswith(";\n")
    kept = json.loads(written.removeprefix(begin)[:-2])
    assert (kept["env"], kept["agent"]) == ("mastermind", f"llm ({SCRIPT})") and len(kept["episodes"]) == 4
    shelf = library.run(name)
    for identity, index, sample, kind, told in kept["episodes"]:
        t = shelf.read_trajectory(identity)
        assert t.outcome is not None and (index, sample, kind) == (t.task.index, t.sample, t.outcome.kind)
        assert [words for _, seat, words in told if seat == "agent"] == [make_visible(turn.text) for turn in t.turns]


def test_only_the_search_may_run_a_script_that_lies_beside_it(site: Path, library: Library) -> None:
    name = named(library, "llm")
    for path, sources in (
        (site / "search.html", {shelf.name for shelf in library.runs}),
        (site / "search" / f"{name}.html", {name}),
    ):
        text = path.read_text("utf-8")
        found = re.search(r"data-search='([^']*)'", text)
        assert found is not None and set(json.loads(found[1])) == sources
        assert re.search(r"script-src 'sha256-[^ ]*' 'self'; base-uri", text)
    for path in site.rglob("*.html"):
        if "search" not in (path.stem, path.parent.name) and path.stem != "report":
            assert re.search(r"script-src 'sha256-[^ ]*'; base-uri", path.read_text("utf-8")), path


def test_what_is_left_out_is_said_with_what_brings_it(runs: Path, library: Library, tmp_path: Path) -> None:
    told: list[str] = []
    site = export_site(
        [runs], tmp_path / "site", Extent(2, 1, best=False, tokens=False), on_progress=told.append
    ).parent
    assert told[0].startswith("sonde: 2 of 3 comparisons of two runs are not in this folder")
    assert "`--comparisons 3` writes all" in (site / "index.html").read_text("utf-8")
    ((a, b),) = [(path.parent.name, path.stem) for path in (site / "compare").rglob("*.html")]
    (third,) = {named(library, label) for label in ("random", "entropy", "llm")} - {a, b}
    for name, missing in ((a, [third]), (b, [third]), (third, [a, b])):
        text = unescape((site / "run" / f"{name}.html").read_text("utf-8"))
        said = re.search(r"not compared in this folder with ([^;]*);", text)
        assert said is not None and sorted(said[1].split(", ")) == sorted(missing)
        assert "2 of 6 episodes are in this folder, `--episodes 6` writes all" in text
    assert not any("<template" in path.read_text("utf-8") for path in (site / "episode").rglob("*.html"))


def test_pages_are_safe_whatever_was_said(site: Path) -> None:
    for path in site.rglob("*.html"):
        text = path.read_text("utf-8")
        assert text.count("<script") == 1 and SCRIPT not in text
        assert "default-src 'none'" in text


def test_a_folder_with_something_in_it_is_left_alone(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(UserError, match="not empty"):
        export_site([runs], tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]
