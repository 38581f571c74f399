"""The page: safe whatever was said, the same for the same runs, honest about what is missing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson
import pytest

from sonde.core import UserError
from sonde.envs.mastermind.env import Mastermind
from sonde.evaluation.evaluate import KINDS
from sonde.evaluation.run_evaluation import EVALUATION
from sonde.runs.store import Run
from sonde.viewer import write_report

from .conftest import CODES, play

SCRIPT = "<script>alert(1)</script>"
HOSTILE = (
    f"{SCRIPT} </details></div></section> <img src=x onerror=alert(2)> <Answer>{{0|1|2|3}}{{0|1|2|3}}</Answer>",
    '<think>"><svg onload=alert(3)></think> <Answer>no code</Answer>',
    "<style>*{display:none}</style> \u202eesrever\u2066 \x00 \x1b[31m {{ 7*7 }} {% raw %} no answer",
    "<Answer>12</Answer> https://example.org/tracker.png",
)
VOID = ("meta", "path", "use", "br", "img", "link", "rect", "input")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Random play, the reference solver and a hostile model, on sixteen codes; the first also on thirty-six."""
    runs = tmp_path_factory.mktemp("runs")
    llm = {"name": "agents:llm", "model": {"name": "models:fake", "pattern": HOSTILE}}
    return [
        play(runs, "random"),
        play(runs, "entropy"),
        play(runs, llm, label=f"llm ({SCRIPT} & $x_1$)"),
        play(runs, "random", {**CODES, "digits": 6}),
    ]


