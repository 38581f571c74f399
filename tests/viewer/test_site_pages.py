"""Pages as values: what they say of a run, by hand."""

from __future__ import annotations

import shutil
import time
from array import array
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson
import pytest

from sonde import metrics
from sonde.core import Act, Action, Completion, Frozen, Turn, UserError
from sonde.evaluate import compare as compare_evaluations
from sonde.run import EVALUATION, load_evaluation
from sonde.store import Annotator, Run, RunWriter
from sonde.viewer.site import episodes, pages, tokens
from sonde.viewer.site.kept import Kept
from sonde.viewer.site.library import Library
from sonde.viewer.site.links import Links
from sonde.viewer.site.run import figures

from .conftest import SCRIPT, named, play


def page(library: Library, *parts: str, **query: str) -> Any:
    return pages.page(library, parts, query)


def html(library: Library, *parts: str, **query: str) -> str:
    found = page(library, *parts, **query)
    return pages.render(found, Links(max(0, len(parts) - 1), query=query), live="/".join(parts))


def ids(library: Library, run: str) -> list[str]:
    return [line.id for line in page(library, "run", run).listing.lines]


# --- runs ----------------------------------------------------------------------------------------------------------


def test_the_table_has_the_numbers_of_the_evaluations(library: Library, runs: Path) -> None:
    found = {h.name: h for _, rows in page(library).groups for h in rows}
    assert len(found) == 4
    for name, h in found.items():
        kept = load_evaluation(runs / name)
        assert (h.success, h.bits, h.kinds) == (kept.metrics["success"], kept.metrics["bits"], kept.kinds)
        assert (h.status, h.n) == ("evaluated", len(kept.rows))


def test_runs_are_sorted_filtered_and_grouped(library: Library) -> None:
    def agents(**query: str) -> list[str]:
        return [h.agent for _, rows in page(library, **query).groups for h in rows]

    assert agents(env="mastermind", sort="agent") == ["entropy", f"llm ({SCRIPT})", "random"]
    assert agents(env="mastermind", sort="-success")[0] == "entropy"
    assert agents(text="MINES") == ["careless"]
    assert [group for group, _ in page(library, group="env").groups] == ["mastermind", "minesweeper"]
    assert agents(agent="nobody") == []


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
    assert name == "odd" and why.endswith("names no environment")


def test_what_the_pages_need_is_small() -> None:
    assets = [p for p in (files("sonde.viewer") / "templates").iterdir() if p.is_file()]
    assert sum(len(p.read_bytes()) for p in assets) < 200_000


def test_places_without_runs_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no run folder and no training"):
        Library([tmp_path])
    with pytest.raises(UserError, match=r"nowhere: no such folder"):
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


def test_episodes_are_listed_filtered_and_turned_over(library: Library) -> None:
    name = named(library, "random")
    shelf = library.run(name)
    every = episodes.listing(shelf, {})
    assert [(e.index, e.sample) for e in every.lines] == [(i, s) for i in range(3) for s in range(2)]
    second = episodes.listing(shelf, {"page": "1"}, per_page=4)
    assert (second.n, second.number, second.pages) == (6, 1, 2)
    assert [e.id for e in second.lines] == [e.id for e in every.lines[4:]]
    won = episodes.listing(shelf, {"kind": "win"})
    assert won.n == sum(e.kind == "win" for e in every.lines)
    assert episodes.listing(shelf, {"task": "1"}).n == 2
    falling = [e.turns for e in episodes.listing(shelf, {"sort": "-turns"}).lines]
    assert falling == sorted(falling, reverse=True)


@pytest.mark.parametrize(("query", "why"), [
    ({"task": "x"}, "task: got 'x', allowed: a whole number"),
    ({"sort": "id; DROP TABLE episodes"}, "sort"),
    ({"page": "-1"}, "page: got"),
])  # fmt: skip
def test_questions_that_mean_nothing_are_told(library: Library, query: dict[str, str], why: str) -> None:
    with pytest.raises(UserError, match=why):
        episodes.listing(library.run(named(library, "random")), query)


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
        line = episodes.listing(library.runs[0], {"tag": f"difficulty:{value}"})
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

    monkeypatch.setattr("sonde.viewer.site.run.drawn", draw)
    assert [figures(library, name) for _ in range(2)] == ["figures"] * 2
    assert drawn == ["mastermind, task 0, sample 0"]


