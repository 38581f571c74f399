"""Hundreds of damaged or malicious files of every kind: no error but those that sonde raises on purpose, and the pages
of other runs stay up."""

from __future__ import annotations

import json
import random
import shutil
import struct
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar
from zlib import crc32

import orjson
import pytest
import zstandard

from sonde._util.json_types import read_as
from sonde.cli.tables import evaluation_table
from sonde.core import SondeError, StoreError, UserError
from sonde.datasets.imports import import_file
from sonde.evaluation import results
from sonde.evaluation.evaluate import Evaluation
from sonde.evaluation.run_evaluation import EVALUATION, execute_run, load_evaluation, reopen_run, rescore_run
from sonde.runs.run import config_from, prepare_run
from sonde.runs.store import Run, StoreWarning
from sonde.runs.store.export import export_parquet
from sonde.runs.store.frames import LARGEST, make_frame, read_frames
from sonde.viewer.report import render_report
from sonde.viewer.site import pages, training
from sonde.viewer.site.library import Library
from sonde.viewer.site.links import Links

from ..datasets.test_imports import FINE
from .mutations import mutate

T = TypeVar("T")
CODES = {"name": "mastermind", "length": 2, "digits": 4, "max_turns": 4}
FAKE = {"name": "agents:llm", "model": {"name": "models:fake", "script": ["<Answer>01</Answer>"]}}
N = 400


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs, `good` and `bad`."""
    folder = tmp_path_factory.mktemp("mutated")
    for name in ("good", "bad"):
        config = config_from({"env": CODES, "seats": {"agent": FAKE}, "n_tasks": 3, "k": 2, "label": name})
        execute_run(prepare_run(config), folder / name)
    return folder


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Warnings of what is left out are no errors here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def attempt(call: Callable[[], T]) -> T | None:
    """What it returns; None where sonde refuses. Any other error fails the test."""
    try:
        return call()
    except (SondeError, OSError):
        return None


def page(library: Library, *parts: str) -> str:
    return pages.render_page(pages.find_page(library, parts, {}), Links(len(parts)))


def mutations(value: Any, n: int = N) -> Iterator[Any]:
    rng = random.Random(0)
    return (mutate(value, rng, rng.choice((1, 1, 2, 5))) for _ in range(n))


@pytest.mark.thorough
def test_records(home: Path) -> None:
    """Twenty at a time behind good ones, which all stay."""
    bad = home / "bad"
    log, good = bad / "trajectories-00000.jsonl.zst", [t.to_json() for t in Run.load(bad)]
    first, known = log.read_bytes(), (bad / EVALUATION).read_bytes()
    damaged, kept = list(mutations(good[0])), {t["id"] for t in good[1:]}
    for i in range(0, N, 20):
        (bad / "index.sqlite").unlink(missing_ok=True)
        log.write_bytes(first + b"".join(make_frame([json.dumps(one).encode()]) for one in damaged[i : i + 20]))
        run = Run.load(bad)
        found = list(run)
        assert kept <= {t.id for t in found}
        assert len(list(run.canonical_lines())) == len(list(run.trajectories.index_entries())) == len(found)
        shutil.rmtree(bad.with_name("tables"), ignore_errors=True)
        attempt(lambda run=run: export_parquet(run.folder, home / "tables"))
        attempt(lambda run=run: rescore_run(reopen_run(run), bad))
        library = Library([home])
        assert "good" in page(library) and page(library, "run", "good")
        for t in found[:10]:
            for kind in ("episode", "replay"):
                attempt(lambda kind=kind, t=t, library=library: page(library, kind, "bad", t.id))
            attempt(lambda t=t, library=library: page(library, "tokens", "bad", t.id, "0"))
            attempt(lambda t=t, library=library: page(library, "group", "bad", t.task.id, str(t.seed)))
    (bad / "index.sqlite").unlink(missing_ok=True)
    log.write_bytes(first)
    (bad / EVALUATION).write_bytes(known)


@pytest.mark.thorough
def test_evaluations(home: Path) -> None:
    path = home / "bad" / EVALUATION
    before = path.read_bytes()
    read = 0
    for i, one in enumerate(mutations(orjson.loads(before))):
        path.write_bytes(json.dumps(one, indent=2).encode())
        found = attempt(lambda: load_evaluation(home / "bad"))
        library = Library([home])
        assert all(name in page(library) for name in ("good", "bad"))
        assert page(library, "run", "good") and page(library, "run", "bad") and page(library, "compare", "good", "bad")
        if found is not None:
            read += 1
            evaluation_table([found])
            if i % 50 == 0:
                attempt(lambda: render_report([home / "bad"], 2))
    path.write_bytes(before)
    assert 0 < read < N / 2  # some changes are to texts, which may say anything


@pytest.mark.thorough
def test_results(tmp_path: Path) -> None:
    file = tmp_path / "one.json"
    given = json.loads((Path(__file__).parents[2] / "results/mtp--entropy.json").read_text("utf-8"))
    for one in mutations(given):
        file.write_text(json.dumps(one), "utf-8")
        if (found := attempt(lambda: results.read_result(file))) is not None:
            results.stale_reasons(found)
            assert found.tokens >= 0 or found.environments
            results.agent_profile([found])


@pytest.mark.thorough
def test_histories(home: Path) -> None:
    folder = home / "training"
    folder.mkdir()
    steps = [
        {"step": i, "loss": 1 / i, "nll": 0.5, "won": 0.1, "tokens": 100 * i, "seconds": 1.5 * i} for i in (1, 2, 3)
    ]
    said = zip(
        mutations(steps),
        mutations({"objective": "sft", "model": "m", "runs": ["a"]}),
        mutations({"lr": 1e-3, "max_steps": 5, "folder": "x"}),
        strict=True,
    )
    for i, (history, data, settings) in enumerate(said):
        (folder / "history.jsonl").write_text("\n".join(map(json.dumps, history)), "utf-8")
        for name, content in (("data", data), ("settings", settings)):
            (folder / f"{name}.json").unlink(missing_ok=True)
            if (i + len(name)) % 3:
                (folder / f"{name}.json").write_text(json.dumps(content), "utf-8")
        library = Library([home])
        assert "good" in page(library) and page(library, "run", "good")
        attempt(lambda library=library: page(library, "training", "training"))
        if i % 100 == 0:
            attempt(lambda library=library: training.draw_figures(library, "training"))
    shutil.rmtree(folder)


@pytest.mark.thorough
@pytest.mark.parametrize("task", sorted(FINE))
def test_datasets(task: str, tmp_path: Path) -> None:
    if task.startswith("chess"):
        pytest.importorskip("chess")
    for i, one in enumerate(mutations(FINE[task], N // len(FINE) + 1)):
        (tmp_path / "data.jsonl").write_text(f"{json.dumps(one)}\n", "utf-8")
        attempt(lambda i=i: import_file(task, tmp_path / "data.jsonl", tmp_path / str(i)))


# --- and one by one -------------------------------------------------------------------------------------------------


def test_a_frame_may_declare_only_so_much(tmp_path: Path) -> None:
    """A hundred kilobytes that would be gigabytes are left out before they are unpacked."""
    bomb = zstandard.ZstdCompressor().compress(b" " * (LARGEST + 1))
    assert len(bomb) < 10_000
    head = struct.pack("<4I", 0x184D2A5D, 12, len(bomb), 1)
    good = make_frame([b"{}"])
    path = tmp_path / "log"
    path.write_bytes(good + head + struct.pack("<I", crc32(head)) + bomb + good)
    first, second, third = read_frames(path)
    assert list(first.lines) == list(third.lines) == [b"{}"]
    assert f"declares {LARGEST + 1:,} bytes, allowed: {LARGEST:,}" in second.damage


def test_frames_too_large_to_read_are_not_written() -> None:
    with pytest.raises(StoreError, match="allowed: 67,108,864"):
        make_frame([b" " * (LARGEST + 1)])


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda d: d.update(error={"a": 1}), "record: error: got {'a': 1}, allowed: text"),
        (lambda d: d.update(seed=2**200), "record: seed: got"),
        (
            lambda d: d["turns"][0][0].update(rewards={"agent": "1"}),
            r"record: turns\[0\]\[0\]: rewards.agent: got '1'",
        ),
        (lambda d: d["policies"].update(agent=None), "record: policies.agent: got None"),
        (lambda d: d["task"].update(index="x"), "task: index: got 'x'"),
        (lambda d: d.pop("id"), "record: missing id"),
        (lambda d: d.update(surplus=1), "record: unknown name 'surplus'"),
        (
            lambda d: d["turns"][0][0]["completions"][0].update(logprobs=[0.5] * 9),
            "logprobs: got 9, allowed: none, or one",
        ),
    ],
)
def test_a_wrong_record_is_named_and_left_out(
    change: Callable[[Any], None], place: str, home: Path, tmp_path: Path
) -> None:
    shutil.copytree(home / "bad", tmp_path / "run")
    run = Run.load(tmp_path / "run")
    data = run[0].to_json()
    change(data)
    log = tmp_path / "run" / "trajectories-00000.jsonl.zst"
    with log.open("ab") as file:
        file.write(make_frame([json.dumps(data).encode()]))
    with warnings.catch_warnings(), pytest.warns(StoreWarning, match=place):
        warnings.simplefilter("always")
        assert len(Run.load(tmp_path / "run")) == len(run)


def test_an_evaluation_that_does_not_read_is_named_on_its_own_page(home: Path, tmp_path: Path) -> None:
    shutil.copytree(home, tmp_path / "home")
    path = tmp_path / "home" / "bad" / EVALUATION
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), "others": []}), "utf-8")
    library = Library([tmp_path / "home"])
    assert "good" in page(library) and "bad" in page(library)
    assert "evaluation.others: got []" in page(library, "run", "bad")
    with pytest.raises(StoreError, match=r"evaluation.others: got \[\], allowed: a mapping"):
        load_evaluation(tmp_path / "home" / "bad")


def test_evaluations_survive_a_round_trip(home: Path) -> None:
    found = load_evaluation(home / "good")
    assert read_as(Evaluation, orjson.loads(orjson.dumps(found, default=dict)), "evaluation") == found
    with pytest.raises(UserError, match=r"evaluation: missing env, env_name"):
        read_as(Evaluation, {}, "evaluation")
