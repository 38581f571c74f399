"""The pages in a real browser: what people do on them, without one error on the console, whatever was said.

Needs Chromium (`apt-get install chromium`) and playwright (the extra `dev`); skipped only where there is no browser.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sonde.evaluation.run_evaluation import reopen_run, rescore_run
from sonde.runs.store import Run, RunWriter
from sonde.viewer.site.library import Library
from sonde.viewer.site.server import start_server

from .conftest import Tab, named

pytestmark = pytest.mark.thorough

CONTROLS = "a[href], button, input:not([type=hidden]), select, textarea, svg[role=img]"
NAMELESS = """all => all
    .filter(e => !(e.getAttribute("aria-label") || e.innerText?.trim() || e.labels?.length || e.title))
    .map(e => e.outerHTML)"""


class Served:
    """An application on a thread of its own."""

    def __init__(self, places: list[Path]) -> None:
        self.library = Library(places)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        asked = asyncio.run_coroutine_threadsafe(start_server(self.library, 0), self._loop)
        self._runner, self.address = asked.result(30)

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._runner.cleanup(), self._loop).result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@pytest.fixture(scope="module")
def served(runs: Path) -> Iterator[Served]:
    app = Served([runs])
    yield app
    app.close()


def episode(served: Served, label: str, n: int = 0) -> str:
    name = named(served.library, label)
    return f"{served.address}episode/{name}/{served.library.run(name).run[n].id}"


def test_runs_are_filtered_sorted_and_picked_for_a_comparison(tab: Tab, served: Served) -> None:
    page = tab.page
    page.goto(served.address)
    assert page.locator("tbody tr:not(.group)").count() == 4
    assert page.locator("tr.group").all_inner_texts() == ["mastermind", "minesweeper"]
    page.locator("select[name=env]").select_option("mastermind")
    page.wait_for_url("**/?env=mastermind")
    page.get_by_role("link", name="success").click()
    page.wait_for_url("**/?env=mastermind&sort=-success")
    assert page.locator("th[aria-sort=descending]").inner_text() == "success ↓"
    assert page.locator("tbody tr").first.locator("td[data-label=agent]").inner_text() == "entropy"
    button = page.locator("[data-pick-button]")
    assert button.is_disabled()
    page.get_by_label("pick entropy").check()
    page.get_by_label("pick random").check()
    button.click()
    page.wait_for_url("**/compare/**")
    assert "A − B" in page.content() and page.locator("tbody tr").count() == 3
    page.get_by_role("link", name="A more often").click()
    page.wait_for_url("**?only=a")


def test_a_run_shows_its_figures_and_leads_to_its_episodes(tab: Tab, served: Served) -> None:
    page = tab.page
    page.goto(f"{served.address}run/{named(served.library, 'entropy')}")
    page.locator("figure svg").first.wait_for(timeout=60_000)
    assert page.locator(".matrix .cell").count() == 6
    page.locator("select[name=kind]").select_option("win")
    page.wait_for_url("**?kind=win#episodes")
    page.locator("select[name=group]").select_option("task")
    page.wait_for_url("**?kind=win&group=task#episodes")
    assert page.locator("#list tr.group").all_inner_texts() == ["task 0", "task 1", "task 2"]
    page.locator("tbody th a").last.click()
    page.wait_for_url("**/episode/**")


def test_an_episode_is_stepped_through_by_keys(tab: Tab, served: Served) -> None:
    page = tab.page
    page.goto(episode(served, "random"))
    page.locator(".beliefs li").first.wait_for()
    turns = page.locator(".conversation .turn").count()
    told = page.locator("[data-left]")
    page.keyboard.press("j")
    assert page.locator(".turn.now").count() == 1 and page.url.endswith("#t1")
    after_one = told.inner_text()
    assert after_one.endswith("after turn 1") and page.locator("#said").inner_text().startswith("turn 1 of")
    page.keyboard.press("k")
    assert told.inner_text().startswith("16 possible, 4.00 bits of entropy")
    assert page.locator(".shot:not([hidden])").count() == 1
    widths = page.eval_on_selector_all(".beliefs .bar b", "bars => bars.map(b => b.style.width)")
    assert set(widths) == {"6.25%"}
    for _ in range(turns + 3):
        page.keyboard.press("ArrowRight")
    assert page.url.endswith(f"#t{turns}")
    page.get_by_role("button", name="turn before").click()
    assert page.locator("[data-step-at]").inner_text() == f"turn {turns - 1} of {turns}"
    page.keyboard.press("]")
    page.wait_for_url(lambda url: "#" not in url)


def test_the_best_question_and_the_tokens_come_on_demand(tab: Tab, served: Served) -> None:
    page = tab.page
    page.goto(episode(served, "llm"))
    page.locator(".bits summary").first.click()
    page.get_by_role("button", name="best question").first.click()
    assert "bits" in page.locator(".best").first.inner_text()
    page.get_by_role("button", name="tokens").first.click()
    page.locator(".call").first.wait_for()
    assert page.locator(".tok").count() > 3


def test_samples_stand_side_by_side(tab: Tab, served: Served) -> None:
    page = tab.page
    page.goto(f"{served.address}run/{named(served.library, 'random')}")
    page.locator(".matrix .task").first.click()
    page.wait_for_url("**/group/**")
    assert page.locator(".aligned thead th").count() == 3
    page.locator(".aligned tbody a").first.click()
    page.wait_for_url("**/episode/**#t1")
    assert page.locator("#t1.now").count() == 1


def test_what_was_said_is_searched(tab: Tab, served: Served) -> None:
    page = tab.page
    page.goto(f"{served.address}run/{named(served.library, 'llm')}")
    page.get_by_label("search conversations").fill("onerror")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search/**?text=onerror")
    assert page.locator(".hits mark").first.inner_text() == "onerror"


def test_all_runs_are_searched_from_the_first_page(tab: Tab, served: Served) -> None:
    page = tab.page
    page.goto(served.address)
    page.get_by_label("search conversations").fill("onerror")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?text=onerror")
    assert page.locator(".hits mark").first.inner_text() == "onerror"
    assert page.locator("[role=status]").first.inner_text().endswith("4 of 4 runs searched.")
    page.locator(".hits a").first.click()
    page.wait_for_url("**/episode/**")
    assert page.locator(".turn.now", has_text="onerror").count() == 1


def test_a_training_has_curves(tab: Tab, served: Served) -> None:
    tab.page.goto(f"{served.address}training/trained")
    tab.page.locator("figure svg").first.wait_for(timeout=60_000)
    headings = tab.page.locator("h1, h2").all_inner_texts()
    assert headings == ["Training trained"]
    assert tab.page.locator("a[href='#top']").count() == 0


def test_a_game_is_won_and_one_is_taken_over(tab: Tab, served: Served) -> None:
    page = tab.page
    page.goto(served.address)
    page.get_by_role("link", name="play").click()
    page.get_by_label("environment").select_option("mastermind")
    page.wait_for_url("**/play?env=mastermind")
    page.get_by_label("task").fill("3")
    page.get_by_role("button", name="begin").click()
    page.get_by_label("Answer").fill("0123")
    page.locator("html.js").wait_for()  # Enter is the script's to understand
    page.keyboard.press("Enter")
    page.locator(".turn").wait_for()
    assert page.locator(".beliefs").count() == 0
    page.get_by_role("button", name="show the posterior").click()
    page.locator(".beliefs li").first.wait_for()
    page.get_by_role("button", name="entropy to the end").click()
    page.locator(".end .kind").wait_for()
    assert "It was" in page.locator(".end").inner_text()
    page.goto(f"{served.address}play?env=twenty_questions")
    page.get_by_role("button", name="begin").click()
    page.get_by_label("Say").fill("Is it alive?")
    page.locator("html.js").wait_for()  # Enter is the script's to understand
    page.keyboard.press("Enter")
    page.locator(".turn").wait_for()
    page.goto(episode(served, "random"))
    page.locator(".bits summary").nth(1).click()
    page.get_by_role("button", name="take over").click()
    page.wait_for_url("**/play/**")
    assert page.locator(".turn").count() == 1 and "Taken over" in page.content()
    page.get_by_role("button", name="back to here").click()
    page.get_by_label("Answer").wait_for()
    assert page.locator(".turn").count() == 0


def test_boards_are_played_on(tab: Tab, served: Served) -> None:
    page = tab.page

    def begin(env: str) -> None:
        page.goto(f"{served.address}play?env={env}")
        page.get_by_label("task").fill("0")
        page.get_by_role("button", name="begin").click()
        page.locator(".b-place").first.wait_for()

    begin("battleship")
    page.locator(".b-place[data-say=B2]").click()
    page.locator("#t1 .said", has_text="B2").wait_for()
    page.locator(".b-place[data-say=A1]").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    page.locator("#t2 .said", has_text="C2").wait_for()
    page.wait_for_function("document.activeElement.dataset.say")
    begin("chess")
    page.locator(".b-place[data-say=e2]").click()
    assert page.locator(".b-place.b-to").count() == 2
    page.locator(".b-place[data-say=g1]").click()
    assert page.locator(".b-place[aria-pressed=true]").get_attribute("data-say") == "g1"
    page.locator(".b-place[data-say=f3]").click()
    page.locator("#t1 .said", has_text="N f 3").wait_for()


def test_new_episodes_appear_without_a_reload(tab: Tab, served: Served, tmp_path: Path) -> None:
    done = Run.load(served.library.run(named(served.library, "random")).folder)
    page = tab.page
    with RunWriter.open(tmp_path / "growing", done.config) as writer:
        writer.append_trajectory(done[0])
        writer.flush()
        app = Served([tmp_path])
        try:
            page.goto(f"{app.address}run/growing")
            assert page.locator("[data-swap=list] tbody tr").count() == 1
            page.evaluate("window.mark = 1")
            for t in done[1:4]:
                writer.append_trajectory(t)
            writer.flush()
            page.locator("[data-swap=list] tbody tr").nth(3).wait_for()
            assert page.locator("[data-swap=headline] b").first.inner_text() == "4"
            assert page.evaluate("window.mark") == 1
            assert page.locator("[data-swap=figures]").inner_text().startswith("This run is not evaluated")
            rescore_run(reopen_run(Run.load(tmp_path / "growing")), tmp_path / "growing")
            page.locator("[data-swap=figures] figure svg").first.wait_for(timeout=60_000)
            assert page.locator("[data-swap=status]").inner_text().startswith("evaluated")
            assert page.evaluate("window.mark") == 1
            page.goto("about:blank")
        finally:
            app.close()


def test_nothing_that_was_said_becomes_markup(tab: Tab, served: Served) -> None:
    page = tab.page
    name = named(served.library, "llm")
    shelf = served.library.run(name)
    task = shelf.run[0].task.id
    said = (
        "run/" + name,
        f"group/{name}/{task}/0",
        f"search/{name}?text=onerror",
        "?text=llm",
        "search?text=a",
        "report",
    )
    for address in (*said, *(f"episode/{name}/{t.id}" for t in shelf.run[:3])):
        page.goto(served.address + address)
        if address.startswith("episode"):
            page.locator(".replay").wait_for()
            page.locator(".bits summary").first.click()
            page.get_by_role("button", name="tokens").first.click()
            page.locator(".call").first.wait_for()
        assert page.title() != "taken"
        assert page.locator("main img, main style, main script, .words svg, .words a").count() == 0
        assert page.locator("a[href^=javascript]").count() == 0
    page.goto(served.address + f"episode/{name}/{shelf.run[0].id}")
    assert page.evaluate("fetch('https://example.org/').then(() => 'sent', () => 'refused')") == "refused"
    tab.errors = [e for e in tab.errors if "example.org" not in e]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pages_fit_a_telephone_in_both_themes(chromium: Any, served: Served, theme: str) -> None:
    tab = Tab(chromium, viewport={"width": 400, "height": 800}, color_scheme=theme)
    name = named(served.library, "random")
    one, two = f"run/{name}", f"compare/{name}/{named(served.library, 'entropy')}"
    task = served.library.run(name).run[0].task.id
    for address in ("", one, two, f"group/{name}/{task}/0", "play", f"search/{name}?text=a", "search?text=a"):
        tab.page.goto(served.address + address)
        assert tab.page.evaluate("document.documentElement.scrollWidth") <= 400, address
    tab.page.goto(episode(served, "random"))
    tab.page.locator(".replay").wait_for()
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= 400
    seen = tab.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (seen == "rgb(20, 23, 27)") == (theme == "dark")
    tab.close()


def test_everything_has_a_name_for_a_screen_reader_and_can_be_reached_by_keys(tab: Tab, served: Served) -> None:
    page = tab.page
    name = named(served.library, "random")
    for address in ("", f"run/{name}", "play", episode(served, "random").removeprefix(served.address)):
        page.goto(served.address + address)
        page.eval_on_selector_all("details", "all => all.forEach(one => one.open = true)")
        nameless = page.eval_on_selector_all(CONTROLS, NAMELESS)
        assert nameless == []
        assert page.locator("h1").count() == 1 and page.locator("main").count() == 1
        assert page.locator("html[lang=en]").count() == 1
    page.goto(served.address)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
