"""Tasks of Multi-Turn Puzzles from files of several layouts, played by their games."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import sonde
from sonde.core import Episode, UserError
from sonde.datasets import GAMES, PuzzleTasks, read_puzzles
from sonde.runs.rollout import collect_trajectories
from sonde.runs.task_files import read_tasks
from tests.cases import each

VOCABULARY = ["crane", "slate", "toast", "boost"]
ATTRIBUTES = ["Acting", "Music", "Pace"]
SEEN = [[1, 2, 3], [4, 1, 1], [2, 2, 9]]
UNSEEN = [[1.25, 2.5, 3.0], [4.0, 1.5, 1.0]]
NOUNS = {"oak": ["tree", "plant"], "rose": ["flower", "plant"], "swan": ["bird", "animal"]}
CIRCUITS = {"circuits": ["0001", "1101"], "gates": {"AND": 1, "OR": 1, "NOT": 1}}
ROWS: dict[str, dict[str, Any]] = {
    "word_guess": {"vocabulary": VOCABULARY, "secret": "Toast"},
    "movie_recommendation": {"seen": SEEN, "unseen": UNSEEN, "weights": [0.9, 0.0, 0.4]},
    "circuit_decoding": CIRCUITS,
    "word_chaining": {"lexicon": ["tea", "apple", "east"], "first": "model"},
    "twenty_questions_answerer": {"words": NOUNS},
}


def write_rows(folder: Path, *rows: Any) -> Path:
    file = folder / "published.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in rows), "utf-8")
    return file


def read_row(folder: Path, game: str, *rows: Any, **names: str) -> PuzzleTasks:
    return read_puzzles(game, write_rows(folder, *rows), names)


@each("game", GAMES)
def test_tasks_that_were_read_are_played_from_their_file(game: str, tmp_path: Path) -> None:
    found = read_row(tmp_path, game, ROWS[game], ROWS[game])
    found.write_file(tmp_path / "tasks.json")
    env = sonde.make(game, **found.changes)
    tasks = read_tasks(tmp_path / "tasks.json", env)
    assert len(tasks) == 2 and {task.hidden for task in tasks} == {env.task(s).hidden for s in found.setups}
    agent = sonde.make(f"agents:{env.spec.floor}")
    assert all(t.outcome is not None for t in collect_trajectories(env, {"agent": agent}, tasks))


def test_parts_have_other_names_and_lie_deeper_or_in_texts(tmp_path: Path) -> None:
    row = {"id": 3, "meta": json.dumps({"list": "crane, slate\ntoast boost", "target": "toast"})}
    found = read_row(tmp_path, "word_guess", row, vocabulary="meta.list", secret="meta.target")
    assert found.setups == [{"vocabulary": VOCABULARY, "secret": "toast"}] and not found.changes


def test_movies_by_title_are_those_of_the_paper(tmp_path: Path) -> None:
    """Objects of attributes with a title among them, scores as given; the best pick is the user's by hand."""

    def name_scores(movies: Sequence[Sequence[float]]) -> list[dict[str, Any]]:
        return [{"title": "A", **dict(zip(ATTRIBUTES, row, strict=True))} for row in movies]

    taste = {"Acting": 0.9, "Music": 0, "Pace": 0.4}
    row = {"seen": name_scores(SEEN), "unseen": {str(i): m for i, m in enumerate(name_scores(UNSEEN))}}
    found = read_row(tmp_path, "movie_recommendation", row | {"weights": taste})
    assert found.env.config["attributes"] == 3 and found.env.config["decimals"] == [0, 2]
    assert found.changes["weights"] == [0.0, 0.9] and found.env.config["min_credit"] == 1
    ep = Episode.begin(found.env, found.env.task(found.setups[0]))
    assert "M3 2 2 9" in ep.messages["agent"][0].content
    # 0.9 x 1 + 0.4 x 3 = 2.1, 0.9 x 4 + 0.4 x 1 = 4.0, 0.9 x 2 + 0.4 x 9 = 5.4
    for answer, reply in (("compare M1 M2", "less"), ("compare M3 M2", "more")):
        ep = ep.step(found.env.say(answer))
        ep = ep.step(sonde.make("users:movie_fan").act_now(ep.view("user")))
        assert ep.turns[-1].info["reply"] == reply
    while len(ep.turns) < 10:
        ep = ep.step(found.env.say("nothing"))
    assert "U1 1.25 2.50 3.00" in ep.turns[-1].told
    assert ep.step(found.env.say("pick U2")).turns[-1].info["place"] == 1  # 4.0 against 0.9 x 1.25 + 0.4 x 3 = 2.325


