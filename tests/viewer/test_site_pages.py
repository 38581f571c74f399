"""Pages as values: what they say of a run, by hand."""

from __future__ import annotations

import os
import re
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import orjson
import pytest

from sonde.core import AGENT, UserError
from sonde.evaluation import metrics
from sonde.evaluation.run_evaluation import EVALUATION, load_evaluation
from sonde.runs.store import Run, RunWriter
from sonde.viewer.site import episodes, pages
from sonde.viewer.site.evaluation_file import EvaluationFile
from sonde.viewer.site.library import Library
from sonde.viewer.site.links import Links
from sonde.viewer.site.run import draw_figures

from .conftest import SCRIPT, html, ids, named, page, play

# --- runs ----------------------------------------------------------------------------------------------------------


def test_the_table_has_the_numbers_of_the_evaluations(library: Library, runs: Path) -> None:
    found = {h.name: h for _, rows in page(library).groups for h in rows}
    assert len(found) == 4
    for name, h in found.items():
        kept = load_evaluation(runs / name)
        assert (h.success, h.bits, h.kinds) == (kept.metrics["success"], kept.metrics["bits"], kept.kinds)
        assert h.reference_score == kept.metrics["reference_score"]
        assert (h.status, h.n) == ("evaluated", len(kept.rows))


def test_the_split_tells_runs_of_train_and_test_apart(tmp_path: Path) -> None:
    play(tmp_path, "random", label="tested")
    play(tmp_path, "random", split="train", label="trained")
    library = Library([tmp_path])
    ((_, rows),) = page(library).groups
    assert {h.agent: h.split for h in rows} == {"tested": "test", "trained": "train"}
    assert "paprika · train</small>" in html(library)
    assert [h.agent for _, found in page(library, text="train").groups for h in found] == ["trained"]


def test_runs_are_sorted_filtered_and_grouped(library: Library) -> None:
    def agents(**query: str) -> list[str]:
        return [h.agent for _, rows in page(library, **query).groups for h in rows]

    assert agents(env="mastermind", sort="agent") == ["entropy", f"llm ({SCRIPT})", "random"]
    assert agents(env="mastermind", sort="-success")[0] == "entropy"
    assert agents(text="MINES") == ["careless"]
    assert [group for group, _ in page(library, group="env").groups] == ["mastermind", "minesweeper"]
    assert agents(agent="nobody") == []


def test_several_runs_of_several_environments_are_grouped_by_environment_the_best_first(library: Library) -> None:
    groups = page(library).groups
    assert [group for group, _ in groups] == ["mastermind", "minesweeper"] and groups[0][1][0].agent == "entropy"
    assert [group for group, _ in page(library, env="mastermind").groups] == [""]
    assert {group for group, _ in page(library, group="suite").groups} == {"paprika"}
    (day,) = [group for group, _ in page(library, group="date").groups]
    assert day == time.strftime("%Y-%m-%d", time.localtime(groups[0][1][0].changed))
    text = html(library, group="none")
    assert "rowgroup" not in text
    with pytest.raises(UserError, match="group"):
        page(library, group="colour")


def test_bits_stand_beside_those_that_there_are(library: Library) -> None:
    h = next(h for _, rows in page(library).groups for h in rows if h.agent == "entropy")
    assert h.prior == 4.0 and '<span class="quiet"> of 4.0</span>' in html(library)


def test_runs_without_an_episode_are_left_out_and_counted(runs: Path, tmp_path: Path) -> None:
    done = Run.load(next(p for p in runs.iterdir() if "--random--" in p.name))
    shutil.copytree(done.folder, tmp_path / "played")
    RunWriter.open(tmp_path / "empty", done.config).close()
    library = Library([tmp_path])
    assert {h.name for _, rows in page(library).groups for h in rows} == {"played", "empty"}  # it may still be playing
    for path in (tmp_path / "empty").iterdir():
        os.utime(path, (0, 0))
    found = page(library)
    assert ([h.name for _, rows in found.groups for h in rows], found.of, found.empty) == (["played"], 1, 1)
    assert "1 run without an episode is left out." in html(library)


def test_the_score_has_its_interval_and_is_sorted_by(library: Library) -> None:
    found = [h for _, rows in page(library, sort="-reference_score", group="none").groups for h in rows]
    first, *others = found
    assert first.reference_score is not None and first.env == "minesweeper"
    assert all(h.reference_score is None for h in others)  # nobody has measured mastermind of two digits
    lines = html(library, sort="-reference_score", group="none").split("</tr>")
    score = first.reference_score
    assert 'aria-sort="descending"' in lines[0] and "score 0–100 ↓" in lines[0]
    assert f"95 % interval {score.low:.1f} to {score.high:.1f}" in lines[1]
    assert [h.env for _, rows in page(library, sort="reference_score", group="none").groups for h in rows][
        -1
    ] == "minesweeper"