def test_a_run_that_is_played_is_shown_as_far_as_it_is(runs: Path, tmp_path: Path) -> None:
    done = Run.load(next(p for p in runs.iterdir() if "--random--" in p.name and "mastermind" in p.name))
    folder = tmp_path / "growing"
    with RunWriter.open(folder, done.config) as writer:
        writer.append(done[0])
        writer.flush()
        library = Library([folder])
        first = page(library, "run", "growing")
        version = pages.version(library, ("run", "growing"))
        assert (first.headline.status, first.headline.n, first.headline.bits) == ("playing", 1, None)
        assert "not evaluated" in first.why_no_figures
        assert pages.version(library, ("run", "growing")) == version
        for t in done[1:]:
            writer.append(t)
        writer.flush()
        assert pages.version(library, ("run", "growing")) != version
        second = page(library, "run", "growing")
        assert second.headline.n == len(done) == second.listing.n
        won = [t for t in done if t.outcome and t.outcome.success]
        assert second.headline.success is not None
        assert second.headline.success.mean == pytest.approx(len(won) / len(done))


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
        whole, kept = load_evaluation(folder), Kept(folder)
        assert kept.summary.summary() == whole.summary()
        assert [kept.row(row.trajectory, row.index) for row in whole.rows] == list(whole.rows)
        assert kept.row("nobody", 1) is None
        other = tmp_path / folder.name
        other.mkdir()
        (other / EVALUATION).write_bytes(orjson.dumps(orjson.loads((folder / EVALUATION).read_bytes())))
        assert [Kept(other).row(row.trajectory, row.index) for row in whole.rows] == list(whole.rows)


# --- an episode ----------------------------------------------------------------------------------------------------


def test_an_episode_has_its_turns_gains_and_neighbours(library: Library, runs: Path) -> None:
    name = named(library, "random")
    every = ids(library, name)
    rows = {row.trajectory: row for row in load_evaluation(runs / name).rows}
    for i, identity in enumerate(every):
        found = page(library, "episode", name, identity)
        assert found.transcript.row == rows[identity]
        assert [t.gain for t in found.transcript.turns] == list(rows[identity].gains or ())
        assert found.before == (every[i - 1] if i else "")
        assert found.after == (every[i + 1] if i + 1 < len(every) else "")
        assert identity in [sibling for sibling, _, _ in found.siblings] and len(found.siblings) == 2


def test_moments_are_the_exact_posterior(library: Library) -> None:
    name = named(library, "random")
    shelf = library.run(name)
    t = shelf.run[0]
    found = page(library, "moments", name, t.id)
    f = shelf.env.filter(t.task.public)
    assert f is not None
    for i, turn in enumerate((None, *t.turns)):
        f = f if turn is None else f.observe(turn)
        assert found.entropy[i] == pytest.approx(f.entropy, abs=1e-4)
        assert found.left[i] == len(f.belief())
        for bar in found.bars:
            assert bar.exact[i] == pytest.approx(f.prob(bar.name), abs=1e-6)
    assert [bar.name for bar in found.bars if bar.true] == [t.task.hidden]
    assert len(found.boards) == found.n == len(t.turns) + 1


def test_beliefs_that_were_elicited_stand_beside_the_exact_ones(runs: Path, tmp_path: Path) -> None:
    source = next(p for p in runs.iterdir() if "--random--" in p.name and "mastermind" in p.name)
    folder = Path(shutil.copytree(source, tmp_path / "run"))
    t = Run.load(folder)[0]
    other = "11" if t.task.hidden != "11" else "22"
    setting = {"template": "answer", "candidates": 2, "aggregate": "sum", "model": {"name": "models:fake"}}
    with Annotator.open(folder, "elicited", producer="sonde.elicit", version="1") as notes:
        for turn in range(len(t.turns) + 1):
            told = {str(t.task.hidden): -1.0, other: -2.0}
            notes.add(t.id, {"target": -1.0, "candidates": told, "outside": None}, turn=turn)
        notes.add(t.id, {**setting, "beliefs": len(t.turns) + 1, "tokens": 1})
    found = page(Library([folder]), "moments", "run", t.id)
    (truth,) = [bar for bar in found.bars if bar.true]
    assert found.believed == 2
    assert truth.believed == pytest.approx([1 / (1 + 2.718281828**-1)] * (len(t.turns) + 1), abs=1e-5)
    assert page(Library([folder]), "episode", "run", t.id).transcript.turns[0].belief == (-1.0, -1.0)