def test_circuits_are_tables_or_expressions_of_their_own_sizes(tmp_path: Path) -> None:
    found = read_row(tmp_path, "circuit_decoding", CIRCUITS, {**CIRCUITS, "circuits": ["a and b", [1, 1, 0, 1]]})
    assert {found.env.config[name] for name in ("circuits", "inputs")} == {2}
    first, again = (found.env.task(setup) for setup in found.setups)
    assert first.hidden == again.hidden and first.public["gates"] == {"and": 1, "or": 1, "not": 1}


def test_nouns_bring_their_own_hypernyms(tmp_path: Path) -> None:
    listed = [{"word": word, "hypernyms": above} for word, above in NOUNS.items()]
    by_noun, found = (read_row(tmp_path, "twenty_questions_answerer", {"words": w}) for w in (NOUNS, listed))
    assert by_noun.setups == found.setups
    ep = Episode.begin(found.env, found.env.task(found.setups[0]))
    assert "- rose: flower, plant" in ep.messages["agent"][0].content
    for question, answer in (("Is it a kind of plant?", "yes"), ("Is it a kind of tree?", "no")):
        ep = ep.step(question).step(found.env.say(answer))
    assert ep.turns[-1].info["remaining"] == 1
    lost = ep.step("Is your word rose?").step(found.env.say("no"))
    assert lost.turns[-1].info["contradiction"] == "last_word" and lost.to_act is None


@each(
    "game, row, says",
    [
        ("word_guess", {"words": VOCABULARY}, "line 1: vocabulary: no 'vocabulary'; there: words; give its name"),
        ("word_guess", {"vocabulary": VOCABULARY, "secret": "hello"}, "line 1: word_guess: hidden.secret: got 'hello'"),
        ("word_guess", {"vocabulary": 4, "secret": "toast"}, "line 1: vocabulary: got 4, allowed: a list of words"),
        ("word_chaining", {"lexicon": ["tea"], "first": "me"}, 'line 1: first: got "me", allowed: agent, assistant'),
        ("circuit_decoding", {"circuits": ["01"], "gates": {"AND": 1}}, "line 1: gates: got"),
        ("circuit_decoding", {**CIRCUITS, "circuits": [[0, 2]]}, "circuits[0]: got [0, 2], allowed: outputs"),
        (
            "movie_recommendation",
            {"seen": SEEN, "unseen": UNSEEN, "weights": [0.9, 0.1]},
            "line 1: movie_recommendation",
        ),
        ("movie_recommendation", {"seen": [["x"]], "unseen": UNSEEN, "weights": [0.9]}, 'seen[0]: got ["x"], allowed'),
        ("twenty_questions_answerer", {"words": {**NOUNS, "tree": ["plant"]}}, "a noun that is no hypernym of another"),
        (
            "twenty_questions_answerer",
            {"words": {"ash": ["tree"], "oak": ["tree"]}},
            "other hypernyms than those of ash",
        ),
    ],
)
def test_rows_that_are_no_tasks_are_named(game: str, row: dict[str, Any], says: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as error:
        read_row(tmp_path, game, row)
    assert says in str(error.value) and "published.jsonl" in str(error.value)


def test_attributes_in_another_order_would_change_the_weights(tmp_path: Path) -> None:
    movies = [{"a": 1, "b": 2}, {"b": 2, "a": 1}]
    with pytest.raises(UserError, match=r"attributes: got .*allowed: a, b, in this order"):
        read_row(tmp_path, "movie_recommendation", {"seen": movies, "unseen": movies, "weights": {"a": 0.1, "b": 0.2}})


def test_names_must_be_those_of_parts(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="word_guess: name: unknown name 'word'"):
        read_row(tmp_path, "word_guess", ROWS["word_guess"], word="secret")
    with pytest.raises(UserError, match="game: unknown name 'wordle'"):
        read_row(tmp_path, "wordle", {})
