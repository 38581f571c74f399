"""Training data of others: JSON lines, JSON, Parquet, and folders of the library `datasets`.

`read_records(path)` gives the rows of

- a file ending in .jsonl (one object per line), .json (a list of objects) or .parquet;
- a folder that `Dataset.save_to_disk` or `DatasetDict.save_to_disk` wrote (of the latter, one split);
- a folder with such files, as a dataset on the hub has them: those whose name begins with the split, or all where no
  name begins with one.

What the columns mean is told by `train.conversations`. Parquet and `datasets` need pyarrow (the extra `parquet`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from sonde.core import UserError, invalid, unknown
from sonde.runs.store.folder import CONFIG
from sonde.runs.store.parquet import import_pyarrow, open_parquet_file, parquet_errors

from .conversations import Records, TextRow
from .training_folder import MODEL, ORIGIN

STATE, SPLITS = "state.json", "dataset_dict.json"
"""Files by which folders of the library `datasets` are known."""
_SPLITS = ("train", "test", "validation", "valid", "val", "dev", "eval")
_BATCH = 1024


def is_data(path: Path) -> bool:
    """Whether this is a file or folder of training data, rather than a run folder."""
    return path.is_file() or (path.is_dir() and not (path / CONFIG).exists())


def read_records(path: Path | str, split: str = "train") -> Records:
    """The rows of a file or folder, read when they are asked for."""
    path = Path(path)
    if path.is_file():
        if path.suffix not in _READERS:
            raise invalid("data", str(path), f"a file ending in {', '.join(_READERS)}, or a folder")
        return Records(str(path), _READERS[path.suffix](path))
    if not path.is_dir():
        raise UserError(f"data: no file or folder {path}")
    if (path / ORIGIN).is_file():
        allowed = f"run folders, or data; this is the folder of a training, and its model is {path / MODEL}"
        raise invalid("data", str(path), allowed)
    if (path / SPLITS).is_file():
        splits = _read_json(path / SPLITS).get("splits", [])
        if split not in splits:
            raise unknown(f"data: {path}: split", split, splits)
        path = path / split
    if (path / STATE).is_file():
        return Records(str(path), _read_arrow_folder(path))
    return Records(str(path), _read_files(_find_files(path, split)))


def _find_files(folder: Path, split: str) -> list[Path]:
    found = sorted(p for p in folder.rglob("*") if p.suffix in (".jsonl", ".parquet") and p.is_file())
    if not found:
        raise invalid("data", str(folder), "a run folder, a folder of `datasets`, or one with .jsonl or .parquet files")
    named = {path: _split_of(path) for path in found}
    if not any(named.values()):
        return found
    if split not in named.values():
        raise unknown(f"data: {folder}: split", split, sorted(set(filter(None, named.values()))))
    return [path for path, name in named.items() if name == split]


def _split_of(path: Path) -> str:
    """The split that a file's name begins with; empty if none."""
    word = path.stem.replace("_", "-").replace(".", "-").partition("-")[0]
    return word if word in _SPLITS else ""


def _read_files(paths: list[Path]) -> Iterator[TextRow]:
    for path in paths:
        yield from _READERS[path.suffix](path)


def _read_lines(path: Path) -> Iterator[TextRow]:
    """The objects of a file of JSON lines. Blank lines are passed over."""
    with path.open(encoding="utf-8-sig") as lines:
        for i, line in enumerate(lines, start=1):
            if line.strip():
                try:
                    yield json.loads(line)
                except (ValueError, RecursionError) as e:
                    raise UserError(f"line {i}: not JSON ({e})") from e


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8-sig"))
    except (ValueError, RecursionError) as e:
        raise UserError(f"{path}: not JSON ({e})") from e


def _read_list(path: Path) -> Iterator[TextRow]:
    found = _read_json(path)
    if not isinstance(found, list):
        raise invalid("data", type(found).__name__, "a list of objects, or JSON lines in a file ending in .jsonl")
    yield from found


def _read_parquet(path: Path) -> Iterator[TextRow]:
    file = open_parquet_file(path)
    with parquet_errors(path):
        for batch in file.iter_batches(_BATCH):
            yield from batch.to_pylist()


def _read_arrow_folder(folder: Path) -> Iterator[TextRow]:
    """The rows of a folder that `Dataset.save_to_disk` wrote: Arrow streams, named in their order."""
    ipc = import_pyarrow("pyarrow.ipc")
    for entry in _read_json(folder / STATE)["_data_files"]:
        path = folder / Path(entry["filename"]).name
        with parquet_errors(path), ipc.open_stream(str(path)) as stream:
            for batch in stream:
                yield from batch.to_pylist()


_READERS: Mapping[str, Callable[[Path], Iterator[TextRow]]] = {
    ".jsonl": _read_lines, ".json": _read_list, ".parquet": _read_parquet,
}  # fmt: skip