def test_notes_of_others_are_shown_at_their_turn(runs: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(next(p for p in runs.iterdir() if "--random--" in p.name), tmp_path / "run"))
    t = Run.load(folder)[0]
    with Annotator.open(folder, "judged", producer="me", version="1") as notes:
        notes.add(t.id, SCRIPT, turn=0)
    text = html(Library([folder]), "episode", "run", t.id)
    assert "<b>judged</b>" in text and SCRIPT not in text and "&lt;script&gt;" in text


def test_the_best_question_is_that_of_the_filter(library: Library) -> None:
    name = named(library, "entropy")
    identity = ids(library, name)[0]
    found = page(library, "best", name, identity, "0")
    row = page(library, "episode", name, identity).transcript.row
    assert row.gains is not None and found.bits == pytest.approx(row.gains[0].best)
    with pytest.raises(UserError, match="turn: got 99"):
        page(library, "best", name, identity, "99")


def test_tokens_are_those_of_the_record(library: Library) -> None:
    name = named(library, "llm")
    t = library.run(name).run[0]
    found = page(library, "tokens", name, t.id, "0")
    (completion,) = t.turns[0].acts[0].action.completions
    (call,) = found.calls
    assert [token.id for token in call.sampled] == list(completion.ids)
    assert [token.logprob for token in call.sampled] == pytest.approx(list(completion.logprobs))
    assert [token.id for token in call.prompt] == list(completion.prompt_ids)


def test_tokens_are_spelled_where_the_tokenizer_is_here() -> None:
    pytest.importorskip("tokenizers")
    assert tokens.fetched("nobody/model") is None and tokens.fetched("") is None
    ids = [72, 79, 2]
    c = Completion(text="move right", ids=array("i", ids), prompt_ids=array("i", ids), model="sonde-tiny-maze")
    turn = Turn(0, (Act("agent", Action("move right", completions=(c,)), Frozen(), Frozen(), Frozen()),))
    call = tokens.calls_of(turn)[0]
    assert [str(token.spelling).strip() for token in call.sampled[:2]] == ["move", "right"]
    assert [token.spelling for token in call.prompt] == [token.spelling for token in call.sampled]


# --- groups, comparisons, search -----------------------------------------------------------------------------------


def test_samples_of_a_task_stand_side_by_side(library: Library) -> None:
    name = named(library, "entropy")
    row = page(library, "run", name).matrix[0]
    found = page(library, "group", name, row.task, str(row.seed))
    assert found.part is None and found.wins == 2  # a program plays both alike
    assert all(said.together == 2 for column in found.columns for said in column.turns)
    other = named(library, "random")
    parted = page(library, "group", other, row.task, str(row.seed))
    said = [[turn.text for turn in library.run(other).trajectory(c.line.id).turns] for c in parted.columns]
    first = next(i for i in range(9) if said[0][i : i + 1] != said[1][i : i + 1])
    assert parted.part == first + 1


def test_a_comparison_is_that_of_the_evaluations(library: Library, runs: Path) -> None:
    a, b = named(library, "entropy"), named(library, "random")
    found = page(library, "compare", a, b)
    known = compare_evaluations(load_evaluation(runs / a), load_evaluation(runs / b))
    assert found.gaps["success"] == known.success and found.gaps["score"] == known.score
    assert found.of == known.n_tasks == sum(found.counts.values())
    assert [pair.who for pair in page(library, "compare", a, b, only="a").pairs] == ["a"] * found.counts["a"]
    with pytest.raises(UserError, match="share no task"):
        page(library, "compare", a, named(library, "careless"))


def test_what_was_said_is_found_whatever_its_case(library: Library) -> None:
    name = named(library, "llm")
    found = page(library, "search", name, text="ONERROR")
    assert {hit.seat for hit in found.hits} == {"agent"} and found.read == found.of == 6 and found.next is None
    assert all("".join(p.text for p in hit.found) == "onerror" for hit in found.hits)
    assert page(library, "search", name, text="title='taken'\"").hits  # signs that JSON writes otherwise
    assert not page(library, "search", name, text="nobody said this").hits


