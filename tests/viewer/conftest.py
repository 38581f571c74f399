"""Runs to look at: three agents on sixteen codes, one of them hostile, and one walk through a mine field."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sonde.evaluation.run_evaluation import execute_run
from sonde.runs.run import config_from, prepare_run
from sonde.viewer.site import pages
from sonde.viewer.site.library import Library
from sonde.viewer.site.links import Links

CODES = {"name": "mastermind", "length": 2, "digits": 4, "max_turns": 4}
SCRIPT = "<script>document.title='taken'</script>"
HOSTILE = (
    f"{SCRIPT} </details></div></section> <img src=x onerror=\"document.title='taken'\"> <Answer>0123</Answer>",
    '<think>"><svg onload="document.title=\'taken\'"></think> <Answer>{{0|1|2}}{{1|2|3}}</Answer>',
    "<style>*{display:none}</style> \u202eesrever\u2066 \x00 \x1b[31m {{ 7*7 }} <a href='javascript:alert(1)'>x</a>",
)

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

Play = Callable[..., Path]


def play(folder: Path, agent: dict[str, Any] | str, env: dict[str, Any] = CODES, **settings: Any) -> Path:
    """A run of three tasks with two samples each, in a folder of its own."""
    named = {"name": f"agents:{agent}"} if isinstance(agent, str) else agent
    run = prepare_run(config_from({"env": env, "seats": {"agent": named}, "n_tasks": 3, "k": 2, **settings}))
    execute_run(run, folder / run.folder_name)
    return folder / run.folder_name


def hostile() -> dict[str, Any]:
    return {"name": "agents:llm", "model": {"name": "models:fake", "pattern": HOSTILE}}


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with four runs and a training."""
    folder = tmp_path_factory.mktemp("looked-at")
    play(folder, "random", label="random")
    play(folder, "entropy", label="entropy")
    play(folder, hostile(), label=f"llm ({SCRIPT})")
    play(folder, "random", {"name": "minesweeper"}, n_tasks=2, k=1, label="careless")
    trained = folder / "trained"
    trained.mkdir()
    lines = [{"step": i, "loss": 1.0 / i, "nll": 1.0 / i} for i in range(1, 6)]
    (trained / "history.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return folder


@pytest.fixture
def library(runs: Path) -> Library:
    return Library([runs])


def named(library: Library, label: str) -> str:
    """The name of the run whose agent is called so."""
    return next(shelf.name for shelf in library.runs if shelf.agent.startswith(label))


def page(library: Library, *parts: str, **query: str) -> Any:
    """The page at an address, as a value."""
    return pages.find_page(library, parts, query)


def html(library: Library, *parts: str, **query: str) -> str:
    """The same as HTML."""
    found = page(library, *parts, **query)
    return pages.render_page(found, Links(max(0, len(parts) - 1), query=query), live="/".join(parts))


def ids(library: Library, run: str) -> list[str]:
    """Of the episodes of a run, in order of task and sample."""
    return [line.id for line in page(library, "run", run).listing.lines]


@pytest.fixture(scope="module")  # its loop would be in the way of tests that have one of their own
def chromium() -> Iterator[Any]:
    if BROWSER is None:
        pytest.skip("no Chromium here; on Debian: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        options = ["--no-sandbox"] if hasattr(os, "getuid") and os.getuid() == 0 else []
        browser = driver.chromium.launch(executable_path=BROWSER, args=options)
        yield browser
        browser.close()


class Tab:
    """A page whose errors are collected."""

    def __init__(self, browser: Any, **options: Any) -> None:
        self._context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        self.page = self._context.new_page()
        self.page.set_default_timeout(20_000)
        self.errors: list[str] = []
        self.page.on("console", lambda m: self.errors.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda e: self.errors.append(str(e)))
        self.page.on("dialog", lambda d: (self.errors.append("a dialog"), d.dismiss()))

    def close(self) -> None:
        self._context.close()
        assert self.errors == []


@pytest.fixture
def tab(chromium: Any) -> Iterator[Tab]:
    found = Tab(chromium)
    yield found
    found.close()
