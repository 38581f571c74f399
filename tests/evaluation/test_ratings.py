"""Ratings of conversations by people: what is stored with the run, refused, summed up and exported."""

from __future__ import annotations

from pathlib import Path

import pytest

from sonde.core import UserError
from sonde.evaluation.ratings import ACCEPTED, LABELS, Rating, add_rating, mean_rating, read_ratings, summarise_ratings
from sonde.export.tables import Source, tabulate
from sonde.runs.store import Run, read_annotations
from tests.viewer.conftest import play


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run.load(play(tmp_path, "random", n_tasks=2, k=1))


def test_ratings_of_several_people_are_one_note_of_an_episode(run: Run) -> None:
    first, second = (t.id for t in run)
    assert read_ratings(run.folder) == {} and summarise_ratings({}) is None
    add_rating(run.folder, first, "anna", 2)
    add_rating(run.folder, first, " bo ", 4, " stiff ")
    add_rating(run.folder, second, "anna", 5)
    add_rating(run.folder, first, "anna", 3)  # a later one replaces it
    found = read_ratings(run.folder)
    assert found == {first: {"anna": Rating(3), "bo": Rating(4, "stiff")}, second: {"anna": Rating(5)}}
    note = read_annotations(run.folder, "naturalness")[first, None]
    assert (note.producer, note.value["bo"]) == ("people", {"rating": 4, "comment": "stiff"})
    known = summarise_ratings(found)
    assert known is not None and (known.n, known.episodes, known.people, known.natural) == (3, 2, 2, 1.0)
    assert known.shares == {1: 0, 2: 0, 3: 1 / 3, 4: 1 / 3, 5: 1 / 3}
    assert (mean_rating(found[first]), mean_rating({})) == (3.5, None)
    rows = {row["trajectory"]: row["naturalness"] for row in tabulate("episodes", [Source.from_run(run)])}
    assert rows == {first: 3.5, second: 5.0}


def test_episodes_that_nobody_rated_have_an_empty_cell(run: Run) -> None:
    assert [row["naturalness"] for row in tabulate("episodes", [Source.from_run(run)])] == [None, None]


def test_the_scale_is_that_of_the_paper() -> None:
    """Table 3 of LMRL-Gym, column GPT, in ratings per ten thousand: 55.56 % are at least 3."""
    table = {1: 1407, 2: 3037, 3: 2000, 4: 2000, 5: 1556}
    people = (f"{label} {i}" for label, n in table.items() for i in range(n))
    known = summarise_ratings({"x": {person: Rating(int(person[0])) for person in people}})
    assert known is not None and list(known.shares) == list(LABELS) == [1, 2, 3, 4, 5] and ACCEPTED == 3
    assert known.natural == pytest.approx(0.5556, abs=1e-4)


@pytest.mark.parametrize(("person", "rating", "comment", "why"), [
    ("", 3, "", "person: got ''"), ("x" * 61, 3, "", "a name of 1 to 60 characters"), ("a", 0, "", "rating: got 0"),
    ("a", 6, "", "rating: got 6, allowed: 1"), ("a", 3, "x" * 2001, "comment: got"),
])  # fmt: skip
def test_a_rating_that_is_none_is_refused(run: Run, person: str, rating: int, comment: str, why: str) -> None:
    with pytest.raises(UserError, match=why):
        add_rating(run.folder, run[0].id, person, rating, comment)
    assert read_ratings(run.folder) == {}
