"""What notebooks show: cards of episodes, beliefs, runs and evaluations, with all text escaped."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import sonde
from sonde.core import Action, ProgramPolicy, View
from sonde.evaluation.evaluate import compare
from sonde.evaluation.run_evaluation import reopen_run, rescore_run
from sonde.viewer.notebook import TURNS

ROOT = Path(__file__).parents[2]
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'&\u202e\ud800</table>"
WORDLE: Any = sonde.make("wordle")


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag != "img":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


KNOWN = {
    "div", "style", "b", "i", "small", "table", "thead", "tbody", "tr", "th", "td", "span", "details", "summary", "img",
}  # fmt: skip


def check_card(value: Any) -> str:
    """The card, which has only our own tags, all closed, and no scripts."""
    html = value._repr_html_()
    html.encode("utf-8")
    tags = _Tags()
    tags.feed(html)
    assert not tags.open and {*tags.tags} <= KNOWN
    assert tags.attributes <= {"class", "style", "colspan", "alt", "src", "title"}
    return html


def test_an_episode_by_its_turns() -> None:
    ep = sonde.Episode.begin(WORDLE, WORDLE.task("toast"))
    assert "agent to act" in check_card(ep) and '<td class="said">' not in check_card(ep)
    ep = ep.step(WORDLE.say("boost"))
    html = check_card(ep)
    assert "Episode of wordle (paprika)" in html and "turn 1 of at most 6" in html
    assert '<td class="n">8.01</td><td class="n">3.17</td>' in html, "bits gained and left"
    assert "&lt;Answer&gt;boost&lt;/Answer&gt;" in html and "data:image/svg+xml;base64," in html


def test_only_the_last_turns_of_a_long_episode() -> None:
    env = sonde.make("bernoulli_bandit")
    (played,) = sonde.rollout(env, "random", tasks=1)
    html = check_card(sonde.Episode.replay(env, played))
    assert html.count('<td class="said">') == TURNS and f"{len(played.turns) - TURNS} earlier turns not shown" in html


def test_an_episode_without_a_filter() -> None:
    env = sonde.make("word_chaining")
    ep = sonde.Episode.begin(env, env.tasks("test")[0]).step("apple")
    assert ep.posterior() is None and "bits left" not in check_card(ep)


def test_a_belief_by_its_likeliest_hypotheses() -> None:
    html = check_card(sonde.Belief(tuple(range(100)), (0.505, *[0.005] * 99)))
    assert html.count('class="bar"') == 12 and "50.5 %" in html and "the 12 most probable" in html
    assert "0 hypotheses" in check_card(sonde.Belief((), ()))


def test_a_run_before_and_after_its_evaluation(tmp_path: Path) -> None:
    run = sonde.rollout(WORDLE, "entropy", tasks=2, folder=tmp_path / "run")
    html = check_card(run)
    assert "entropy in wordle" in html and "2 episodes" in html and "no saved evaluation" in html
    rescore_run(reopen_run(run), run.folder)
    assert "no saved evaluation" not in check_card(run) and "efficiency" in check_card(run)


def test_an_evaluation_by_its_metrics() -> None:
    html = check_card(sonde.evaluate(sonde.rollout(WORDLE, "entropy", tasks=2)))
    assert "entropy in wordle (paprika)" in html and "100.0 %" in html and "pass@1" not in html


def test_a_comparison_by_its_differences() -> None:
    a, b = (sonde.evaluate(sonde.rollout(WORDLE, agent, tasks=2)) for agent in ("entropy", "random"))
    found = compare(a, b)
    first, second = repr(found).splitlines()
    assert first == "<Comparison in wordle, 2 tasks of both, entropy minus random:"
    assert second.startswith(" success +1.000 [") and ", return +1.000 [" in second and ", turns -" in second
    html = check_card(found)
    assert "entropy minus random in wordle" in html and "+1.000" in html and "paired by task" in html
    assert "<script" not in check_card(replace(found, a=HOSTILE, env_name=HOSTILE))


def test_hostile_text_is_only_text(tmp_path: Path) -> None:
    class Rude(ProgramPolicy):
        def act_now(self, view: View) -> Action:
            return Action(HOSTILE)

    ep = sonde.Episode.begin(WORDLE, WORDLE.task("toast")).step(HOSTILE)
    run = sonde.rollout(WORDLE, Rude(), tasks=1, folder=tmp_path / "<b>run")
    evaluation = replace(sonde.evaluate(run), label=HOSTILE, env_name=HOSTILE, notes=(HOSTILE,))
    for value in (ep, run, evaluation, sonde.Belief((HOSTILE, HOSTILE * 50), (0.5, 0.5))):
        html = check_card(value)
        assert "<script" not in html and "<img src=x" not in html and "\u202e" not in html
    assert "U+202E" in check_card(ep) and "&lt;script&gt;" in check_card(ep)


CELLS = (
    "import sonde\nenv = sonde.make('wordle')",
    "ep = sonde.Episode.begin(env, env.task('toast')).step(env.say('boost'))\nep",
    "ep.posterior()",
    "run = sonde.rollout(env, 'entropy', tasks=2, folder='run')\nrun",
    "sonde.evaluate(run)",
    "await sonde.make('agents:random').act(ep.view()); len(sonde.rollout(env, 'random', tasks=1))",
)


@pytest.mark.thorough
def test_in_a_real_notebook(tmp_path: Path) -> None:
    """Run by a kernel of Jupyter, whose event loop is running, and converted to a page. `SONDE_NOTEBOOK_PYTHON` names a
    Python that has nbconvert, ipykernel and what sonde needs, by default this one."""
    python = os.environ.get("SONDE_NOTEBOOK_PYTHON", sys.executable)
    if python == sys.executable and not (find_spec("nbconvert") and find_spec("ipykernel")):
        pytest.skip("nbconvert and ipykernel are not installed")
    kernel = {"name": "here", "display_name": "here", "language": "python"}
    code: dict[str, Any] = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    book = {
        "cells": [{**code, "id": f"cell-{i}", "source": source} for i, source in enumerate(CELLS)],
        "metadata": {"kernelspec": kernel},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    (tmp_path / "book.ipynb").write_text(json.dumps(book), "utf-8")
    spec = tmp_path / "jupyter" / "kernels" / "here"
    spec.mkdir(parents=True)
    start = [python, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (spec / "kernel.json").write_text(json.dumps({"argv": start, **kernel}), "utf-8")
    env = {
        **os.environ, "JUPYTER_PATH": str(tmp_path / "jupyter"), "PYTHONPATH": str(Path(sonde.__file__).parents[1]),
        "HOME": str(tmp_path), "IPYTHONDIR": str(tmp_path / "ipython"),
    }  # fmt: skip
    command = [python, "-m", "nbconvert", "--to", "html", "--execute", "--allow-errors", "book.ipynb"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "book.html").read_text("utf-8")
    assert page.count('<div class="sonde-card">') == 4 and "ename" not in page and "Traceback" not in page
    assert "Belief" in page and "8.01" in page