def test_a_folder_that_cannot_be_read_is_told_of_and_the_others_are_shown(runs: Path, tmp_path: Path) -> None:
    whole = shutil.copytree(runs, tmp_path / "runs")
    broken = next(p for p in whole.iterdir() if (p / "config.json").is_file())
    saved = orjson.loads((broken / "config.json").read_bytes())
    (broken / "config.json").write_bytes(orjson.dumps({**saved, "format": 99}))
    found = page(Library([whole]))
    assert found.of == 3
    ((name, why),) = found.unread
    assert name == broken.name and "newer than this sonde" in why
    shown = next(h.name for _, rows in found.groups for h in rows if h.env == "mastermind")
    assert page(Library([whole]), "run", shown).listing.n == 6


def test_a_run_of_no_environment_is_told_of(tmp_path: Path) -> None:
    RunWriter.open(tmp_path / "odd", {"benchmark": "store"}).close()
    ((name, why),) = page(Library([tmp_path])).unread
    assert name == "odd" and why.endswith("allowed: one with env.name")


def test_what_the_pages_need_is_small() -> None:
    assets = [p for p in (files("sonde.viewer") / "templates").iterdir() if p.is_file()]
    assert sum(len(p.read_bytes()) for p in assets) < 200_000


def test_a_changed_configuration_is_noted(runs: Path, tmp_path: Path) -> None:
    source = next(p for p in runs.iterdir() if "--random--" in p.name and "mastermind" in p.name)
    config = Path(shutil.copytree(source, tmp_path / "changed")) / "config.json"
    saved = orjson.loads(config.read_bytes())
    config.write_bytes(orjson.dumps({**saved, "config": {**saved["config"], "n_tasks": 99}}))
    assert any("changed after the run began" in note for note in page(Library([tmp_path]), "run", "changed").notes)


def test_places_without_runs_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="with no run folder and no training"):
        Library([tmp_path])
    with pytest.raises(UserError, match=r"nowhere, allowed: an existing folder"):
        Library([tmp_path / "nowhere"])


def test_runs_of_one_name_are_told_apart(runs: Path, tmp_path: Path) -> None:
    for place in ("a", "b"):
        shutil.copytree(runs, tmp_path / place)
    names = [shelf.name for shelf in Library([tmp_path]).runs]
    assert len(set(names)) == len(names) == 8
    assert sum(name.endswith("-2") for name in names) == 4


# --- a run ---------------------------------------------------------------------------------------------------------


def test_the_matrix_has_every_sample_of_every_task(library: Library) -> None:
    found = page(library, "run", named(library, "entropy"))
    assert [(row.index, [c.sample for c in row.cells]) for row in found.matrix] == [(i, [0, 1]) for i in range(3)]
    assert all(c.kind == "win" for row in found.matrix for c in row.cells) and found.tasks == 3


def test_another_run_is_picked_for_a_comparison(library: Library) -> None:
    text = html(library, "run", named(library, "entropy"))
    form = text[text.index('action="../compare"') :].split("</form>")[0]
    others = [named(library, "random"), named(library, "llm")]
    assert sorted(re.findall(r'<option value="([^"]*)"', form)) == sorted(others)
    assert f'name="run" value="{named(library, "entropy")}"' in form and text.count("/compare/") == 0


def test_episodes_are_listed_filtered_and_turned_over(library: Library) -> None:
    name = named(library, "random")
    shelf = library.run(name)
    every = episodes.list_episodes(shelf, {})
    assert [(e.index, e.sample) for e in every.lines] == [(i, s) for i in range(3) for s in range(2)]
    second = episodes.list_episodes(shelf, {"page": "1"}, per_page=4)
    assert (second.n, second.number, second.pages) == (6, 1, 2)
    assert [e.id for e in second.lines] == [e.id for e in every.lines[4:]]
    won = episodes.list_episodes(shelf, {"kind": "win"})
    assert won.n == sum(e.kind == "win" for e in every.lines)
    assert episodes.list_episodes(shelf, {"task": "1"}).n == 2
    falling = [e.turns for e in episodes.list_episodes(shelf, {"sort": "-turns"}).lines]
    assert falling == sorted(falling, reverse=True)
    parts = episodes.list_episodes(shelf, {"group": "kind", "sort": "-turns"}).lines
    assert [(e.kind, -e.turns) for e in parts] == sorted((e.kind, -e.turns) for e in parts)
    assert [e.group_heading("task") for e in parts if e.index == 2] == ["task 2", "task 2"] and parts[0].group_heading(
        ""
    ) == ""


