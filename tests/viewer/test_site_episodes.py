"""Pages about episodes, as values: turns, posteriors, tokens, credit, samples side by side, comparisons, search."""

from __future__ import annotations

import re
import shutil
from array import array
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sonde.core import Act, Action, Completion, Frozen, Turn, UserError
from sonde.evaluation.evaluate import compare as compare_evaluations
from sonde.evaluation.run_evaluation import load_evaluation
from sonde.runs.store import Annotator, Run, RunWriter
from sonde.viewer.site import tokens
from sonde.viewer.site.library import Library

from .conftest import SCRIPT, html, ids, named, page, play

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


def test_a_turn_is_one_line_that_opens_to_its_details(library: Library) -> None:
    name = named(library, "random")
    identity = ids(library, name)[0]
    t = page(library, "episode", name, identity).transcript
    turns = html(library, "episode", name, identity).split('<div class="turn"')[1:]
    assert len(turns) == len(t.turns)
    for text, turn in zip(turns, t.turns, strict=True):
        summary, details = re.findall(r"<summary>(.*?)</summary>(.*?)</details>", text, re.DOTALL)[0]
        if turn.before > 0:
            assert f"<b>{turn.gain.realised:.2f} bits</b> learned" in summary
            assert f"{turn.gain.expected:.2f} expected, {turn.gain.best:.2f} at best" in summary
        assert "<dt>entropy</dt>" in details and "<dt>reward</dt>" in details and "take over" in details
        assert text.index("</details>") < text.index('class="bubble said"')  # messages need no opening


def test_the_chart_of_an_episode_has_an_axis_a_unit_and_numbers(library: Library) -> None:
    name = named(library, "random")
    identity = ids(library, name)[0]
    t = page(library, "episode", name, identity).transcript
    highest = max(max(turn.gain.best, turn.gain.expected, turn.gain.realised) for turn in t.turns)
    assert highest <= t.most_bits <= 2 * highest and 10 * t.most_bits == pytest.approx(round(10 * t.most_bits))
    chart = html(library, "episode", name, identity).split('<figure class="bits-chart">')[1].split("</figure>")[0]
    assert "Information per turn, in bits" in chart and f"{t.most_bits:g} bits</span>" in chart
    told = re.findall(r'class="told-bits">([^<]*)<', chart)
    assert told == [f"{turn.gain.realised:.1f}" for turn in t.turns]
    for words in ("best question, expected", "question asked, expected", "its answer, realised"):
        assert words in chart


def test_markdown_of_a_model_is_shown_with_its_source_and_that_of_a_program_is_not(tmp_path: Path) -> None:
    said = "**Try** `0` <b>x</b> <Answer>12</Answer>"
    play(tmp_path, {"name": "agents:llm", "model": {"name": "models:fake", "pattern": (said,)}}, n_tasks=1, k=1)
    library = Library([tmp_path])
    name = library.runs[0].name
    text = html(library, "episode", name, ids(library, name)[0])
    assert "<p><strong>Try</strong> <code>0</code> &lt;b&gt;x&lt;/b&gt; &lt;Answer&gt;" in text
    assert "as written" in text and "**Try** `0` &lt;b&gt;x" in text and "<b>x" not in text


def test_a_replay_has_the_exact_posterior(library: Library) -> None:
    name = named(library, "random")
    shelf = library.run(name)
    t = shelf.run[0]
    found = page(library, "replay", name, t.id)
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
    with Annotator.open_annotations(folder, "elicited", producer="sonde.beliefs.elicitation", version="1") as notes:
        for turn in range(len(t.turns) + 1):
            told = {str(t.task.hidden): -1.0, other: -2.0}
            notes.add_note(t.id, {"target": -1.0, "candidates": told, "outside": None}, turn=turn)
        notes.add_note(t.id, {**setting, "beliefs": len(t.turns) + 1, "tokens": 1})
    found = page(Library([folder]), "replay", "run", t.id)
    (truth,) = [bar for bar in found.bars if bar.true]
    assert found.believed == 2
    assert truth.believed == pytest.approx([1 / (1 + 2.718281828**-1)] * (len(t.turns) + 1), abs=1e-5)
    assert page(Library([folder]), "episode", "run", t.id).transcript.turns[0].belief == (-1.0, -1.0)


