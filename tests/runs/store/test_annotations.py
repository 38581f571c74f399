"""Annotations beside the trajectories."""

from pathlib import Path

import pytest

from sonde.core import StoreError, UserError
from sonde.runs.store import (
    Annotation,
    Annotator,
    Run,
    RunWriter,
    StoreWarning,
    annotation_names,
    discard_run,
    read_annotations,
    remove_annotations,
)


@pytest.fixture
def folder(tmp_path: Path, play) -> Path:
    with RunWriter.open(tmp_path, {}) as run:
        run.append_trajectory(play(1)[0])
    return tmp_path


def test_what_is_noted_is_read_and_the_trajectories_stay_as_they_are(folder: Path) -> None:
    before = list(Run.load(folder).canonical_lines())
    with Annotator.open_annotations(folder, "gain", producer="elicit", version="1") as notes:
        notes.add_note("a" * 20, 1.5, turn=0)
        notes.add_note("a" * 20, [0.25, None], turn=1)
        notes.add_note("a" * 20, {"mean": 0.1})
    run = Run.load(folder)
    assert run.read_annotations("gain") == {
        ("a" * 20, 0): Annotation(1.5, "elicit", "1"),
        ("a" * 20, 1): Annotation([0.25, None], "elicit", "1"),
        ("a" * 20, None): Annotation({"mean": 0.1}, "elicit", "1"),
    }
    assert list(run.canonical_lines()) == before


def test_what_is_being_annotated_cannot_be_removed(folder: Path) -> None:
    with Annotator.open_annotations(folder, "gain", producer="elicit", version="1") as notes:
        notes.add_note("x", 1)
        for remove in (lambda: discard_run(folder), lambda: remove_annotations(folder, "gain")):
            with pytest.raises(StoreError, match=r"another writer is open on this run \(it holds .annotations-gain"):
                remove()
    assert len(read_annotations(folder, "gain")) == 1
    remove_annotations(folder, "gain")
    assert annotation_names(folder) == []
    discard_run(folder)
    assert not folder.exists()


def test_a_later_note_takes_the_place_of_an_earlier_one(folder: Path) -> None:
    for version, value in (("1", 0.5), ("2", float("inf"))):
        with Annotator.open_annotations(folder, "judge.score", producer="judge", version=version) as notes:
            notes.add_note("x", value)
    assert read_annotations(folder, "judge.score") == {("x", None): Annotation(float("inf"), "judge", "2")}
    assert annotation_names(folder) == ["judge.score"]


def test_a_torn_end_is_ignored_and_cut(folder: Path) -> None:
    for value in (1, 2):
        with Annotator.open_annotations(folder, "n", producer="p", version="1") as notes:
            notes.add_note(f"t{value}", value)
    path = folder / "annotations-n.jsonl.zst"
    path.write_bytes(path.read_bytes()[:-1])
    assert list(read_annotations(folder, "n")) == [("t1", None)]
    with pytest.warns(StoreWarning, match=r"annotations-n\.jsonl\.zst: cut"):
        Annotator.open_annotations(folder, "n", producer="p", version="1").close()


def test_bad_input_is_refused(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.raises(UserError, match=r"annotation name: got '\.\./x'"):
        Annotator.open_annotations(folder, "../x", producer="p", version="1")
    with pytest.raises(UserError, match="not a run folder"):
        Annotator.open_annotations(tmp_path_factory.mktemp("no"), "x", producer="p", version="1")
    with Annotator.open_annotations(folder, "x", producer="p", version="1") as notes:
        with pytest.raises(UserError, match=r"annotation\.turn: got -1"):
            notes.add_note("t", 1, turn=-1)
        with pytest.raises(StoreError, match="not JSON"):
            notes.add_note("t", {1, 2})
        with pytest.raises(StoreError, match="another writer"):
            Annotator.open_annotations(folder, "x", producer="p", version="1")
    with pytest.raises(UserError, match="none called 'y'; known: x"):
        read_annotations(folder, "y")
