"""Write the pictures of `docs/viewer.md`: plays a few runs, serves them as `sonde view` does, and looks at the pages.

    python docs/build_viewer.py

Needs Chromium and playwright (the extra `dev`). Pictures depend on the fonts of the machine, so no test compares them.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path
from typing import Any, Literal

from sonde.evaluation.run_evaluation import execute_run
from sonde.runs.run import config_from, prepare_run
from sonde.viewer.site.library import Library
from sonde.viewer.site.server import start_server

PICTURES = Path(__file__).parent / "viewer"
RUNS: tuple[tuple[str, dict[str, Any], int, int], ...] = (
    ("random", {"name": "wordle"}, 20, 4),
    ("entropy", {"name": "wordle"}, 20, 4),
    ("random", {"name": "minesweeper"}, 20, 4),
    ("minesweeper", {"name": "minesweeper"}, 20, 4),
    ("battleship", {"name": "battleship"}, 10, 4),
    ("twenty_questions", {"name": "twenty_questions"}, 10, 4),
    ("random", {"name": "mastermind"}, 5, 4),
    ("car_dealer", {"name": "car_dealer"}, 4, 2),
)
SCHEMES: dict[Literal["light", "dark"], str] = {"light": "", "dark": "-dark"}
"""How a page looks, and the end of its picture's name; the site shows the one that fits (`docs/hooks.py`)."""


def main() -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("no Chromium here; on Debian: apt-get install chromium")
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        names: dict[tuple[str, str], str] = {}
        for agent, env, n, k in RUNS:
            config = {"env": env, "seats": {"agent": {"name": f"agents:{agent}"}}, "n_tasks": n, "k": k}
            run = prepare_run(config_from(config))
            execute_run(run, Path(temporary) / run.folder_name)
            names[agent, env["name"]] = run.folder_name
        asyncio.run(_look(Path(temporary), names, browser))


async def _look(runs: Path, names: dict[tuple[str, str], str], browser: str) -> None:
    from playwright.async_api import async_playwright

    library = Library([runs])
    runner, address = await start_server(library, 0, "token")
    guessed, mined = names["random", "wordle"], names["random", "minesweeper"]
    sold = names["car_dealer", "car_dealer"]
    lost = library.run(mined).run.trajectories.select_where("kind = 'loss'", order="turns DESC")[0]
    pages = {
        "runs": ("", 760, ()),
        "run": (f"run/{names['minesweeper', 'minesweeper']}", 1000, ()),
        "episode": (f"episode/{mined}/{lost.id}", 900, ("j", "j")),
        "group": (f"group/{guessed}/{library.run(guessed).run[0].task.id}/0", 700, ()),
        "compare": (f"compare/{names['entropy', 'wordle']}/{guessed}", 760, ()),
        "play": ("play?env=minesweeper", 760, ()),
        "rate": (f"rate/{sold}/{library.run(sold).run[0].id}", 700, ()),
    }
    async with async_playwright() as driver:
        chromium = await driver.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        for scheme, ending in SCHEMES.items():
            context = await chromium.new_context(color_scheme=scheme)
            for name, (path, height, keys) in pages.items():
                page = await context.new_page()
                await page.set_viewport_size({"width": 1180, "height": height})
                await page.goto(address + path)
                await page.locator("[data-fragment], [aria-busy]").first.wait_for(state="detached", timeout=120_000)
                for key in keys:
                    await page.keyboard.press(key)
                await page.wait_for_timeout(600)
                await page.screenshot(path=PICTURES / f"{name}{ending}.png")
        await chromium.close()
    await runner.cleanup()


if __name__ == "__main__":
    main()