@pytest.mark.parametrize(("query", "why"), [
    ({"task": "x"}, "task: got 'x', allowed: a whole number"),
    ({"sort": "id; DROP TABLE episodes"}, "sort"),
    ({"page": "-1"}, "page: got"),
    ({"group": "score"}, "group"),
])  # fmt: skip
def test_questions_that_mean_nothing_are_told(library: Library, query: dict[str, str], why: str) -> None:
    with pytest.raises(UserError, match=why):
        episodes.list_episodes(library.run(named(library, "random")), query)


@pytest.mark.thorough
def test_facets_are_success_by_tag(tmp_path: Path) -> None:
    play(tmp_path, "random", {"name": "minesweeper"}, n_tasks=6, k=1)
    library = Library([tmp_path])
    found = page(library, "run", library.runs[0].name)
    sizes = {facet.value: facet for facet in found.facets if facet.tag == "difficulty"}
    rows = list(library.runs[0].run)
    assert sum(facet.n for facet in sizes.values()) == 6 and len(sizes) > 1
    for value, facet in sizes.items():
        mine = [t for t in rows if t.task.tags["difficulty"] == value]
        won = [[float(t.outcome is not None and t.outcome.success)] for t in mine]
        assert (facet.n, facet.success) == (len(mine), metrics.rate(won))
        line = episodes.list_episodes(library.runs[0], {"tag": f"difficulty:{value}"})
        assert {e.id for e in line.lines} == {t.id for t in mine}


