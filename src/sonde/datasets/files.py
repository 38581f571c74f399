"""Read LMRL-Gym's files: one JSON object per line, or one list of them. Errors name the file, the line and the
field."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

from sonde.core import UserError


@dataclass(frozen=True)
class JsonObject:
    """One object of a file, and its place in the file."""

    value: Any
    where: str

    def get_field(self, name: str, *kinds: type) -> Any:
        """A field, checked to be of one of these types."""
        found = self.value.get(name) if isinstance(self.value, Mapping) else None
        if not isinstance(found, kinds) or (isinstance(found, bool) and bool not in kinds):
            self.raise_invalid(name, found, " or ".join(kind.__name__ for kind in kinds))
        return found

    def get_list(self, name: str, *kinds: type) -> list[Any]:
        """A field that is a list of values of these types."""
        found = self.get_field(name, list)
        for i, value in enumerate(found):
            if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
                self.raise_invalid(f"{name}[{i}]", value, " or ".join(kind.__name__ for kind in kinds))
        return found

    def get_objects(self, name: str) -> list[JsonObject]:
        """A field that is a list of objects."""
        return [JsonObject(value, f"{self.where}: {name}[{i}]") for i, value in enumerate(self.get_list(name, dict))]

    def raise_invalid(self, name: str, got: object, allowed: str) -> NoReturn:
        shown = json.dumps(got, ensure_ascii=False, default=repr)
        raise UserError(f"{self.where}: {name}: got {shown[:100]}, allowed: {allowed}")


def hash_file(file: Path) -> str:
    """The SHA-256 of a file's content."""
    with file.open("rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def _read_lines(file: Path) -> Iterator[str]:
    """The lines of a file; an error names a line that is not UTF-8."""
    with file.open("rb") as f:
        for number, line in enumerate(f, 1):
            try:
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as e:
                raise UserError(f"{file}: line {number}: not UTF-8 ({e})") from e


def read_objects(file: Path, *, nested: bool = False) -> Iterator[JsonObject]:
    """The objects of a file, one per line or all in one list; `nested`: the objects are lists themselves."""
    first = next((line for line in _read_lines(file) if line.strip()), "")
    try:
        value = json.loads(first)
    except (ValueError, RecursionError):
        value = None
    per_line = isinstance(value, Mapping) or (nested and isinstance(value, list) and _is_episode(value))
    if per_line or not first.lstrip().startswith("["):
        for number, line in enumerate(_read_lines(file), 1):
            if line.strip():
                where = f"{file}: line {number}"
                yield JsonObject(_parse_json(line, where), where)
        return
    for number, one in enumerate(_parse_json("".join(_read_lines(file)), str(file)), 1):
        yield JsonObject(one, f"{file}: item {number}")


def _is_episode(value: Sequence[Any]) -> bool:
    """Whether this is one episode and not a list of episodes."""
    return not value or isinstance(value[0], Mapping)


def _parse_json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as e:
        raise UserError(f"{where}: not JSON ({e})") from e


def read_games(file: Path) -> Iterator[JsonObject]:
    """The moves of a file, game by game: a line is a move, or all moves of a game."""
    moves: list[JsonObject] = []
    for number, line in enumerate(chain(_read_lines(file), [""]), 1):
        if line.strip():
            where = f"{file}: line {number}"
            value = _parse_json(line, where)
            if isinstance(value, list):
                yield JsonObject([JsonObject(move, f"{where}: move {i}") for i, move in enumerate(value)], where)
                continue
            moves.append(JsonObject(value, where))
        if moves and (not line.strip() or moves[-1].get_field("done", bool, int)):
            yield JsonObject(moves, moves[0].where)
            moves = []
