"""The leaderboard as a page: its numbers, its order, and text of others in it."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sonde.core import UserError
from sonde.evaluation import results
from sonde.evaluation.leaderboard import Board
from sonde.evaluation.results import SuiteResult
from sonde.evaluation.run_evaluation import execute_run as played
from sonde.runs.run import config_from, prepare_run
from sonde.viewer.leaderboard import export_leaderboard, make_leaderboard

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
HOSTILE = "<script>document.title='taken'</script>"


def submitted(folder: Path, agent: str, label: str, envs: tuple[str, ...]) -> SuiteResult:
    """Three tasks of environments of the suite mtp, played."""
    done: list[Any] = []
    for env in envs:
        config = {
            "env": {"name": env, "preset": "mtp"},
            "seats": {"agent": {"name": f"agents:{agent}"}},
            "label": label,
        }
        run = prepare_run(config_from({**config, "n_tasks": 3, "k": 1}))
        done.append((run, played(run, folder / run.folder_name), 1.0))
    return results.make_result("mtp", f"sonde eval {label}", done, None)


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Board:
    folder = tmp_path_factory.mktemp("runs")
    envs = ("word_guess", "circuit_decoding")
    good = [submitted(folder, "random", HOSTILE, envs), submitted(folder, "entropy", "entropy", envs[:1])]
    return Board(good, [(replace(good[1], agent="gone"), ["word_guess mtp: <b>old</b>"])])


def test_the_page_says_what_each_agent_came_to(board: Board) -> None:
    found = make_leaderboard(board)
    (table,) = found.suites
    assert table.name == "mtp" and table.environments[-1] == "word_guess" and len(table.environments) == 5
    lines = {line.result.agent: line for line in table.lines}
    assert lines["entropy"].headline.lacks == "1 of 5 environments, 3 of 400 tasks, 1 of 4 samples"
    assert not lines["entropy"].whole and lines["entropy"].about.startswith("Program. Ask the question")
    assert [t.suite for t in table.published] == ["mtp", "mtp"]
    assert [cell and cell.tasks for cell in lines["entropy"].cells] == [None, None, None, None, 3]
    assert [n for _, _, n, _ in found.agents] == [2, 1] and found.environments == 5
    assert not table.whole and list(table.parts) == list(table.lines) and table.title.startswith("Multi-Turn Puzzles")
    asks, n = found.agents[1][3]["asks"]
    assert asks is not None and asks.mean == pytest.approx(1.0) and n == 1
    bits, of = lines["entropy"].means["bits"]
    (entropy,) = lines["entropy"].result.environments
    assert bits is not None and bits.mean == pytest.approx(entropy.metrics["bits_per_turn"].mean) and of == 1


def test_the_page_stands_for_itself_and_what_others_wrote_stays_text(board: Board, tmp_path: Path) -> None:
    first = export_leaderboard(board, tmp_path / "board")
    text = first.read_text("utf-8")
    assert HOSTILE not in text and "&lt;script&gt;document.title" in text
    (found,) = [
        line.means["bits"][0] for line in make_leaderboard(board).suites[0].lines if line.result.agent == "entropy"
    ]
    assert found is not None and f">{found.mean:.2f}</span>" in text and "bits per turn" in text
    assert "&lt;b&gt;old" in text and "Only 1 of 5 environments" in text
    assert "Published, other tasks and users" in text and "Claude 3.5 Sonnet" in text
    assert "default-src 'none'" in text and "http" not in text.replace("http-equiv", "")
    assert {path.name for path in (tmp_path / "board" / "assets").iterdir()} == {"style.css"}
    with pytest.raises(UserError, match="not empty"):
        export_leaderboard(board, tmp_path / "board")


@pytest.mark.thorough
@pytest.mark.skipif(BROWSER is None, reason="no Chromium here; on Debian: apt-get install chromium")
def test_its_tables_are_sorted_where_they_are(board: Board, tmp_path: Path) -> None:
    from playwright.sync_api import sync_playwright

    first = export_leaderboard(board, tmp_path / "board")
    with sync_playwright() as driver:
        options = ["--no-sandbox"] if hasattr(os, "getuid") and os.getuid() == 0 else []
        browser = driver.chromium.launch(executable_path=BROWSER, args=options)
        for width in (1280, 400):
            tab = browser.new_page(viewport={"width": width, "height": 800})
            wrong: list[str] = []
            tab.on("console", lambda m, wrong=wrong: wrong.append(m.text) if m.type in ("error", "warning") else None)
            tab.goto(first.as_uri())
            assert tab.title() == "Leaderboard · sonde"
            assert tab.evaluate("document.documentElement.scrollWidth") <= width
            if width > 1000:
                table = tab.locator("table").last
                for order in ("descending", "ascending"):
                    table.get_by_role("button", name="asks").click()
                    assert table.locator("th[aria-sort]").get_attribute("aria-sort") == order
                    top = table.locator("tbody th").first.inner_text()
                    assert top.startswith("entropy") == (order == "descending")
            assert wrong == []
        browser.close()


def test_costs_are_drawn_where_a_model_was_called(board: Board) -> None:
    """Tokens per episode, mean over environments: 600 of 3 and 1,200 of 3 are 300; without any, no figure."""
    assert make_leaderboard(board).suites[0].costs is None
    one = board.results[0]
    spent = tuple(replace(e, tokens=n) for e, n in zip(one.environments, (600, 1200), strict=True))
    model = replace(one, agent="a model", environments=spent)
    assert model.tokens_per_episode == 300.0 and one.tokens_per_episode == 0.0
    made = Board([one, model], [])
    drawn = make_leaderboard(made).suites[0].costs
    assert drawn is not None and "tokens per episode" in drawn and "a model" in drawn
    suites: Any = made.to_json()["suites"]
    assert {row["tokens_per_episode"] for row in suites["mtp"]} == {0.0, 300.0}