def test_figures_are_drawn_once_and_other_pages_do_not_wait_for_them(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, drawn = named(library, "random"), list[str]()
    identity = ids(library, name)[0]

    def draw(folder: str) -> str:
        with ThreadPoolExecutor(1) as other:  # another visitor, meanwhile
            drawn.append(other.submit(page, library, "episode", name, identity).result(20).title)
        return "figures"

    monkeypatch.setattr("sonde.viewer.site.run.draw_run", draw)
    assert [draw_figures(library, name) for _ in range(2)] == ["figures"] * 2
    assert drawn == ["mastermind, task 0, sample 0"]


def test_of_a_large_run_figures_are_drawn_that_need_no_single_episode(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sonde.viewer.site.run.FIGURES", 3)
    html = draw_figures(library, named(library, "entropy"))
    assert html.count("<svg") >= 2 and "Won within n turns" in html and "Posterior entropy" in html
    assert "More than 3 episodes" in html and "sonde report" in html and "Turns per episode" not in html


def test_a_run_that_is_played_is_shown_as_far_as_it_is(runs: Path, tmp_path: Path) -> None:
    done = Run.load(next(p for p in runs.iterdir() if "--random--" in p.name and "mastermind" in p.name))
    folder = tmp_path / "growing"
    with RunWriter.open(folder, done.config) as writer:
        writer.append_trajectory(done[0])
        writer.flush()
        library = Library([folder])
        first = page(library, "run", "growing")
        version = pages.hash_version(library, ("run", "growing"))
        assert (first.headline.status, first.headline.n, first.headline.bits) == ("playing", 1, None)
        assert "not evaluated" in first.why_no_figures
        assert pages.hash_version(library, ("run", "growing")) == version
        for t in done[1:]:
            writer.append_trajectory(t)
        writer.flush()
        assert pages.hash_version(library, ("run", "growing")) != version
        second = page(library, "run", "growing")
        assert second.headline.n == len(done) == second.listing.n
        won = [t for t in done if t.outcome and t.outcome.success]
        assert second.headline.success is not None
        assert second.headline.success.mean == pytest.approx(len(won) / len(done))


def test_returns_are_sums_of_rewards_on_every_page(tmp_path: Path) -> None:
    """In the maze of LMRL-Gym every move costs 1, and the outcome's own score is 1 for a win."""
    for label in ("one", "two"):
        folder = play(tmp_path, "random", {"name": "maze"}, n_tasks=2, k=1, label=label)
    returns = [
        sum(turn.rewards[AGENT] for turn in t.turns) for t in sorted(Run.load(folder), key=lambda t: t.task.index)
    ]
    assert all(value < -1 for value in returns)
    library = Library([tmp_path])
    name = named(library, "two")
    shown = page(library, "run", name)
    assert [line.score for line in shown.listing.lines] == returns
    mean = sum(returns) / 2
    assert shown.headline.score == pytest.approx(mean)
    (folder / EVALUATION).unlink()
    assert page(library, "run", name).headline.score == pytest.approx(mean)
    pairs = page(library, "compare", name, named(library, "one")).pairs
    assert sorted(pair.a.score for pair in pairs) == sorted(returns)


def test_a_run_with_all_its_episodes_is_played_no_longer(runs: Path, tmp_path: Path) -> None:
    done = Run.load(next(p for p in runs.iterdir() if "--random--" in p.name and "mastermind" in p.name))
    folder, failed = tmp_path / "growing", replace(done[0], outcome=None, error="Unreachable: no answer")
    library = None
    with RunWriter.open(folder, done.config) as writer:
        writer.plan_episodes(2)
        for trajectory, status in ((failed, "playing"), (done[0], "playing"), (done[1], "not evaluated")):
            writer.append_trajectory(trajectory)
            writer.flush()
            library = library or Library([folder])
            assert page(library, "run", "growing").headline.status == status
        writer.plan_episodes(3)  # continued with more tasks
        assert library and page(library, "run", "growing").headline.status == "playing"
    RunWriter.open(folder, done.config).close()  # a plan is no part of what a run is
    assert Run.load(folder).config == done.config


def test_new_runs_are_found(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = sorted(p for p in runs.iterdir() if (p / "config.json").is_file())
    shutil.copytree(source[0], tmp_path / "one")
    library = Library([tmp_path])
    shutil.copytree(source[1], tmp_path / "two")
    later = time.monotonic() + 2
    monkeypatch.setattr("sonde.viewer.site.library.time.monotonic", lambda: later)
    assert page(library).of == 2
    shutil.rmtree(tmp_path / "one")
    later += 2
    assert [h.name for _, rows in page(library).groups for h in rows] == ["two"]


# --- the evaluation in parts ---------------------------------------------------------------------------------------


def test_an_evaluation_is_read_in_parts_as_it_is_as_a_whole(runs: Path, tmp_path: Path) -> None:
    for folder in (p for p in runs.iterdir() if (p / EVALUATION).is_file()):
        whole, kept = load_evaluation(folder), EvaluationFile(folder)
        assert kept.summary.summary_json() == whole.summary_json()
        assert [kept.find_row(row.trajectory, row.index) for row in whole.rows] == list(whole.rows)
        assert kept.find_row("nobody", 1) is None
        other = tmp_path / folder.name
        other.mkdir()
        (other / EVALUATION).write_bytes(orjson.dumps(orjson.loads((folder / EVALUATION).read_bytes())))
        assert [EvaluationFile(other).find_row(row.trajectory, row.index) for row in whole.rows] == list(whole.rows)


# --- as text -------------------------------------------------------------------------------------------------------


def test_every_page_is_text_whatever_was_said(library: Library) -> None:
    name = named(library, "llm")
    row = page(library, "run", name).matrix[0]
    identity = row.cells[0].id
    addresses = [(), ("run", name), ("group", name, row.task, str(row.seed)), ("replay", name, identity)]
    addresses += [("episode", name, cell.id) for cell in row.cells] + [("tokens", name, identity, "0")]
    for parts in addresses:
        text = html(library, *parts)
        assert SCRIPT not in text and "<img" not in text and "javascript:alert(1)'" not in text.replace("&#39;", "")
        assert not set("\u202e\u2066\x00\x1b") & set(text)
        orjson.loads(pages.as_json(page(library, *parts)))
    assert "&lt;script&gt;" in html(library, "group", name, row.task, str(row.seed))


def test_an_address_that_no_page_has_is_an_error_of_its_own(library: Library) -> None:
    for parts in (("nothing",), ("run",), ("run", "a", "b")):
        with pytest.raises(pages.NotFoundError, match="address: got"):
            page(library, *parts)
    with pytest.raises(UserError, match="one of the 4 runs"):
        page(library, "run", "nobody")
    with pytest.raises(UserError, match="episode: got 'x'"):
        page(library, "episode", named(library, "random"), "x")


def test_links_are_relative_and_say_what_they_mean() -> None:
    live, static = Links(2), Links(1, static=True, there=frozenset({("run", "a")}))
    assert live("run", "a b/c", sort="x", page="") == "../../run/a%20b%2Fc?sort=x"
    assert live() == "../../" and Links()() == "./"
    assert static("run", "a", sort="x") == "../run/a.html?sort=x" and static() == "../index.html"
    assert static.has("run", "a") and not static.has("run", "b") and live.has("run", "b")
    assert Links(query={"sort": "x", "page": "2"}).with_query(page="") == "?sort=x"