def test_notes_of_others_are_shown_at_their_turn(runs: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(next(p for p in runs.iterdir() if "--random--" in p.name), tmp_path / "run"))
    t = Run.load(folder)[0]
    with Annotator.open_annotations(folder, "judged", producer="me", version="1") as notes:
        notes.add_note(t.id, SCRIPT, turn=0)
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
    assert tokens.find_model_files("nobody/model") is None and tokens.find_model_files("") is None
    ids = [72, 79, 2]
    c = Completion(text="move right", ids=array("i", ids), prompt_ids=array("i", ids), model="sonde-tiny-maze")
    turn = Turn(0, (Act("agent", Action("move right", completions=(c,)), Frozen(), Frozen(), Frozen()),))
    call = tokens.list_calls(turn)[0]
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
    said = [[turn.text for turn in library.run(other).read_trajectory(c.line.id).turns] for c in parted.columns]
    first = next(i for i in range(9) if said[0][i : i + 1] != said[1][i : i + 1])
    assert parted.part == first + 1


def test_a_comparison_is_that_of_the_evaluations(library: Library, runs: Path) -> None:
    a, b = named(library, "entropy"), named(library, "random")
    found = page(library, "compare", a, b)
    known = compare_evaluations(load_evaluation(runs / a), load_evaluation(runs / b))
    assert found.gaps["success"] == known.success and found.gaps["score"] == known.score
    assert found.of == known.n_tasks == sum(found.counts.values())
    assert [pair.winner for pair in page(library, "compare", a, b, only="a").pairs] == ["a"] * found.counts["a"]
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


def test_all_runs_are_searched(library: Library) -> None:
    found = page(library, "search", text="onerror")
    assert {hit.run for hit in found.hits} == {named(library, "llm")} and found.next is None
    assert (found.runs, found.of_runs, found.read) == (4, 4, 6 + 6 + 6 + 2)
    assert page(library, "search", text="onerror", env="minesweeper").hits == []
    lost = page(library, "search", text="row", kind="loss")
    assert lost.hits and {hit.kind for hit in lost.hits} == {"loss"}
    assert page(library, "search").hits == [] and page(library, "search").next is None
    with pytest.raises(UserError, match="at: got 'nowhere'"):
        page(library, "search", text="a", at="nowhere")


@pytest.mark.parametrize(("setting", "value"), [("HITS", 1), ("PATIENCE", 0.0)])
def test_a_search_of_all_runs_goes_on_where_it_stopped(
    library: Library, monkeypatch: pytest.MonkeyPatch, setting: str, value: float
) -> None:
    monkeypatch.setattr("sonde.viewer.site.search.HITS", 1000)
    whole = page(library, "search", text="x")
    assert whole.next is None and len({hit.run for hit in whole.hits}) > 1
    monkeypatch.setattr(f"sonde.viewer.site.search.{setting}", value)
    found: list[tuple[str, str, int]] = []
    query: dict[str, str] = {}
    for _ in range(whole.read + 1):
        part = page(library, "search", text="x", **query)
        assert setting == "HITS" or part.read <= 1
        found += [(hit.run, hit.id, hit.turn) for hit in part.hits]
        if part.next is None:
            break
        query = {"at": part.at, "from": str(part.next)}
    assert found == [(hit.run, hit.id, hit.turn) for hit in whole.hits]


def test_a_run_that_cannot_be_read_does_not_end_a_search(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = Library([shutil.copytree(runs, tmp_path / "runs")])
    hostile = named(library, "llm")
    gone = library.run(named(library, "entropy"))
    gone.free_memory()
    shutil.rmtree(gone.folder)
    monkeypatch.setattr(library, "refresh", lambda: None)  # which would notice, a second later
    found = page(library, "search", text="onerror")
    assert {hit.run for hit in found.hits} == {hostile} and found.next is None
    ((name, why),) = found.unread
    assert name == gone.name and "No such file" in why


def test_a_training_has_a_page(library: Library) -> None:
    found = page(library, "training", "trained")
    assert found.played == [] and page(library).trainings == ["trained"]
    assert 'data-fragment="../figures/training/trained"' in html(library, "training", "trained")


def test_what_a_training_played_is_shown_with_its_credit(runs: Path, tmp_path: Path) -> None:
    done = Run.load(next(p for p in runs.iterdir() if "--random--" in p.name and "mastermind" in p.name))
    (tmp_path / "history.jsonl").write_text('{"step": 1, "loss": 0.5}\n', "utf-8")
    online = {"rewards": {"turns": 1.0}, "rewarders": {}, "credit": {"is": "GroupRelative", "scale": "none"}}
    with RunWriter.open(tmp_path / "episodes" / "mastermind", {**done.config, "online": online}) as writer:
        for i, t in enumerate(done):
            writer.append_trajectory(replace(t, tags={"step": str(1 + i // 2)}))
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
        writer.append_trajectory(done[0])
    assert page(Library([tmp_path]), "episode", "run", done[0].id).credits == []