def test_search_goes_on_where_it_stopped(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    name = named(library, "llm")
    whole = [hit.id for hit in page(library, "search", name, text="a").hits]
    monkeypatch.setattr("sonde.viewer.site.search.HITS", 1)
    found: list[str] = []
    at = ""
    for _ in range(6):
        part = page(library, "search", name, text="a", **({"from": at} if at else {}))
        found += [hit.id for hit in part.hits]
        if part.next is None:
            break
        at = str(part.next)
    assert found == whole


def test_a_training_has_a_page(library: Library) -> None:
    found = page(library, "training", "trained")
    assert found.played == [] and page(library).trainings == ["trained"]
    assert "Curves" in html(library, "training", "trained")


def test_what_a_training_played_is_shown_with_its_credit(runs: Path, tmp_path: Path) -> None:
    done = Run.load(next(p for p in runs.iterdir() if "--random--" in p.name and "mastermind" in p.name))
    (tmp_path / "history.jsonl").write_text('{"step": 1, "loss": 0.5}\n', "utf-8")
    online = {"rewards": {"turns": 1.0}, "rewarders": {}, "credit": {"is": "GroupRelative", "scale": "none"}}
    with RunWriter.open(tmp_path / "episodes" / "mastermind", {**done.config, "online": online}) as writer:
        for i, t in enumerate(done):
            writer.append(replace(t, tags={"step": str(1 + i // 2)}))
    library = Library([tmp_path])
    (played,) = page(library, "training", tmp_path.name).played
    assert [(step.step, step.n) for step in played.steps] == [(1, 2), (2, 2), (3, 2)]
    a, b = done[0], done[1]
    shown = page(library, "episode", played.run, a.id).credits
    above = (len(a.turns) - len(b.turns)) / 2  # a reward of 1 per turn, less the mean return of the group
    assert [(c.reward, c.advantage) for c in shown] == [(1.0, pytest.approx(above))] * len(a.turns)
    assert "advantage" in html(library, "episode", played.run, a.id)


@pytest.mark.parametrize("online", [
    None, {}, {"rewards": {"belief": 1.0}, "rewarders": {}, "credit": {"is": "TurnWise"}},
    {"rewards": {"success": 1.0}, "rewarders": {"belief": {}}, "credit": {"is": "TurnWise"}},
    {"rewards": {"success": 1.0}, "rewarders": {}, "credit": {"is": "GAE"}},
    {"rewards": {"success": 1.0}, "rewarders": {}, "credit": {"is": "TurnWise", "of": "later versions"}},
])  # fmt: skip
def test_credit_that_is_not_on_record_is_not_made_up(runs: Path, tmp_path: Path, online: Any) -> None:
    done = Run.load(next(p for p in runs.iterdir() if "--random--" in p.name and "mastermind" in p.name))
    with RunWriter.open(tmp_path / "run", {**done.config, "online": online}) as writer:
        writer.append(done[0])
    assert page(Library([tmp_path]), "episode", "run", done[0].id).credits == []


# --- as text -------------------------------------------------------------------------------------------------------


def test_every_page_is_text_whatever_was_said(library: Library) -> None:
    name = named(library, "llm")
    row = page(library, "run", name).matrix[0]
    identity = row.cells[0].id
    addresses = [(), ("run", name), ("group", name, row.task, str(row.seed)), ("moments", name, identity)]
    addresses += [("episode", name, cell.id) for cell in row.cells] + [("tokens", name, identity, "0")]
    for parts in addresses:
        text = html(library, *parts)
        assert SCRIPT not in text and "<img" not in text and "javascript:alert(1)'" not in text.replace("&#39;", "")
        assert not set("\u202e\u2066\x00\x1b") & set(text)
        orjson.loads(pages.as_json(page(library, *parts)))
    assert "&lt;script&gt;" in html(library, "group", name, row.task, str(row.seed))


def test_an_address_that_no_page_has_is_an_error_of_its_own(library: Library) -> None:
    for parts in (("nothing",), ("run",), ("run", "a", "b")):
        with pytest.raises(pages.NotFound, match="address: got"):
            page(library, *parts)
    with pytest.raises(UserError, match="not among the 4 runs"):
        page(library, "run", "nobody")
    with pytest.raises(UserError, match="none called 'x'"):
        page(library, "episode", named(library, "random"), "x")


def test_links_are_relative_and_say_what_they_mean() -> None:
    live, static = Links(2), Links(1, static=True, there=frozenset({("run", "a")}))
    assert live("run", "a b/c", sort="x", page="") == "../../run/a%20b%2Fc?sort=x"
    assert live() == "../../" and Links()() == "./"
    assert static("run", "a", sort="x") == "../run/a.html" and static() == "../index.html"
    assert static.has("run", "a") and not static.has("run", "b") and live.has("run", "b")
    assert Links(query={"sort": "x", "page": "2"}).here(page="") == "?sort=x"