@pytest.fixture(scope="module")
def page(folders: list[Path], tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_report(folders, tmp_path_factory.mktemp("page") / "report.html").read_text("utf-8")


def rewrite(folder: Path, **values: Any) -> None:
    saved = orjson.loads((folder / EVALUATION).read_bytes())
    (folder / EVALUATION).write_bytes(orjson.dumps({**saved, **values}))


def report(folders: list[Path], to: Path, **options: Any) -> str:
    return write_report(folders, to / "report.html", **options).read_text("utf-8")


class Reader(HTMLParser):
    """Elements with their attributes, text by element, and a stack that must close in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.stack: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.stack.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self.stack[-1] if self.stack else "", data))

    def text(self, tag: str) -> str:
        return "".join(data for at, data in self.texts if at == tag)

    def attributes(self) -> Iterator[tuple[str, str]]:
        return ((name, value or "") for _, attrs in self.elements for name, value in attrs.items())


# --- whatever was said -----------------------------------------------------------------------------------------------


def test_nothing_that_was_said_becomes_an_element(page: str) -> None:
    read = Reader(page)
    assert not read.stack
    assert [tag for tag, _ in read.elements].count("script") == 1
    assert read.text("script") == (files("sonde.viewer") / "templates" / "report.js").read_text("utf-8")
    assert [tag for tag, _ in read.elements].count("style") == 1
    assert not {"img", "iframe", "object", "link", "base", "form"} & {tag for tag, _ in read.elements}
    assert not [name for name, _ in read.attributes() if name.startswith("on")]
    said = "".join(data for _, data in read.texts)
    for text in ("alert(1)", "onerror=alert(2)", "onload=alert(3)", "{{ 7*7 }}", "{% raw %}", "*{display:none}"):
        assert text in said
    assert SCRIPT not in page
    assert "$x_1$" in read.text("text")


def test_the_page_loads_nothing(page: str) -> None:
    read = Reader(page)
    for name, value in read.attributes():
        assert name not in ("src", "srcset", "data", "action", "background")
        if name in ("href", "xlink:href"):
            assert value.startswith("#")
    links = re.findall(r"url\(([^)]*)", page)
    assert links and all(link.startswith("#") for link in links)
    assert "@import" not in page
    policy = next(attrs["content"] for _, attrs in read.elements if "http-equiv" in attrs)
    assert policy and policy.startswith("default-src 'none'") and "script-src 'sha256-" in policy


def test_links_lead_somewhere_and_ids_are_unique(page: str) -> None:
    found = list(Reader(page).attributes())
    ids = [value for name, value in found if name == "id"]
    assert len(ids) == len(set(ids))
    wanted = {value[1:] for name, value in found if name.endswith("href")} | set(re.findall(r"url\(#([^)]*)", page))
    assert wanted <= set(ids)


def test_invisible_characters_are_named(page: str) -> None:
    assert not set("\u202e\u2066\x00\x1b") & set(page)
    assert '<span class="code" title="RIGHT-TO-LEFT OVERRIDE">U+202E</span>esrever' in page
    assert "U+0000" in page


def test_errors_and_labels_are_text_too(folders: list[Path], tmp_path: Path) -> None:
    copy = Path(shutil.copytree(folders[0], tmp_path / "run"))
    rows = orjson.loads((copy / EVALUATION).read_bytes())["rows"]
    broken = [{**row, "error": "refused \x07 <u>", "kind": "error"} for row in rows]
    rewrite(copy, rows=broken, label="lone \x07 <u>", kinds={**dict.fromkeys(KINDS, 0), "error": len(rows)})
    found = report([copy], tmp_path)
    assert "refused <span" in found and "&lt;u&gt;" in found and "<u>" not in found
    assert "U+0007" in found and "\x07" not in found


# --- the same for the same runs ---------------------------------------------------------------------------------------


def test_equal_runs_give_equal_bytes_in_every_process(folders: list[Path], page: str, tmp_path: Path) -> None:
    code = "import sys; from pathlib import Path as P; from sonde.viewer import write_report as w\n"
    code += "w([*map(P, sys.argv[2:])], P(sys.argv[1]))"
    to = tmp_path / "deep" / "report.html"
    env = {**os.environ, "PYTHONHASHSEED": "7"}
    subprocess.run([sys.executable, "-c", code, str(to), *map(str, folders)], check=True, env=env)
    assert to.read_text("utf-8") == page


def test_every_agent_is_named_and_coloured_alike_in_all_environments(page: str) -> None:
    chips = [attrs["data-agent"] for tag, attrs in Reader(page).elements if tag == "button" and "data-agent" in attrs]
    assert chips == ["0", "1", "2"]  # random plays in two environments
    assert page.count('<section class="env"') == 2
    assert page.count('class="of-agent agent-0" style="--colour:var(--floor)"') == 4  # a row and its episodes, twice
    assert 'class="of-agent agent-1" style="--colour:var(--reference)"' in page
    assert 'class="of-agent agent-2" style="--colour:var(--agent0)"' in page


def test_agents_of_one_label_are_told_apart_by_what_differs(tmp_path: Path) -> None:
    runs = [
        play(tmp_path, {"name": "agents:llm", "temperature": t, "model": {"name": "models:fake", "pattern": HOSTILE}})
        for t in (0.0, 0.5)
    ]
    found = report(runs, tmp_path, transcripts=0)
    assert "llm (fake) temperature=0.0" in found and "llm (fake) temperature=0.5" in found


def test_colours_are_variables_so_that_both_themes_can_be_read(page: str) -> None:
    for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        assert not re.findall(r"#[0-9a-f]{6}\b", "".join(re.findall(r"<[^>]*>", svg)))
        assert "var(--" in svg and "<style" not in svg
    css = page[page.index("<style>") : page.index("</style>")]
    light, dark = css.split("@media (prefers-color-scheme: dark)", 1)
    for name in re.findall(r"var\((--[a-z0-9]+)\)", page):
        assert name in ("--colour", "--row", "--rows", "--h") or f"{name}:" in light
    for i in range(6):
        assert f"--agent{i}:" in light and f"--agent{i}:" in dark


# --- what is missing --------------------------------------------------------------------------------------------------


def test_what_cannot_be_reported_is_said(folders: list[Path], tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no run folders"):
        write_report([], tmp_path / "report.html")
    with pytest.raises(UserError, match=r"transcripts: got -1, allowed: 0 or more"):
        write_report(folders, tmp_path / "report.html", transcripts=-1)
    with pytest.raises(UserError, match=r"no evaluation\.json.*sonde rescore"):
        write_report([tmp_path], tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


def test_an_evaluation_of_other_episodes_is_refused(tmp_path: Path) -> None:
    folder = play(tmp_path, "random")
    rows = orjson.loads((folder / EVALUATION).read_bytes())["rows"]
    rewrite(folder, rows=[{**rows[0], "trajectory": "elsewhere"}, *rows[1:]])
    with pytest.raises(UserError, match="1 episodes that the folder lacks"):
        write_report([folder], tmp_path / "report.html")


def test_without_a_filter_bits_are_not_available_and_never_zero(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Mastermind, "filter", lambda self, public: None)
    found = report([play(tmp_path, "random")], tmp_path)
    assert "this environment has no exact filter" in found
    assert "Where bits were lost" not in found and "Posterior entropy" not in found
    assert "bits: n/a" in found and "0.00 bits" not in found
    row = found[found.index('data-label="bits/turn"') :]
    assert row[: row.index("</td>")].endswith('exact filter, so bits cannot be computed">n/a</span>')


def test_a_run_evaluated_without_gains_says_so(tmp_path: Path) -> None:
    found = report([play(tmp_path, "random", gains=False)], tmp_path)
    assert "the run was evaluated without gains" in found and "has no exact filter" not in found


def test_no_episode_need_be_shown(folders: list[Path], tmp_path: Path) -> None:
    found = report(folders, tmp_path, transcripts=0)
    assert '<details class="episode"' not in found and "No episode is shown." in found
    assert len(found) < len(report(folders, tmp_path))


def test_a_run_of_which_nothing_was_played(tmp_path: Path) -> None:
    folder = play(tmp_path, "random")
    saved = orjson.loads((folder / EVALUATION).read_bytes())
    left = ("success", "pass@2", "turns", "unreadable")
    metrics = {name: value if name in left else None for name, value in saved["metrics"].items()}
    kinds = {kind: 6 if kind == "missing" else 0 for kind in saved["kinds"]}
    rewrite(folder, rows=[], metrics=metrics, entropy=None, kinds=kinds)
    found = report([folder], tmp_path)
    assert "no episodes" in found and "No episode is shown." in found and 'title="missing: 6 (100 %)"' in found


def test_privileged_agents_are_marked_wherever_they_appear(folders: list[Path], tmp_path: Path) -> None:
    folder = play(tmp_path, "random")
    rewrite(folder, privileged=True)
    assert report([folder], tmp_path).count(">privileged</span>") == 3  # the table, its explanation, the episodes
    assert ">privileged</span>" not in report([folders[0]], tmp_path)


def test_the_scale_is_shown_or_its_absence_explained(folders: list[Path], tmp_path: Path) -> None:
    found = report([folders[0]], tmp_path)
    assert "floor and reference are not measured for this configuration" in found
    train = play(tmp_path, "random", split="train")
    assert "scores are of the test split, not of train" in report([train], tmp_path)


def test_curves_over_samples_and_turns_are_drawn_where_there_are_any(folders: list[Path], tmp_path: Path) -> None:
    """Eight samples give pass@k; a hostile model's turns are invalid, and a code asked twice is not called repeated."""
    titles = ("Won by one of k samples", "Invalid turns", "Repeated questions")
    few, wrong = report([folders[0]], tmp_path), report([folders[2]], tmp_path)
    assert [title in few for title in titles] == [False, False, False]
    assert [title in wrong for title in titles] == [False, True, False]
    many = report([play(tmp_path, "random", n_tasks=2, k=8, gains=False)], tmp_path)
    assert [title in many for title in titles] == [True, False, False]
    game = {"name": "twenty_questions", "preset": "delta_belief", "max_turns": 3}
    same = {"name": "agents:llm", "model": {"name": "models:fake", "script": ("Is it alive?",)}}
    found = report([play(tmp_path, same, game, n_tasks=2, k=1, gains=False)], tmp_path)
    assert [title in found for title in titles] == [False, False, True]
    assert "Share of repeated turns by turn in twenty questions" in found
    Reader(found)


@pytest.mark.thorough
def test_long_episodes_are_shown_in_part_and_the_page_says_so(tmp_path: Path) -> None:
    said = "<think>" + "a thought that goes on " * 60 + "</think> <Answer>up</Answer>"
    llm = {"name": "agents:llm", "model": {"name": "models:fake", "script": (said,)}}
    pages = {}
    for turns in (60, 400):
        env = {"name": "maze", "preset": "lmrl", "max_turns": turns}
        folder = play(tmp_path / str(turns), llm, env, n_tasks=1, gains=False)
        assert {len(t.turns) for t in Run.load(folder)} == {turns}, "nobody arrives"
        pages[turns] = report([folder], tmp_path)
    assert "left out of this page; the run folder has them, and" not in pages[60]
    assert pages[400].count("Turns 41 to 380 are left out of this page") == 2
    shown = {int(n) for n in re.findall(r'class="no">turn (\d+)', pages[400])}
    assert shown == {*range(1, 41), *range(381, 401)}
    assert len(pages[400]) < 1.3 * len(pages[60]) < 1_000_000
    Reader(pages[400])


def test_what_was_wrong_with_replies_is_a_column_where_anything_was(folders: list[Path], tmp_path: Path) -> None:
    headings = [re.findall(r"<th>([^<]+)</th>", report(some, tmp_path)) for some in (folders, folders[1:2])]
    assert {"unreadable", "invalid turns"} <= set(headings[0])
    assert not {"unreadable", "invalid turns", "refused", "truncated", "reasoning only"} & set(headings[1])
